"""What do holding and moving KV cost, and what do they save: GPU time, money, writes and the life of flash?"""

from kvcalc import units
from kvcalc.answers import assumptions, cost_premises, memory
from kvcalc.answers.cost_case import Case
from kvcalc.answers.cost_result import SCHEMA_VERSION, Cost, Drive, Holding, Hourly, TierCost
from kvcalc.answers.options import Options
from kvcalc.answers.paths import Path
from kvcalc.answers.prices import Prices
from kvcalc.answers.setting import settle
from kvcalc.physics import crossover, holding, kv
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.model import Model


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
    return _answer(Case(setting, prices or Prices()))


def _answer(case: Case) -> Cost:
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
        tiers=tuple(_tier(case, path) for path in case.paths),
        room=memory.room(setting, memory.needs(setting)),
        warnings=tuple(cost_premises.warnings(case)),
        assumptions=(
            *cost_premises.premises(case),
            *assumptions.assumptions(setting, "GPU time of recomputing" if case.latency != case.throughput else None),
        ),
    )


def _tier(case: Case, path: Path) -> TierCost:
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


def _holding(case: Case, tier: Tier, saved_gpu_s: float) -> Holding:
    price, held, rating = case.gb_month.get(tier.name), case.held(tier), case.rating(tier)
    saved = saved_gpu_s * case.gpu_s if case.gpu_s else None
    hold = case.bytes * held if held else None
    wear = holding.wear(rating[0]) if rating else None
    hits = holding.hits_per_write(case.setting.options.hit_rate)
    return Holding(
        saved_per_hit=saved,
        gb_month=price.amount if price else None,
        hold_per_hour=hold * units.HOUR if hold else None,
        hits_per_write=hits,
        wear_s=wear,
        break_even_s=holding.break_even(saved, hold, wear or 0.0, hits) if saved and hold else None,
    )


def _hourly(case: Case, tier: Tier, saved_gpu_s: float, drive: Drive | None) -> Hourly | None:
    rate, hit_rate, load = case.setting.options.rate, case.setting.options.hit_rate, case.load(tier)
    if rate is None or hit_rate is None or load is None:
        return None
    served, written = case.served(tier), case.written(tier)
    gpu_s = units.HOUR * min(served * hit_rate * saved_gpu_s, case.setting.machine.node.gpus)
    saved = gpu_s * case.gpu_s if case.gpu_s else None
    held, size = case.held(tier), case.size(tier)
    sooner = max(1.0, drive.rated_s / drive.life_s) if drive and drive.rated_s and drive.life_s else 1.0
    whole = units.HOUR * size * held * sooner if held and size else None
    return Hourly(
        served_per_s=served,
        saturation_per_s=load.saturation_per_s,
        saved_gpu_s=gpu_s,
        saved=saved,
        tier=whole,
        net=None if saved is None or whole is None else saved - whole,
        written_bytes_per_s=written,
        turnover_s=size / written if size and written else None,
    )


def _drive(case: Case, tier: Tier) -> Drive | None:
    rating, size = case.rating(tier), case.size(tier)
    if rating is None:
        return None
    (writes, life), written = rating, case.written(tier)
    sustained = holding.sustained(size, writes) if size else None
    return Drive(
        writes_per_day=writes,
        rated_s=life,
        sustained_bytes_per_s=sustained,
        sustained_tokens_per_s=sustained / case.per_token if sustained and case.per_token else None,
        life_s=sustained * life / written if sustained and life and written else None,
    )
