"""Profiles by name or path: shipped ones, and those in the user's own folder, which come first."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache as once
from pathlib import Path
from typing import ParamSpec, TypeVar

from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.profiles import cache, suggest
from kvcalc.profiles.budget import Budget
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.hardware import Accelerator, Curves, Engine, Fit, Node, NodeTier, Tier
from kvcalc.profiles.model import Model
from kvcalc.profiles.places import FOLDERS, find, is_path, names, placed, shipped

P = TypeVar("P", bound=Profile)
R = TypeVar("R")
Q = ParamSpec("Q")


def _once(make: Callable[Q, R]) -> Callable[Q, R]:
    """Remember what was made for the same arguments, types kept."""
    return once(make)  # type: ignore[return-value]


@frozen
class Machine:
    """A node with the profiles it names."""

    node: Node
    accelerator: Accelerator
    tiers: tuple[Tier, ...]

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name


def _text(reference: object) -> str:
    """A caller's name or path as text."""
    if not isinstance(reference, str | os.PathLike):
        raise UserError(f"a profile is given by its name or its path, not by {shown(reference)}")
    return os.fspath(reference)


@_once
def _get(kind: type[P], reference: str) -> P:
    path = find(kind, reference)
    if path is None:
        raise UserError(_unknown(kind, reference))
    found = _load(kind, path)
    if found.name != path.stem and not is_path(reference):
        raise UserError(f"{path}: name: is {found.name!r}; the file of that profile must be called {found.name}.yaml")
    return found


@_once
def _load(kind: type[P], path: Path) -> P:
    return cache.load(kind, path)


def _unknown(kind: type[Profile], reference: str) -> str:
    word = kind.__name__.lower()
    known, command = names(kind), "models" if kind is Model else "hardware"
    if kind is Model and os.sep in reference:
        known += [found.huggingface for found in every(Model)[0] if found.huggingface]
    others = (other for other, wanted in HARDWARE.items() if wanted is not kind and find(wanted, reference))
    other = None if is_path(reference) else next(others, None)
    return suggest.unknown(word, reference, known, command) + (f" (it is of kind {other!r})" if other else "")


def every(kind: type[P]) -> tuple[list[P], list[UserError]]:
    """All profiles of a kind, and what is wrong with those of the user's own that can't be read."""
    found, refused = [], []
    for name in names(kind):
        try:
            found.append(_get(kind, name))
        except UserError as error:
            refused.append(error)
    return found, refused


def model(reference: str | Path) -> Model:
    """A model profile by name, by Hugging Face name, or by path to a YAML file."""
    reference = _text(reference)
    path = find(Model, reference) or find(Model, reference.lower())
    if path is None and os.sep in reference:
        wanted = reference.lower()
        path = next((file for file in placed(Model).values() if wanted == _huggingface(file)), None)
    return _load(Model, path) if path else _get(Model, reference)


def is_original(found: Model) -> bool:
    """Has a model the layers of the shipped one of its name, if there is one?"""
    path = shipped() / FOLDERS[Model] / f"{found.name}.yaml"
    if not path.is_file():
        return True
    original = _load(Model, path)
    return found is original or (found.hidden, found.groups, found.feed_forward) == (
        original.hidden,
        original.groups,
        original.feed_forward,
    )


def _huggingface(file: Path) -> str:
    return (_load(Model, file).huggingface or "").lower()


def accelerator(reference: str) -> Accelerator:
    """An accelerator profile by name or path."""
    return _get(Accelerator, reference)


def tier(reference: str) -> Tier:
    """A tier profile by name or path."""
    return _get(Tier, reference)


def engine(reference: str) -> Engine:
    """An engine profile by name or path."""
    return _get(Engine, _text(reference))


def fit(reference: str) -> Fit:
    """A prefill fit by name or path."""
    return _get(Fit, reference)


def budget(reference: str) -> Budget:
    """A memory budget of an engine's version by name or path."""
    return _get(Budget, reference)


def curves(accelerator: str) -> Curves | None:
    """The prefill curves measured on an accelerator, or None."""
    path = find(Curves, accelerator)
    return _load(Curves, path) if path else None


def machine(reference: str | Path) -> Machine:
    """A node by name or path, with its accelerator and its tiers as the node has them."""
    reference = _text(reference)
    node, file = _get(Node, reference), find(Node, reference)
    gpu = named(Accelerator, node.accelerator, file, "accelerator")
    tiers = [named(Tier, use.tier, file, f"tiers.{place}.tier") for place, use in enumerate(node.tiers)]
    return Machine(node, gpu, tuple(map(_on_node, tiers, node.tiers)))


def named(kind: type[P], reference: str, file: Path | None, field: str) -> P:
    """A profile that a node's file names, by a path from that file's folder or by name."""
    path = str(file.parent / reference) if file and is_path(reference) else reference
    try:
        return _get(kind, path)
    except UserError as error:
        raise UserError(f"{file}: {field}: {error}") from error


HARDWARE = {kind.__name__.lower(): kind for kind in FOLDERS if kind is not Model}


def all_hardware() -> tuple[list[tuple[str, Profile]], list[UserError]]:
    """Every hardware profile with the word for its kind, and what is wrong with those that can't be read."""
    found: list[tuple[str, Profile]] = []
    refused: list[UserError] = []
    for word, kind in HARDWARE.items():
        read, wrong = every(kind)
        found += [(word, profile) for profile in read]
        refused += wrong
    return found, refused


def hardware(reference: str) -> Profile:
    """Any hardware profile by name or path, nodes first. Raises UserError, with the closest name of any kind."""
    if is_path(reference):
        return of_kind(Path(reference), HARDWARE)
    for kind in HARDWARE.values():
        path = find(kind, reference)
        if path:
            return _load(kind, path)
    known = [name for kind in HARDWARE.values() for name in names(kind)]
    raise UserError(suggest.unknown("hardware", reference, known, "hardware"))


def of_kind(path: Path, kinds: dict[str, type[Profile]]) -> Profile:
    """The profile in a file of one of these kinds. Raises UserError."""
    from kvcalc.profiles import documents

    document = documents.read(path)
    word = document.get("kind") if isinstance(document, dict) else None
    if len(kinds) == 1:
        (kind,) = kinds.values()
    elif isinstance(word, str) and word in kinds:
        kind = kinds[word]
    else:
        raise UserError(f"{path}: kind: {shown(word)} is not a kind of profile; one of {', '.join(kinds)}")
    return documents.load(kind, path)


def _on_node(base: Tier, use: NodeTier) -> Tier:
    """The tier profile with what this node changes."""
    read, write = base.read, base.write
    return replace(
        base,
        title=use.title or base.title,
        read=replace(read, bandwidth=use.bandwidth or read.bandwidth, latency=use.latency or read.latency),
        write=write and replace(write, bandwidth=use.write_bandwidth or write.bandwidth),
        node_ceiling=use.node_ceiling or base.node_ceiling,
        capacity=use.capacity or base.capacity,
        drives=use.drives or base.drives,
    )
