"""A plan of a KV pool: which layers share blocks, how large a block is, how many of them a sequence takes."""

import math

from kvcalc.frozen import frozen


@frozen
class Segment:
    """Layers kept alike on one rank, cut into one or several block tables of equal blocks."""

    kind: str
    layers: int  # that hold something
    block_tokens: int  # tokens of a block; 0 where a sequence takes `constant` blocks whatever its length
    block_bytes: int  # one block of one table, all layers of the table together
    tables: int = 1
    padding_layers: int = 0  # that hold nothing and are allocated with the others
    window: int | None = None  # tokens that are kept of a sequence at rest
    spare: int = 0  # blocks more, since a window begins inside a block
    constant: int = 0  # blocks of each table
    entries: bool = False  # only full blocks exist (a compressed entry stands for `block_tokens` tokens)
    share: float = 0.0  # of the pool, where segments don't share one

    def blocks(self, tokens: int, in_flight: int = 0) -> int:
        """Blocks of all tables for a sequence of which `in_flight` tokens are computed in one step."""
        if self.constant:
            return self.tables * self.constant
        if self.entries:
            return self.tables * (tokens // self.block_tokens)
        held = tokens if self.window is None else min(self.window + in_flight, tokens)
        return self.tables * (-(-held // self.block_tokens) + self.spare)

    def bytes(self, tokens: int, in_flight: int = 0) -> int:
        """Bytes of those blocks."""
        return self.blocks(tokens, in_flight) * self.block_bytes

    @property
    def token_bytes(self) -> float:
        """Bytes that one more token costs past every window; 0 for what has stopped growing."""
        growing = self.window is None and not self.constant
        return self.tables * self.block_bytes / self.block_tokens if growing else 0.0


@frozen
class Plan:
    """How one rank keeps the model's cache."""

    engine: str
    segments: tuple[Segment, ...]
    in_flight: int = 0  # tokens that a running sequence computes in one step
    modelled: bool = True  # False: the engine does something else here, and the bytes are the plain ones
    notes: tuple[str, ...] = ()

    @property
    def separate(self) -> bool:
        """Has each segment a pool of its own?"""
        return any(segment.share for segment in self.segments)

    @property
    def block_bytes(self) -> int | None:
        """The size of every block of the pool; None where they differ."""
        sizes = {segment.block_bytes for segment in self.segments}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def token_bytes(self) -> float:
        """Bytes that one more token costs on this rank, past every window."""
        return sum(segment.token_bytes for segment in self.segments)

    @property
    def tables(self) -> int:
        """Block tables of a sequence."""
        return sum(segment.tables for segment in self.segments)

    def resident(self, tokens: int, running: bool = False) -> int:
        """Bytes on this rank of a sequence at rest, or of one that runs."""
        return sum(segment.bytes(tokens, self.in_flight if running else 0) for segment in self.segments)

    def sequences(self, pool_bytes: float, tokens: int, running: bool = False) -> float:
        """How many sequences of this length a pool holds; a fraction of one where not even one fits."""
        in_flight = self.in_flight if running else 0
        if self.separate:
            need = [(each, each.bytes(tokens, in_flight)) for each in self.segments]
            return min((each.share * pool_bytes / size for each, size in need if size), default=math.inf)
        if self.block_bytes:
            total = sum(segment.blocks(tokens, in_flight) for segment in self.segments)
            return pool_bytes // self.block_bytes / total if total else math.inf
        size = self.resident(tokens, running)
        return pool_bytes / size if size else math.inf

    def longest(self, pool_bytes: float, most: int) -> int:
        """The longest running sequence that fits, up to `most` tokens; 0 if none does."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.sequences(pool_bytes, middle, running=True) >= 1:
                low = middle
            else:
                high = middle - 1
        return low
