"""Prices and drive ratings that a question about cost may be asked with: inputs with a date, never defaults."""

from collections.abc import Mapping
from dataclasses import field
from datetime import date
from types import MappingProxyType

from kvcalc.errors import UserError
from kvcalc.frozen import frozen


@frozen
class Price:
    """An amount of money on a day."""

    amount: float
    currency: str
    day: date


@frozen
class Rating:
    """How much a drive may be written."""

    writes_per_day: float | None  # of its whole capacity; None: the bytes say it
    life_s: float | None  # for which it is rated
    total_bytes: float | None = None  # that its whole capacity may be written within its life


@frozen
class Prices:
    """Each may be left out; what depends on it is then not answered. Tiers by name, its beginning or their medium."""

    gpu_hour: Price | None = None  # of one GPU
    gb_month: Mapping[str, Price] = field(default_factory=lambda: MappingProxyType({}))  # by tier, of 10^9 bytes
    endurance: Mapping[str, Rating] = field(default_factory=lambda: MappingProxyType({}))  # by tier
    capacity: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # by tier, bytes

    @property
    def all(self) -> tuple[Price, ...]:
        """Every price that is given."""
        return (*([self.gpu_hour] if self.gpu_hour else []), *self.gb_month.values())

    @property
    def currency(self) -> str | None:
        """The one of all prices. Raises UserError for two."""
        found = list(dict.fromkeys(price.currency for price in self.all))
        if len(found) > 1:
            raise UserError(f"prices in {' and '.join(found)} can't be compared; give all in one currency")
        return found[0] if found else None
