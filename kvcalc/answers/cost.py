"""What do holding and moving KV cost, and what do they save: GPU time, money, writes and the life of flash?"""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers import assumptions, memory
from kvcalc.answers.cost_result import SCHEMA_VERSION, Cost, Drive, Holding, Hourly, TierCost, Work
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.options import Options
from kvcalc.answers.paths import Path, by_tier
from kvcalc.answers.prices import Price, Prices, Rating
from kvcalc.answers.setting import Setting, settle
from kvcalc.errors import UserError
from kvcalc.physics import crossover, holding, kv
from kvcalc.physics.recompute import Way
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import given

MONTH = units.YEAR / 12  # seconds


def cost(
    model: Model | str,
    hardware: Machine | str,
    tokens: int,
    options: Options | None = None,
    prices: Prices | None = None,
) -> Cost:
    """Say, tier by tier, what a cached prefix saves and what holding it costs.

    Arguments as for `margin`; money is in the prices' currency. Raises UserError as `margin` does, and for prices in
    two currencies or of tiers that are not here.
    """
    setting = settle(model, hardware, tokens, options or Options(), [])
    return _answer(_Case(setting, prices or Prices()))


class _Case:
    """A question with its prices by tier, and what every tier needs."""

    def __init__(self, setting: Setting, prices: Prices) -> None:
        self.setting, self.prices = setting, prices
        self.currency = prices.currency
        self.gb_month: dict[str, Price] = by_tier(setting.tiers, prices.gb_month, "--gb-month")
        self.ratings: dict[str, Rating] = by_tier(setting.tiers, prices.endurance, "--endurance")
        self.capacity: dict[str, float] = by_tier(setting.tiers, prices.capacity, "--capacity")
        for name, size in self.capacity.items():
            if not size > 0:
                raise UserError(f"--capacity {name}: a tier holds something; write one like '2 TB'")
        for name in self.ratings:
            if next(tier.medium for tier in setting.tiers if tier.name == name) != "nvme":
                raise UserError(f"--endurance: {name!r} is no drive; drives here are tiers of medium nvme")
        self.bytes = kv.logical(setting.model, setting.tokens, setting.kv)
        self.per_token = kv.marginal(setting.model, setting.tokens, setting.kv)
        self.latency = _work(setting, _one_request(setting))
        self.throughput = _work(setting, setting.ways.chosen)
        self.recompute_gpu_s = setting.tp * self.throughput.seconds
        self.with_new = kv.logical(setting.model, setting.tokens + setting.options.new, setting.kv)
        self.gpu_s = prices.gpu_hour.amount / units.HOUR if prices.gpu_hour else None  # money a GPU-second

    def size(self, tier: Tier) -> float | None:
        """Bytes of all of a tier: the option's, else the profile's."""
        return self.capacity.get(tier.name, tier.capacity.value if tier.capacity else None)

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

    def rating(self, tier: Tier) -> Rating | None:
        """The option's, else the profile's."""
        if tier.name in self.ratings or tier.drive_writes_per_day is None:
            return self.ratings.get(tier.name)
        years = tier.drive_years
        return Rating(tier.drive_writes_per_day.value, years.value * units.YEAR if years else None)


def _one_request(setting: Setting) -> Way:
    """A textbook's rate is that of a whole node; for one request whatever was measured or modelled is nearer."""
    chosen = setting.ways.chosen
    if chosen.basis != "textbook":
        return chosen
    return next((way for way in setting.ways.others if way.basis != "textbook"), chosen)


def _work(setting: Setting, way: Way) -> Work:
    seconds = setting.recompute(way, setting.tokens)
    return Work(seconds, setting.tokens / seconds, way.title, way.basis)


def _answer(case: _Case) -> Cost:
    setting = case.setting
    return Cost(
        schema_version=SCHEMA_VERSION,
        model=setting.model.name,
        model_title=setting.model.title,
        hardware=setting.machine.name,
        hardware_title=setting.machine.node.title,
        tp=setting.tp,
        tokens=setting.tokens,
        new_tokens=setting.options.new,
        engine=setting.engine.name,
        kv_dtype=setting.options.kv_dtype,
        kv_stored=setting.kv,
        weights=setting.weights,
        min_margin=setting.options.min_margin,
        kv_bytes=case.bytes,
        kv_bytes_per_token=case.per_token,
        latency=case.latency,
        throughput=case.throughput,
        recompute_gpu_s=case.recompute_gpu_s,
        rate_per_s=setting.options.rate,
        hit_rate=setting.options.hit_rate,
        currency=case.currency,
        gpu_hour=case.prices.gpu_hour.amount if case.prices.gpu_hour else None,
        tiers=tuple(_tier(case, path) for path in _quickest(setting)),
        room=memory.room(setting, memory.needs(setting)),
        assumptions=(*_premises(case), *assumptions.assumptions(setting)),
    )


