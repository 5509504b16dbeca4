"""The crawl without a fetcher: found links go in, links that may be fetched come out
(docs/design.md).

A fetcher calls `take`, has the visitor make a page of the answer, and calls `finish`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache

from webcrawl.base.model import Exchange, Link, Outcome, Status, is_sitemap, may_be_page
from webcrawl.base.page_values import walled
from webcrawl.content.recognise import wall_of
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

SLICE = 500  # links moved to the frontier, or seeds that are read, in one turn: about 2 ms
# seconds between two early merges while the frontier has URLs, though none that are due
PATIENCE = 1.0


class Feeding:
    """The frontier together with what waits before it."""

    def __init__(self, frontier: Frontier, seen: SeenStore, seeds: Seeding) -> None:
        self._frontier = frontier
        self._seen = seen
        self._seeds = seeds
        self.fed = 0  # links that have come out of the seen store
        self._merged_at = 0.0
        # the last slice had no link that may be fetched now, and there may be another
        self._more = False

    def feed(self, now: float, *, seeds: bool = True) -> bool:
        """Moves links known to be new to the frontier; True if there were any, or nothing but seeds
        known before.

        When there are none it reads seeds, then has the waiting links merged early, so that a
        frontier that runs dry never waits for T to fill.
        """
        seen = self._seen
        records, read = seen.take(SLICE), False
        if not records and seeds and not self._seeds.ended:
            read = self._seeds.read(SLICE)
        if not records and seen.pending and (now - self._merged_at >= PATIENCE or self._is_dry()):
            self._merged_at = now
            seen.merge()
            records = seen.take(SLICE)
        new = [*filter(None, records)]
        self.fed += len(new)
        self._frontier.add(new)
        # of seeds that were known, the next ones may be new
        return bool(records) or (read and not seen.pending)

    def take(self, now: float) -> Link | None:
        """A link that may be fetched now, of the frontier or of what is new."""
        frontier, demand = self._frontier, self._frontier.demand
        link = frontier.take(now, spare=False)
        if link is None and demand.holds_back(now):  # links of other hosts may wait there
            self.feed(now, seeds=demand.wants_hosts(now) and now - self._merged_at >= PATIENCE)
        if link is None:
            link = frontier.take(now)
        self._more = link is None and self.feed(
            now, seeds=frontier.demand.takes_new()
        )  # one slice: the next turn goes on
        if self._more:
            link = frontier.take(now)
        return link

    def next_ready(self, ready: float | None) -> float | None:
        """The time to call `take`: when the frontier is ready, or when more links may enter it."""
        if self._more:
            more = 0.0
        elif self._seen.pending and not self._seen.busy:  # they may be of hosts that need not wait
            more = self._merged_at + PATIENCE
        else:
            return ready
        return more if ready is None else min(ready, more)

    def _is_dry(self) -> bool:
        return not self._frontier.queued - self._frontier.over_budget


TIMED_OUT, TOO_MANY = 408, 429  # requests: as with 5xx, the server says that it fails
# the counter of answers that ended their URLs, whatever their status; of robots.txt too
ANSWERS = "answers"
PAGES = "pages"  # the counter of those that are pages
PROBES = "probes"
REPEATS = "repeats"  # the counter of answers that ended nothing: their URLs were asked for again
# the link comes again as if it had not been taken
NO_OUTCOMES = frozenset((Status.UNTRIED, Status.DEFERRED))


class Crawl:
    """The life of URLs between the parts of a crawl: out of the frontier, back, and into the
    checkpoint.
    """

    # Parts that other kinds of crawls have otherwise
    discovery: type[Discovery] = Discovery
    robots_answers: type[RobotsAnswers] = RobotsAnswers
    has_budgets = True  # new bodies count for those of hosts and domains
    rereads = False  # its pages come from archives, which may have one page many times

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        # the last run was killed, or could not keep what it did at its end
        self.cut_short = parts.db.get(CLEAN) == b""
        self._is_over = False
        self.all_rest = False  # no drone of the hive has anything left but hosts set aside
        self.followers = Followers()
        self.outlook = Outlook(parts, self.stats)
        self._feeds = parts.moments.on_feed
        self._feeding = Feeding(parts.frontier, parts.seen, parts.seeding)

    # -- in

    def feed(self) -> None:
        """Moves links known to be new to the frontier, without taking any."""
        self._feeding.feed(self.parts.clock())

    @property
    def fed(self) -> int:
        """The links that the seen store has found to be new in this run, and the frontier got."""
        return self._feeding.fed

    # -- out

    def take(self, now: float) -> Link | None:
        """A link that may be fetched now."""
        parts = self.parts
        if parts.in_force.hands_out_nothing or (self.all_rest and self.rests):
            return None
        if parts.uplink.out:
            return self._probe(now)
        if not self._fed(now):
            return None
        link = self._feeding.take(now)
        if link is None:
            self._idle(now)
        return link

    def _fed(self, now: float) -> bool:
        """Brings what is due so far that it may be taken; False if all seeds must be read before."""
        parts = self.parts
        if parts.seeding.first:
            parts.seeding.read(SLICE)
            if parts.seeding.first:
                return False
        if parts.portions.links:  # of few pages
            parts.discovery.submit_portion(now, paced=len(parts.frontier) > 0)
        for on_feed in self._feeds:
            on_feed(now)
        return True

    def _idle(self, now: float) -> None:
        for on_idle in self.parts.moments.on_idle:
            on_idle(now)

    def _probe(self, now: float) -> Link | None:
        """While there is no network: a link that may show that it is back.

        If there is none, more are let in.
        """
        parts = self.parts
        link = parts.uplink.probe(now) if parts.uplink.may_probe(now) else None
        if link is None and parts.frontier.resting() and self._fed(now):
            self._feeding.feed(now)
            self._idle(now)
        return link

    def next_ready(self) -> float | None:
        """When there may be something to do (0 is now), or None as long as nothing is found or
        finished.
        """
        parts = self.parts
        if parts.refusals.waiting or parts.hostless.waiting:
            return 0.0
        if parts.in_force.hands_out_nothing or (self.all_rest and self.rests):
            return None
        if parts.uplink.out:
            return parts.uplink.next_probe
        if parts.seeding.first:
            return None if parts.seeding.waits else 0.0
        now, ready = parts.clock(), self._feeding.next_ready(parts.frontier.next_ready())
        if parts.portions.links:
            portion_at = parts.portions.ready_at if len(parts.frontier) else now
            ready = portion_at if ready is None else min(ready, portion_at)
        for next_due in parts.moments.next_due:
            at = next_due(now)
            if at is not None:
                ready = at if ready is None else min(ready, at)
        return ready

    # -- answers

    def will_retry(self, link: Link, outcome: Outcome) -> bool:
        """True if `finish` is going to queue the link once more."""
        self.parts.uplink.excuse(outcome)
        return outcome.status in NO_OUTCOMES or self.parts.frontier.will_retry(
            link, outcome, self._ended(outcome)
        )

    def overstaying(self, running: Sequence[R], *, full: bool) -> list[R]:
        """Returns the downloads to be cut because others wait for their slots; `full`: no slot is
        free.
        """
        parts = self.parts
        if parts.uplink.out or parts.in_force.paused:
            return []
        found = parts.frontier.demand.overstaying(running, full=full)
        if not found:
            return []
        now = parts.clock()
        waiting = parts.frontier.demand.starved(now, full=full)
        if full and not waiting:
            self._feeding.feed(now)  # `take`, which does it, is not called
        return found[:waiting]

    def finish(
        self,
        link: Link,
        outcome: Outcome,
        exchange: Exchange | None,
        withheld: Exchange | None = None,
    ) -> bool:
        """Books the end of a download, at the time when it ended; True if its URL is retried.

        One that could not be tried leaves no trace, and one that was cut only its time. `withheld`:
        the head of an answer that came from elsewhere, and is not kept.
        """
        parts = self.parts
        if not link.request:  # of a spider's own request it was decided before the spider was told
            parts.uplink.excuse(outcome)
        if outcome.status in NO_OUTCOMES:
            self._put_back(link, outcome)
            return False
        if parts.halfway:
            parts.halfway.finished(link.url)
        asked, final = outcome.ended > 0.0, True
        if exchange is not None and exchange.state.recognised and not link.request:
            outcome.wall = wall_of(exchange.state.recognised, robots=link.is_prerequisite)
        if asked:
            if parts.ending.listens:
                parts.ending.asked(answered=0 < outcome.status < TIMED_OUT and not outcome.wall)
            final = parts.frontier.done(link, outcome, parts.clock.at(outcome.ended))
        else:
            parts.frontier.unasked(link, parts.clock())
        ends, kind = not asked or final or outcome.wall, counted_as(link.path)
        self._counted(outcome, exchange, kind if ends or kind != ANSWERS else REPEATS)
        if ends:
            self._count_page(link, outcome, exchange)
        if not asked:
            parts.log.finished(
                link,
                outcome,
                None,
                ["unasked", *(withheld.state.notes if withheld is not None else ())],
            )
        elif ends:
            by = [PROXY] if outcome.by_proxy else []
            parts.log.finished(link, outcome, exchange, [*notes_of(link, exchange), *by])
        return not final

    def _put_back(self, link: Link, outcome: Outcome) -> None:
        for on_put_back in self.parts.moments.on_put_back:
            on_put_back(link)
        if outcome.status == Status.UNTRIED:
            self.parts.frontier.put_back(link, self._ended(outcome), outcome.wait)
        else:
            self.parts.frontier.cut(link, outcome.seconds, self._ended(outcome))

    def refuse(self, link: Link, status: int) -> None:
        """Ends a link just taken, which cannot be asked for; its errback hears of it."""
        parts = self.parts
        if parts.halfway:
            parts.halfway.finished(link.url)
        parts.frontier.unasked(link, parts.clock())
        self._counted(Outcome(status), None)
        parts.refusals.dropped(link, status)

    def _counted(self, outcome: Outcome, exchange: Exchange | None, answer: str = ANSWERS) -> None:
        """`answer`: the counter of an answer.

        A server's error is one, and a failure; a probe is neither.
        """
        counters, status = self.parts.counters, outcome.status
        if 0 < status < TIMED_OUT or answer == PROBES:  # nearly always
            counters[answer] += 1
        else:
            counters[answer] += status > 0
            counters["failures"] += status < 0 or status in (TIMED_OUT, TOO_MANY) or status >= 500
        counters[f"status/{status}"] += 1
        if exchange is not None:
            counters["bytes"] += exchange.received
            if exchange.state.refers is not None:
                count_known(counters, exchange)
            if exchange.state.since is not None:
                counters[f"since/{exchange.state.since}"] += 1

    def _count_page(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Count an answer of status 2xx, unless a wall gave it or its URL is no page's; statistics
        do the same.
        """
        if 200 <= outcome.status < 300 and may_be_page(link.path):
            notes = exchange.state.notes if exchange is not None else ()
            self.parts.counters[PAGES] += not (notes and walled(notes))

    def _ended(self, outcome: Outcome) -> float:
        return self.parts.clock.at(outcome.ended) if outcome.ended else 0.0

    # -- commands

    def pause(self) -> bool:
        """Hands nothing out any more; False if it was paused already."""
        before, self.parts.in_force.paused = self.parts.in_force.paused, True
        return not before

    def resume(self) -> bool:
        """Goes on; False if it was not paused."""
        before, self.parts.in_force.paused = self.parts.in_force.paused, False
        if before:
            self.parts.begin_again()
        return before

    # -- how it is going

    @property
    def pending(self) -> bool:
        """True if anything is left to do, or may turn out to be.

        What hosts that do not answer have, and what is over a domain's budget, need not be done
        now.
        """
        return self._pending(busy=self.parts.frontier.in_flight > 0)

    @property
    def rests(self) -> bool:
        """True if nothing is left but to try hosts set aside, for long enough: if all drones rest,
        none tries any.
        """
        return not self._pending(busy=False)

    def _pending(self, *, busy: bool) -> bool:
        parts = self.parts
        if any(next_work() for next_work in parts.moments.next_work):
            return True
        waiting = (
            parts.seen.pending
            or parts.portions.links
            or len(parts.refusals)
            or parts.hostless.pending
        )
        if waiting or not parts.seeding.ended or parts.in_force.paused:
            return True
        frontier = parts.frontier
        if len(frontier) <= frontier.over_budget:
            return False
        # for as long as that takes: nobody could come back now
        if parts.uplink.out and self._may_return():
            parts.ending.begin_again()
            return True
        resting = frontier.resting()
        may_recover = resting and frontier.may_recover()
        return not parts.ending.reached(
            parts.clock(), resting=resting, busy=busy, may_recover=may_recover
        )

    def _may_return(self) -> bool:
        """True if a host may be asked once there is a network again: of those that are left not all
        are paused.
        """
        figures = self.parts.frontier.look.figures()
        return bool(figures["hosts"] or figures["aside_due"]) or not self.parts.frontier.resting()

    def stats(self) -> dict[str, int | float]:
        """All counters by name."""
        parts = self.parts
        told = [
            item for next_figures in parts.moments.next_figures for item in next_figures().items()
        ]
        frontier, counters, seen = parts.frontier, parts.counters, parts.seen.stats()
        # hits too: without that cache this one would have seen them
        known = counters["links/known"]
        asked = seen["submitted"] + known
        figures = frontier.look.figures()
        if due := figures["aside_due"]:
            figures["aside_due"] = parts.clock.wall(due)
        if self._is_over:
            figures = at_rest(figures)
        seen["cache_hit_rate"] = (seen["cache_hits"] + known) / asked if asked else 0.0
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
        return own | {name: value for name, value in told if name not in own}

    # -- the checkpoint

    def begin(self) -> None:
        """Call it before the first URL is fetched: if this run is killed at once, the next must
        know of it.
        """
        if self.parts.db.get(CLEAN) != b"":
            self.checkpoint()

    def checkpoint(self, *, last: bool = False) -> None:
        """`last`: nothing is in flight any more.

        A run that finds no such mark knows that hosts were asked since.
        """
        self.parts.db.set(CLEAN, b"1" if last else b"")
        self.parts.db.checkpoint()
        self._is_over = last
        self.followers.committed()

    def close(self) -> None:
        """Leaves the state as of the last checkpoint."""
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
    """Of a crawl that is over: what was in flight waits again."""
    return figures | {
        "queued": figures["queued"] + figures["in_flight"],
        "in_flight": 0,
        "in_flight/more": 0,
    }


@lru_cache(1024)
def counted_as(path: str) -> str:
    """The counter of answers to links with this discovery path."""
    return PROBES if path.endswith("S") else "sitemaps" if is_sitemap(path) else ANSWERS
