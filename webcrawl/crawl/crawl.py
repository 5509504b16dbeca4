"""The crawl without a fetcher: links go in, and due ones come out (docs/architecture.md).

A fetcher calls `next_link`, has the visitor make a page of the answer, and calls `finish`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache

from webcrawl.base.model import Exchange, Link, Outcome, Status, is_sitemap, may_be_page
from webcrawl.base.page_values import block_page_vendor, has_block_page
from webcrawl.crawl.admission import RobotsAnswers
from webcrawl.crawl.crawl_log import count_known, notes_of
from webcrawl.crawl.discovery import Discovery
from webcrawl.crawl.outlook import Outlook
from webcrawl.crawl.parts import Followers, Parts
from webcrawl.crawl.seeding import Seeding
from webcrawl.frontier.demand import R
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.store.jobdir.crawl_line import PROXY
from webcrawl.store.jobdir.meta_row import CLEAN

# With fewer, hosts that nobody asks yet are found late: behind six pages of 84,000 links, 20 good
# hosts gave 110 of the 572 pages that they give alone.
SLICE = 500  # links moved to the frontier, or seeds that are read, in one turn: about 2 ms
# seconds between two early merges while the frontier has URLs, though none that are due
PATIENCE = 1.0


class Feeding:
    """The frontier together with what waits before it.

    Links wait in the seen store until it has decided which of them are new; it decides on many at
    once, in a *merge*. Seeds are read as they are needed, and go through that store as well.
    """

    def __init__(self, frontier: Frontier, seen: SeenStore, seeds: Seeding) -> None:
        self._frontier = frontier
        self._seen = seen
        self._seeds = seeds
        self.fed = 0  # links that have come out of the seen store
        self._merged_at = 0.0  # the crawl's time at which `feed` last had a merge begun
        # `next_link` has fed a slice, and there may be another: it is to be called again at once
        self._may_have_more = False

    def feed(self, now: float, *, seeds: bool = True) -> bool:
        """Move links known to be new to the frontier; return whether a next call may move more.

        If the seen store has none at hand, seeds are read, unless `seeds` is False. If there is
        still none, the store merges early: a frontier that runs dry never waits until the buffer
        of the store is full.
        """
        seen = self._seen
        records = seen.pop_new(SLICE)
        has_read_seeds = False
        if not records and seeds and not self._seeds.ended:
            has_read_seeds = self._seeds.read(SLICE)
        if not records and seen.pending and (now - self._merged_at >= PATIENCE or self._is_dry()):
            self._merged_at = now
            seen.merge()
            records = seen.pop_new(SLICE)
        new = [*filter(None, records)]  # without placeholders, which were only to be marked as seen
        self.fed += len(new)
        self._frontier.add(new)
        # If all seeds of this slice were known, the next ones may be new.
        return bool(records) or (has_read_seeds and not seen.pending)

    def next_link(self, now: float) -> Link | None:
        """Return a link that may be fetched now, of the frontier or of what is new, or None."""
        frontier, demand = self._frontier, self._frontier.demand
        link = frontier.take(now, spare=False)  # of hosts within their share of the slots
        # Before an unproven host gets a slot beyond its share, waiting links are merged: without
        # that, hosts that answer had no URL in the back-end.
        if link is None and demand.holds_back(now):
            self.feed(now, seeds=demand.wants_hosts(now) and now - self._merged_at >= PATIENCE)
        if link is None:
            link = frontier.take(now)
        # One slice only, to keep this turn of the event loop short: the next call goes on.
        self._may_have_more = link is None and self.feed(now, seeds=demand.takes_new())
        if self._may_have_more:
            link = frontier.take(now)
        return link

    def next_ready(self, ready: float | None) -> float | None:
        """Return when to call `next_link`: when the frontier is ready, or may get more links.

        `ready`: when the frontier is; None if that depends on something else. So is what is returned.
        """
        if self._may_have_more:
            may_get_more_at = 0.0
        elif self._seen.pending and not self._seen.busy:  # they may be of hosts that need not wait
            may_get_more_at = self._merged_at + PATIENCE
        else:
            return ready  # the end of a merge under way wakes the crawl by itself
        return may_get_more_at if ready is None else min(ready, may_get_more_at)

    def _is_dry(self) -> bool:
        """Return whether the frontier has nothing but URLs that wait for a larger budget."""
        return not self._frontier.queued - self._frontier.over_budget


TIMED_OUT, TOO_MANY = 408, 429  # requests: as with 5xx, the server says that it fails
# the counter of answers that ended their URLs, whatever their status; of robots.txt too
ANSWERS = "answers"
PAGES = "pages"  # the counter of those that are pages
PROBES = "probes"
REPEATS = "repeats"  # the counter of answers that ended nothing: their URLs were requested again
# the link comes again as if it had not been taken
NO_OUTCOMES = frozenset((Status.UNTRIED, Status.YIELDED))


class Crawl:
    """The way of URLs between parts of a crawl: from the frontier, back, into the checkpoint."""

    # Parts in which other kinds of crawls differ
    discovery: type[Discovery] = Discovery
    robots_answers: type[RobotsAnswers] = RobotsAnswers
    has_budgets = True  # new bodies count for those of hosts and domains
    rereads = False  # its pages come from archives, which may have one page many times

    def __init__(self, parts: Parts) -> None:
        """`parts`: what the crawl is made of; some are absent in small crawls."""
        self.parts = parts
        # the last run was killed, or could not keep what it did at its end
        self.last_run_crashed = parts.db.get(CLEAN) == b""
        self._is_over = False  # the last checkpoint was taken
        self.all_rest = False  # no drone of the hive has anything left but deferred hosts
        self.followers = Followers()
        self.outlook = Outlook(parts, self.stats)
        self._feeds = parts.moments.on_feed
        self._feeding = Feeding(parts.frontier, parts.seen, parts.seeding)

    # -- in

    def feed(self) -> None:
        """Move links known to be new to the frontier, without taking any."""
        self._feeding.feed(self.parts.clock())

    @property
    def fed(self) -> int:
        """Return the number of links that were new in this run, and that the frontier got."""
        return self._feeding.fed

    # -- out

    def next_link(self, now: float) -> Link | None:
        """Return a link that may be fetched now, or None; `next_ready` says when to ask again."""
        parts = self.parts
        if self._hands_out_nothing:
            return None
        if parts.uplink.out:  # our own network: only probes go
            return self._probe(now)
        if not self._bring_in_links(now):
            return None
        link = self._feeding.next_link(now)
        if link is None:
            self._idle(now)
        return link

    def _bring_in_links(self, now: float) -> bool:
        """Have all sources of links bring what is due.

        Return False if nothing may be taken yet, because all seeds have to be read first.
        """
        parts = self.parts
        if parts.seeding.first:
            parts.seeding.read(SLICE)
            if parts.seeding.first:
                return False
        if parts.portions.links:  # nearly always there are none
            parts.discovery.submit_portion(now, paced=len(parts.frontier) > 0)
        for on_feed in self._feeds:
            on_feed(now)
        return True

    def _idle(self, now: float) -> None:
        """Tell features that no link may be fetched now."""
        for on_idle in self.parts.moments.on_idle:
            on_idle(now)

    def _probe(self, now: float) -> Link | None:
        """Return a link whose fetch may show that the network is back, or None.

        If the frontier has no host left to try, more links are let in.
        """
        parts = self.parts
        link = parts.uplink.probe(now) if parts.uplink.may_probe(now) else None
        if link is None and parts.frontier.resting() and self._bring_in_links(now):
            self._feeding.feed(now)
            self._idle(now)
        return link

    def next_ready(self) -> float | None:
        """Return the crawl's time at which there may be something to do; 0 is now.

        None: not before something is found or finished, or a command or a server lets it go on.
        """
        parts = self.parts
        # Refusals and `data:` URLs ask no host: neither a pause nor an outage holds them up.
        needs_no_host = parts.refusals.waiting or parts.hostless.waiting
        if needs_no_host:
            return 0.0
        if self._hands_out_nothing:
            return None
        if parts.uplink.out:
            return parts.uplink.next_probe
        if parts.seeding.first:
            return None if parts.seeding.waits else 0.0
        times = [ready_at for ready_at in self._next_times(parts.clock()) if ready_at is not None]
        return min(times, default=None)

    def _next_times(self, now: float) -> Iterator[float | None]:
        """Yield for each source of links when it may have one; None: it does not know."""
        parts = self.parts
        yield self._feeding.next_ready(parts.frontier.next_ready())
        if parts.portions.links:
            # They are paced beside other links, and not where there are none.
            yield parts.portions.ready_at if len(parts.frontier) else now
        for next_due in parts.moments.next_due:
            yield next_due(now)

    @property
    def _hands_out_nothing(self) -> bool:
        """Return whether all links are kept back.

        A command, a holder, a hive that is cut off, or deferred hosts keep them.
        """
        return self.parts.in_force.rests or (self.all_rest and self.rests)

    # -- answers

    def will_retry(self, link: Link, outcome: Outcome) -> bool:
        """Return whether `finish` is going to queue the link once more."""
        self.parts.uplink.excuse(outcome)
        return outcome.status in NO_OUTCOMES or self.parts.frontier.will_retry(
            link, outcome, self._ended(outcome)
        )

    def overstaying(self, running: Sequence[R], *, full: bool) -> list[R]:
        """Return the downloads to cancel because others wait for their slots; `full`: none is free."""
        parts = self.parts
        if parts.uplink.out or parts.in_force.paused:
            return []
        found = parts.frontier.demand.overstaying(running, full=full)
        if not found:
            return []
        now = parts.clock()
        waiting = parts.frontier.demand.starved(now, full=full)
        if full and not waiting:
            self._feeding.feed(now)  # `next_link`, which does it, is not called
        return found[:waiting]

    def finish(
        self,
        link: Link,
        outcome: Outcome,
        exchange: Exchange | None,
        withheld: Exchange | None = None,
    ) -> bool:
        """Book the end of a download, at the time when it ended; return whether its URL is retried.

        A link of NO_OUTCOMES is put back instead, and False returned: nothing of it is counted or
        logged. `withheld`: the head of an answer that came from elsewhere, and is not kept.
        """
        parts = self.parts
        if not link.request:  # of a spider's own request it was decided before the spider was told
            parts.uplink.excuse(outcome)
        if outcome.status in NO_OUTCOMES:
            self._put_back(link, outcome)
            return False
        if parts.halfway:
            parts.halfway.finished(link.url)
        if exchange is not None and exchange.state.recognised and not link.request:
            # What follows from a block page is in frontier/health.py. It is the spider's business
            # if the spider asked.
            outcome.blocked_by = block_page_vendor(
                exchange.state.recognised, robots=link.is_prerequisite
            )
        # else a cache or a middleware has answered, and no host
        was_requested = outcome.ended > 0.0
        is_final = self._free_host(link, outcome, was_requested=was_requested)
        # a block page is an answer of the URL, although the URL is retried
        is_logged = not was_requested or is_final or bool(outcome.blocked_by)
        counter = counted_as(link.path)
        if counter == ANSWERS and not is_logged:
            counter = REPEATS
        self._counted(outcome, exchange, counter)
        if is_logged:
            self._count_page(link, outcome, exchange)
        if not was_requested:
            notes = withheld.state.notes if withheld is not None else ()
            # `unasked` is an annotation that logs of crawls have.
            parts.log.finished(link, outcome, None, ["unasked", *notes])
        elif is_logged:
            proxy_note = [PROXY] if outcome.by_proxy else []
            parts.log.finished(link, outcome, exchange, [*notes_of(link, exchange), *proxy_note])
        return not is_final

    def _free_host(self, link: Link, outcome: Outcome, *, was_requested: bool) -> bool:
        """Tell the frontier how a download has ended, so that its host can be requested again.

        Return False if the frontier has queued the URL once more.
        """
        parts = self.parts
        if not was_requested:
            parts.frontier.end_without_request(link, parts.clock())
            return True
        if parts.crawl_end.needs_downloads:
            parts.crawl_end.note_download(
                answered=0 < outcome.status < TIMED_OUT and not outcome.blocked_by
            )
        return parts.frontier.done(link, outcome, parts.clock.at(outcome.ended))

    def _put_back(self, link: Link, outcome: Outcome) -> None:
        """Give a link back that could not be tried (UNTRIED), or was cancelled for others (YIELDED)."""
        for on_put_back in self.parts.moments.on_put_back:
            on_put_back(link)
        if outcome.status == Status.UNTRIED:
            self.parts.frontier.put_back(link, self._ended(outcome), outcome.wait)
        else:
            self.parts.frontier.cancelled(link, outcome.seconds, self._ended(outcome))

    def refuse(self, link: Link, status: int) -> None:
        """End a link just taken that cannot be requested; its errback hears of it."""
        parts = self.parts
        if parts.halfway:
            parts.halfway.finished(link.url)
        parts.frontier.end_without_request(link, parts.clock())
        self._counted(Outcome(status), None)
        parts.refusals.dropped(link, status)

    def _counted(self, outcome: Outcome, exchange: Exchange | None, answer: str = ANSWERS) -> None:
        """Count an outcome by its status, and the bytes of its answer.

        `answer`: the name of the counter of such answers. A server's error counts as an answer and
        as a failure; a probe never as a failure.
        """
        counters, status = self.parts.counters, outcome.status
        if 0 < status < TIMED_OUT or answer == PROBES:  # nearly always
            counters[answer] += 1
        else:
            is_server_error = status in (TIMED_OUT, TOO_MANY) or status >= 500
            counters[answer] += status > 0  # below 0 it is a Status: there was no answer
            counters["failures"] += status < 0 or is_server_error
        counters[f"status/{status}"] += 1
        if exchange is not None:
            counters["bytes"] += exchange.received
            if exchange.state.refers is not None:
                count_known(counters, exchange)
            if exchange.state.since is not None:
                counters[f"since/{exchange.state.since}"] += 1

    def _count_page(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Count an answer of status 2xx as a page, unless it is a block page or of no page's URL.

        Statistics choose in the same way, so that the two numbers agree.
        """
        if 200 <= outcome.status < 300 and may_be_page(link.path):
            notes = exchange.state.notes if exchange is not None else ()
            self.parts.counters[PAGES] += not (notes and has_block_page(notes))

    def _ended(self, outcome: Outcome) -> float:
        """Return the crawl's time at which a download ended; 0 if no host was requested."""
        return self.parts.clock.at(outcome.ended) if outcome.ended else 0.0

    # -- commands

    def pause(self) -> bool:
        """Hand out no more links; return False if the crawl was paused already."""
        was_paused = self.parts.in_force.paused
        self.parts.in_force.paused = True
        return not was_paused

    def resume(self) -> bool:
        """End a pause; return False if there was none."""
        was_paused = self.parts.in_force.paused
        self.parts.in_force.paused = False
        if was_paused:
            self.parts.begin_again()
        return was_paused

    # -- how it is going

    @property
    def pending(self) -> bool:
        """Return whether anything is left to do, or may turn out to be.

        URLs of hosts that do not answer, and those over a domain's budget, need not be fetched now.
        """
        return self._pending(busy=self.parts.frontier.in_flight > 0)

    @property
    def rests(self) -> bool:
        """Return whether for long enough nothing was left but to try deferred hosts.

        A drone tells its hive. Once all drones rest (`all_rest`), none tries any.
        """
        return not self._pending(busy=False)

    def _pending(self, *, busy: bool) -> bool:
        """Return whether the crawl must go on: more may come, or a host with URLs may recover.

        `busy`: fetches or pages are under way. It begins or extends the wait of OUTAGE_END_WAIT.
        """
        if self._has_more_to_come():
            return True
        parts = self.parts
        frontier = parts.frontier
        if len(frontier) <= frontier.over_budget:
            return False
        # The network may be away, or the crawl held, for as long as it takes: no host could recover
        # meanwhile.
        if (parts.uplink.out or parts.in_force.held) and self._may_return():
            parts.crawl_end.begin_again()
            return True
        resting = frontier.resting()
        may_recover = resting and frontier.may_recover()
        return not parts.crawl_end.is_reached(
            parts.clock(), resting=resting, busy=busy, may_recover=may_recover
        )

    def _has_more_to_come(self) -> bool:
        """Return whether something else than the frontier's URLs keeps the crawl open."""
        parts = self.parts
        is_open_ended = any(next_work() for next_work in parts.moments.next_work)
        if is_open_ended or self._has_links_outside_frontier():
            return True
        return not parts.seeding.ended or parts.in_force.paused

    def _has_links_outside_frontier(self) -> bool:
        """Return whether links wait on their way into the frontier, or need no host at all."""
        parts = self.parts
        return bool(
            parts.seen.pending
            or parts.portions.links
            or len(parts.refusals)
            or parts.hostless.pending
        )

    def _may_return(self) -> bool:
        """Return whether a host may be requested once there is a network: not all left are paused."""
        figures = self.parts.frontier.look.figures()
        return (
            bool(figures["hosts"] or figures["deferred_due"]) or not self.parts.frontier.resting()
        )

    def stats(self) -> dict[str, int | float]:
        """Return all counters by name."""
        parts = self.parts
        of_features = [
            item for next_figures in parts.moments.next_figures for item in next_figures().items()
        ]
        frontier, counters, seen = parts.frontier, parts.counters, parts.seen.stats()
        # The cache of recent links has kept these from the seen store. Without it, the store's own
        # cache would have known them, so they count as its hits.
        known = counters["links/known"]
        lookups = seen["submitted"] + known
        figures = frontier.look.figures()
        if due := figures["deferred_due"]:  # a time of the crawl's clock; 0: there is none
            figures["deferred_due"] = parts.clock.wall(due)
        if self._is_over:
            figures = at_rest(figures)
        seen["cache_hit_rate"] = (seen["cache_hits"] + known) / lookups if lookups else 0.0
        own = {
            **{name: counters[name] for name in (PAGES, ANSWERS, "failures", "bytes")},
            **counters,
            "links/waiting": parts.portions.links,
            **figures,
            "outage/seconds": counters["outage/seconds"] + round(parts.uplink.seconds),
            "seeds": parts.seeding.taken,
            "bad_seeds": parts.seeding.bad,
            "seed_lists_away": parts.seeding.away,
            **{f"frontier/{name}": value for name, value in frontier.counters.items()},
            **{f"refused/{name}": value for name, value in parts.pipeline.filtered.items()},
            **{f"seen/{name}": value for name, value in seen.items()},
        }
        # A feature may be a user's own: none replaces a figure of the crawl.
        return own | {name: value for name, value in of_features if name not in own}

    # -- the checkpoint

    def begin(self) -> None:
        """Note that this run has begun, so that the next one knows if it is killed.

        Call it before the first URL is fetched.
        """
        if self.parts.db.get(CLEAN) != b"":
            self.checkpoint()

    def checkpoint(self, *, last: bool = False) -> None:
        """Take a checkpoint. `last`: nothing is in flight any more.

        Only then it has the mark CLEAN. A run that does not find the mark knows that hosts were
        requested after the checkpoint.
        """
        self.parts.db.set(CLEAN, b"1" if last else b"")
        self.parts.db.checkpoint()
        self._is_over = last
        self.followers.committed()

    def close(self) -> None:
        """Leave the state as of the last checkpoint."""
        self.outlook.end()
        with ExitStack() as rest:  # all are closed, whatever the first one raises
            for part in (
                self.parts.db,
                self.parts.outputs,
                self.parts.content,
                self.parts.seen,
                self.parts.seeding,
            ):
                rest.callback(part.close)
            self.followers.close(rest)


def at_rest(figures: dict[str, int | float]) -> dict[str, int | float]:
    """Return the figures of a crawl that is over: what was in flight waits again."""
    return figures | {
        "queued": figures["queued"] + figures["in_flight"],
        "in_flight": 0,
        "in_flight/more": 0,
    }


@lru_cache(1024)
def counted_as(path: str) -> str:
    """Return the counter of answers to links with this discovery path."""
    if path.endswith("S"):
        return PROBES
    return "sitemaps" if is_sitemap(path) else ANSWERS
