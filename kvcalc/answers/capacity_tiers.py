"""How many prefixes each tier below HBM holds, and what it adds where it holds what the tiers above hold too."""

from kvcalc.answers.capacity_result import Fits, TierSize
from kvcalc.answers.capacity_setting import CapacitySetting
from kvcalc.physics.engines.rules import Account
from kvcalc.profiles.hardware import Tier

PRIVATE = ("dram", "nvme")  # of one replica; a store or another node serves all of them
ORDER = ("dram", "nvme", "network", "store")


def tiers(setting: CapacitySetting, prefix: Account, hbm: Fits) -> tuple[TierSize, ...]:
    """One row a tier, from the nearest to the farthest."""
    found, above = [], hbm.prefixes
    for tier, size in sorted(setting.tiers, key=lambda each: ORDER.index(each[0].medium)):
        row = _tier(setting, tier, size, prefix, above)
        above = max(above, row.prefixes or 0)
        found.append(row)
    return tuple(found)


def _tier(setting: CapacitySetting, tier: Tier, size: float | None, prefix: Account, above: int) -> TierSize:
    shared = tier.medium not in PRIVATE
    share = size if size is None or shared else size / setting.options.dp
    count = None if share is None else int(share // prefix.stored_whole)
    return TierSize(
        tier=tier.name,
        medium=tier.medium,
        capacity_bytes=share,
        shared=shared,
        prefixes=count,
        prefixes_most=None if share is None else int(share // prefix.stored),
        tokens=None if count is None else count * setting.prefix,
        adds_prefixes=None if count is None else max(count - above, 0),
    )
