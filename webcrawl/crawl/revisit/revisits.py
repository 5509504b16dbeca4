"""All pages that wait to be fetched again: when each is due, and how many may be fetched by now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import inf
from random import Random

import msgpack

from webcrawl.base.own_code import checked, number
from webcrawl.base.url_text import host_of
from webcrawl.content.near_duplicates import DISTANCE
from webcrawl.crawl.revisit import listing_schedule
from webcrawl.crawl.revisit.announced import Foretold, Recent
from webcrawl.crawl.revisit.buckets import LAST, TIME, Buckets, seconds_of, stamp, stamped, ticks
from webcrawl.crawl.revisit.fetched_ahead import Ahead
from webcrawl.crawl.revisit.fresh_until import Held
from webcrawl.crawl.revisit.pace import BACK, YEAR, Tokens
from webcrawl.crawl.revisit.policy import Policy
from webcrawl.crawl.revisit.queue_entry import (
    ASK,
    DUE,
    LISTING,
    TURN,
    due_of,
    entry_of,
    mark_of,
    packed_of,
    record_in,
    turn_of,
)
from webcrawl.crawl.revisit.record import PageRecord, pack
from webcrawl.frontier.fifo import BLOCK, Blocks, Pool
from webcrawl.store.crawldb import CrawlDB

MEMORY = 16 << 20
FLOOR = 60.0  # seconds between two fetches of a page at least
FAR = 2 * 365 * 86_400.0  # seconds; what is due later is asked about before
LOOK = 30 * 86_400.0  # seconds until a page that is never due by now is asked about again
UNDER_WAY = 600.0  # seconds that a record waits for a fetch ahead of its turn
RARER = 0.25  # of the time since a page's last fetch: until its next turn, if this one passes
RESTING = 4096  # records kept aside because they were fetched just now
SPARE = 64  # records that one call of `take` may look at in vain
EXPIRE = 3600.0  # seconds between two looks for rows of `ahead` that are too old
PART = 0.5  # of the budget: what fetches at signals may have, so that pages have their turns whoever announces what
LEND = 2.0  # rounds: while the queue is not later, the others lend theirs to signals of hosts that are believed
BURST = 86_400.0  # seconds of that part which are saved: a sitemap has the news of a day at once
POLICY, LEAD, TOKENS = "revisit.policy", "revisit.lead", "revisit.tokens"
NOTHING = msgpack.packb((b"", b""))


class Revisits:
    """Each record is here, or in the link that fetches its page, and nowhere else. Part of each checkpoint.

    The order is that of due times, and the budget says how many pages are taken by now: if nothing is due, pages are
    taken before they are, provided that the policy allows it and that there are enough of them.
    """

    def __init__(
        self,
        db: CrawlDB,
        policy: Policy,
        *,
        rate: Callable[[], float],
        random: Random,
        memory: int = MEMORY,
        missed: Callable[[str], float] | None = None,
        key: bytes = bytes(16),
        floor: float = FLOOR,
        counters: Counter[str] | None = None,
        resumes: bool = True,
    ) -> None:
        """`rate`: pages per second; `missed`: the share of a listed page's changes that no signal announces, by URL.

        `key`: of fingerprints of URLs. `counters`: the crawl's. `resumes`: the run before had this policy, too.
        """
        db.need("revisit")
        # Of 16 MiB, 6 are for heads and tails; the ids of a hundred million pages' blocks take 4, what rests and what
        # is sorted 2. A tail is saved as it is until it fills a block: each checkpoint would cut it to a small one.
        blocks = Blocks(db, "revisit")
        pool = Pool(blocks, memory * 3 // 8, inline=BLOCK)
        self._held = Held(db, blocks, memory // 16)
        self._db, self._policy, self._rate, self._random = db, policy, rate, random
        self._missed = missed
        self._due_by_policy = checked("REVISIT_POLICY", policy.due, number, "seconds since 1970, or infinity")
        self._patience: float = getattr(policy, "patience", inf)
        self._buckets, self._ahead, self._tokens = Buckets(db, pool), Ahead(db, key), Tokens(rate)
        self._told = Tokens(lambda: PART * rate(), BURST)  # for fetches at signals
        self._readings = Tokens(lambda: listing_schedule.PART * rate(), listing_schedule.SAVED)
        self.foreign: Callable[[str], bool] = lambda _: False  # whether a host is another crawl's by now
        self.is_full: Callable[[str], bool] = lambda _: False  # whether a host has more to do than it can for a while
        self._recent = Recent(floor)
        parts = self._ahead, self._recent, (self._told, self._tokens)
        self.foretold = Foretold(db, policy, *parts, floor=floor, lends=self._lends, counters=counters)
        self._resting: list[tuple[float, bytes]] = []  # a heap: until when, and the record
        self._front = 0  # the time of the last record taken, in ticks: where the queue is
        # Seconds by which the queue has come to be ahead of the clock while pages were taken early.
        self._lead = float(db.get(LEAD) or 0.0)
        self._expired = 0.0
        if resumes:  # states of two policies may look alike, and mean something else
            policy.restore(db.get(POLICY) or b"")
        told, tokens = msgpack.unpackb(db.get(TOKENS) or NOTHING)
        self._told.restore(told)
        self._tokens.restore(tokens)
        db.join(self)

    def __len__(self) -> int:
        return self._buckets.count + len(self._held) + len(self._resting)

    @property
    def floor(self) -> float:
        """Seconds between two fetches of a page at least."""
        return self._recent.span

    def change_floor(self, seconds: float) -> None:
        """So many from now on."""
        self._recent.span = self.foretold.floor = seconds

    def keep(self, record: PageRecord, now: float, due: float | None = None) -> None:
        """After a fetch: until the policy's due time, or this one.

        Where pages are taken early, so long after what is taken now: it would be next otherwise.
        """
        if due is None:
            record.listing = False
            self._recent.note(record.url, record.fetched)
            self._file(record, now)
        else:
            self._place(record, now, due + max(seconds_of(self._front) - now, 0.0))

    def _file(self, record: PageRecord, now: float, sooner: float = 0.0) -> None:
        """Until the policy's due time, or so much sooner; a page whose host announces its changes has turns before."""
        missed = self._missed_of(record)
        due = turn = self._wanted(record, now) - sooner
        if missed < 1.0:
            due = self._wanted(record, now, missed) - sooner  # asked last: that is what its fetches cost
        else:
            turn = self._asked(due, seconds_of(self._front) if self._front else now)
        if turn < min(due, now + FAR):
            self._buckets.push(turn_of(ticks(turn), ticks(min(due, now + FAR)), pack(record)))
        else:
            self._place(record, now, due)

    def _wanted(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        """When the policy wants a page, as the queue counts: it may be ahead of the clock because of a former policy.

        One that takes pages early counts from where the queue is. Others know only the clock.
        """
        due = self._due_by_policy(record, now, missed)
        return due if self._policy.early else due + self._lead

    def _asked(self, due: float, place: float) -> float:
        """When the policy is to be asked again about a page that is due then: by the next round it may know better."""
        a_round = self._round()
        return place + a_round if due - place > self._patience * a_round else due

    def _place(self, record: PageRecord, now: float, due: float) -> None:
        if due < now + FAR:
            at, mark = ticks(due), LISTING if record.listing else DUE
        else:  # counted from where the queue is, which may be ahead of the clock; at random, so that they come apart
            wait = LOOK * (0.9 + 0.2 * self._random.random())
            at, mark = ticks(max(now, seconds_of(self._front)) + wait), ASK
        self._buckets.push(entry_of(at, mark, record))

    def keep_listing(self, record: PageRecord, now: float, least: float = listing_schedule.HOUR) -> None:
        """After a fetch of a sitemap or feed, by the rule of listing_schedule.py where pages are taken early."""
        if self._policy.early:
            record.listing = True
            self._recent.note(record.url, record.fetched)
            self._put_listing(record, now, listing_schedule.wait(record, self._round(), least))
        else:
            self.keep(record, now)

    def _put_listing(self, record: PageRecord, now: float, seconds: float) -> None:
        place = seconds_of(self._front) if self._front and self._is_early() else now
        self._buckets.push(entry_of(ticks(place + seconds), LISTING, record))

    def _round(self) -> float:
        """Seconds in which the budget suffices for every page once."""
        rate, pages = self._rate(), max(len(self), 1)
        return pages / rate if rate * YEAR > pages else YEAR

    def take(self, now: float, most: int) -> list[PageRecord]:
        """The next in order of due time, at most so many, and as the budget allows by now."""
        most = min(most, self._tokens.whole(now))
        self._told.whole(now)
        self._readings.whole(now)
        self._wake(now)
        self._free(now)
        if now - self._expired > EXPIRE:
            self._ahead.expire(now)
            self._expired = now
        found: list[PageRecord] = []
        horizon = self._horizon(now)
        leads = horizon == LAST
        for _ in range(2 * most + SPARE if most else 0):
            at = self._buckets.first()
            if at is None or at > horizon or len(self._resting) >= RESTING:
                break
            record = self._next(at, now)
            if record is not None:
                found.append(record)
                self._tokens.spend(1)
                if leads:
                    self._led(seconds_of(at) - now)
            if len(found) == most or not self._tokens.whole(now):
                break
        return found

    def adopt(self, record: PageRecord, now: float) -> None:
        """A record that another crawl had: its due time is counted from its last fetch."""
        since = max(now - record.fetched, 0.0)
        if record.listing and self._policy.early:
            self._put_listing(record, now, max(listing_schedule.wait(record, self._round()) - since, 0.0))
        else:
            record.listing = False
            self._file(record, now, since)

    def release(self, most: int) -> list[PageRecord]:
        """Removes so many records, whenever they are due: other crawls are to have them, and what was found ahead."""
        self._wake(float("inf"))
        records = [record_in(entry) for _ in range(most) if (entry := self._buckets.pop()) is not None]
        rest = most - len(records)
        records += [record_in(bytes(TIME) + entry) for _ in range(rest) if (entry := self._held.pop()) is not None]
        for record in records:
            found = self._ahead.of(record, float("inf"))  # a link under way goes there, too
            if isinstance(found, PageRecord):
                self._takes_over(record, found)
        return records

    def next_take(self, now: float) -> float | None:
        """The time at which `take` may return something; None if nothing waits, or the budget is nothing."""
        allowed = self._tokens.next(now)
        times = [self._resting[0][0]] if self._resting else []
        if (freed := self._held.next()) is not None:
            times.append(freed)
        if len(self._resting) < RESTING and (at := self._buckets.first()) is not None:
            times.append(now if at <= self._horizon(now) else seconds_of(at) - self._lead)
        return max(now, allowed, min(times)) if allowed is not None and times else None

    def _missed_of(self, record: PageRecord) -> float:
        """The share of its changes that nobody announces."""
        return self._missed(record.url) if record.listed and self._missed is not None else 1.0

    def _horizon(self, now: float) -> int:
        """Until when pages may be taken, in ticks.

        A crawl of few pages does not fetch each of them every minute because its budget would allow it. What is due is
        counted from where the queue is, for so are due times: a larger budget must not mean no fetches for hours.
        """
        return LAST if self._is_early() else ticks(now + self._lead)

    def _is_early(self) -> bool:
        """True if pages are taken before they are due, so that the budget is used."""
        return self._policy.early and len(self) - len(self._held) > self._rate() * self.floor

    def _led(self, seconds: float) -> None:
        """A page was taken so long before it was due; one that comes late, being new in the queue, says little."""
        self._lead = max(seconds if seconds > self._lead else self._lead + (seconds - self._lead) * BACK, 0.0)

    def _next(self, place: int, now: float) -> PageRecord | None:
        """The next record, if it is to be fetched; else it is put where it belongs. `place`: its time, in ticks."""
        entry = self._buckets.pop() or b""
        at, mark, record = seconds_of(place), mark_of(entry), record_in(entry)
        if 0.0 <= now - record.fetched < self.floor:
            heappush(self._resting, (record.fetched + self.floor, entry))
            return None
        if mark == ASK and at <= now and not (due := self._due(record, now, self._missed_of(record))) <= now:
            self._place(record, now, due)
            return None
        record.listing = mark == LISTING
        left = seconds_of(due_of(entry)) - at if mark == TURN else 0.0
        # Listed or not: a listing may have named it since.
        if self._absorbs(record, now, left) or (mark == TURN and self._passes(entry, record, now)):
            return None
        if self._held.holds(record, entry, now) or self._misses(record, now, place):
            return None
        if mark == LISTING:
            # The queue has come here, whether the listing is read or not. If it stood still, what is put back just
            # behind it would be next for ever, before all pages that are due later.
            self._front = max(self._front, place)
            if not self._may_read(record, now):
                return None
        else:
            self._front = place
            self._policy.took(record, now, at)
        self.foretold.waiting.drop(record.url)  # this fetch comes after the signal
        return record

    def _passes(self, entry: bytes, record: PageRecord, now: float) -> bool:
        """True if the turn of a page passes: the policy wants it much later, or its host would announce a change.

        By the next turn the host may be silent. Such turns become rarer, for each costs as much as a fetch here.
        """
        place = stamped(entry)
        if record.gone:
            return False
        if self._missed_of(record) >= 1.0:
            return self._is_put_off(record, seconds_of(place), now)
        self._front = max(self._front, place)
        later = ticks(seconds_of(place) + max(RARER * (now - record.fetched), self.floor))
        self._buckets.push(turn_of(later, due_of(entry), packed_of(entry)))
        return True

    def _misses(self, record: PageRecord, now: float, place: int) -> bool:
        """True if its host could not give it for a while: then its turn is spent, and the next comes as after a fetch.

        So of such a host's pages, too, those that the policy wants more often come more often. A policy that takes
        none early has them wait for the host in the order in which they became due.
        """
        if not (self._policy.early and self.is_full(host_of(record.url))):
            return False
        self._front = max(self._front, place)
        self._tokens.spend(1)
        if record.listing:
            self._put_listing(record, now, listing_schedule.wait(record, self._round()))
        else:
            self._policy.took(record, now, seconds_of(place))
            self._file(record, now)
        return True

    def _due(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        """What the policy says of a page that was fetched a while ago."""
        return self._wanted(record, now, missed) - max(now - record.fetched, 0.0)

    def _is_put_off(self, record: PageRecord, place: float, now: float) -> bool:
        """True if a page that was not worth a fetch for a long time is not worth one in this round either."""
        due = self._due(record, now)
        if not due - place > self._round():
            return False
        self._front = max(self._front, ticks(place))
        turn, due = self._asked(due, place), min(due, now + FAR)
        self._buckets.push(turn_of(ticks(turn), ticks(due), pack(record)))
        return True

    def _may_read(self, record: PageRecord, now: float) -> bool:
        """True if this listing may be fetched now; else its turn comes again, at random, so that all have theirs."""
        if self._readings.whole(now):
            self._readings.spend(1)
            self._policy.worth(record.weight, None, now)  # which counts it: it is no page that the policy has chosen
            return True
        self._put_listing(record, now, listing_schedule.wait(record, self._round()) * (0.5 + self._random.random()))
        return False

    def _wake(self, now: float) -> None:
        while self._resting and self._resting[0][0] <= now:
            self._buckets.push(heappop(self._resting)[1])

    def _free(self, now: float) -> None:
        """Pages that have held for as long as their owners said are next: their turns had come before."""
        for entry in self._held.free(now):
            first = self._buckets.first()
            place = first if first is not None and first <= self._horizon(now) else ticks(now)
            self._buckets.push(stamp(place) + entry)

    # -- what signals have had fetched

    def _lends(self, url: str, now: float) -> bool:
        """True if a signal of this page may have what is for pages in their turns.

        They lend theirs to hosts that are believed. A policy that weighs both has them share by what they are worth;
        with any other the queue becomes later and later, until pages get their half again.
        """
        if self._missed is None or self._missed(url) >= 1.0:
            return False
        at = self._buckets.first()
        return at is None or now - seconds_of(at) < LEND * self._round()

    def _absorbs(self, record: PageRecord, now: float, left: float) -> bool:
        """True if the record need not be fetched: it takes over what was found ahead of its turn, or waits for it.

        `left`: seconds until it would be due in any case.
        """
        found = self._ahead.of(record, now)
        if found is True and self.foreign(host_of(record.url)):  # the link has gone where the record goes
            self._ahead.give_up(record.url)
            found = self._ahead.of(record, now)
        if isinstance(found, bool):
            if found:
                self.keep(record, now, now + UNDER_WAY)
            return found
        passed = max(now - record.fetched, 1.0)
        if not self._takes_over(record, found):
            return False
        if record.listing:
            self.keep_listing(record, now)
        else:
            self._policy.spared(passed / (passed + max(left, 0.0)))
            self._file(record, now, now - found.fetched)
        return True

    def _takes_over(self, record: PageRecord, found: PageRecord) -> bool:
        """The record knows from now on what was found ahead of its turn; False if it is to be fetched all the same."""
        if found.gone and not found.digest:  # and without a condition
            record.gone, record.holds = max(record.gone, found.gone), 0
            return False
        alike = found.text and record.text and (found.text ^ record.text).bit_count() <= DISTANCE
        changed = record.gone > 0 or (found.digest != record.digest and not alike)
        seconds = found.fetched - record.fetched
        if record.listing:  # it needed no reading in its turn
            listing_schedule.learn(record, seconds, 0, changed=changed)
        else:
            self._policy.observe(record, seconds, changed)
        record.fetched, record.etag, record.modified = found.fetched, found.etag, found.modified
        record.digest, record.text, record.gone = found.digest, found.text, found.gone
        record.stored, record.copy_of, record.plain = found.stored, found.copy_of, found.plain
        record.said, record.holds = found.said, found.holds
        return True

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Writes most of the buckets ahead."""
        yield from self._buckets.prepare()
        yield from self._held.prepare()

    def save(self) -> None:
        """Writes the rest. Records that rest are found to be resting again."""
        self._wake(float("inf"))
        self._buckets.save()
        self._held.save()
        self._db.set(POLICY, self._policy.state())
        self._db.set(LEAD, repr(self._lead).encode())
        self._db.set(TOKENS, msgpack.packb((self._told.state(), self._tokens.state())))
        self.foretold.save()
