"""The robots.txt rules of all hosts: whether a URL may be fetched now, or its robots.txt must be fetched first.

docs/robots.md has the steps. The only I/O is reading and writing the table's rows.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from webcrawl.net.robots import Rules, parse
from webcrawl.net.robots_packed import pack, unpack
from webcrawl.net.robots_policy import Meaning, meaning

SCHEMES = ("http:", "https:", "ftp:")  # RFC 9309 2.3
_PATH = "/robots.txt"
KEEP = 86_400.0  # seconds, RFC 9309 2.4: no longer than 24 hours
TRIES = 3  # for a robots.txt that cannot be fetched
HOSTS = 2**18
_SHUT = b"!"  # begins the row of an origin whose robots.txt could not be fetched; the number of tries follows


Row = tuple[float, bytes] | None  # of the table: when it expires, and what it says


class Verdict(Enum):
    """What to do with a URL now."""

    ALLOWED = "fetch it"
    FORBIDDEN = "it ends: Status.ROBOTS_FORBIDDEN"
    FETCH = "fetch its host's robots.txt first, then ask again"
    WAIT = "robots.txt could not be fetched: put it back until next_try"
    UNREACHABLE = "it ends: Status.ROBOTS_UNREACHABLE"


class RobotsTable(Protocol):
    """Persistent storage for rules: webcrawl.frontier.robots_rows.RobotsRows."""

    def robots(self, origin: str) -> tuple[float, bytes] | None:
        """When the row expires, and the row."""
        ...

    def set_robots(self, origin: str, until: float, rules: bytes) -> None:
        """Replace the row."""
        ...

    def sweep(self, before: float) -> None:
        """Delete some of the rows that expired before `before`."""
        ...


@dataclass(slots=True)
class Heard:
    """What a robots.txt says besides its rules."""

    meaning: Meaning
    crawl_delay: float = 0.0  # seconds, 0 for none
    sitemaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Entry:
    until: float
    rules: Rules
    tries: int = 0  # that failed in a row

    @property
    def shut(self) -> Verdict:
        return Verdict.UNREACHABLE if self.tries >= TRIES else Verdict.WAIT


class RobotsBook:
    """Rules by origin (`scheme://host:port`), those in use cached in memory, all in the table.

    `memory` bounds the bytes of all rules in memory, HOSTS their number. Times are seconds since 1970, since they are
    stored. A verdict costs 5 us, 40 if its rules are loaded from the table.
    """

    def __init__(self, table: RobotsTable, agent: str, *, retry_wait: float = 60.0, memory: int = 32 << 20) -> None:
        self._table, self._agent, self._retry_wait, self._room = table, agent, retry_wait, memory
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._weight = 0
        self.counters: Counter[str] = Counter()

    def __len__(self) -> int:
        """Origins in memory."""
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<RobotsBook origins={len(self._entries)} bytes={self._weight}>"

    def verdict(self, url: str, now: float) -> Verdict:
        """What to do with a canonical URL that is due."""
        if not url.startswith(SCHEMES):
            return Verdict.ALLOWED
        origin = origin_of(url)
        if url.endswith(_PATH) and url == robots_url(origin):  # RFC 9309 2.2.2: implicitly allowed
            return Verdict.ALLOWED
        entry = self._entry(origin)
        if entry is None or entry.until <= now:
            return Verdict.FETCH
        if entry.tries:
            return entry.shut
        return Verdict.ALLOWED if entry.rules.allowed(url) else Verdict.FORBIDDEN

    def next_try(self, url: str) -> float:
        """When to try a waiting URL again."""
        entry = self._entry(origin_of(url))
        return entry.until if entry is not None else 0.0

    def answered(self, origin: str, status: int, body: bytes, now: float) -> Heard:
        """Record the response to a robots.txt request: the last hop's, for the origin of the first hop."""
        what = meaning(status)
        self.counters[what.name.lower()] += 1
        self._table.sweep(now - KEEP)
        if what is Meaning.SHUT:
            self._shut(origin, now)
            return Heard(what)
        txt = parse(body if what is Meaning.READ else b"", self._agent)
        self._table.set_robots(origin, now + KEEP, pack(txt.rules, self._agent))
        self._remember(origin, _Entry(now + KEEP, txt.rules))
        return Heard(what, txt.rules.crawl_delay, txt.sitemaps)

    # -- failures that were our own network's

    def row(self, origin: str) -> Row:
        """What is stored of an origin."""
        return self._table.robots(origin)

    def restore(self, origin: str, row: Row) -> None:
        """Makes that what is known of it again."""
        self._table.set_robots(origin, *(row or (0.0, _SHUT + b"0")))
        old = self._entries.pop(origin, None)
        self._weight -= old.rules.weight if old is not None else 0

    def _shut(self, origin: str, now: float) -> None:
        """Retry after longer and longer waits; after the last try the origin is unreachable for a day."""
        before = self._entry(origin)
        counts = before is not None and before.tries < TRIES and before.until >= now - KEEP  # or its row may be swept
        tries = before.tries + 1 if before is not None and counts else 1
        until = now + (self._retry_wait * 2.0 ** (tries - 1) if tries < TRIES else KEEP)
        self._table.set_robots(origin, until, _SHUT + str(tries).encode())
        self._remember(origin, _Entry(until, _NOTHING, tries))

    def _entry(self, origin: str) -> _Entry | None:
        entry = self._entries.get(origin)
        if entry is not None:
            self._entries.move_to_end(origin)
            return entry
        row = self._table.robots(origin)
        entry = self._load(*row) if row is not None else None
        if entry is not None:
            self.counters["loaded"] += 1
            self._remember(origin, entry)
        return entry

    def _load(self, until: float, row: bytes) -> _Entry | None:
        if row.startswith(_SHUT):
            return _Entry(until, _NOTHING, int(row[1:]))
        rules = unpack(row, self._agent)
        return _Entry(until, rules) if rules is not None else None

    def _remember(self, origin: str, entry: _Entry) -> None:
        old = self._entries.pop(origin, None)
        self._weight += entry.rules.weight - (old.rules.weight if old is not None else 0)
        self._entries[origin] = entry
        while self._weight > self._room or len(self._entries) > HOSTS:
            _, old = self._entries.popitem(last=False)
            self._weight -= old.rules.weight


_NOTHING = Rules({})


def origin_of(url: str) -> str:
    """Scheme, host and port of a canonical URL."""
    return url[: url.index("/", url.index("//") + 2)]


def robots_url(origin: str) -> str:
    """The URL of an origin's robots.txt."""
    return origin + _PATH
