"""The crawl without a fetcher: what is found goes in, what may be fetched comes out (docs/design.md, left to right).

Whoever fetches calls `take`, `discover` for what the page links to, and `finish`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.refusals import Refusals
from webcrawl.crawl.robots import RobotsAdmission
from webcrawl.crawl.seeding import Seeding
from webcrawl.frontier.frontier import Frontier
from webcrawl.model import Exchange, Link, Outcome
from webcrawl.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs
from webcrawl.urls.lately import Lately
from webcrawl.urls.pipeline import LinkPipeline

SLICE = 500  # new links moved to the frontier in one turn: about 2 ms
KNOWN = b""  # stands with the seen store for a link that needs not come back from it
CLEAN = "clean"  # in the database: whether the last checkpoint was the last of its run
PATIENCE = 1.0  # seconds between two early merges while the frontier has something, though nothing that is due


class Crawl:
    """Links, seen store, frontier, robots rules and seeds of one crawl, and its checkpoint."""

    def __init__(
        self,
        db: CrawlDB,
        pipeline: LinkPipeline,
        seen: SeenStore,
        frontier: Frontier,
        robots: RobotsAdmission,
        seeding: Seeding,
        outputs: Outputs,
        log: CrawlLog,
        lately: Lately,
        refusals: Refusals,
    ) -> None:
        self.db, self.pipeline, self.seen, self.frontier = db, pipeline, seen, frontier
        self.robots, self.seeding, self.outputs, self._log, self._lately = robots, seeding, outputs, log, lately
        self.refusals = refusals
        self.counters: Counter[str] = Counter()
        self._merged_at = 0.0

    def __repr__(self) -> str:
        return f"<Crawl {self.frontier!r} {self.seen!r}>"

    # -- in

    def discover(
        self, page: Link, links: Sequence[str], hop: Callable[[int], str], *, base: str = "", redirect: bool = False
    ) -> None:
        """A page's links, in one batch; `hop` knows each one's letter."""
        found = self.pipeline.process(page.url, page.depth + (not redirect), links, base, self._lately)
        self.counters["links"] += len(links)
        self.counters["links/new"] += len(found)
        if not found:
            return
        path, rest = page.path, f"{page.url} {page.seed} 0  "
        self.seen.submit(
            [key for key, _, _ in found],
            [f"{url} {path}{hop(at)} {rest}".encode() for _, url, at in found],
        )
        self._lately.add(url for _, url, _ in found)

    def submit(self, link: Link, variant: str = "") -> bool:
        """A link that comes alone, from a request of a spider's own; its variants are seen each by itself.

        False if a filter keeps it out.
        """
        if not self.pipeline.process(link.via, link.depth, [link.url]):
            return False
        self.seen.submit([self.pipeline.key(link.url, variant)], [link.pack()])
        return True

    def insert(self, link: Link, variant: str = "") -> None:
        """A link that is to be asked for whether it was seen or not; from now on it was."""
        self.frontier.add([link.pack()])
        self.seen.submit([self.pipeline.key(link.url, variant)], [KNOWN])

    def feed(self, now: float, *, seeds: bool = True) -> bool:
        """Brings what is known to be new to the frontier; True if that was something.

        When nothing is, seeds are read, and then the waiting links are merged early: a frontier that runs dry never
        waits for T to fill.
        """
        records = self.seen.take(SLICE)
        if not records and seeds and not self.seeding.ended:
            self.seeding.read(SLICE)
        if not records and self.seen.pending and (not self.frontier.queued or now - self._merged_at >= PATIENCE):
            self._merged_at = now
            self.seen.merge()
            records = self.seen.take(SLICE)
        self.frontier.add(filter(None, records))
        return bool(records)

    # -- out

    def take(self, now: float) -> Link | None:
        """A link that may be asked for now."""
        if self.seeding.first:
            self.seeding.read(SLICE)
            if self.seeding.first:
                return None
        link = self.frontier.take(now, spare=False)
        if link is None and self.frontier.holds_back(now):
            self.feed(now, seeds=False)  # links of hosts that answer may wait there; seeds are of more new hosts
        if link is None:
            link = self.frontier.take(now)
        while link is None and self.feed(now):
            link = self.frontier.take(now)
        return link

    def next_ready(self) -> float | None:
        """When there may be something to do: a time (0 is now), or None as long as nothing is found or finished."""
        if self.seeding.first or self.refusals.waiting:
            return 0.0
        ready = self.frontier.next_ready()
        if self.seen.pending and not self.seen.busy:  # they may be of hosts that need not wait
            merge = self._merged_at + PATIENCE
            return merge if ready is None else min(ready, merge)
        return ready

    def finish(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Books a download's end, at the time when it ended."""
        final = self.frontier.done(link, outcome, outcome.at)
        self.counters["failures" if outcome.status < 0 else "pages"] += 1
        self.counters[f"status/{outcome.status}"] += 1
        if exchange is not None:
            self.counters["bytes"] += len(exchange.head) + len(exchange.wire)
        if final:
            annotations = [f"truncated:{exchange.truncated}"] if exchange is not None and exchange.truncated else []
            self._log.finished(link, outcome, exchange, annotations)

    @property
    def pending(self) -> bool:
        """Whether anything is left to do, or may turn out to be."""
        return len(self.frontier) > 0 or self.seen.pending > 0 or not self.seeding.ended or len(self.refusals) > 0

    def stats(self) -> dict[str, int | float]:
        """All counters by name."""
        frontier = self.frontier
        return {
            **{name: self.counters[name] for name in ("pages", "failures", "bytes")},
            **self.counters,
            "queued": frontier.queued,
            "in_flight": frontier.in_flight,
            "hosts": frontier.hosts,
            "seeds": self.seeding.taken,
            "bad_seeds": self.seeding.bad,
            **{f"frontier/{name}": value for name, value in frontier.counters.items()},
            **{f"refused/{name}": value for name, value in self.pipeline.filtered.items()},
            **{f"seen/{name}": value for name, value in self.seen.stats().items()},
        }

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Work ahead of a checkpoint, in slices."""
        return self.db.prepare()

    def begin(self) -> None:
        """Before the first URL is asked for: if this run is killed at once, the next must know that there was one."""
        if self.db.get(CLEAN) != b"":
            self.checkpoint()

    def checkpoint(self, *, last: bool = False) -> None:
        """`last`: nothing is asked for any more. Whoever opens it without that knows that hosts were asked since."""
        self.db.set(CLEAN, b"1" if last else b"")
        self.db.checkpoint()

    def close(self) -> None:
        """Leaves the state to the last checkpoint."""
        self.seeding.close()
        self.seen.close()
        self.outputs.close()
        self.db.close()
