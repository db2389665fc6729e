"""Says whether fetching a KV cache beats recomputing it, and by how much.

    import kvcalc
    result = kvcalc.margin("llama3-70b", "h100-pcie5", 20_000, kvcalc.Options(tp=8))
    [(path.tier, path.margin, path.verdict) for path in result.paths]

Sizes are bytes, rates bytes a second and one direction, times seconds. Whatever a caller can mend raises UserError.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvcalc.answers.axes import Axes
    from kvcalc.answers.capacity import capacity
    from kvcalc.answers.capacity_options import CapacityOptions
    from kvcalc.answers.capacity_result import Capacity
    from kvcalc.answers.checklist import checklist
    from kvcalc.answers.checklist_options import ChecklistOptions
    from kvcalc.answers.checklist_result import Checklist
    from kvcalc.answers.cost import cost
    from kvcalc.answers.cost_result import Cost
    from kvcalc.answers.crossover import crossover
    from kvcalc.answers.crossover_result import Crossover
    from kvcalc.answers.margin import margin
    from kvcalc.answers.margin_result import Margin
    from kvcalc.answers.options import Options
    from kvcalc.answers.prices import Price, Prices, Rating
    from kvcalc.answers.sweep import sweep
    from kvcalc.answers.sweep_result import Sweep
    from kvcalc.errors import UserError
    from kvcalc.profiles.catalog import Machine
    from kvcalc.profiles.catalog import machine as load_hardware
    from kvcalc.profiles.catalog import model as load_model
    from kvcalc.profiles.model import Model

__all__ = [
    "Axes",
    "Capacity",
    "CapacityOptions",
    "Checklist",
    "ChecklistOptions",
    "Cost",
    "Crossover",
    "Machine",
    "Margin",
    "Model",
    "Options",
    "Price",
    "Prices",
    "Rating",
    "Sweep",
    "UserError",
    "capacity",
    "checklist",
    "cost",
    "crossover",
    "load_hardware",
    "load_model",
    "margin",
    "sweep",
]

_PLACES = {
    "Axes": ("kvcalc.answers.axes", "Axes"),
    "Capacity": ("kvcalc.answers.capacity_result", "Capacity"),
    "CapacityOptions": ("kvcalc.answers.capacity_options", "CapacityOptions"),
    "Checklist": ("kvcalc.answers.checklist_result", "Checklist"),
    "ChecklistOptions": ("kvcalc.answers.checklist_options", "ChecklistOptions"),
    "Cost": ("kvcalc.answers.cost_result", "Cost"),
    "Crossover": ("kvcalc.answers.crossover_result", "Crossover"),
    "Machine": ("kvcalc.profiles.catalog", "Machine"),
    "Margin": ("kvcalc.answers.margin_result", "Margin"),
    "Model": ("kvcalc.profiles.model", "Model"),
    "Options": ("kvcalc.answers.options", "Options"),
    "Price": ("kvcalc.answers.prices", "Price"),
    "Prices": ("kvcalc.answers.prices", "Prices"),
    "Rating": ("kvcalc.answers.prices", "Rating"),
    "Sweep": ("kvcalc.answers.sweep_result", "Sweep"),
    "UserError": ("kvcalc.errors", "UserError"),
    "capacity": ("kvcalc.answers.capacity", "capacity"),
    "checklist": ("kvcalc.answers.checklist", "checklist"),
    "cost": ("kvcalc.answers.cost", "cost"),
    "crossover": ("kvcalc.answers.crossover", "crossover"),
    "load_hardware": ("kvcalc.profiles.catalog", "machine"),
    "load_model": ("kvcalc.profiles.catalog", "model"),
    "margin": ("kvcalc.answers.margin", "margin"),
    "sweep": ("kvcalc.answers.sweep", "sweep"),
}


def __getattr__(name: str) -> object:
    """Import what is asked for, so that importing the package stays quick."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kvcalc' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)