def _quickest(setting: Setting) -> tuple[Path, ...]:
    """Of each tier the path that fetches soonest."""
    load, found = setting.loads(setting.tokens), {}
    for path in sorted(setting.paths, key=lambda each: -each.typical.seconds(load)):
        found[path.tier.name] = path
    return tuple(found[tier.name] for tier in setting.tiers)


def _tier(case: _Case, path: Path) -> TierCost:
    setting, tier = case.setting, path.tier
    fetch_s = path.typical.seconds(setting.loads(setting.tokens))
    margin = case.latency.seconds / fetch_s
    gpu = setting.machine.accelerator.memory_bandwidth.value
    fetch_gpu_s = setting.tp * kv.resident(setting.model, setting.tokens, setting.kv, setting.tp) / gpu
    saved_gpu_s, drive = case.recompute_gpu_s - fetch_gpu_s, _drive(case, tier)
    return TierCost(
        tier=tier.name,
        medium=tier.medium,
        links=path.links,
        fetch_s=fetch_s,
        latency_margin=margin,
        verdict=crossover.verdict(margin, setting.options.min_margin),
        fetch_gpu_s=fetch_gpu_s,
        gpu_margin=case.recompute_gpu_s / fetch_gpu_s,
        saved_gpu_s=saved_gpu_s,
        capacity_bytes=case.size(tier),
        holding=_holding(case, tier, saved_gpu_s),
        hourly=_hourly(case, tier, saved_gpu_s, drive),
        drive=drive,
    )


def _holding(case: _Case, tier: Tier, saved_gpu_s: float) -> Holding:
    price, held, rating = case.gb_month.get(tier.name), case.held(tier), case.rating(tier)
    saved = saved_gpu_s * case.gpu_s if case.gpu_s else None
    hold = case.bytes * held if held else None
    wear = holding.wear(rating.writes_per_day) if rating else None
    return Holding(
        saved_per_hit=saved,
        gb_month=price.amount if price else None,
        hold_per_hour=hold * units.HOUR if hold else None,
        wear_s=wear,
        break_even_s=holding.break_even(saved, hold, wear or 0.0) if saved and hold else None,
    )


def _hourly(case: _Case, tier: Tier, saved_gpu_s: float, drive: Drive | None) -> Hourly | None:
    rate, hit_rate = case.setting.options.rate, case.setting.options.hit_rate
    if rate is None or hit_rate is None:
        return None
    gpu_s = units.HOUR * rate * hit_rate * saved_gpu_s
    saved = gpu_s * case.gpu_s if case.gpu_s else None
    held, size = case.held(tier), case.size(tier)
    sooner = max(1.0, drive.rated_s / drive.life_s) if drive and drive.rated_s and drive.life_s else 1.0
    whole = units.HOUR * size * held * sooner if held and size else None
    written = rate * holding.written(case.bytes, case.with_new, hit_rate)
    return Hourly(
        saved_gpu_s=gpu_s,
        saved=saved,
        tier=whole,
        net=None if saved is None or whole is None else saved - whole,
        written_bytes_per_s=written,
        turnover_s=size / written if size and written else None,
    )


def _drive(case: _Case, tier: Tier) -> Drive | None:
    rating, size = case.rating(tier), case.size(tier)
    if rating is None:
        return None
    sustained = holding.sustained(size, rating.writes_per_day) if size else None
    rate, hit_rate = case.setting.options.rate or 0.0, case.setting.options.hit_rate or 0.0
    written = rate * holding.written(case.bytes, case.with_new, hit_rate)
    return Drive(
        writes_per_day=rating.writes_per_day,
        rated_s=rating.life_s,
        sustained_bytes_per_s=sustained,
        sustained_tokens_per_s=sustained / case.per_token if sustained and case.per_token else None,
        life_s=sustained * rating.life_s / written if sustained and rating.life_s and written else None,
    )


def _premises(case: _Case) -> Iterator[Assumption]:
    for option, price in case.quoted():
        said = f"{option} {units.priced(price.amount, price.currency)}"
        yield Assumption(said, (given(f"{option} {units.priced(price.amount, price.currency)}@{price.day}"),))
    gpu = case.setting.machine.accelerator
    yield Assumption(
        "GPU time of a fetch: its bytes are written to HBM; copy engines take no more of the GPU, copy kernels do",
        (gpu.memory_bandwidth.source,),
    )
    if case.latency == case.throughput:
        yield Assumption(
            "GPU time and latency of recomputing are those of one request: no rate of a whole node is known"
        )
    else:
        yield Assumption("GPU time of recomputing: by the rate of the whole node; latency: of one request alone")
    if any(case.rating(tier) for tier in case.setting.tiers):
        text = "Wear: a drive's price is spread over its rated writes; writing a prefix uses up its part of them"
        rated = [tier.drive_writes_per_day for tier in case.setting.tiers if tier.name not in case.ratings]
        yield Assumption(text, tuple(figure.source for figure in rated if figure))
    if case.setting.options.rate is not None:
        yield Assumption(
            "Every token that is computed is written to every tier once; hits write their new tokens alone"
        )
