"""The crawl without a fetcher: found links go in, links that may be fetched come out (docs/design.md).

A fetcher calls `take`, `discover` for the links of the page, and `finish`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from webcrawl.base.hosts import host_of
from webcrawl.base.model import Exchange, Link, Outcome, Packed, Status, url_of
from webcrawl.crawl.crawl_log import Hearer, count_known, notes_of
from webcrawl.crawl.discovery import Discovery, SitemapsByName
from webcrawl.crawl.inline import InlineDownloads
from webcrawl.crawl.inspection import About
from webcrawl.crawl.mailbox import Mailbox, RobotsHeard
from webcrawl.crawl.parts import Follower, Parts
from webcrawl.crawl.refusals import Refusal
from webcrawl.frontier.overstay import R
from webcrawl.net.robots_book import NO_HEAD
from webcrawl.net.robots_entry import Head
from webcrawl.net.robots_said import RobotsSaid
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import TakenAway
from webcrawl.store.jobdir.history_line import mix
from webcrawl.store.jobdir.revisit_figures import RevisitFigures
from webcrawl.store.output import Output
from webcrawl.store.outputs import Outputs
from webcrawl.urls.filters.filter_protocol import Dropped
from webcrawl.urls.optout import OptOut

logger = logging.getLogger(__name__)

SLICE = 500  # new links moved to the frontier in one turn: about 2 ms
CLEAN = "clean"  # in the database: whether the last checkpoint was the last of its run
NO_OUTCOMES = frozenset((Status.UNTRIED, Status.DEFERRED))  # the link comes again as if it had not been taken
PATIENCE = 1.0  # seconds between two early merges while the frontier has URLs, though none that are due


T = TypeVar("T")


class Crawl:
    """Facade of one crawl: links, seen store, frontier, robots rules, seeds, outputs, and the checkpoint."""

    rereads = False  # whether its pages come from archives, which may have one page many times

    def __init__(self, parts: Parts) -> None:
        self._db, self._pipeline = parts.db, parts.pipeline
        self._clock = parts.clock
        self._seen, self._content, self._frontier = parts.seen, parts.content, parts.frontier
        self._robots, self._seeding, self._refusals = parts.robots, parts.seeding, parts.refusals
        self._outputs, self._log, self._counters = parts.outputs, parts.log, parts.counters
        self._portions, self._ending = parts.portions, parts.ending
        elsewhere = parts.post.drone if parts.post is not None else None
        self._discovery = Discovery(
            parts.pipeline,
            parts.seen,
            parts.lately,
            parts.portions,
            parts.site_of,
            parts.counters,
            parts.frontier,
            elsewhere,
            parts.trace,
            parts.leave,
        )
        self._elsewhere, self.post = elsewhere, parts.post
        self.signalling = parts.signalling
        if parts.sitemaps:
            known = parts.signalling.signals.has_listing if parts.signalling is not None else lambda _: False
            parts.frontier.on_grown = SitemapsByName(self._discovery.found_one, known).grown
        self.all_rest = False  # no drone of the hive has anything left but hosts set aside
        self.about = About(self._discovery, parts.frontier, elsewhere)
        self._halfway = parts.halfway
        self.uplink, self.statistics = parts.uplink, parts.statistics
        self.bound: Callable[[], str] = str  # says what bounds the crawl, if somebody around it looks at that
        self.held = ""  # why somebody around the crawl has it fetch nothing, in a few words; nothing if nobody has
        self.inline = InlineDownloads(
            parts.frontier.lending,
            parts.robots,
            parts.clock,
            parts.log,
            parts.counters,
            parts.halfway,
            elsewhere,
            uplink=parts.uplink,
            rests=lambda: self.held != "" or self.in_force.paused,
            excludes=parts.excludes,
        )
        self.unkept = parts.unkept
        self.in_force, self.hosts, self._file_optouts = parts.in_force, parts.hosts, parts.file_optouts
        self._followers: list[Follower] = []
        self._figures: list[Callable[[], Mapping[str, int]]] = []
        self._merged_at = 0.0
        self.revisiting = parts.revisiting
        self._more = False  # the last slice of links had none that may be fetched now, and there may be another

    def now(self) -> float:
        """The time that `take` and its like want: seconds since 1970, whatever is done to the machine's clock."""
        return self._clock()

    # -- in

    def discover(
        self,
        page: Link,
        links: Sequence[str],
        hop: Callable[[int], str],
        *,
        base: str = "",
        needed: bool = False,
        targets: dict[str, str | None] | None = None,
    ) -> None:
        """The links of a page, in one batch; `hop` gives the letter of each by its position.

        `needed`: these are its requisites. `targets` gets the canonical forms that are found now.
        """
        self._discovery.discover(page, links, hop, base=base, needed=needed, targets=targets)

    def passing(self, page: Link, links: Sequence[str], base: str) -> frozenset[str]:
        """Returns those of these links of a page that the filters let through."""
        return self._discovery.passing(page, links, base)

    def is_within(self, url: str) -> bool:
        """True if a page that is shown in another is one of the crawl's, however it was found."""
        return self._discovery.is_within(url)

    def redirected(self, page: Link, location: str, chain: str) -> None:
        """Submits the target of a redirect, which takes the chain with it."""
        self._discovery.redirected(page, location, chain)

    def moved(self, page: Link, location: str, history: str) -> bool:
        """Submits where a page has moved for good, with what it hands on. False if a filter drops that."""
        return self._discovery.submit(Link(location, f"{page.path}R", page.url, page.seed, history=history))

    def key(self, url: str) -> int:
        """The number by which the seen store knows a URL."""
        return self._pipeline.key(url)

    def compared(self, url: str) -> str:
        """The form of a URL by which it is known whether it was seen."""
        return self._pipeline.compared([url])[0]

    def count_truncated_links(self, links: int) -> None:
        """Counts links of a page that are not followed because there are too many."""
        self._discovery.count_truncated_links(links)

    def submit(self, link: Link, variant: str = "", *more: str) -> bool:
        """Takes a single link, from a request of a user's spider. Returns False if a filter drops it."""
        return self._discovery.submit(link, variant, *more)

    def insert(self, link: Link, variant: str = "") -> None:
        """Queues a link whether or not it was seen before, and marks it as seen."""
        self._discovery.insert(link, variant)

    def count_filtered(self, reason: str) -> None:
        """Counts a request whose URL cannot become a link, under the reason why."""
        self._pipeline.filtered[reason] += 1

    def feed(self, now: float, *, seeds: bool = True) -> bool:
        """Moves links known to be new to the frontier; True if there were any, or nothing but seeds known before.

        When there are none it reads seeds, then has the waiting links merged early, so that a frontier that runs dry
        never waits for T to fill.
        """
        seen, queued = self._seen, self._frontier.queued - self._frontier.over_budget
        records, known = seen.take(SLICE), False
        if not records and seeds and not self._seeding.ended:
            known = self._seeding.read(SLICE) and not seen.pending  # the next ones may be new
        if not records and seen.pending and (not queued or now - self._merged_at >= PATIENCE):
            self._merged_at = now
            seen.merge()
            records = seen.take(SLICE)
        self._frontier.add(filter(None, records))
        return bool(records) or known

    def mailbox(self, robots: RobotsHeard) -> Mailbox:
        """The receiver of letters of other drones; `robots` takes what came of a robots.txt."""
        return Mailbox(self._discovery, self._frontier, self._seeding, self.now, robots, self.revisiting)

    def submit_portion(self, now: float) -> bool:
        """Submits the next links of a large page, if it is time for them; whether more of any page wait."""
        self._discovery.submit_portion(now)
        return bool(self._portions.links)

    # -- out

    def take(self, now: float) -> Link | None:
        """A link that may be fetched now."""
        if self.in_force.paused or (self.all_rest and self.rests):
            return None
        if self.uplink.out:
            return self.uplink.probe(now) if self.uplink.may_probe(now) else None
        if self._seeding.first:
            self._seeding.read(SLICE)
            if self._seeding.first:
                return None
        self._discovery.submit_portion(now)
        frontier, revisiting = self._frontier, self.revisiting
        if revisiting is not None:
            revisiting.feed(now)
        link = frontier.take(now, spare=False)
        if link is None and frontier.holds_back(now):  # links of other hosts may wait there
            self.feed(now, seeds=frontier.wants_hosts(now) and now - self._merged_at >= PATIENCE)
        if link is None:
            link = frontier.take(now)
        self._more = link is None and self.feed(now, seeds=frontier.takes_new())  # one slice: the next turn goes on
        if self._more:
            link = frontier.take(now)
        if link is None and revisiting is not None:
            revisiting.split.idle(now)
        return link

    def next_ready(self) -> float | None:
        """When there may be something to do (0 is now), or None as long as nothing is found or finished."""
        if self._refusals.waiting or (self._more and not self.in_force.paused):
            return 0.0
        if self.in_force.paused or (self.all_rest and self.rests):
            return None
        if self.uplink.out:
            return self.uplink.next_probe
        if self._seeding.first:
            return None if self._seeding.waits else 0.0
        ready = self._frontier.next_ready()
        if self._seen.pending and not self._seen.busy:  # they may be of hosts that need not wait
            merge = self._merged_at + PATIENCE
            ready = merge if ready is None else min(ready, merge)
        if self._portions.links:
            ready = self._portions.ready_at if ready is None else min(ready, self._portions.ready_at)
        if self.revisiting is not None:
            again = self.revisiting.next_feed(self._clock())
            ready = again if ready is None else ready if again is None else min(ready, again)
        end = self._ending.after(self._clock())
        return ready if end is None else end if ready is None else min(ready, end)

    def next_turn(self, link: Link) -> float | None:
        """Seconds until the host of a link just taken may probably be asked again; None if nothing waits for it."""
        return self._frontier.next_turn(link)

    def take_refusal(self) -> Refusal | None:
        """The next request whose errback is due although it was never sent; call `refusal_delivered` afterwards."""
        return self._refusals.take()

    def refusal_delivered(self, refusal: Refusal) -> None:
        self._refusals.delivered(refusal)

    # -- answers

    def comes_again(self, page: Link) -> bool:
        """True if a former run had begun to process this page when its last checkpoint was taken."""
        return bool(self._halfway) and self._halfway.comes_again(page.url)

    def seen_body(self, digest: bytes) -> bool:
        """True if a body with this digest was seen before; marks it as seen."""
        return self._content.seen(digest)

    def holds_body(self, digest: bytes) -> bool:
        """True if a body with this digest was seen before."""
        return self._content.holds(digest)

    def new_key(self, digest: bytes) -> None:
        """Marks as seen what was not seen before."""
        self._content.add(digest)

    def new_body(self, link: Link, body: bytes) -> None:
        """The answer to this link had a body that was not seen before."""
        self._frontier.new_body(link, body)

    def robots_answered(
        self,
        link: Link,
        status: int,
        body: bytes,
        location: str | None,
        now: float,
        chain: str = "",
        head: Head = NO_HEAD,
    ) -> Sequence[str]:
        """The answer to a robots.txt, or the Status it failed with; `location` is where it redirects to.

        Returns the sitemaps that it names.
        """
        if self._elsewhere is not None and self._elsewhere.robots_answered(link, status, body, location, chain):
            return ()
        if status < 0 and not self.uplink.robots_fails(link.history, status, now):
            return ()
        heard = self._robots.answered(link, status, body, location, now, self._expedite, chain, head)
        if heard is not None and heard.crawl_delay is not None:
            self._frontier.crawl_delay(host_of(link.history + "/"), heard.crawl_delay)
        return heard.sitemaps if heard is not None else ()

    def robots_said(self, url: str) -> RobotsSaid | None:
        """The word of its host's robots.txt on the use of pages, if it has any."""
        return self._robots.book.said(url)

    def robots_conditions(self, link: Link) -> list[tuple[bytes, bytes]]:
        """Headers for the request of a robots.txt."""
        return self._robots.conditions(link)

    def _expedite(self, record: Packed) -> None:
        """Has a robots.txt on another host fetched before all else of that host."""
        if self._elsewhere is None or self._elsewhere.is_ours(url_of(record)):
            self._frontier.expedite(record)
        else:
            self._elsewhere.ask_robots(record)

    def tries_again(self, link: Link, outcome: Outcome) -> bool:
        """True if `finish` is going to queue the link once more."""
        self.uplink.excuse(outcome)
        return outcome.status in NO_OUTCOMES or self._frontier.tries_again(link, outcome, self._ended(outcome))

    def overstaying(self, running: Sequence[R], *, full: bool) -> list[R]:
        """Returns the downloads to be cut because others wait for their slots; `full`: no slot is free."""
        if self.uplink.out or self.in_force.paused:
            return []
        found = self._frontier.overstay.downloads(running, full=full)
        if not found:
            return []
        now = self._clock()
        waiting = self._frontier.overstay.starved(now, full=full)
        if full and not waiting:
            self.feed(now)  # `take`, which does it, is not called
        return found[:waiting]

    def finish(self, link: Link, outcome: Outcome, exchange: Exchange | None, withheld: Exchange | None = None) -> None:
        """Books the end of a download, at the time when it ended.

        One that could not be tried leaves no trace, and one that was cut only its time. `withheld`: the head of an
        answer that came from elsewhere, and is not kept.
        """
        if not link.request:  # of a spider's own request it was decided before the spider was told
            self.uplink.excuse(outcome)
        if self.revisiting is not None and outcome.status in NO_OUTCOMES:
            self.revisiting.put_back(link)
        if outcome.status == Status.UNTRIED:
            self._frontier.put_back(link, self._ended(outcome), outcome.wait)
            return
        if outcome.status == Status.DEFERRED:
            self._frontier.cut(link, outcome.seconds, self._ended(outcome))
            return
        if self._halfway:
            self._halfway.finished(link.url)
        asked = outcome.ended > 0.0
        if asked:
            final = self._frontier.done(link, outcome, self._clock.at(outcome.ended))
        else:
            self._frontier.unasked(link, self._clock())
        self._counted(outcome, exchange)
        if not asked:
            self._log.finished(link, outcome, None, ["unasked", *(withheld.notes if withheld is not None else ())])
        elif final:
            self._logged(link, outcome, exchange)

    def refuse(self, link: Link, status: int) -> None:
        """Ends a link just taken, which cannot be asked for; its errback hears of it."""
        if self._halfway:
            self._halfway.finished(link.url)
        self._frontier.unasked(link, self._clock())
        self._counted(Outcome(status), None)
        self._refusals.dropped(link, status)

    def _counted(self, outcome: Outcome, exchange: Exchange | None) -> None:
        counters = self._counters
        counters["failures" if outcome.status < 0 else "pages"] += 1
        counters[f"status/{outcome.status}"] += 1
        if exchange is not None:
            counters["bytes"] += exchange.received
            if exchange.refers is not None:
                count_known(counters, exchange)

    def _logged(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        self._log.finished(link, outcome, exchange, notes_of(link, exchange))

    def _ended(self, outcome: Outcome) -> float:
        return self._clock.at(outcome.ended) if outcome.ended else 0.0

    # -- commands

    def pause(self) -> bool:
        """Hands nothing out any more; False if it was paused already."""
        before, self.in_force.paused = self.in_force.paused, True
        return not before

    def resume(self) -> bool:
        """Goes on; False if it was not paused."""
        before, self.in_force.paused = self.in_force.paused, False
        if before:
            self._frontier.paused_until(self._clock())
            self._ending.begin_again()
        return before

    def set_slots(self, slots: int) -> None:
        """There are so many downloads at once from now on; 0: no limit."""
        self._frontier.set_slots(slots)

    def add_seeds(self, *sources: str) -> None:
        """Reads these seeds too, when those before are read. SeedError or OSError if a source cannot be opened."""
        self._seeding.add(*sources)

    @property
    def lacks_seeds(self) -> bool:
        """True if seeds that were given by command cannot be read in this run."""
        return self._seeding.away > 0

    # -- how it is going

    @property
    def pending(self) -> bool:
        """True if anything is left to do, or may turn out to be.

        What hosts set aside have, and what is over a domain's budget, need not be done now.
        """
        return self._pending(busy=self._frontier.in_flight > 0)

    @property
    def rests(self) -> bool:
        """True if nothing is left but to try hosts set aside, for long enough: if all drones rest, none tries any."""
        return not self._pending(busy=False)

    def _pending(self, *, busy: bool) -> bool:
        if self.revisiting is not None and self.revisiting.goes_on:
            return True
        waiting = self._seen.pending or self._portions.links or len(self._refusals)
        if waiting or not self._seeding.ended or self.in_force.paused:
            return True
        frontier = self._frontier
        if len(frontier) <= frontier.over_budget:
            return False
        if self.uplink.out:  # for as long as that takes: nobody could come back now
            return True
        return not self._ending.reached(self._clock(), resting=frontier.resting(), busy=busy)

    @property
    def pages(self) -> int:
        """Pages fetched, over all runs."""
        return self._counters["pages"]

    @property
    def received(self) -> int:
        """Bytes of answers, over all runs."""
        return self._counters["bytes"]

    def activity(self) -> int:
        """A number that grows with whatever is done to URLs."""
        taken = self._frontier.counters
        return self._counters["pages"] + self._counters["failures"] + taken["taken"] + taken["added"]

    def ready_hosts(self) -> int:
        """Hosts that may be asked and are not."""
        return self._frontier.ready(self._clock())

    def count(self, names: Iterable[str]) -> None:
        """Adds one to each of these counters."""
        self._counters.update(names)

    def add(self, numbers: Mapping[str, int]) -> None:
        """Adds to each of these counters."""
        self._counters.update(numbers)

    def waiting(self) -> Mapping[str, int | float]:
        """The numbers of URLs and hosts that wait, and for what: part of `stats`, for those who look often."""
        return self._frontier.figures()

    @property
    def waited_for_files(self) -> float:
        """Seconds for which the event loop has waited for files since the process began."""
        return self._db.disk.waited

    def stats(self) -> dict[str, int | float]:
        """All counters by name."""
        told = [item for figures in self._figures for item in figures().items()]
        frontier, counters, seen = self._frontier, self._counters, self._seen.stats()
        known = counters["links/known"]  # hits too: without that cache this one would have seen them
        asked = seen["submitted"] + known
        seen["cache_hit_rate"] = (seen["cache_hits"] + known) / asked if asked else 0.0
        return {
            **{name: counters[name] for name in ("pages", "failures", "bytes")},
            **counters,
            "links/waiting": self._portions.links,
            **frontier.figures(),
            "outage/seconds": counters["outage/seconds"] + round(self.uplink.seconds),
            "seeds": self._seeding.taken,
            "bad_seeds": self._seeding.bad,
            "seed_lists_away": self._seeding.away,
            **(self.revisiting.counts.stats() if self.revisiting is not None else {}),
            **{f"frontier/{name}": value for name, value in frontier.counters.items()},
            **{f"refused/{name}": value for name, value in self._pipeline.filtered.items()},
            **{f"seen/{name}": value for name, value in seen.items()},
            **({f"hive/{name}": value for name, value in self.post.stats().items()} if self.post is not None else {}),
            **dict(told),
        }

    def add_stats(self, figures: Callable[[], Mapping[str, int]]) -> None:
        """Has the counters include these, from now on."""
        self._figures.append(figures)

    def revisit_figures(self) -> RevisitFigures | None:
        """Figures of pages that were fetched again; None if none are."""
        return self.revisiting.counts.figures() if self.revisiting is not None else None

    def optouts(self) -> list[OptOut]:
        """The owners who asked to be left alone: by command, then by the exclusion file."""
        return [*self.in_force.excluded.records, *self._file_optouts.records()]

    @property
    def trouble(self) -> str:
        """The reason why nothing is fetched, in a few words, or nothing."""
        return "paused" if self.in_force.paused else self.uplink.trouble or self.held

    def glance(self) -> dict[str, Any]:
        """Figures of the progress line; URLs by level; their outcomes, and the times of downloads."""
        return {
            **self.stats(),
            "ready": self.ready_hosts(),
            "trouble": self.trouble,
            "bound": self.bound(),
            "levels": self._frontier.levels,
            "mix": mix(self.statistics.outcomes),
            "milliseconds": [*self.statistics.times],
        }

    # -- the checkpoint

    def open_output(self, path: str) -> Output:
        """A file below JOBDIR, for appending; what is written to it is part of the checkpoint."""
        return self._outputs.open(path)

    def flush_outputs(self) -> None:
        """Writes what the outputs have buffered; a checkpoint does so too."""
        self._outputs.show()

    def on_url_end(self, hearer: Hearer) -> None:
        """Calls `hearer` at the end of every URL, with its log line: the checkpoint has both or neither."""
        self._log.hearers.append(hearer)

    def hear_dropped(self, hearer: Dropped) -> None:
        """Calls `hearer` with every URL that a filter drops, and every link that is no URL."""
        self._pipeline.on_dropped = hearer

    def attach(self, make: Callable[[CrawlDB, Outputs], T]) -> T:
        """Makes a part that keeps state of its own in the checkpoint: an archive, the positions of pipelines."""
        return make(self._db, self._outputs)

    def prepare(self, *, last: bool = False) -> Iterator[None]:
        """Work ahead of a checkpoint, in slices. `last`: nothing is in flight any more."""
        return self._db.prepare(once=last)

    def begin(self) -> None:
        """Call it before the first URL is fetched: if this run is killed at once, the next must know of it."""
        if self._db.get(CLEAN) != b"":
            self.checkpoint()

    def checkpoint(self, *, last: bool = False) -> None:
        """`last`: nothing is in flight any more. A run that finds no such mark knows that hosts were asked since."""
        self._db.set(CLEAN, b"1" if last else b"")
        self._db.checkpoint()
        for follower in self._followers:
            follower.committed()

    def after_checkpoint(self) -> Iterator[None]:
        """Does the work between a checkpoint and the next change, in slices. If not, that change waits for it."""
        return self._db.go_on()

    def add_checkpoint_listener(self, follower: Follower) -> None:
        """Has this told of each checkpoint from now on, and closed before the crawl."""
        self._followers.append(follower)

    def after_last_checkpoint(self) -> Iterator[float | None]:
        """Does the followers' work after the last checkpoint, in slices."""
        for follower in self._followers:
            yield from follower.rest()

    def taken_away(self) -> TakenAway | None:
        """Returns the error that names what of JOBDIR was moved, removed or replaced meanwhile."""
        try:
            self._db.presence.check()
        except TakenAway as error:
            return error
        return None

    def close(self) -> None:
        """Leaves the state as of the last checkpoint."""
        with ExitStack() as rest:  # all are closed, whatever the first one raises
            for part in (self._db, self._outputs, self._content, self._seen, self._seeding):
                rest.callback(part.close)
            for follower in self._followers:
                rest.callback(follower.close)
