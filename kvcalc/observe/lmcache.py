"""LMCache's lines in an engine's log (0.2 to 0.4): what it stored and retrieved. Its "gb" is 2^30."""

import re

from kvcalc import units
from kvcalc.observe.forms import LONGEST_QUOTE, NUMBER, worker
from kvcalc.observe.observation import Finding, Lookup, Observation, Traffic, Transfer

LOOKS_FOR = "'LMCache INFO: Stored' or 'LMCache INFO: Retrieved'"
MARKERS = frozenset(("out of total", "required tokens", "LMCache"))

# lmcache/v1/cache_engine.py; the last form is that of a separate LMCache server
_SIZE = rf"\.? size: (?P<gib>{NUMBER}) gb, cost (?P<ms>{NUMBER}) ms"
_MOVED = (
    re.compile(rf"(?P<verb>Stored) (?P<tokens>\d+) out of total \d+ tokens(?:{_SIZE})?", re.IGNORECASE),
    re.compile(
        rf"(?P<verb>Retrieved) (?P<tokens>\d+) out of (?:\d+ required tokens \(from \d+ total tokens\)|"
        rf"\d+ out of total \d+ tokens)(?:{_SIZE})?",
        re.IGNORECASE,
    ),
    re.compile(rf"LMCache.*(?P<verb>Stored|Retrieved) (?P<tokens>\d+) tokens in (?P<s>{NUMBER}) seconds"),
)
_ASKED = re.compile(r"Total tokens (?P<asked>\d+), LMCache hit tokens: (?P<found>\d+)")
_CONFIG = {
    "chunk": re.compile(r"'?chunk_size'?[=:] ?(\d+)"),
    "host": re.compile(rf"'?max_local_cpu_size'?[=:] ?({NUMBER})"),
    "disk": re.compile(rf"'?max_local_disk_size'?[=:] ?({NUMBER})"),
    "version": re.compile(r"LMCache v(?:ersion)?:? ?(\d[\w.]*)"),
}


class Moved:
    """Sums over the lines of one worker, one way; a log may hold millions of them."""

    def __init__(self) -> None:
        self.tokens = 0
        self.gib = 0.0
        self.seconds = 0.0
        self.lines = 0
        self.sized = False
        self.latest: Finding | None = None

    def add(self, found: dict[str, str | None]) -> None:
        """One line."""
        self.lines += 1
        self.tokens += int(found["tokens"] or 0)
        if found.get("gib"):
            self.sized = True
            self.gib += float(found["gib"] or 0)
            self.seconds += float(found["ms"] or 0) / 1000
        self.seconds += float(found.get("s") or 0)


class Reader:
    """Sums up LMCache's lines, worker by worker."""

    def __init__(self) -> None:
        self._moved: dict[tuple[str, str | None], Moved] = {}
        self._asked: dict[str | None, list[int]] = {}
        self._config: dict[str, str] = {}

    def feed(self, number: int, line: str) -> bool:
        """Add what a line states; was it one of LMCache's transfers?"""
        for pattern in _MOVED:
            if found := pattern.search(line):
                held = self._moved.setdefault((found["verb"].lower(), worker(line)), Moved())
                held.add(found.groupdict())
                held.latest = Finding(found["verb"].lower(), held.tokens, number, line[:LONGEST_QUOTE], worker(line))
                return True
        if found := _ASKED.search(line):
            sums = self._asked.setdefault(worker(line), [0, 0])
            sums[0] += int(found["asked"])
            sums[1] += int(found["found"])
        elif "LMCache" in line:
            for name, pattern in _CONFIG.items():
                if found := pattern.search(line):
                    self._config.setdefault(name, found[1])
        return False

    def stands(self) -> bool:
        """Has LMCache said anything of its cache?"""
        return bool(self._moved or self._asked or "host" in self._config)

    def observation(self) -> Observation:
        """What the lines say together: bytes of all workers, tokens once, the time of the slowest worker."""
        stored, retrieved = self._transfer("stored", "hbm", "lmcache"), self._transfer("retrieved", "lmcache", "hbm")
        asked = max(self._asked.values(), default=None)
        lookups = (Lookup("external", "tokens", asked=asked[0], found=asked[1]),) if asked else ()
        transfers = tuple(each for each in (retrieved, stored) if each)
        return Observation(
            engine="lmcache",
            version=self._config.get("version"),
            block_tokens=int(self._config["chunk"]) if "chunk" in self._config else None,
            host_pool_bytes=self._pool("host"),
            disk_pool_bytes=self._pool("disk"),
            traffic=Traffic(lookups=lookups, transfers=transfers) if lookups or transfers else None,
            findings=tuple(held.latest for held in self._moved.values() if held.latest),
            notes=self._notes(),
        )

    def _pool(self, name: str) -> float | None:
        """The sizes in LMCache's configuration are GiB (lmcache/v1/config.py multiplies by 1024**3)."""
        size = float(self._config.get(name, 0))
        return units.size(f"{size} GiB") if size > 0 else None

    def _of(self, verb: str) -> list[Moved]:
        return [held for (each, _), held in self._moved.items() if each == verb]

    def _transfer(self, verb: str, source: str, target: str) -> Transfer | None:
        held = self._of(verb)
        if not held:
            return None
        size = units.size(f"{sum(each.gib for each in held):.4f} GiB") if any(each.sized for each in held) else None
        seconds = max(each.seconds for each in held) or None
        tokens = max(each.tokens for each in held)
        return Transfer(source, target, bytes=size, tokens=tokens, seconds=seconds)

    def _notes(self) -> tuple[str, ...]:
        workers = len({name for _, name in self._moved})
        lines = sum(held.lines for held in self._moved.values())
        notes = [f"transfers: sums over {lines} lines"] if lines else []
        if workers > 1:
            notes.append(f"transfers: {workers} workers repeat the same tokens; bytes are theirs together")
        return tuple(notes)
