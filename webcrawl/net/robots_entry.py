"""The state of an origin's robots.txt: what its status meant, when it is fetched again, and the table that keeps it.

The meaning of a status is RFC 9309 2.3.1's, as a table. docs/robots.md#how-soon-it-is-fetched-again has the reasons for
looking before the rules expire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from webcrawl.base.model import REDIRECTS, Exchange
from webcrawl.net.http_freshness import Validators, max_age, validators
from webcrawl.net.robots import Rules

MAX_HOPS = 5  # RFC 9309 2.3.1.2: follow at least five redirects in a row, also to other hosts


class Meaning(Enum):
    """The consequence of a robots.txt request for the host's URLs."""

    READ = "the body says what is allowed"
    OPEN = "everything is allowed"
    SAME = "the rules known before are right"  # 304 to a request with a condition
    SHUT = "unreachable: rules known before stay in force, without any nothing is allowed"


TOO_MANY = 429  # RFC 6585: says nothing about the file, only that we ask too often
# By hundreds of the HTTP status. A 3xx counts only as a last hop: too many hops, or no valid Location.
MEANINGS = {2: Meaning.READ, 3: Meaning.OPEN, 4: Meaning.OPEN, 5: Meaning.SHUT}


def meaning(status: int) -> Meaning:
    """For an HTTP status or a model.Status; a failure (no address, refused, timeout) shuts."""
    return MEANINGS.get(status // 100, Meaning.SHUT) if status != TOO_MANY else Meaning.SHUT


def follows(status: int, hops: int) -> bool:
    """True if to follow this response's Location after so many hops."""
    return status in REDIRECTS and hops < MAX_HOPS


HOUR, DAY = 3600.0, 86_400.0
BUSY = 100  # URLs since the last look: one look costs at most a hundredth of the host's requests
LONGEST = 128  # bytes of an entity tag
NONE = Validators()
TOLD = frozenset((b"etag", b"last-modified", b"cache-control"))  # the headers that are hints
NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class Fresh:
    """The next look at a robots.txt if the host is busy. `step`: seconds from the last look to the next."""

    soon: float
    step: float = DAY
    validators: Validators = NONE
    sitemaps: tuple[str, ...] | None = None  # that the file names, the first ones; None: nobody wanted them

    @property
    def weight(self) -> int:
        """Bytes of memory, about."""
        return 150 + sum(100 + len(value) for value in (*self.validators, *(self.sitemaps or ())) if value)

    def says_more(self, until: float) -> bool:
        """Than that the rules are fetched again at this time."""
        return self.soon != until or self.step != DAY or any(self.validators) or bool(self.sitemaps)


class Head(NamedTuple):
    """The hints of a robots.txt answer's head at its future."""

    validators: Validators = NONE
    max_age: float | None = None  # seconds; None if it does not say

    def completed(self, before: Fresh | None) -> Head:
        """The head after a 304: what it does not repeat still holds."""
        if before is None:
            return self
        return self._replace(validators=self.validators.completed(before.validators))


def head_of(exchange: Exchange) -> Head:
    """Read a head. Of a body that is not whole no validators are kept: its rules may not be all."""
    if exchange.names.isdisjoint(TOLD):
        return Head()
    headers = exchange.headers
    is_whole = 200 <= exchange.status < 300 and exchange.truncated in ("", "length")
    if not is_whole and exchange.status != NOT_MODIFIED:
        return Head(NONE, max_age(headers))
    return Head(validators(headers, exchange.started, longest=LONGEST), max_age(headers))


def look(now: float, before: Fresh | None, *, changed: bool, head: Head, sitemaps: tuple[str, ...] | None) -> Fresh:
    """After an hour if the rules have just changed, and then at intervals that double up to a day.

    With a day begin those of which only one answer is known. What the server says counts within the same bounds.
    """
    step = min(2 * before.step, DAY) if before is not None else DAY
    if changed:
        step = HOUR
    soon = step if head.max_age is None else min(step, max(head.max_age, HOUR))
    return Fresh(now + soon, step, head.validators, sitemaps)


Row = tuple[float, bytes] | None  # of the table: when it expires, and what it says


class RobotsTable(Protocol):
    """Persistent storage for rules: webcrawl.frontier.host_rows.RobotsRows."""

    def robots(self, origin: str) -> tuple[float, bytes] | None:
        """The time at which the row expires, and the row."""
        ...

    def set_robots(self, origin: str, until: float, rules: bytes) -> None:
        """Replace the row."""
        ...

    def origins(self, host: str, most: int) -> list[str]:
        """Origins of a host that have a row."""
        ...

    def sweep(self, before: float) -> None:
        """Delete some of the rows that expired before `before`."""
        ...


KEEP = 86_400.0  # seconds, RFC 9309 2.4: no longer than 24 hours
_NOTHING = Rules({})


@dataclass(slots=True)
class Heard:
    """The content of a robots.txt besides its rules."""

    meaning: Meaning
    crawl_delay: float | None = None  # seconds, 0 for none; None if it was not heard
    sitemaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class InForce:
    """The state of an origin's robots.txt, for whoever watches."""

    until: float  # when it is to be fetched again
    rules: Rules | None  # None: none are known
    tries: int  # that failed in a row since the rules were fetched; none and no rules: it was given up
    since: float  # when the first of them failed

    @property
    def fetched(self) -> float | None:
        """The time at which the rules came; None if that is not known: robots.txt has been unreachable since."""
        return None if self.tries or self.rules is None else self.until - KEEP


@dataclass(slots=True)
class Entry:
    """The state of an origin in memory."""

    until: float  # when robots.txt is to be fetched again
    rules: Rules | None  # in force; None if none are known
    tries: int = 0  # that failed in a row; without any, and without rules, the origin is given up
    since: float = 0.0  # when the first of them failed
    owes: bool = False  # a URL that the rules in force allow goes before the next try
    fresh: Fresh | None = None  # when to look before they expire; None for rules of an earlier version
    asked: int = 0  # URLs that they have allowed since they were loaded

    def looks_early(self, now: float) -> bool:
        """True if rules that are valid are asked for all the same: their host is busy enough for that."""
        fresh = self.fresh
        return self.asked >= BUSY and fresh is not None and fresh.soon <= now < self.until and not self.tries

    def owes_now(self, now: float) -> bool:
        """True if a URL goes before the next try."""
        return self.owes and now < self.until + KEEP

    @property
    def weight(self) -> int:
        rules = self.rules if self.rules is not None else _NOTHING
        return rules.weight + (self.fresh.weight if self.fresh is not None else 0)
