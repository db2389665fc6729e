"""The commands by name, each imported when it is asked for: a start waits for no other command's options."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

# name: the module of kvcalc.cli that has a function or a group of that name, and what the list of commands says of it
MODULES = {
    "margin": ("margin", "Fetch or recompute, tier by tier."),
    "crossover": ("crossover", "Where the verdict turns."),
    "sweep": ("sweep", "Verdicts over a grid of options."),
    "capacity": ("capacity", "What fits in HBM, host memory, disk and store."),
    "cost": ("cost", "What a tier costs and saves."),
    "checklist": ("checklist", "Should you build KV offload at all?"),
    "curve": ("curve", "Hit rate of a request trace by cache capacity."),
    "simulate": ("simulate", "A request trace against a node's tiers, with time."),
    "route": ("route", "Several replicas: routing by prefix against a shared store."),
    "measure": ("measure", "Measure this machine, write a node profile."),
    "models": ("models", "List model profiles, show one, check a file, import one."),
    "hardware": ("hardware", "List hardware profiles, show one, check a file."),
}


class Commands(MutableMapping[str, Any]):
    """Every command, made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The command of a name. Raises KeyError."""
        if name not in self._made:
            self._made[name] = _make(name, *MODULES[name])
        return self._made[name]

    def __setitem__(self, name: str, made: Any) -> None:
        """Typer may name a command of its own."""
        self._made[name] = made

    def __delitem__(self, name: str) -> None:
        """And take it back."""
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the list."""
        return iter(MODULES)

    def __len__(self) -> int:
        """How many there are."""
        return len(MODULES)


def _make(name: str, module: str, short_help: str) -> Any:
    found = import_module(f"kvcalc.cli.{module}")
    if hasattr(found, "app"):
        return get_command(found.app)
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(name, short_help=short_help)(getattr(found, name))
    return get_command(alone)
