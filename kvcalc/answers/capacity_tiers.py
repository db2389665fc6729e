"""How many prefixes each tier below HBM holds, and what it adds where it holds what the tiers above hold too."""

from kvcalc.answers.capacity_result import Fits, TierSize
from kvcalc.answers.capacity_setting import CapacitySetting
from kvcalc.physics.engines.rules import Account
from kvcalc.profiles.hardware import Tier

PRIVATE = ("dram", "nvme")  # of one replica; a store or another node serves all of them
ORDER = ("dram", "nvme", "network", "store")

Range = tuple[int, int]


def tiers(setting: CapacitySetting, prefix: Account, hbm: Fits) -> tuple[TierSize, ...]:
    """One row a tier, from the nearest to the farthest; low counts are weighed with low ones, high with high ones."""
    found, above = [], (hbm.prefixes, hbm.prefixes)
    for tier, size in sorted(setting.tiers, key=lambda each: ORDER.index(each[0].medium)):
        shared = tier.medium not in PRIVATE
        share = size if size is None or shared else size / setting.options.dp
        held = None if share is None else prefixes(share, prefix)
        found.append(_tier(setting, tier, share, held, above))
        above = above if held is None else (max(above[0], held[0]), max(above[1], held[1]))
    return tuple(found)


def prefixes(size: float, prefix: Account) -> Range:
    """With the most that an engine may store of each, and with the least."""
    return int(size // prefix.stored_whole), int(size // prefix.stored)


def _tier(setting: CapacitySetting, tier: Tier, share: float | None, held: Range | None, above: Range) -> TierSize:
    low, high = held or (None, None)
    return TierSize(
        tier=tier.name,
        medium=tier.medium,
        capacity_bytes=share,
        shared=tier.medium not in PRIVATE,
        prefixes_low=low,
        prefixes_high=high,
        tokens_low=None if low is None else low * setting.prefix,
        tokens_high=None if high is None else high * setting.prefix,
        adds_prefixes_low=None if low is None else max(low - above[0], 0),
        adds_prefixes_high=None if high is None else max(high - above[1], 0),
    )
