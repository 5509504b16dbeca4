"""A crawl without a fetcher and with a clock of its own, to which commands are given."""

import asyncio
from contextlib import contextmanager
from inspect import isawaitable

from tests.support.timed_crawl import assembled
from webcrawl.base.model import Link, Outcome
from webcrawl.base.url_text import host_of
from webcrawl.crawl.control.commands import obey
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.ground import Surroundings

START = 1_700_000_000.0


class Steered:
    """`hosts` is what commands are given; `requested` notes what was requested, and when after the
    start.
    """

    def __init__(self, folder, *, awaits_ends=False, **settings):
        self.folder, self.seconds, self._given = folder, 0.0, settings
        self._awaits_ends = awaits_ends
        self.requested = []
        self.ends = {}  # outcomes by host; 200 for all others
        self.crawl: Crawl | None = None
        self.open()

    @property
    def hosts(self):
        return self.crawl.parts.hosts

    @property
    def in_force(self):
        return self.crawl.parts.in_force

    def open(self, fixed=(), **settings):
        """Another run."""
        values = {
            "ROBOTSTXT_OBEY": False,
            "POLITENESS_FACTOR": 0,
            "POLITENESS_MIN_DELAY": 1,
            **self._given,
            **settings,
            "JOBDIR": str(self.folder / "job"),
        }
        around = Surroundings(fixed=fixed, awaits_ends=self._awaits_ends)
        self.crawl, self.visitor = assembled(
            values, lambda: START + self.seconds, lambda: self.seconds, around
        )

    def end(self):
        """A last checkpoint, or what a kill leaves."""
        self.crawl.checkpoint(last=True)
        self.crawl.close()

    def again(self, **settings):
        self.end()
        self.open(**settings)

    def wake(self):
        """Nobody waits for more to fetch."""

    def get(self, name):
        return {"value": f"{self.crawl.parts.in_force.values.get(name)}"}

    def order(self, line):
        """The answer to a command."""
        return self.given(*line.split())

    def given(self, *words):
        """The same for words that may have spaces."""
        answer = obey(self, *words)
        return asyncio.run(_awaited(answer)) if isawaitable(answer) else answer

    def add(self, host, count, start=0):
        """Queues URLs of a host."""
        for number in range(start, start + count):
            self.crawl.parts.discovery.insert(Link(f"http://{host}/{number}"))

    def run(self, seconds, most=1000):
        """Fetches what may be fetched in so many seconds; returns what was requested: hosts and
        when.
        """
        end, before = self.seconds + seconds, len(self.requested)
        for _ in range(10 * most):
            link = self.crawl.next_link(self.crawl.parts.clock())
            if link is not None:
                self.requested.append((host_of(link.url), round(self.seconds, 2), link.url))
                status = self.ends.get(host_of(link.url), 200)
                outcome = Outcome(status, 0.1, at=START + self.seconds, ended=self.seconds or 1e-9)
                self.crawl.finish(link, outcome, None)
                continue
            ready = self.crawl.next_ready()
            if ready is None or ready - START > end:
                self.seconds = end
                break
            self.seconds = max(self.seconds + 0.01, ready - START)
        return [(host, at) for host, at, _ in self.requested[before:]]

    def log(self):
        """The crawl log's lines: status and URL."""
        self.crawl.parts.outputs.show()
        lines = (self.folder / "job/logs/crawl.log").read_text().splitlines()
        return [(int(line.split()[1]), line.split()[3]) for line in lines]


async def _awaited(answer):
    return await answer


@contextmanager
def steered(folder, **settings):
    crawl = Steered(folder, **settings)
    try:
        yield crawl
    finally:
        crawl.crawl.close()
