"""All pages that wait to be fetched again: when each is due, and how many may be fetched by now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf
from random import Random

from webcrawl.base.own_code import checked, number
from webcrawl.base.url_text import host_of
from webcrawl.content.near_duplicates import DISTANCE
from webcrawl.crawl.revisit.buckets import HELD, LAST, TIME, Buckets, seconds_of, stamp, ticks
from webcrawl.crawl.revisit.budget import Tokens
from webcrawl.crawl.revisit.fetched_ahead import Ahead
from webcrawl.crawl.revisit.listings import HOUR, learn_reading, wait_of_listing
from webcrawl.crawl.revisit.policies import YEAR, Policy
from webcrawl.crawl.revisit.record import (
    ASK,
    ASK_BY,
    DUE,
    LISTED,
    SIGNAL,
    PageRecord,
    entry_of,
    mark_of,
    record_in,
)
from webcrawl.frontier.fifo import BLOCK, Blocks, Pool
from webcrawl.store.crawldb import CrawlDB

MEMORY = 16 << 20
FLOOR = 60.0  # seconds between two fetches of a page at least
# pages whose last fetches are remembered; others may be fetched at a signal before FLOOR has passed
RECENT = 20_000
FARTHEST_DUE = 2 * 365 * 86_400.0  # seconds; what is due later is asked about before
# seconds until a page that is never due by now is asked about again
NEVER_DUE_RECHECK = 30 * 86_400.0
UNDER_WAY = 600.0  # seconds that a record waits while its page is fetched ahead of its turn
# seconds for which an owner's word that a page is fresh counts at most: many give a year to all
HOLDS_MOST = 86_400
# records that go back to the queue at once: after a month of rest there may be a million
FREED = 256
# records that one call of `pop_due` may look at in vain, beside as many as it may return
SPARE = 64
EXPIRE = 3600.0  # seconds between two looks for rows of `ahead` that are too old
# a page that comes late, because it is new in the queue, sets the queue back by so much of its
# lateness
SET_BACK_SHARE = 1 / 32

# share of the budget that fetches at signals may have, so that pages have their turns however much
# is announced
SIGNALS = 0.5
# seconds between two of them at most: the budget may be next to nothing for a moment
LONGEST_GAP = 60.0
BACKLOG = 86_400.0  # seconds for which signals may wait

# share of the budget that readings of listings may have; the best for sites of fifty pages that are
# honest
READINGS = 0.25
READINGS_SAVED = 6 * HOUR  # seconds for which that share is saved while nothing is read
POLICY, LEAD = "revisit.policy", "revisit.lead"


class Revisits:
    """The queue of pages to be fetched again, by due time; a part of each checkpoint.

    Each record is here, or in the link that fetches its page, and nowhere else. A caller takes
    records by `pop_due`, and gives each back by `keep`, `keep_listing` or `retry` when its fetch
    has ended.

    The order is that of due times, and the budget says how many pages are taken by now: if nothing
    is due, pages are taken before they are, provided that the policy allows it and that there are
    enough of them. A signal is an entry of the queue, too, that is due at once.

    The queue of due times is no clock: policies count from where it has come to, and that may be
    days ahead. So a record whose turn comes too early, by the clock, is put aside until then.

    Words of its methods: the front is the due time that the queue has come to, the lead by how much
    that is ahead of the clock, the horizon until when pages may be taken now, and a round the time
    in which the budget suffices for every page once.
    """

    def __init__(
        self,
        db: CrawlDB,
        policy: Policy,
        *,
        rate: Callable[[], float],
        random: Random,
        memory: int = MEMORY,
        key: bytes = bytes(16),
        floor: float = FLOOR,
        counters: Counter[str] | None = None,
        resumes: bool = True,
    ) -> None:
        """Go on from the last checkpoint.

        `policy`: says when a page is to be fetched again.
        `rate`: the budget, in pages per second.
        `random`: the crawl's chance.
        `memory`: bytes that the queue may take.
        `key`: of the fingerprints of URLs.
        `floor`: seconds between two fetches of a page at least.
        `counters`: the crawl's.
        `resumes`: the run before had this policy, too.
        """
        db.need("revisit")
        # Of 16 MiB, 6 are for heads and tails; the ids of a hundred million pages' blocks take 4,
        # what is sorted 2. A tail is saved as it is until it fills a block: each checkpoint would
        # reduce it to a small one.
        blocks = Blocks(db, "revisit")
        self._buckets = Buckets(db, Pool(blocks, memory * 3 // 8, inline=BLOCK))
        # records whose turns came too early by the clock, by the time when they may be fetched
        self._held = Buckets(db, Pool(blocks, memory // 16, inline=BLOCK), HELD)
        self.ahead = Ahead(db, key)  # pages fetched at signals, before their records' turns
        self._db = db
        self._policy = policy
        self._rate = rate
        self._random = random
        self._counters: Counter[str] = Counter() if counters is None else counters
        self._due_by_policy = checked(
            "REVISIT_POLICY", policy.due, number, "seconds since 1970, or infinity"
        )
        # Rounds after which a page that is due later is asked about again: see `Policy`.
        self._patience: float = getattr(policy, "patience", inf)
        self._declines: Callable[[str], bool] = getattr(policy, "declines", lambda _: False)
        self._tokens = Tokens(rate)  # one per fetch that the budget allows
        # whether a host is another crawl's by now
        self.foreign: Callable[[str], bool] = lambda _: False
        # whether a host has more to do than it can for a while
        self.is_full: Callable[[str], bool] = lambda _: False
        self.floor = floor  # seconds between two fetches of a page at least
        # when the last RECENT pages were fetched, by the hashes of their URLs, the oldest first
        self._recent: dict[int, float] = {}
        first = self._buckets.first() if policy.early else None
        # due time that the queue has come to; 0: none
        self._front = seconds_of(first) if first is not None else 0.0
        # Seconds by which the queue has come to be ahead of the clock while pages were taken early
        self._lead = float(db.get(LEAD) or 0.0)
        self._signalled = 0.0  # due time from which on the next signal is queued
        # up to this time readings of listings have had their part of the budget
        self._readings_paid_until = 0.0
        self._expired_at = 0.0  # when old rows of `ahead` were dropped last
        if resumes:  # states of two policies may look alike, and mean something else
            policy.restore(db.get(POLICY) or b"")
        db.join(self)

    def __len__(self) -> int:
        return self._buckets.count + self._held.count

    # -- records come

    def keep(self, record: PageRecord, now: float) -> None:
        """Keep the record of a page that was fetched, until the policy's due time."""
        record.listing = False
        self.note(record.url, record.fetched)
        self._queue_by_policy(record, now)

    def retry(self, record: PageRecord, now: float, seconds: float) -> None:
        """Keep a record so long after what is taken now: its page failed, or is being fetched."""
        self._push(max(now, self._front) + seconds, LISTED if record.listing else DUE, record)

    def keep_listing(self, record: PageRecord, now: float, least: float = HOUR) -> None:
        """Keep a listing that was fetched: where pages are taken early, it has its own turns."""
        if not self._policy.early:
            self.keep(record, now)
            return
        record.listing = True
        self.note(record.url, record.fetched)
        self._put_listing(record, now, self._wait_of_listing(record, least))

    def adopt(self, record: PageRecord, now: float) -> None:
        """Take a record that another crawl had: its due time is counted from its last fetch."""
        since = max(now - record.fetched, 0.0)
        if record.listing and self._policy.early:
            self._put_listing(record, now, max(self._wait_of_listing(record) - since, 0.0))
        else:
            record.listing = False
            self._queue_by_policy(record, now, since)

    def note(self, url: str, fetched: float) -> None:
        """Note that a page was fetched at that time: a signal that comes within a minute waits."""
        number = hash(url)
        # Removed first, so that it moves to the end: the first entry is the one to be forgotten.
        self._recent.pop(number, None)
        self._recent[number] = fetched
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]

    def announce(self, url: str, now: float, path: str = "L", via: str = "") -> bool:
        """Make a page due now that a signal says has changed, within the budget of signals.

        Return whether it is fetched because of this.
        """
        first = self._buckets.first()
        place = self._place_of_queue(now)
        # where the queue goes on: with a page that is late, or from where it is
        head = place if first is None else min(place, seconds_of(first))
        # Behind older signals: of 40 tokens in 400 seconds a host with a hundred signals per second
        # had all.
        place = max(head, self._signalled)
        if place - head > BACKLOG:
            self._counters["signals/crowded_out"] += 1
            return False
        if not self.ahead.ask(url, now):
            return False
        rate = SIGNALS * self._rate()
        # At least two pages of the budget apart, in the time of the queue, so that pages keep half
        # of it without an account of their own.
        gap = min(1 / rate, LONGEST_GAP) if rate > 0 else LONGEST_GAP
        self._signalled = place + gap
        self._push(place, SIGNAL, PageRecord(url, path, signal=via))
        return True

    # -- records go

    def pop_due(self, now: float, most: int) -> list[PageRecord]:
        """Return the next records in order of due time, as many as the budget allows by now."""
        most = min(most, self._tokens.whole(now))
        self._requeue_rested(now)
        if now - self._expired_at > EXPIRE:
            self.ahead.expire(now)
            self._expired_at = now
        found: list[PageRecord] = []
        horizon = self._horizon(now)
        # Bounded, as records may be put elsewhere instead of being taken.
        for _ in range(2 * most + SPARE if most else 0):
            due_at = self._buckets.first()
            if due_at is None or due_at > horizon:
                break
            record = self._pop_next(seconds_of(due_at), now)
            if record is not None:
                found.append(record)
                self._tokens.spend(1)
                if horizon == LAST:  # pages are taken early
                    self._lead = max(self._front - now, 0.0)
            if len(found) == most or not self._tokens.whole(now):
                break
        return found

    def release(self, most: int) -> list[PageRecord]:
        """Remove and return up to `most` records, due or not, for other crawls.

        What was found ahead of a page's turn goes into its record.
        """
        records: list[PageRecord] = []
        for queue in (self._buckets, self._held):
            while len(records) < most and (entry := queue.pop()) is not None:
                records.append(record_in(entry))
        for record in records:
            found = self.ahead.pop_findings(record)  # a link under way goes there, too
            # A signal's entry has no record of the page: there is nothing to be brought up to date.
            is_stand_in = record.signal is not None
            if found is not None and not is_stand_in:
                self._take_over(record, found)
        return records

    def next_due(self, now: float) -> float | None:
        """Return when `pop_due` may return something; None if nothing waits, or may be fetched."""
        allowed = self._tokens.next(now)
        times: list[float] = []
        freed = self._held.first()
        if freed is not None:
            times.append(seconds_of(freed))
        due = self._buckets.first()
        if due is not None:
            is_due = due <= self._horizon(now)
            times.append(now if is_due else seconds_of(due) - self._lead)
        if allowed is None or not times:
            return None
        return max(now, allowed, min(times))

    def _pop_next(self, due_at: float, now: float) -> PageRecord | None:
        """Remove and return the next record; None if it is not to be fetched now.

        It was queued again then, or, if it is a signal's, dropped. `due_at`: when it was due.
        """
        entry = self._buckets.pop() or b""
        mark = mark_of(entry)
        record = record_in(entry)
        until = self._earliest_fetch(record, now)
        # Aside until then, before the front is moved: its turn has not been spent. That costs one
        # look in vain, and one more push and pop: 12 us.
        if until > now:
            self._held.push(stamp(ticks(until)) + entry[TIME:])
            return None
        self._advance(due_at)
        if mark == SIGNAL:
            return self._begin_ahead(record, now)
        if mark in (ASK, ASK_BY) and self._requeue_if_put_off(record, due_at, now):
            return None
        record.listing = mark == LISTED
        # In this order: what was found ahead needs no time of the host.
        if self._requeue_if_fetched_ahead(record, now) or self._requeue_if_host_full(record, now):
            return None
        if record.listing and not self._take_reading(now):
            # At random, so that it is not the same listings that are put back each time.
            wait = self._wait_of_listing(record) * (0.5 + self._random.random())
            self._put_listing(record, now, wait)
            return None
        return record

    def _requeue_if_put_off(self, record: PageRecord, due_at: float, now: float) -> bool:
        """Queue a page again if the policy now wants it later. Return whether it does.

        A page that the policy never wants may fill an idle budget.
        """
        # The policy counts from now, as after a fetch, and the page was fetched earlier.
        due = self._wanted_at(record, now) - max(now - record.fetched, 0.0)
        # Of NaN, too, which somebody else's policy may return.
        is_never = not due < now + FARTHEST_DUE
        fills_idle_budget = is_never and due_at > now
        if due <= due_at or fills_idle_budget:
            return False
        self._queue_for(record, now, due)
        return True

    def _begin_ahead(self, record: PageRecord, now: float) -> PageRecord | None:
        """Return the record for a fetch at a signal, or None if the page is left to its turn.

        None, too, if it has had its turn since the signal. `record`: the signal's stand-in.
        """
        if self._policy.early and self.is_full(host_of(record.url)):
            self.ahead.give_up(record.url)
            return None
        if self._declines(record.url):
            self._counters["signals/ignored"] += 1
            self.ahead.give_up(record.url)
            return None
        return self.ahead.begin(record, now)

    def _earliest_fetch(self, record: PageRecord, now: float) -> float:
        """Return the time before which a page is not fetched again, by the clock.

        That is `floor` seconds after its last fetch, or until when its owner has promised that it is
        fresh. A promise for longer than HOLDS_MOST was made when the clock was wrong, and does not
        count.
        """
        fetched = max(record.fetched, self._recent.get(hash(record.url), 0.0))
        is_in_past = fetched <= now  # else the clock was set back
        until = fetched + self.floor if is_in_past else 0.0
        is_promise = now < record.holds <= now + HOLDS_MOST + 1
        return max(until, record.holds) if is_promise else until

    def _requeue_rested(self, now: float) -> None:
        """Move records that were put aside, and may be fetched by now, to the front of the queue.

        Their turns had come before. At most FREED at once.
        """
        for _ in range(FREED if self._held.count else 0):
            at = self._held.first()
            if at is None or at > ticks(now):
                break
            entry = self._held.pop() or b""
            first = self._buckets.first()
            place = ticks(now)
            if first is not None and first <= self._horizon(now):
                place = first
            # The entry as it is, with another time in front.
            self._buckets.push(stamp(place) + entry[TIME:])

    def _requeue_if_host_full(self, record: PageRecord, now: float) -> bool:
        """Queue a page again if its host has no time for it. Return whether that is so.

        The turn is spent as by a fetch, with a token, and the next one comes as after a fetch.

        So of such a host's pages, too, those that the policy wants more often come more often. The
        next turn comes at random, so that it is not the same pages that miss theirs each time. A
        policy that takes none early has them wait for the host in the order in which they became
        due.
        """
        if not (self._policy.early and self.is_full(host_of(record.url))):
            return False
        self._tokens.spend(1)
        if record.listing:
            self._put_listing(record, now, self._wait_of_listing(record))
        else:
            place = self._place_of_queue(now)
            seconds = self._wanted_at(record, now) - place
            self._queue_for(record, now, place + seconds * (0.5 + self._random.random()))
        return True

    # -- where the queue is

    def _place_of_queue(self, now: float) -> float:
        """Return the due time that the queue has come to; before it has begun, that is the present."""
        return self._front or now

    def _advance(self, at: float) -> None:
        """Note that the queue has come to this due time.

        An earlier one sets the queue back by a part of the difference only: one late page says
        little of the others.
        """
        if at > self._front:
            self._front = at
        else:
            self._front += (at - self._front) * SET_BACK_SHARE

    def _horizon(self, now: float) -> int:
        """Return until when pages may be taken, in ticks; LAST if they may be taken early.

        A crawl of few pages does not fetch each of them every minute because its budget would allow
        it. What is due is counted from where the queue is, for so are due times: a larger budget
        must not mean no fetches for hours.
        """
        has_many_pages = self._buckets.count > self._rate() * self.floor
        takes_early = self._policy.early and has_many_pages
        return LAST if takes_early else ticks(now + self._lead)

    def _round(self) -> float:
        """Return the seconds in which the budget suffices for every page once."""
        rate = self._rate()
        pages = max(len(self), 1)
        # At most a year, which also is the answer while the rate is 0.
        return pages / rate if rate * YEAR > pages else YEAR

    # -- due times

    def _queue_by_policy(self, record: PageRecord, now: float, sooner: float = 0.0) -> None:
        """Queue a record for when the policy wants its page, or `sooner` seconds before."""
        self._queue_for(record, now, self._wanted_at(record, now) - sooner)

    def _wanted_at(self, record: PageRecord, now: float) -> float:
        """Return when the policy wants a page, by the queue, which may be ahead of the clock.

        One that takes pages early counts from where the queue is. Others know only the clock.
        """
        due = self._due_by_policy(record, now, self._place_of_queue(now))
        return due if self._policy.early else due + self._lead

    def _queue_for(self, record: PageRecord, now: float, due: float) -> None:
        """Queue a page for its next visit.

        A page that is due too far away or never is not queued for that time: it is marked ASK, and
        the policy is asked again after a while.
        """
        place = self._place_of_queue(now)
        a_round = self._round()
        mark = LISTED if record.listing else DUE
        if not due < now + FARTHEST_DUE:  # NaN of somebody else's code, too
            # At random, so that pages that came together are not asked about all at once.
            due = place + NEVER_DUE_RECHECK * (0.9 + 0.2 * self._random.random())
            mark = ASK
        elif due - place > self._patience * a_round:
            # While pages become known, the threshold falls, and what was given up for 40 rounds at
            # a high one would not come back: asked about in each round, 0.981 of the optimum in
            # place of 0.964 (Gamma(0.5) rates, equal weights, 20 %).
            due = place + a_round
            mark = ASK
        self._push(due, mark, record)

    # -- listings

    def _wait_of_listing(self, record: PageRecord, least: float = HOUR) -> float:
        """Return the seconds until the next reading of a listing, at least `least`."""
        return wait_of_listing(record, self._round(), least)

    def _put_listing(self, record: PageRecord, now: float, seconds: float) -> None:
        """Queue a listing for its reading in so many seconds."""
        # Where pages are taken early, the queue may be ahead of the clock: counted from the clock,
        # the listing would come next.
        is_early = self._horizon(now) == LAST
        place = self._place_of_queue(now) if is_early else now
        self._push(place + seconds, LISTED, record)

    def _push(self, at: float, mark: bytes, record: PageRecord) -> None:
        self._buckets.push(entry_of(ticks(at), mark, record))

    def _take_reading(self, now: float) -> bool:
        """Take a reading of a listing out of their budget; return False if it has none left.

        Readings have a part of the budget, and what they leave is saved for READINGS_SAVED seconds.
        """
        if self._readings_paid_until > now:
            return False
        rate = READINGS * self._rate()
        seconds_per_reading = 1 / rate if rate > 0 else HOUR
        paid_until = max(self._readings_paid_until or now, now - READINGS_SAVED)
        self._readings_paid_until = paid_until + seconds_per_reading
        return True

    # -- what signals have had fetched

    def _requeue_if_fetched_ahead(self, record: PageRecord, now: float) -> bool:
        """Queue a record again if a fetch ahead of its turn spares it one now. Return whether so.

        `_pop_next` calls this when a page's turn has come. A signal (a sitemap, feed or hub) may
        have had the page fetched before that, by a link of its own. There are three cases:

        - That link is still under way: the record waits UNDER_WAY seconds for its end.
        - The fetch has ended: the record takes over what it found, and its next turn is set as
          after a fetch.
        - Nothing was found, or the page was announced again since: it is to be fetched in its turn.
        """
        if not self.ahead.count:
            return False
        # If the host is another crawl's, so is the link: the record need not wait here for its end.
        is_foreign = self.foreign(host_of(record.url))
        if not is_foreign and self.ahead.is_under_way(record.url, now):
            self.retry(record, now, UNDER_WAY)
            return True
        is_announced_again = self.ahead.asks(record.url)  # `pop_findings` forgets the signal
        found = self.ahead.pop_findings(record)
        has_taken_over = found is not None and self._take_over(record, found)
        if found is None or not has_taken_over or is_announced_again:
            return False
        self._queue_as_fetched(record, found.fetched, now)
        return True

    def _queue_as_fetched(self, record: PageRecord, fetched: float, now: float) -> None:
        """Set the next turn of a page that was fetched ahead, at this time."""
        if record.listing:
            self.keep_listing(record, now)
        else:
            # The policy counts from now, and the fetch was earlier.
            self._queue_by_policy(record, now, now - fetched)

    def _take_over(self, record: PageRecord, found: PageRecord) -> bool:
        """Put findings of a fetch ahead into the record; return False if it must be fetched.

        The policy learns from them as from a visit.
        """
        # The page's own turn finds out whether it is back, and asks without a condition.
        if found.gone and not found.digest:
            record.gone = max(record.gone, found.gone)
            record.holds = 0
            return False
        have_texts = found.text and record.text  # 0: no fingerprint of a text
        are_alike = have_texts and (found.text ^ record.text).bit_count() <= DISTANCE
        is_other_body = found.digest != record.digest and not are_alike
        changed = record.gone > 0 or is_other_body
        seconds = found.fetched - record.fetched
        if record.listing:  # it needed no reading in its turn
            learn_reading(record, seconds, 0, changed=changed)
        else:
            self._policy.observe(record, seconds, changed)
        record.fetched = found.fetched
        record.holds = found.holds
        record.etag = found.etag
        record.modified = found.modified
        record.digest = found.digest
        record.text = found.text
        record.gone = found.gone
        record.stored = found.stored
        record.copy_of = found.copy_of
        record.plain = found.plain
        record.said = found.said
        return True

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Write most of the buckets ahead of the checkpoint, in steps."""
        yield from self._buckets.prepare()
        yield from self._held.prepare()

    def save(self) -> None:
        """Write what has changed since `prepare`, the policy's state and the lead."""
        self._buckets.save()
        self._held.save()
        self._db.set(POLICY, self._policy.state())
        self._db.set(LEAD, repr(self._lead).encode())
