"""What would be measured here, what would not and why."""

import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import plan
from kvcalc.measure.machine import Gpu, Machine
from kvcalc.measure.plan import Job, Wish
from kvcalc.measure.results import Part, Skipped
from kvcalc.measure.samples import Budget
from kvcalc.profiles import catalog

HERE = Machine("host", "a CPU", 8, 1, "node0", 2**34, "Linux", "2.13.0", None, (), date(2026, 11, 29))
GPUS = replace(HERE, gpus=(Gpu("NVIDIA H200", 150_754_820_096, 150_000_000_000),) * 2)
MODEL = catalog.model("llama3-8b")


def names(wish: Wish, machine: Machine) -> tuple[list[str], dict[str, str]]:
    jobs, skipped = plan.plan(wish, machine)
    return [job.name for job in jobs], {each.name: each.reason for each in skipped}


def test_bare_on_a_machine_without_a_gpu():
    jobs, skipped = names(Wish(MODEL), HERE)
    assert jobs == ["memory", "prefill"]
    assert list(skipped) == ["link", "blocks", "restore", "storage", "remote", "endpoint"]
    assert "no GPU" in skipped["link"]


def test_without_torch_the_extra_is_named():
    jobs, skipped = names(Wish(MODEL), replace(HERE, torch=None))
    assert jobs == ["memory"]
    assert skipped["prefill"] == skipped["link"] == "it needs torch; pip install 'kvcalc[measure]'"


def test_with_everything_at_hand(tmp_path: Path):
    pytest.importorskip("obstore", reason="obstore is not installed: the extra 'remote'")
    wish = Wish(
        MODEL, path=tmp_path, size=2**26, url=f"file://{tmp_path}", endpoint="http://host/v1", engine_model="small"
    )
    jobs, skipped = plan.plan(wish, GPUS)
    assert [job.name for job in jobs] == list(plan.NAMES)
    assert skipped == []
    assert jobs[0].what == "copies to and from 2 GPUs"
    assert "on cuda:0" in jobs[4].what


def test_only_what_is_named_is_measured():
    assert names(Wish(MODEL, only=("memory",)), GPUS) == (["memory"], {})


def test_a_model_whose_prefill_can_not_be_measured_is_left_out():
    skipped = names(Wish(catalog.model("deepseek-v3")), GPUS)[1]
    for part in ("blocks", "restore", "prefill"):
        assert "only models of plain full attention" in skipped[part]


def test_an_endpoint_needs_its_model_s_name():
    with pytest.raises(UserError, match="--endpoint needs --engine-model"):
        plan.plan(Wish(MODEL, endpoint="http://host/v1"), HERE)


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    wish = Wish(MODEL, endpoint="http://host/v1", engine_model="small")
    assert names(wish, HERE)[1]["endpoint"] == "it needs httpx; pip install 'kvcalc[remote]'"


def test_a_part_that_fails_leaves_the_others():
    said: list[str] = []

    def fails(budget: Budget, progress: plan.Progress) -> Part:  # noqa: ARG001
        raise UserError("the disk failed")

    def does_well(budget: Budget, progress: plan.Progress) -> Part:
        assert 9 < budget.left_s <= 10  # all that is left
        progress("half way")
        return Part("memory", ())

    found: list[Part] = []
    jobs = [Job("storage", "", fails), Job("memory", "", does_well)]
    assert plan.run(jobs, Budget(10), said.append, found) == [Skipped("storage", "the disk failed")]
    assert [part.name for part in found] == ["memory"]
    assert said == ["storage", "memory", "memory: half way"]


def test_a_part_that_takes_more_than_what_is_left_is_left_out_with_its_reason():
    found: list[Part] = []
    job = Job("memory", "", lambda *_: Part("memory", ()), least_s=2.0)
    failed = plan.run([job], Budget(1.5, lambda: 0.0), lambda _: None, found)
    assert found == []
    assert failed == [Skipped("memory", "it takes 2 s or more and 1.5 s of the budget is left; raise --budget")]


def test_a_password_is_not_in_what_would_run():
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    wish = Wish(MODEL, url="redis://:secret@host", endpoint="http://me:secret@host/v1", engine_model="small")
    assert [each.what for each in plan.plan(wish, HERE)[0] if "secret" in each.what] == []


def test_every_job_runs_its_own_part(monkeypatch: pytest.MonkeyPatch):
    for module in (plan.link, plan.blocks, plan.restore, plan.memory, plan.prefill):
        name = module.__name__.rpartition(".")[2]
        monkeypatch.setattr(module, "measure", lambda *_, name=name, **__: Part(name, ()))
    found: list[Part] = []
    jobs, _ = plan.plan(Wish(MODEL), GPUS)
    plan.run(jobs, Budget(10), lambda _: None, found)
    assert [part.name for part in found] == ["link", "blocks", "restore", "memory", "prefill"]
