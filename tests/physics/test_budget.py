"""Activations and the pool against start-up figures of vLLM 0.19 on an H100."""

from collections.abc import Callable
from types import ModuleType

import pytest

from kvcalc.physics.budget import Memory
from kvcalc.profiles import catalog


@pytest.fixture(scope="module")
def fit(script: Callable[[str], ModuleType]) -> ModuleType:
    script("log_rows")
    return script("fit_budget")


def test_pool_is_within_3_percent_in_nine_runs_of_ten(fit: ModuleType):
    rows = fit.budgets()
    assert len(rows) == 30
    assert fit.within(fit.errors(rows, catalog.budget("vllm-0.19"), given=False), 0.03) >= 0.9


def test_pool_is_within_2_percent_where_the_weights_are_given(fit: ModuleType):
    assert fit.within(fit.errors(fit.budgets(), catalog.budget("vllm-0.19"), given=True), 0.02) == 1


def test_models_that_the_fit_has_not_seen_are_as_near(fit: ModuleType):
    rows = fit.budgets()
    assert fit.within(fit.left_out(rows, given=False), 0.03) >= 0.9
    assert fit.within(fit.left_out(rows, given=True), 0.02) == 1


def test_profile_is_what_the_script_writes(fit: ModuleType):
    """`python scripts/fit_budget.py` writes it again."""
    rows = fit.budgets()
    best = fit.fitted(rows)
    text = fit.document(best, fit.ninth_decile(fit.errors(rows, best, given=False)))
    assert text == fit.PROFILE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("share", "pool"), [
    ("of-device", 100 * 0.9 - 20 - 5 - 2),
    ("of-device-with-activations-beside", 100 * 0.9 - 20 - 2),
    ("of-free", 0.9 * (100 - 20 - 5 - 2)),
])  # fmt: skip
def test_what_the_fraction_is_of(share: str, pool: float):
    """100 units of memory, weights 20, activations 5, context 2."""
    assert Memory(100, 0.9, 20, 5, 2, 0).pool(share) == pytest.approx(pool)
