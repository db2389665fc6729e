"""What the nodes of a sweep call a tier differently and a reader compares: tiers of one medium are one place."""

from collections import Counter
from collections.abc import Hashable, Iterable

from kvcalc.answers.sweep_result import Series


class Places:
    """The place of every tier of every combination.

    On one node it is the tier. Over several nodes the first tiers of a medium are one place, its second ones another:
    a place is named by its tier where all nodes have the same one there, else by its medium.
    """

    def __init__(self, series: Iterable[tuple[Hashable, Series]], several_nodes: bool) -> None:
        self._turn: dict[tuple[Hashable, str], tuple[str, int]] = {}
        seen: Counter[tuple[Hashable, str]] = Counter()
        for key, each in series:
            if (key, each.tier) not in self._turn:
                self._turn[key, each.tier] = (each.medium, seen[key, each.medium])
                seen[key, each.medium] += 1
        self._tiers: dict[tuple[str, int], list[str]] = {}
        for (_, tier), turn in self._turn.items():
            tiers = self._tiers.setdefault(turn, [])
            if tier not in tiers:
                tiers.append(tier)
        self._apart = not several_nodes or all(len(tiers) == 1 for tiers in self._tiers.values())

    def name(self, key: Hashable, tier: str) -> str:
        """The place of a tier of a combination."""
        return tier if self._apart else self._name(self._turn[key, tier])

    def _name(self, turn: tuple[str, int]) -> str:
        tiers = self._tiers[turn]
        elsewhere = sum(tier in tiers for tiers in self._tiers.values() for tier in self._tiers[turn][:1])
        if len(tiers) == 1 and elsewhere == 1:
            return tiers[0]
        medium, number = turn
        return f"{medium} {number + 1}" if number else medium

    def legend(self) -> str:
        """What each place is, where that is not its name."""
        if self._apart:
            return ""
        said = ((self._name(turn), tiers) for turn, tiers in self._tiers.items())
        return "; ".join(f"{name}: {', '.join(tiers)}" for name, tiers in said if tiers != [name])
