"""The house has rooms, and imports point one way."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kvcalc

HOUSE = Path(kvcalc.__file__).resolve().parent
MODULES = sorted(path for path in HOUSE.rglob("*.py") if "__pycache__" not in path.parts)

# A room may import from the rooms in the lines above its own, and a room of several modules from itself.
ORDER = (
    ("errors",),
    ("frozen", "files", "units"),
    ("amounts",),
    ("profiles",),
    ("physics",),
    ("tiered", "traces", "observe"),
    ("simulate", "measure"),
    ("answers",),
    ("tables",),
    ("plots",),
    ("render",),
    ("cli",),
    ("__main__",),
)
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}

HEAVY = {
    "torch",
    "numpy",
    "scipy",
    "numba",
    "matplotlib",
    "pandas",
    "orjson",
    "zstandard",
    "httpx",
    "prometheus_client",
}
SCALES = {10**9, 10**12, 10**15, 2**20, 2**30, 2**40, 2**50}  # giga, tera, peta; mebi, gibi, tebi, pebi


def name(path: Path) -> str:
    return ".".join(path.relative_to(HOUSE).with_suffix("").parts)


def room(module: str) -> str:
    return module.split(".")[0]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module that is imported, in functions too, with its line."""
    for each in ast.walk(node):
        if isinstance(each, ast.Import):
            yield from ((alias.name, each.lineno) for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            assert each.level == 0, f"line {each.lineno}: imports are written in full"
            source = each.module or ""
            whole = source == "kvcalc"
            yield from ((f"{source}.{alias.name}" if whole else source, each.lineno) for alias in each.names)


def at_start(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: nothing in functions, nor what is there for a type checker alone."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield each
        elif not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not (
            isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"
        ):
            yield from at_start(each)


def ours(path: Path) -> Iterator[tuple[str, int]]:
    """The rooms of this house that a module imports from."""
    for module, line in imports(tree(path)):
        if module.startswith("kvcalc."):
            yield room(module.removeprefix("kvcalc.")), line


EVERY = pytest.mark.parametrize("path", MODULES, ids=name)


def test_every_module_stands_in_a_room():
    assert len(MODULES) > 40
    assert {room(name(path)) for path in MODULES} - {"__init__"} <= set(RANK)


@EVERY
def test_imports_point_one_way(path: Path):
    """The package's own `__init__` is the front door: it fetches from any room, and only when it is asked."""
    here = room(name(path))
    if here == "__init__":
        top = [each for each in tree(path).body if isinstance(each, ast.Import | ast.ImportFrom)]
        assert [module for each in top for module, _ in imports(each) if module.startswith("kvcalc")] == []
        return
    wrong = [(line, other) for other, line in ours(path) if other != here and RANK[other] >= RANK[here]]
    assert wrong == []


@EVERY
def test_heavy_packages_are_imported_where_they_are_needed(path: Path):
    found = {room(module) for each in at_start(tree(path)) for module, _ in imports(each)}
    assert found & HEAVY == set()


@pytest.mark.parametrize("path", [path for path in MODULES if room(name(path)) != "measure"], ids=name)
def test_torch_is_only_in_the_room_that_measures(path: Path):
    assert "torch" not in {room(module) for module, _ in imports(tree(path))}


def scales(node: ast.AST) -> Iterator[tuple[int, float]]:
    """Numbers like 1e9, 10**9, 2**30, 1024**3 and 1_000_000_000 with their lines."""
    for each in ast.walk(node):
        value = each.value if isinstance(each, ast.Constant) else None
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Pow | ast.LShift):
            left, right = each.left, each.right
            if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
                value = left.value**right.value if isinstance(each.op, ast.Pow) else left.value << right.value
        if isinstance(value, int | float) and not isinstance(value, bool) and value in SCALES:
            yield each.lineno, value


def test_only_units_knows_what_a_giga_and_a_gibi_are():
    found = {name(path) for path in MODULES if list(scales(tree(path)))}
    assert found == {"units"}


def test_a_scale_is_found_however_it_is_written():
    """The check above would hold for a search that finds nothing."""
    for text in ("1e9", "10**9", "1_000_000_000", "2**30", "1024**3", "1 << 30", "5 * 1e12"):
        assert list(scales(ast.parse(text))), text
    for text in ("5e9", "1000", "1024", "1e-9", "True"):
        assert not list(scales(ast.parse(text))), text


@EVERY
def test_a_module_is_short_and_its_first_line_says_what_it_is(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 250
    said = ast.get_docstring(ast.parse(text))
    assert said
    first = said.splitlines()[0]
    assert text.startswith(f'"""{first}')
    assert first.endswith((".", "?"))
    assert len(said.splitlines()) == 1 or said.splitlines()[1] == ""


@EVERY
def test_a_function_is_under_fifty_lines(path: Path):
    """Without its signature, which in `cli` is the list of a command's options."""
    functions = [each for each in ast.walk(tree(path)) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {each.name: (each.end_lineno or 0) - each.body[0].lineno + 1 for each in functions}
    assert {name: length for name, length in lengths.items() if length >= 50} == {}


@pytest.mark.parametrize("path", [path for path in MODULES if room(name(path)) not in ("render", "cli")], ids=name)
def test_only_render_and_cli_print(path: Path):
    calls = [each.func for each in ast.walk(tree(path)) if isinstance(each, ast.Call)]
    assert "print" not in {each.id for each in calls if isinstance(each, ast.Name)}


@EVERY
def test_nothing_catches_whatever_happens(path: Path):
    """A bug keeps its traceback."""
    caught = [each.type for each in ast.walk(tree(path)) if isinstance(each, ast.ExceptHandler)]
    names = {each.id for each in caught if isinstance(each, ast.Name)}
    assert None not in caught
    assert names & {"Exception", "BaseException"} == set()
