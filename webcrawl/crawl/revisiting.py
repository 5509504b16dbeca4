"""The life of a page that is fetched again: to the frontier and back (docs/revisits.md).

The record of a page is in one place at a time: among the records by due time, in the history of the
link that travels through the frontier, or with the page in flight. So it is part of every
checkpoint, and moves with its link in a hive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from random import Random
from typing import Any

import msgpack

from webcrawl.base.model import Exchange, Link, Outcome, Status
from webcrawl.base.page_values import GONE, By, Change, PageJudgement
from webcrawl.base.url_text import host_of
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.moments import Feature
from webcrawl.crawl.revisit.budget import DueByHost, Split, Unused
from webcrawl.crawl.revisit.fetched_ahead import lacks
from webcrawl.crawl.revisit.listings import HOUR, learn_reading
from webcrawl.crawl.revisit.page_judgement import Honesty, judged
from webcrawl.crawl.revisit.policies import Policy
from webcrawl.crawl.revisit.record import (
    LONGEST_COPY,
    LONGEST_ETAG,
    PageRecord,
    is_ahead,
    link_of,
    record_of,
)
from webcrawl.crawl.revisit.revisits import HOLDS_MOST, Revisits
from webcrawl.crawl.revisit.signals import Signals
from webcrawl.crawl.revisit_counts import RevisitCounts
from webcrawl.frontier.frontier import Frontier
from webcrawl.net.header_times import Validators, fresh_for, validators
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.jobdir.meta_row import REVISITING
from webcrawl.store.jobdir.revisit_figures import RevisitFigures

STEP = 0.05  # seconds between two looks at what is due
SLICE = 200  # pages that become due in one look
REMEMBERED = 20_000  # records of pages that are due: others are read from their links
# seconds until a page is tried again that could not be fetched, at least and at most
SHORTEST_RETRY_WAIT, LONGEST_RETRY_WAIT = 60.0, 30 * 86_400.0
PRECONDITION_FAILED = 412
REFUSED_RETRY_WAIT = 86_400.0  # the same if it is its host, or robots.txt, that keeps us out
# a page that was gone so often in a row, and for so many seconds, is forgotten
FORGOTTEN_AFTER_VISITS, FORGOTTEN_AFTER_SECONDS = 5, 7 * 86_400.0


class Revisiting(Part, Feature):
    """Puts pages that are due into the frontier, and books what their fetches find.

    One per crawl in which pages are fetched again, or were in a former run.

    A *record* (PageRecord) is what earlier fetches found of a page. A *signal* is the word of a
    sitemap, feed or hub that a page has changed: such a page is fetched *ahead* of its turn, by a
    link with a stand-in record. Its own record stays queued, and takes over in its turn what that
    fetch found, which waits in `revisits.ahead` until then.
    """

    def __init__(
        self,
        db: CrawlDB,
        clock: CrawlClock,
        revisits: Revisits,
        frontier: Frontier,
        *,
        policy: tuple[str, Policy],
        split: Split,
        importance: Callable[[Link], float],
        counts: RevisitCounts,
        random: Random,
        excluded: Callable[[str], bool],
        signals: Signals | None = None,
        on: bool,
        new: bool,
    ) -> None:
        """Go on from the last checkpoint.

        `revisits`: the queue of pages to be fetched again.
        `policy`: its dotted path, and itself; it says when a page is to be fetched again.
        `split`: divides the fetches between new pages and known ones.
        `importance`: of the page that a link leads to, for the policy.
        `counts`: the figures of revisits.
        `random`: the crawl's chance.
        `excluded`: whether a rule refuses a URL by now.
        `signals`: learns which pages had changed, whether a signal or their turn had them fetched.
        `on`: False: no page becomes due, but what is in the frontier comes back.
        `new`: nothing was fetched by now.
        """
        self.signals = signals
        self._clock = clock
        self._excluded = excluded
        self._db = db
        self.revisits = revisits
        self.split = split
        self._frontier = frontier
        self._on = on
        self._path, self._policy = policy
        self._importance = importance
        self.counts = counts
        data = db.get(REVISITING)
        saved: dict[str, Any] = msgpack.unpackb(data) if data is not None else {}
        # pages that were put into the frontier and have not ended, by host
        self._due = DueByHost(saved.get("out", 0), saved.get("hosts"))
        # The first fetch of every page was noted: not if pages were fetched before they had records
        self._notes_first: bool = saved.get("first", data is None and new)
        # the hosts whose 304 is not believed
        self._honesty = Honesty(random, saved.get("honesty", b""))
        # by URL, of pages in the frontier: a cache, so that most need not be read from their links
        self._records_of_due: dict[str, PageRecord] = {}
        # URLs under way that were requested without a condition although there are validators
        self._requested_unconditionally: set[str] = set()
        # URLs under way whose record has gone to where they were redirected
        self._moved_urls: set[str] = set()
        # URLs under way whose record has gone to the request that follows with other cookies
        self._repeated_urls: set[str] = set()
        self._next_feed_at = 0.0  # by the crawl's clock
        self._unused = Unused(split, self.__len__, lambda: revisits.floor)
        revisits.foreign = self._is_foreign
        revisits.is_full = self._due.is_full
        db.join(self)

    @property
    def fetched_again(self) -> int:
        """Return how many pages this run fetches again."""
        return len(self) if self._on else 0

    def __len__(self) -> int:
        """Return the number of pages that are fetched again, those on their way included."""
        return len(self.revisits) + self._due.total

    def now(self) -> RevisitFigures:
        """Return the figures of this moment, which are counted nowhere."""
        budget = self.split.useful_rate() if self._on else 0.0
        return RevisitFigures(records=len(self), waiting=self._due.total, budget=budget)

    def next_figures(self) -> dict[str, int | float]:
        """Return all figures but the histograms."""
        return self.counts.stats()

    def next_work(self) -> bool:
        """Return whether there is something to wait for, even if nothing is to be done now."""
        return self._on and len(self) > 0

    # -- out

    def on_feed(self, now: float) -> None:
        """Move pages that are due into the frontier, as far as the budget allows."""
        if now < self._next_feed_at:
            return
        self._next_feed_at = now + STEP
        if self._on:
            self._unused.look(now)
        # Pages that went to other drones with their hosts never end here, and would stay counted.
        self._due.at_most(len(self._frontier))
        # What waits in the frontier comes in no better order any more, so it is bounded: the policy
        # keeps the order of the rest.
        room = min(self._due.room, SLICE) if self._on else 0
        if room > 0:
            records = self.revisits.pop_due(now, room)
            if records:
                self._put_into_frontier(records)
        # Also those of earlier calls, for which their hosts had no place.
        self._frontier.revisits.bring(now)

    def _put_into_frontier(self, records: Sequence[PageRecord]) -> None:
        """Put these pages into the frontier; those of other drones' hosts are no longer counted."""
        self._due.add(record.url for record in records)
        # A stand-in is read from its link: by URL the cache has a page's own record.
        self._remember([record for record in records if record.signal is None])
        self._add_to_frontier(records)
        for record in records:
            if self._is_foreign(host_of(record.url)):
                self.counts.left(record.url)

    def _add_to_frontier(self, records: Sequence[PageRecord]) -> None:
        self._frontier.revisits.add([link_of(record).pack() for record in records])

    def on_idle(self, now: float) -> None:
        """Note that nothing else can be fetched: there is room for revisits."""
        self.split.idle(now)

    def next_due(self, now: float) -> float | None:
        """Return the time at which `on_feed` may find something; None until a page is finished."""
        if not self._on:
            return None
        ready = self.revisits.next_due(now) if self._due.room > 0 else None
        if ready is None:
            return None
        ready = max(ready, self._next_feed_at)
        # Until then perhaps nothing calls `on_idle`: the budget counts the crawl as idle meanwhile.
        self.split.rests_until(now, ready)
        return ready

    def receive(self, links: Sequence[Link]) -> None:
        """Take pages that other drones fetched, of hosts now ours, and their pending signals."""
        now = self._clock()
        for link in links:
            record = record_of(link)
            if is_ahead(link):
                # This drone may have a signal of this page as well, from before its host has come:
                # with that one `tell` would do nothing.
                self.revisits.ahead.give_up(link.url)
                self.tell(link.url, now, link.via, link.path)
            elif record is not None:
                self.revisits.adopt(record, now)

    def _is_foreign(self, host: str) -> bool:
        """Return whether another drone of the hive fetches this host by now."""
        gate = self._frontier.moves.gate
        return gate is not None and gate.foreign(host)

    def drain(self) -> bool:
        """Put the next SLICE records into the frontier, due or not: from there they go to others.

        Return False if there are no more.
        """
        records = self.revisits.release(SLICE)
        self._add_to_frontier(records)
        for record in records:
            self.counts.left(record.url)
        return bool(records)

    def next_headers(self, link: Link) -> list[tuple[bytes, bytes]]:
        """Return the headers that make the request for this page conditional; none if it has none.

        Call it when the page is handed out: `on_ended` or `on_put_back` forgets what is noted here.
        """
        record = self._record(link) if link.history and link.is_revisit else None
        # What is gone is requested without a condition: those who heard that it is gone need all of
        # it when it is back, even if it is as before.
        if record is None or record.gone:
            return []
        conditions = Validators(record.etag, record.modified).headers
        # Now and then without them, to find hosts that answer 304 although the page has changed.
        if conditions and self._honesty.asks_plainly(link.url, record, self._clock()):
            self._requested_unconditionally.add(link.url)
            return []
        return conditions

    # -- back

    def judge(
        self, link: Link, exchange: Exchange, digest: int, text: Callable[[], int | None]
    ) -> PageJudgement | None:
        """Return how a page has changed since its last fetch; None if its answer does not tell.

        `digest`: of the body. `text` computes the fingerprint of the visible text; it is slow, and
        is called only if the bytes have changed.
        """
        if link.request:  # of the spider's own: such requests have no record
            return None
        judgement = judged(self._record(link), exchange, digest, text)
        if judgement is not None and is_ahead(link):
            return replace(judgement, announced=True)
        return judgement

    def is_seen(self, link: Link) -> bool:
        """Return whether the page was fetched before, though its record is not at hand."""
        record = record_of(link) if is_ahead(link) else None
        return record is not None and not lacks(record)

    @property
    def knows_first(self) -> bool:
        """Return whether each page that was fetched is noted, as far as this crawl goes back.

        A drone of a hive has pages that others have fetched.
        """
        return self._notes_first and self._frontier.moves.gate is None

    def was_gone(self, link: Link) -> bool:
        """Return whether a page that a signal has fetched was gone at its last fetch."""
        record = record_of(link) if is_ahead(link) else None
        return record is not None and record.gone > 0 and not lacks(record)

    def knows(self, link: Link) -> bool:
        """Return whether the page was fetched before, and what came of that is at hand."""
        record = None if link.request else self._record(link)
        return record is not None and record.digest != 0

    def tell(self, url: str, now: float, via: str = "", path: str = "L") -> bool:
        """Make a page due now at a signal from the page `via`; return False if one did before."""
        return self._on and self.revisits.announce(url, now, path, via)

    def moved(self, link: Link) -> None:
        """Note that the page's record has gone to where it was redirected."""
        self._moved_urls.add(link.url)

    def repeat(self, link: Link, chain: str) -> None:
        """Request a page again that redirects to itself, with the cookies that it has set (`chain`).

        Its record goes along. If the second request began a record of its own, a page that sets
        such a cookie at each visit would have one more record with each.
        """
        again = replace(link, path=f"{link.path}R", attempt=0, struck=0, chain=chain)
        self._frontier.add([again.pack()])
        self._repeated_urls.add(link.url)

    def history_of(self, link: Link) -> str | None:
        """Return the history for the address to which a page has moved; None if it was not due.

        What is known of a page is handed on once; afterwards the history is empty. Links with a
        history are no new pages to the budgets of hosts and domains, and a page that names another
        target each time would bring as many of them as it likes.
        """
        record = self._record(link)
        if record is None or is_ahead(link):
            return None
        if record.handed:
            return ""
        # How often the page changes, and nothing of its body: the new address was never fetched.
        handed_on = PageRecord(
            "",
            shape=record.shape,
            span=record.span,
            weight=record.weight,
            visits=record.visits,
            changes=record.changes,
        )
        return link_of(handed_on).history

    def _remember(self, records: Sequence[PageRecord]) -> None:
        # A cache: what is cleared is read from the links.
        if len(self._records_of_due) > REMEMBERED:
            self._records_of_due.clear()
        self._records_of_due.update((record.url, record) for record in records)

    def _record(self, link: Link) -> PageRecord | None:
        """Return the record of a page, or None if nothing is known of earlier fetches.

        Of a page ahead of its turn, the stand-in that its link brings.
        """
        if is_ahead(link):
            return record_of(link)
        if link.history:
            return self._records_of_due.get(link.url) or record_of(link)
        # A page before its first turn, which a signal may have had fetched: feeds name pages of
        # other hosts, too.
        return self.revisits.ahead.known(link.url) if self._on else None

    def on_put_back(self, link: Link) -> None:
        """Forget that a page was handed out: it was not fetched, and comes again."""
        self._requested_unconditionally.discard(link.url)

    def on_ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Book the end of a URL, fetched or not, in the same turn as the crawl log does."""
        if link.request or link.is_prerequisite:
            return
        was_requested = outcome.ended > 0.0  # 0: no host was requested
        now = self._clock.at(outcome.ended) if was_requested else self._clock()
        if link.history:
            self._book_revisit(link, outcome, exchange, now, was_requested=was_requested)
        elif was_requested:
            self.split.fetched_new(now)
            self._book_first_turn(link, exchange, now)

    def _book_first_turn(self, link: Link, exchange: Exchange | None, now: float) -> None:
        """Begin the record of a page that had its first turn, and queue it for the next.

        A signal may have had it fetched before: then the record goes on from what was found. A page
        that gave nothing gets no record.
        """
        judgement = exchange.state.revisit if exchange is not None else None
        ahead = self.revisits.ahead
        may_be_announced = self._may_be_announced(link.url)
        if exchange is None or judgement is None or not self._on:
            if may_be_announced:
                # It gets a record if a signal ever says that the page is there.
                ahead.lack(link.url, link.path, now)
            return
        known = None if judgement.change is Change.NEW else ahead.known(link.url)
        if known is not None:
            self.counts.taken()
        elif may_be_announced:
            ahead.fill(link.url)
        record = known or PageRecord(link.url)
        record.path = link.path
        if judgement.change is Change.GONE:
            self._keep_gone(record, now)
        else:
            self._learn_and_queue(record, link, exchange, judgement, now)

    def _may_be_announced(self, url: str) -> bool:
        """Return whether a signal may name this page: a listing of its host was read."""
        return self._on and self.signals is not None and self.signals.has_listing(host_of(url))

    def _book_revisit(
        self,
        link: Link,
        outcome: Outcome,
        exchange: Exchange | None,
        now: float,
        *,
        was_requested: bool,
    ) -> None:
        """Book what came of a page that has a record: it is queued for its next visit, or dropped.

        `was_requested`: whether a request was sent. Each way on is a method of its own: fetched
        ahead, moved, not requested, missing, fetched. A page that is requested again with cookies
        is booked with the answer to that.
        """
        record = self._record(link)
        if record is None:  # a history that cannot be read
            return
        without_condition = link.url in self._requested_unconditionally
        self._requested_unconditionally.discard(link.url)
        if was_requested:
            self.counts.taken()
        if link.url in self._repeated_urls:
            self._repeated_urls.discard(link.url)
            return
        judgement = exchange.state.revisit if exchange is not None else None
        if is_ahead(link):
            self._due.drop(link.url)
            self._book_ahead(record, link, exchange, judgement, now)
            return
        self._count_back(record, now)
        if link.url in self._moved_urls:
            self._keep_moved(record, now)
        elif not was_requested:
            self._keep_unrequested(record, link, outcome, now)
        elif judgement is None or exchange is None or judgement.change is Change.GONE:
            self._keep_missing(record, outcome, now)
        else:
            # Before the record takes the new validators, with which these are compared.
            if _tests_validators(record, judgement):
                etag = exchange.header(b"etag") or b""
                self._honesty.update_trust(
                    link.url, record, judgement, etag, now, plainly=without_condition
                )
            self._learn_and_queue(record, link, exchange, judgement, now)

    def _keep_unrequested(
        self, record: PageRecord, link: Link, outcome: Outcome, now: float
    ) -> None:
        """Keep the record of a page that was not fetched, unless it is not wanted any more."""
        if self._is_unwanted(link, outcome):
            self.counts.forgot(link.url)
        else:
            self._retry_later(record, now, REFUSED_RETRY_WAIT)

    def _is_unwanted(self, link: Link, outcome: Outcome) -> bool:
        """Return whether a page is not to come again.

        EXCLUDED is also for a forbidden address, which may pass.
        """
        # The rules are asked: once, one hour of a name server that led names inside cost a host all
        # its revisits.
        if outcome.status == Status.EXCLUDED:
            return self._excluded(link.url)
        # a host that was given up by command comes back after a day
        return outcome.status == Status.OUT_OF_SCOPE

    def _count_back(self, record: PageRecord, now: float) -> None:
        """Count one page less under way, unless it was never due.

        The target of a page that has moved was not: its record was handed on, and has no fetch yet.
        """
        record_put = self._records_of_due.pop(record.url, None)
        was_due = bool(record.fetched) or record_put is not None
        if was_due:
            self._due.drop(record.url)
        # Waits grow with the time since the last fetch: without one, that would be since 1970.
        record.fetched = record.fetched or now

    def _keep_missing(self, record: PageRecord, outcome: Outcome, now: float) -> None:
        """Keep the record of a page that could not be fetched this time, or is not there."""
        if outcome.status in GONE:
            self._keep_gone(record, now)
            return
        # RFC 9110 13.1.2 keeps 412 for other methods than GET, which has 304. Next time this server
        # is requested without a condition.
        if outcome.status == PRECONDITION_FAILED:
            record.etag = record.modified = b""
        self._retry_later(record, now, SHORTEST_RETRY_WAIT)

    def _keep_moved(self, record: PageRecord, now: float) -> None:
        """Keep the record of a page that was redirected for good, as of one that is gone."""
        self._moved_urls.discard(record.url)
        if not record.gone:  # a page that moved before is counted already
            self.counts.moved(record.url)
        record.handed = True
        self._keep_gone(record, now)

    def _keep_gone(self, record: PageRecord, now: float) -> None:
        """Keep the record of a page that is gone or has moved, until it was gone for too long.

        It may come back: sites are moved by mistake, too.
        """
        record.gone += 1
        may_be_announced = self._may_be_announced(record.url)
        is_gone_for_good = (
            record.gone >= FORGOTTEN_AFTER_VISITS
            and now - record.fetched >= FORGOTTEN_AFTER_SECONDS
        )
        if is_gone_for_good:
            self.counts.forgot(record.url)
            if may_be_announced:
                self.revisits.ahead.lack(record.url, record.path, now)
            return
        if may_be_announced:
            # If a signal has the page fetched before its next turn, its return counts as a change.
            self.revisits.note(record.url, now)
            self.revisits.ahead.gone(record, now)
        self._retry_later(record, now, SHORTEST_RETRY_WAIT)

    def _book_ahead(
        self,
        record: PageRecord,
        link: Link,
        exchange: Exchange | None,
        judgement: PageJudgement | None,
        now: float,
    ) -> None:
        """Note what a fetch at a signal has found, until the page's own record takes that over.

        `record` is the stand-in of the link, with what the last such fetch found. `signals` learns
        whether the word of the listing was true.
        """
        if exchange is None or judgement is None or judgement.change is Change.GONE:
            was_there = judgement is not None and not record.gone
            self._judge_absence(record, exchange, was_there=was_there)
            is_gone = exchange is not None and exchange.status in GONE
            if is_gone and not lacks(record):
                self._gone_ahead(record, now)
            else:
                self.revisits.ahead.give_up(link.url)
            return
        self.revisits.note(link.url, now)
        had_no_record = self.revisits.ahead.fill(link.url)
        if had_no_record:
            self._learn_and_queue(PageRecord(link.url, link.path), link, exchange, judgement, now)
            if self.signals is not None:
                self.signals.followed(link.url, changed=True)
            return
        self._update(record, exchange, judgement, now)
        record.gone = 0
        record.weight = self._importance(link)
        self.revisits.ahead.found(record)
        self.counts.kept_ahead(record, changed=_is_changed(judgement))
        if self.signals is not None:
            if judgement.change is not Change.NEW:  # else there was nothing that could have changed
                self.signals.followed(link.url, changed=_is_changed(judgement))
            self.signals.brought(link.url)

    def _gone_ahead(self, record: PageRecord, now: float) -> None:
        """Note that the page is gone, so that its return is told to those who hear of this."""
        self.revisits.note(record.url, now)
        record.gone += 1
        record.visits = record.visits or 1  # 0 visits and gone: a page that has no record (`lacks`)
        record.fetched = record.fetched or now
        self.revisits.ahead.found(record)

    def _judge_absence(
        self, record: PageRecord, exchange: Exchange | None, *, was_there: bool
    ) -> None:
        """Tell the signals whether news was in a page that they announced and that is not there.

        That it has gone is news once. A listing that announces it again and again is believed less.
        """
        if self.signals is None or exchange is None:
            return
        # In two simulated weeks 100 pages that were gone, and announced again and again, had 12,696
        # of 24,192 fetches; now 824.
        was_known = was_there or record.gone
        has_left = record.gone and exchange.location  # its address leads elsewhere now
        if was_known and (exchange.status in GONE or has_left):
            self.signals.followed(record.url, changed=was_there)

    def _learn_and_queue(
        self,
        record: PageRecord,
        link: Link,
        exchange: Exchange,
        judgement: PageJudgement,
        now: float,
    ) -> None:
        """Learn from a visit whether the page changes, update its record, and queue it again."""
        # The first fetch of a page says nothing of changes: there is nothing to compare it with.
        is_known = record.digest != 0 and judgement.change is not Change.NEW
        changed = record.digest != 0 and _is_changed(judgement)
        # None unless the page is a listing: a sitemap or feed
        news = self.signals.brought(link.url) if self.signals is not None else None
        # Under a policy that takes no page early, listings have turns like other pages.
        listing = news if self._policy.early else None
        seconds = max(now - record.fetched, 0.0)
        if is_known and listing is not None:
            learn_reading(record, seconds, listing.news, changed=changed)
        elif is_known:
            self._policy.observe(record, seconds, changed)
        if self.signals is not None and changed:
            self.signals.changed(link.url, now)
        # `_update` sets `record.fetched`; 0.0: there was no fetch before
        interval = seconds if record.fetched else 0.0
        self._update(record, exchange, judgement, now)
        record.gone = 0
        record.weight = self._importance(link)
        if listing is not None:
            self.counts.left(link.url)  # freshness is estimated of pages alone
            # A reading per hour and host at most, however many listings the host has.
            self.revisits.keep_listing(record, now, HOUR * listing.listings)
            return
        self.counts.kept(record, interval)
        self.revisits.keep(record, now)

    def _update(
        self, record: PageRecord, exchange: Exchange, judgement: PageJudgement, now: float
    ) -> None:
        """Set the record's digest, dates, validators and archived copy by this answer."""
        shown = self._clock.wall(now)  # by servers' clocks, with which their dates are compared
        sent = validators(exchange.headers, shown, longest=LONGEST_ETAG)
        # Only a 304 comes here otherwise: it has no body, and need not repeat the validators.
        if exchange.status == 200:
            record.digest = judgement.digest
            if exchange.state.is_original:
                record.stored = exchange.started
                record.copy_of = ""
            elif judgement.change is not Change.UNCHANGED:
                # The archive has it as another's, in part, or not at all. The original cannot be
                # found without its address.
                fits = len(exchange.state.copy_of) <= LONGEST_COPY
                record.stored = exchange.state.same_since if fits else 0.0
                record.copy_of = exchange.state.copy_of if fits else ""
            if exchange.state.is_original or judgement.change is not Change.UNCHANGED:
                record.plain = exchange.payload is exchange.body
        else:
            sent = sent.completed(Validators(record.etag, record.modified))
        record.etag, record.modified = sent
        record.said = exchange.state.said
        # The page is not fetched before its owner's max-age or Expires is over.
        fresh_seconds = min(fresh_for(exchange.headers, shown), HOLDS_MOST)
        record.holds = ceil(now + fresh_seconds) if fresh_seconds > 0 else 0
        # Its owner forbids keeping it: the next answer is to come whole, and to count as new.
        if exchange.state.withheld is not None:
            record.etag = record.modified = b""
            record.digest = 0
        record.text = judgement.text or record.text
        record.fetched = now

    def _retry_later(self, record: PageRecord, now: float, shortest_wait: float) -> None:
        """Queue a page again, after as long as since its last good fetch: intervals grow.

        `shortest_wait`: seconds to wait at least.
        """
        wait = min(max(now - record.fetched, shortest_wait), LONGEST_RETRY_WAIT)
        # By the clock, too: where the queue runs ahead of it, a page of a host that was given up
        # had 233 attempts, 50 ms apart, and other pages none.
        record.holds = int(now + min(wait, HOLDS_MOST))
        self.revisits.retry(record, now, wait)

    # -- the checkpoint

    def save(self) -> None:
        due = {"out": self._due.total, "hosts": self._due.hosts()}
        saved = {
            **due,
            "policy": self._path,
            "honesty": self._honesty.save(),
            "first": self._notes_first,
        }
        self._db.set(REVISITING, msgpack.packb(saved))


def _is_changed(found: PageJudgement) -> bool:
    """Return whether a page has changed: an advert or a counter that differs is no change."""
    return found.change is Change.CHANGED and found.by is not By.DIGEST


def _tests_validators(record: PageRecord, found: PageJudgement) -> bool:
    """Return whether an answer shows if the page's validators change when the page does."""
    has_validators = bool(record.etag or record.modified)
    return has_validators and found.change is Change.CHANGED and not record.gone
