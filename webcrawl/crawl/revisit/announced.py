"""Pages that are fetched ahead of their turns, because a signal says that they have changed: which, and when.

A page's own record is in a bucket meanwhile, and takes over what was found when its turn comes (revisits.py). Pages
that were fetched within the last minute or two rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from webcrawl.base.model import Link
from webcrawl.base.own_code import checked, truth
from webcrawl.crawl.revisit.fetched_ahead import Ahead
from webcrawl.crawl.revisit.pace import Tokens
from webcrawl.crawl.revisit.policy import Policy
from webcrawl.crawl.revisit.record import PageRecord, link_of
from webcrawl.crawl.revisit.waiting_signals import Signal, Waiting
from webcrawl.store.crawldb import CrawlDB

MOST = 20_000  # pages in each half: 4 MB; what is fetched faster than that rests less

TRIES = 16  # signals that one call looks at in vain
SIGNALS = 10.0  # of a page, by which is judged how often they come
WAITING = "revisit.waiting"


class Recent:
    """In memory only. Two halves: the older one is forgotten when the younger is as old as a rest, or full."""

    def __init__(self, span: float) -> None:
        self.span = span
        self._since = 0.0
        self._young: dict[int, float] = {}
        self._old: dict[int, float] = {}

    def note(self, url: str, at: float) -> None:
        """A page was fetched."""
        if not 0.0 <= at - self._since < self.span or len(self._young) >= MOST:
            self._old, self._young, self._since = self._young, {}, at
        self._young[hash(url)] = at

    def of(self, url: str) -> float:
        """The time at which this page was fetched; 0 if that is not known."""
        number = hash(url)
        return self._young.get(number) or self._old.get(number, 0.0)


class Foretold:
    """Each fetch at a signal has a token: of those for signals, or of those of all revisits."""

    def __init__(
        self,
        db: CrawlDB,
        policy: Policy,
        ahead: Ahead,
        recent: Recent,
        tokens: tuple[Tokens, Tokens],
        *,
        floor: float,
        lends: Callable[[str, float], bool],
        counters: Counter[str] | None,
    ) -> None:
        """`tokens`: for signals, and for all revisits. `lends`: whether a page may have one of the latter, too."""
        self._worth = checked("REVISIT_POLICY", policy.worth, truth, "True or False")
        self._db, self.ahead, self._recent, self.floor = db, ahead, recent, floor
        (self._told, self._tokens), self._lends = tokens, lends
        self.waiting = Waiting(db.get(WAITING) or b"", counters)

    def announce(self, url: str, now: float, path: str = "L", via: str = "") -> Link | None:
        """A link that fetches this page ahead of its turn, as a signal asks for; None if one is under way.

        None, too, if signals of this page come too often for the policy, or if it has to wait: `told_before` gives it
        then. The fetch is outside the budget, which saves it afterwards. `ahead.found` or `ahead.give_up` follows.
        """
        if url in self.waiting:
            return None
        at = max(self._recent.of(url), self.ahead.last(url))
        signal = Signal(url, path, via, max(now, at + self.floor))
        rests = 0.0 <= now - at < self.floor
        if not rests and not self.waiting.is_ready(now) and (bucket := self._may_follow(url, now)) is not None:
            return self._begin(signal, now, bucket)
        self.waiting.add(signal)
        return None

    def withdraw_foreign(self, foreign: Callable[[str], bool]) -> list[Link]:
        """Removes the signals that wait for these hosts, which are other crawls': links that say as much there."""
        found = []
        for signal in self.waiting.withdraw(foreign):
            link = link_of(PageRecord(signal.url, signal.path), ahead=True)
            link.via = signal.via
            found.append(link)
        return found

    def told_before(self, now: float, most: int) -> Iterator[Link]:
        """Links of signals that had to wait, as many as may be followed by now. Call it before `Revisits.take`."""
        vain = 0
        while most > 0 and vain < TRIES and (self._told.whole(now) or self._tokens.whole(now)):
            signal = self.waiting.turn(now)
            if signal is None:
                break
            bucket = self._may_follow(signal.url, now)
            if bucket is None:
                vain += 1
                continue
            most -= 1
            self.waiting.drop(signal.url)
            link = self._begin(signal, now, bucket)
            if link is not None:
                yield link

    def _may_follow(self, url: str, now: float) -> Tokens | None:
        """Of which tokens this signal may have one; None if it has to wait."""
        if self._told.whole(now):
            return self._told
        return self._tokens if self._tokens.whole(now) and self._lends(url, now) else None

    def next_told(self, now: float) -> float | None:
        """The time at which `told_before` may give something; None if nothing waits, or is allowed now."""
        if not self.waiting:
            return None
        ready, allowed = self.waiting.next(now), self._told.next(now)
        return max(now, ready, allowed) if ready is not None and allowed is not None else None

    def _begin(self, signal: Signal, now: float, bucket: Tokens) -> Link | None:
        record = self.ahead.begin(signal.url, signal.path, now, partial(self._is_worth, now))
        if record is None:
            return None
        bucket.spend(1)
        if bucket is self._told:
            self._tokens.owe()
        link = link_of(record, ahead=True)
        link.via = signal.via
        return link

    def _is_worth(self, now: float, found: PageRecord | None) -> bool:
        """Asks the policy, by how often signals come. `found`: what the last one led to, which counts them.

        Its shape is their number, of which the latest ones count most, and its span the seconds they took until then.
        """
        if found is None or (found.gone and not found.shape):
            return self._worth(found.weight if found is not None else 1.0, None, now)
        kept = min(found.shape, SIGNALS - 1.0) / max(found.shape, 1.0)
        found.shape, found.span = found.shape * kept + 1.0, found.span * kept
        seconds = found.span + max(now - found.fetched, 1.0)
        is_worth = self._worth(found.weight, seconds / found.shape, now)
        if is_worth:
            found.span = seconds
        return is_worth

    def gone(self, record: PageRecord, now: float) -> None:
        """The page was not there in its turn: a signal that has it fetched before the next one is to know of that."""
        self._recent.note(record.url, now)
        self.ahead.gone(record, now)

    def gone_ahead(self, record: PageRecord, now: float) -> None:
        """The page is not there: who hears of that is to hear, too, when it is there again, though it be as before."""
        self._recent.note(record.url, now)
        record.gone, record.visits, record.fetched = record.gone + 1, record.visits or 1, record.fetched or now
        self.ahead.found(record)

    def known(self, url: str) -> PageRecord | None:
        """The record of a page that has had no turn yet: a signal had it fetched."""
        found = self.ahead.known(url)  # whose shape and span are of signals, and not of changes
        return None if found is None else replace(found, shape=0.0, span=0.0, visits=0, changes=0)

    def save(self) -> None:
        """With each checkpoint."""
        if self.waiting.is_stale:
            self._db.set(WAITING, self.waiting.save())
