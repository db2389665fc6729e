"""A question about cost with its prices by tier, and what every tier needs to answer it."""

from collections.abc import Iterator
from dataclasses import replace

from kvcalc import units
from kvcalc.answers import contention
from kvcalc.answers.cost_result import Work
from kvcalc.answers.margin_parts import Contention, Traffic
from kvcalc.answers.paths import Path, by_tier
from kvcalc.answers.prices import Price, Prices, Rating
from kvcalc.answers.setting import Setting
from kvcalc.errors import UserError
from kvcalc.physics import holding, kv
from kvcalc.physics.recompute import Way
from kvcalc.profiles.hardware import Tier

MONTH = units.YEAR / 12  # seconds


class Case:
    """Raises UserError for prices in two currencies, or of tiers that are not here."""

    def __init__(self, setting: Setting, prices: Prices) -> None:
        self.setting, self.prices = setting, prices
        self.currency = prices.currency
        self.gb_month: dict[str, Price] = by_tier(setting.tiers, prices.gb_month, "--gb-month")
        self.ratings: dict[str, Rating] = by_tier(setting.tiers, prices.endurance, "--endurance")
        self.capacity: dict[str, float] = by_tier(setting.tiers, prices.capacity, "--capacity")
        self._check()
        self.bytes = kv.logical(setting.model, setting.tokens, setting.kv)
        self.per_token = kv.marginal(setting.model, setting.tokens, setting.kv)
        self.one_request = _one_request(setting)
        self.latency = _work(setting, self.one_request)
        self.throughput = _work(setting, setting.ways.chosen)
        self.recompute_gpu_s = setting.tp * self.throughput.seconds
        self.with_new = kv.logical(setting.model, setting.tokens + setting.options.new, setting.kv)
        self.gpu_s = prices.gpu_hour.amount / units.HOUR if prices.gpu_hour else None  # money a GPU-second
        self.paths = _quickest(setting)
        self.traffic = self._traffic()

    def _check(self) -> None:
        for name, size in self.capacity.items():
            if not size > 0:
                raise UserError(f"--capacity {name}: a tier holds something; write one like '2 TB'")
        for name in self.ratings:
            if next(tier.medium for tier in self.setting.tiers if tier.name == name) != "nvme":
                raise UserError(f"--endurance: {name!r} is no drive; drives here are tiers of medium nvme")

    def _traffic(self) -> Traffic | None:
        """At the rate that is asked for, on the path of each tier that is used here."""
        if self.setting.options.rate is None:
            return None
        found = contention.traffic(self.setting)
        used = {(path.tier.name, path.links) for path in self.paths}
        return replace(found, paths=tuple(each for each in found.paths if (each.tier, each.links) in used))

    def load(self, tier: Tier) -> Contention | None:
        """The tier's path under that load."""
        return next((each for each in self.traffic.paths if each.tier == tier.name), None) if self.traffic else None

    def served(self, tier: Tier) -> float:
        """Requests a second that the GPUs and the tier's path bear, at most those that come."""
        load, found = self.load(tier), [self.setting.options.rate or 0.0]
        found += [load.saturation_per_s] if load and load.saturation_per_s else []
        gpus = self.traffic.prefill_saturation_per_s if self.traffic else None
        return min([*found, gpus] if gpus else found)

    def written(self, tier: Tier) -> float:
        """Bytes a second into the tier."""
        hit_rate = self.setting.options.hit_rate or 0.0
        return self.served(tier) * holding.written(self.bytes, self.with_new, hit_rate)

    def size(self, tier: Tier) -> float | None:
        """Bytes: the option's, else the profile's; of one drive where the bandwidth is that of one."""
        profile = tier.capacity.value / (tier.drives or 1) if tier.capacity else None
        return self.capacity.get(tier.name, profile)

    def one_of(self, tier: Tier) -> int | None:
        """Of how many drives one is meant."""
        return tier.drives if tier.name not in self.capacity and tier.capacity else None

    def held(self, tier: Tier) -> float | None:
        """Money a byte and second."""
        price = self.gb_month.get(tier.name)
        return price.amount / units.GB / MONTH if price else None

    def quoted(self) -> Iterator[tuple[str, Price]]:
        """Each price with the option that gave it."""
        if self.prices.gpu_hour:
            yield "--gpu-hour", self.prices.gpu_hour
        for name, price in self.gb_month.items():
            yield f"--gb-month {name}", price

    def rating(self, tier: Tier) -> tuple[float, float | None] | None:
        """Drive writes a day and rated life: the option's, else the profile's."""
        if tier.name not in self.ratings:
            writes, years = tier.drive_writes_per_day, tier.drive_years
            return (writes.value, years.value * units.YEAR if years else None) if writes else None
        found = self.ratings[tier.name]
        if found.writes_per_day is not None:
            return found.writes_per_day, found.life_s
        size = self.size(tier)
        if size is None or not found.total_bytes or not found.life_s:
            raise UserError(f"--endurance {tier.name}: bytes in all need a size; add --capacity {tier.name}=3.84TB")
        return found.total_bytes / size / (found.life_s / units.DAY), found.life_s


def _quickest(setting: Setting) -> tuple[Path, ...]:
    """Of each tier the path that fetches soonest."""
    load, found = setting.loads(setting.tokens), {}
    for path in sorted(setting.paths, key=lambda each: -each.typical.seconds(load)):
        found[path.tier.name] = path
    return tuple(found[tier.name] for tier in setting.tiers)


def _one_request(setting: Setting) -> Way:
    """A textbook's rate is that of a whole node; for one request whatever was measured or modelled is nearer."""
    chosen = setting.ways.chosen
    if chosen.basis != "textbook":
        return chosen
    return next((way for way in setting.ways.others if way.basis != "textbook"), chosen)


def _work(setting: Setting, way: Way) -> Work:
    seconds = setting.recompute(way, setting.tokens)
    return Work(seconds, setting.tokens / seconds, way.title, way.basis)
