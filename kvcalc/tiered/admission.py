"""Admission: which blocks are worth a place in a lower tier."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol


class Admission(Protocol):
    """Sees every use of a block and says whether the block may go down."""

    def use(self, key: Hashable) -> None:
        """The block was computed or found."""

    def admits(self, key: Hashable) -> bool:
        """May it have a place below?"""


class Always:
    """Every block is kept."""

    def __init__(self, remembered: int = 0) -> None: ...

    def use(self, key: Hashable) -> None:
        """See Admission."""

    def admits(self, key: Hashable) -> bool:  # noqa: ARG002
        """See Admission."""
        return True


class OnSecondUse:
    """A block is kept once it was used twice; the last `remembered` blocks are known, in a tier or not."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._uses: OrderedDict[Hashable, bool] = OrderedDict()  # block: used twice?

    def use(self, key: Hashable) -> None:
        """See Admission."""
        self._uses[key] = key in self._uses
        self._uses.move_to_end(key)
        if len(self._uses) > self._remembered:
            self._uses.popitem(last=False)

    def admits(self, key: Hashable) -> bool:
        """See Admission."""
        return self._uses.get(key, False)


ADMISSIONS: dict[str, Callable[[int], Admission]] = {"always": Always, "second-use": OnSecondUse}
