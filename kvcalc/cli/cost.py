"""`kvcalc cost`: what holding and moving KV costs, and what it saves."""

from functools import partial
from typing import Annotated

import typer

from kvcalc import units
from kvcalc.cli import asked
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, read
from kvcalc.cli.options import latency as read_latency


def cost(
    model: asked.ModelOption,
    seq: asked.SeqOption = "20000",
    hardware: Annotated[str, typer.Option(help="Node profile: a name, or a YAML file")] = DEFAULT_NODE,
    tier: asked.TierOption = None,
    kv_dtype: asked.KvDtypeOption = "fp8",
    weights: asked.WeightsOption = None,
    tp: asked.TpOption = None,
    engine: asked.EngineOption = "ideal",
    prefill: asked.PrefillOption = None,
    bandwidth: asked.BandwidthOption = None,
    latency: asked.LatencyOption = None,
    links: asked.LinksOption = None,
    new: asked.NewOption = "0",
    min_margin: asked.MinMarginOption = 3.0,
    rate: asked.RateOption = None,
    hit_rate: asked.HitRateOption = None,
    gpu_hour: Annotated[
        str | None, typer.Option(help="Price of one GPU and hour, with its date: '2.50 USD@2026-11-29'")
    ] = None,
    gb_month: Annotated[
        list[str] | None,
        typer.Option(help="TIER=PRICE of 10^9 bytes and month: dram='0.30 USD@2026-11-29'; repeatable"),
    ] = None,
    endurance: Annotated[
        list[str] | None, typer.Option(help="TIER=RATING of a drive: nvme='1 DWPD for 5 years'; repeatable")
    ] = None,
    capacity: Annotated[list[str] | None, typer.Option(help="TIER=SIZE of all of it: nvme=30.72TB; repeatable")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the arithmetic, line by line")] = False,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Say, tier by tier, what a cached prefix saves and what holding it costs: GPU time, money, writes."""
    from kvcalc.answers import cost as answers
    from kvcalc.answers.options import Options
    from kvcalc.answers.prices import Price, Prices, Rating
    from kvcalc.render import show
    from kvcalc.tables import cost as tables

    options = Options(
        kv_dtype=kv_dtype,
        weights=weights,
        tp=tp,
        engine=engine,
        prefill=None if prefill is None else asked.prefill(prefill),
        tiers=tuple(tier or ()),
        bandwidth=by_tier(bandwidth or [], "--bandwidth", "50GB/s", units.rate),
        latency=by_tier(latency or [], "--latency", "100us", read_latency),
        links=None if links is None else asked.links(links),
        new=read("--new", new, partial(units.tokens, least=0)),
        min_margin=min_margin,
        rate=None if rate is None else read("--rate", rate, units.frequency),
        hit_rate=None if hit_rate is None else read("--hit-rate", hit_rate, units.share),
    )
    prices = Prices(
        gpu_hour=None if gpu_hour is None else read("--gpu-hour", gpu_hour, lambda text: Price(*units.money(text))),
        gb_month=by_tier(gb_month or [], "--gb-month", "'0.30 USD@2026-11-29'", lambda text: Price(*units.money(text))),
        endurance=by_tier(
            endurance or [], "--endurance", "'1 DWPD for 5 years'", lambda text: Rating(*units.endurance(text))
        ),
        capacity=by_tier(capacity or [], "--capacity", "2TB", units.size),
    )
    result = answers.cost(model, hardware, read("--seq", seq, units.tokens), options, prices)
    show.show([result], tables.page(result, explain), form, output)
