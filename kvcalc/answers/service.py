"""A replica of a model on a node as a replay knows it: prefill times, sizes in blocks, links."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kvcalc import units
from kvcalc.answers.curve_result import TierPlace
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.paths import Path, Way
from kvcalc.answers.placement import Placing
from kvcalc.answers.setting import Setting, settle
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics import kv
from kvcalc.physics.transfer import Route
from kvcalc.profiles.hardware import Tier as TierProfile
from kvcalc.simulate.service import Service, Tier
from kvcalc.tiered.movers import Link

NEAR = 0.1  # of a rate: what is nearer changes nothing


@frozen
class Blocks:
    """What is cut into blocks: their tokens, the mean prompt that stands for all, and the longest prompt's blocks."""

    tokens: float
    prompt: int
    longest: int


@frozen
class Links:
    """A tier's links by a setting, each way."""

    tier: TierProfile
    read: Link
    write: Link


def setting(placing: Placing, blocks: Blocks, tiers: Sequence[str]) -> Setting:
    """The question of the mean prompt, with these tiers. Raises UserError as `margin` does."""
    options = replace(placing.options, kv_dtype=placing.kv_dtypes[0], tiers=tuple(tiers))
    return settle(placing.model, placing.machine, blocks.prompt, options, [])


def service(found: Setting, places: Sequence[TierPlace], blocks: Blocks) -> Service:
    """The replica whose tiers stand at these places of a hit-rate curve, HBM first.

    Raises UserError where HBM is smaller than the longest prompt.
    """
    hbm, *lower = places
    sizes = {place.tier: int(place.tier_tokens / blocks.tokens) for place in places}
    if sizes[hbm.tier] < blocks.longest:
        raise UserError(
            f"the longest prompt has {blocks.longest:,} blocks and HBM holds {sizes[hbm.tier]:,}; "
            "raise --tp, or give more with --hbm"
        )
    between = {place.tier: links(found, place.tier, blocks) for place in lower}
    tiers = tuple(
        Tier(place.tier, place.medium, sizes[place.tier], between[place.tier].read, between[place.tier].write)
        for place in lower
        if sizes[place.tier]
    )
    return Service(found.ways.chosen.seconds, block_bytes(found, blocks), sizes[hbm.tier], blocks.longest, tiers)


def block_bytes(found: Setting, blocks: Blocks) -> float:
    """Bytes of a block, as part of the mean prompt."""
    return kv.logical(found.model, blocks.prompt, found.kv) / blocks.prompt * blocks.tokens


def links(found: Setting, tier: str, blocks: Blocks) -> Links:
    """The quickest path to a tier as two links: what a longer fetch takes more a block, and what any takes.

    Whatever is no memory is written through a buffer of one longest prompt.
    """
    mine = [path for path in found.paths if path.tier.name == tier]
    best = min(mine, key=lambda path: path.typical.seconds(found.loads(blocks.prompt)))
    read, write = _link(found, best.typical, blocks), _link(found, _written(best), blocks)
    if best.tier.medium != "dram":
        seconds = blocks.longest * block_bytes(found, blocks) / write.bytes_per_s
        write = replace(write, buffer_s=seconds)
    return Links(best.tier, read, write)


def _written(path: Path) -> Route:
    """The way back: as fast as a read where the profile has no write."""
    tier = path.way.tier
    way = Way(replace(tier, read=tier.write or tier.read), path.way.host, path.way.tp, path.way.engine)
    return way.route(path.links, "typical")


def _link(found: Setting, route: Route, blocks: Blocks) -> Link:
    """The straight line through the times of one block and of the mean prompt, or of two blocks if that is longer."""
    seconds: Callable[[int], float] = lambda tokens: route.seconds(found.loads(tokens))  # noqa: E731
    short = max(1, round(blocks.tokens))
    long = max(blocks.prompt, 2 * short)
    each = (seconds(long) - seconds(short)) / ((long - short) / blocks.tokens)
    if each <= 0:
        raise UserError(f"{found.model.name!r} keeps no more for a longer prompt, so its cache has no blocks to replay")
    return Link(block_bytes(found, blocks) / each, max(0.0, seconds(short) - each * short / blocks.tokens))


def rate_warning(found: Setting) -> Iterator[str]:
    """A replica that prefills at a textbook's rate, where the rate of one request is known."""
    measured = next((way for way in found.ways.others if way.basis == "measured"), None)
    if found.ways.chosen.basis != "textbook" or measured is None:
        return
    used, alone = (found.tokens / found.recompute(way, found.tokens) for way in (found.ways.chosen, measured))
    if abs(used / alone - 1) > NEAR:
        yield (
            f"a replica prefills at {units.count(used)} tok/s, a textbook's rate of a node's throughput; by the "
            f"{measured.title} one mean prompt is prefilled at {units.count(alone)} tok/s: replay with --prefill "
            f"{units.count(alone).replace(',', '')} too, for loads and times change with it"
        )


def small(made: Service, blocks: Blocks) -> Iterator[str]:
    """Tiers that don't hold the longest prompt: what HBM evicts for one while it is copied down can't be replaced."""
    for tier in made.tiers:
        if tier.blocks < blocks.longest:
            yield (
                f"{tier.name} holds {tier.blocks:,} blocks and the longest prompt has {blocks.longest:,}: what is "
                "being copied down can't make room for what comes after it, so it hits less than the size on the curve"
            )


def assumptions(tiers: Sequence[TierProfile]) -> tuple[Assumption, ...]:
    """What a replay leaves out, and what writes rest on."""
    texts = [
        Assumption(
            "A replica prefills one request at a time; what is fetched crosses each direction of each link one block "
            "after another, in the order in which it was asked for, and links do not slow one another"
        ),
        Assumption(
            "Decoding is not modelled: it takes no time, no memory and no blocks, so nothing is preempted; time to "
            "first token is the wait for the GPU and for blocks, and the prefill"
        ),
    ]
    buffered = [tier.name for tier in tiers if tier.medium != "dram"]
    if buffered:
        text = "written through a buffer in host memory for one longest prompt; what finds it full is dropped"
        texts.append(Assumption(f"{', '.join(buffered)}: {text}"))
    unwritten = [tier.name for tier in tiers if tier.write is None]
    if unwritten:
        texts.append(Assumption(f"{', '.join(unwritten)}: written as fast as read, for want of a figure"))
    return tuple(texts)
