"""LMCache's lines in an engine's log (0.2 to 0.4): what it stored and retrieved. Its "gb" is 2^30."""

import re

from kvcalc import units
from kvcalc.errors import printable, shown
from kvcalc.observe import prefix
from kvcalc.observe.observation import Finding, Lookup, Observation, Traffic, Transfer
from kvcalc.observe.stated import LONGEST_QUOTE

LOOKS_FOR = "'LMCache INFO: Stored' or 'LMCache INFO: Retrieved'"
MARKERS = frozenset(("out of total", "required tokens", "LMCache"))

_COUNT, _NUMBER = r"\d{1,12}", r"\d{1,9}(?:\.\d{1,9})?"
# lmcache/v1/cache_engine.py; the last form is that of a separate LMCache server
_MOVED = re.compile(
    rf"(?P<verb>[Ss]tored|[Rr]etrieved) (?P<tokens>{_COUNT}) (?:out of (?:total )?{_COUNT} (?:required )?"
    rf"(?:out of total {_COUNT} )?tokens(?: \(from {_COUNT} total tokens\))?"
    rf"(?P<size>\.? size: (?:(?P<gib>{_NUMBER}) [gG][bB], cost (?P<ms>{_NUMBER}) ms)?)?"
    rf"|tokens in (?P<s>{_NUMBER}) seconds)",
    re.ASCII,
)
_ASKED = re.compile(rf"Total tokens (?P<asked>{_COUNT}), LMCache hit tokens: (?P<found>{_COUNT})", re.ASCII)
_OPENS = re.compile(r"(?:[Ss]tored|[Rr]etrieved) [^\s]{1,400} (?:out of|tokens in) |Total tokens ", re.ASCII)
_SPEAKS = re.compile(r"(?<!\w)LMCache")
_CONFIG = {
    "chunk": re.compile(rf"'?chunk_size'?[=:] ?({_COUNT})\b", re.ASCII),
    "host": re.compile(rf"'?max_local_cpu_size'?[=:] ?({_NUMBER})(?![\d.])", re.ASCII),
    "disk": re.compile(rf"'?max_local_disk_size'?[=:] ?({_NUMBER})(?![\d.])", re.ASCII),
    "version": re.compile(r"LMCache v(?:ersion)?:? ?(\d[\w.]{0,40})", re.ASCII),
}


class Moved:
    """Sums over the lines of one worker, one way; a log may hold millions of them."""

    def __init__(self) -> None:
        self.tokens = 0
        self.gib = 0.0
        self.seconds = 0.0
        self.lines = 0
        self.unsized = 0  # lines with tokens and without their bytes
        self.latest = (0, "")

    def add(self, number: int, line: str, found: re.Match[str]) -> None:
        """One line."""
        tokens, gib, milliseconds, seconds = found.group("tokens", "gib", "ms", "s")
        self.lines += 1
        self.tokens += int(tokens)
        self.latest = number, line
        if gib is not None:
            self.gib += float(gib)
            self.seconds += float(milliseconds) / 1000
        elif int(tokens):
            self.unsized += 1
            self.seconds += float(seconds or 0)


class Reader:
    """Sums up LMCache's lines, worker by worker."""

    def __init__(self) -> None:
        self._moved: dict[tuple[str, str | None], Moved] = {}
        self._asked: dict[str | None, list[int]] = {}
        self._config: dict[str, str] = {}
        self.doubt: str | None = None  # the first figure that cannot be read

    def feed(self, number: int, line: str) -> bool:
        """Add what a line states; was it one of LMCache's transfers or look-ups?"""
        opened = _OPENS.search(line)
        if opened and prefix.leads(line, opened.start()):
            return self._counted(number, line, opened.start())
        if "LMCache" in line and prefix.begin(line, _SPEAKS) is not None:
            for name, pattern in _CONFIG.items():
                if stated := pattern.search(line):
                    self._config.setdefault(name, stated[1])
        return False

    def _counted(self, number: int, line: str, at: int) -> bool:
        by = prefix.worker(line[:at])
        if (found := _MOVED.match(line, at)) and (found["s"] is None or "LMCache" in line):
            self._moved.setdefault((found["verb"].lower(), by), Moved()).add(number, line, found)
            if found["size"] and found["gib"] is None:
                self._unread(number, line[at:])
        elif found := _ASKED.match(line, at):
            sums = self._asked.setdefault(by, [0, 0])
            sums[0] += int(found["asked"])
            sums[1] += int(found["found"])
        elif "LMCache" in line:
            self._unread(number, line[at:])
        else:
            return False
        return True

    def _unread(self, number: int, text: str) -> None:
        said = f"line {number} states a figure that can't be read (LMCache): {shown(printable(text))}"
        self.doubt = self.doubt or said

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
            findings=self._findings(),
            notes=self._notes(),
        )

    def _pool(self, name: str) -> float | None:
        """The sizes in LMCache's configuration are GiB (lmcache/v1/config.py multiplies by 1024**3)."""
        size = float(self._config.get(name, 0))
        return units.size(f"{size} GiB") if size > 0 else None

    def _findings(self) -> tuple[Finding, ...]:
        """The sum of each worker, one way, with the last line that it is over."""
        return tuple(
            Finding(verb, held.tokens, held.latest[0], printable(held.latest[1][:LONGEST_QUOTE]), by)
            for (verb, by), held in self._moved.items()
        )

    def _transfer(self, verb: str, source: str, target: str) -> Transfer | None:
        """None where no token was moved. Bytes only if every line states them: else they'd be of fewer tokens."""
        held = [each for (name, _), each in self._moved.items() if name == verb and each.tokens]
        if not held:
            return None
        gib = round(sum(each.gib for each in held), 4)
        sized = gib and not any(each.unsized for each in held)
        return Transfer(
            source,
            target,
            bytes=gib * units.size("1 GiB") if sized else None,
            tokens=max(each.tokens for each in held),
            seconds=max(each.seconds for each in held) or None,
        )

    def _notes(self) -> tuple[str, ...]:
        workers = len({name for _, name in self._moved})
        lines = sum(held.lines for held in self._moved.values())
        notes = [f"transfers: sums over {lines} lines"] if lines else []
        if lines and not any(held.tokens for held in self._moved.values()):
            notes = [f"transfers: none; {lines} lines state 0 tokens"]
        if workers > 1:
            notes.append(f"transfers: {workers} workers repeat the same tokens; bytes are theirs together")
        if any(held.gib and held.unsized for held in self._moved.values()):
            notes.append("transfers: some lines state tokens without their bytes, so the bytes are left out")
        return (*notes, self.doubt) if self.doubt else tuple(notes)
