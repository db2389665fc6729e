"""What several tests share: folders that stand in for the user's own, small profiles, and the scripts by their path."""

import signal
import sys
from collections.abc import Callable, Iterator
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from hypothesis import settings

from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import FeedForward, LayerGroup, Model
from kvcalc.profiles.sources import Source

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("unhurried", deadline=None)  # a busy machine is no failure
settings.load_profile("unhurried")


# A background job of a shell ignores Ctrl-C, and its children inherit that: tests that send it need it heard.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def away_from_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Profiles are neither read from nor remembered in the folders of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KVCALC_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("KVCALC_PROFILES", str(tmp_path_factory.mktemp("profiles")))
        yield


@pytest.fixture
def forget() -> Iterator[Callable[[], None]]:
    """Make the catalog forget what it has read, as a new process would; done before and after the test in any case."""

    def forget_all() -> None:
        for function in (*vars(catalog).values(), *vars(places).values()):
            if hasattr(function, "cache_clear"):
                function.cache_clear()

    forget_all()
    yield forget_all
    forget_all()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget: Callable[[], None]) -> Path:
    """An empty folder of the user's own profiles."""
    forget()
    monkeypatch.setenv("KVCALC_PROFILES", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def model_of() -> Callable[..., Model]:
    """Make a model of the layer groups given, as a profile would list them; other fields by name."""
    kinds = {get_args(each.__annotations__["kind"])[0]: each for each in get_args(get_args(LayerGroup)[0])}
    source = Source("made for a test", "tests/conftest.py", "config", date(2026, 11, 29))

    def make(*groups: dict[str, Any], feed_forward: tuple[dict[str, Any], ...] | None = None, **fields: Any) -> Model:
        known = {"name": "small", "title": "Small", "sources": {"test": source}, "source": source}
        sizes = {"context": 4096, "hidden": 64, "vocabulary": 100}
        blocks = None if feed_forward is None else tuple(FeedForward(**each) for each in feed_forward)
        layers = tuple(kinds[group["kind"]](**group) for group in groups)
        return Model(**(known | sizes | {"groups": layers, "feed_forward": blocks} | fields))

    return make


@pytest.fixture(scope="session")
def script() -> Iterator[Callable[[str], ModuleType]]:
    """Load a script of scripts/ by its name; scripts import one another."""
    folder = ROOT / "scripts"

    def load(name: str) -> ModuleType:
        spec = spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield load


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of traces."""
    return ROOT / "tests" / "data" / "traces"
