"""What is known of an origin's robots.txt, and what one of them says."""

from __future__ import annotations

from dataclasses import dataclass, field

from webcrawl.net.robots import Rules
from webcrawl.net.robots_fresh import BUSY, Fresh
from webcrawl.net.robots_policy import Meaning

KEEP = 86_400.0  # seconds, RFC 9309 2.4: no longer than 24 hours
_NOTHING = Rules({})


@dataclass(slots=True)
class Heard:
    """What a robots.txt says besides its rules."""

    meaning: Meaning
    crawl_delay: float | None = None  # seconds, 0 for none; None if it was not heard
    sitemaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class InForce:
    """What is known of an origin's robots.txt."""

    until: float  # when it is to be fetched again
    rules: Rules | None  # None: none are known
    tries: int  # that failed in a row since the rules were fetched; none and no rules: it was given up
    since: float  # when the first of them failed

    @property
    def fetched(self) -> float | None:
        """When the rules came; None if that is not known, because robots.txt has been unreachable since."""
        return None if self.tries or self.rules is None else self.until - KEEP


@dataclass(slots=True)
class Entry:
    """What is known of an origin, as it is in memory."""

    until: float  # when robots.txt is to be fetched again
    rules: Rules | None  # in force; None if none are known
    tries: int = 0  # that failed in a row; without any, and without rules, the origin is given up
    since: float = 0.0  # when the first of them failed
    owes: bool = False  # a URL that the rules in force allow goes before the next try
    fresh: Fresh | None = None  # when to look before they expire; None for rules of an earlier version
    asked: int = 0  # URLs that they have allowed since they were loaded

    def looks_early(self, now: float) -> bool:
        """Whether rules that are valid are asked for all the same: their host is busy enough for that."""
        fresh = self.fresh
        return self.asked >= BUSY and fresh is not None and fresh.soon <= now < self.until and not self.tries

    def owes_now(self, now: float) -> bool:
        """Whether a URL goes before the next try."""
        return self.owes and now < self.until + KEEP

    @property
    def weight(self) -> int:
        rules = self.rules if self.rules is not None else _NOTHING
        return rules.weight + (self.fresh.weight if self.fresh is not None else 0)
