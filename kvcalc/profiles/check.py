"""A profile file of the user's own, checked with every other profile that it names."""

from collections.abc import Iterator
from pathlib import Path

from kvcalc.profiles import catalog
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.hardware import Accelerator, Fit, Node, Tier
from kvcalc.profiles.model import Model


def check(path: Path, kinds: dict[str, type[Profile]]) -> Profile:
    """The profile in a file of one of these kinds. Raises UserError with file, field and what is wrong."""
    profile = catalog.of_kind(path, kinds)
    for field, kind, name in _names(profile):
        catalog.named(kind, name, path, field)
    return profile


def _names(profile: Profile) -> Iterator[tuple[str, type[Profile], str]]:
    """The other profiles that one names, by field."""
    if isinstance(profile, Model):
        yield from ((f"same_geometry.{at}", Model, name) for at, name in enumerate(profile.same_geometry))
    if isinstance(profile, Accelerator) and profile.fit:
        yield "fit", Fit, profile.fit
    if isinstance(profile, Node):
        yield "accelerator", Accelerator, profile.accelerator
        yield from ((f"tiers.{at}.tier", Tier, use.tier) for at, use in enumerate(profile.tiers))
        for at, entry in enumerate(profile.prefill):
            yield from ((f"prefill.{at}.models.{number}", Model, name) for number, name in enumerate(entry.models))
