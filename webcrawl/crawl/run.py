"""A run of a crawl, for what takes part: outputs, extensions, and the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, NamedTuple

from webcrawl.base.model import Link, Outcome
from webcrawl.content.page import Page
from webcrawl.crawl.checkpointing import Checkpointing
from webcrawl.crawl.crawl import Crawl, at_rest
from webcrawl.crawl.page_end import Archiving
from webcrawl.crawl.seed_fates import SeedFates
from webcrawl.crawl.visitor import Visitor
from webcrawl.store.errors import StoreError

# The request, as any value that `left` knows it by too; its method and URL; its link, if the
# frontier has handed it out
SentHook = Callable[[object, str, str, Link | None], object]


class OfRequests(NamedTuple):
    """The parts of a crawl that hear of each request, also of those that pipelines make."""

    sent: list[SentHook]  # right before it is sent
    left: list[Callable[[object, Outcome | None], object]]  # its answer has ended, or it has failed

    def tell_sent(self, request: object, method: str, url: str, link: Link | None) -> None:
        for tell in self.sent:
            tell(request, method, url, link)


class Run:
    """The open crawl, and lists that are filled as others open; empty without a crawl.

    A command that looks at single pages has a run as well, in which no crawl is ever open.
    """

    crawl: Crawl
    visitor: Visitor

    def __init__(
        self, end: Callable[[str], object], settings: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """`end` ends the crawl, for the reason that it is given.

        `settings`: as the user wrote them.
        """
        self.settings = settings
        self.is_open = False
        self.keeping = Checkpointing(end)
        self.archiving = Archiving()
        # whether URLs may come from elsewhere; asked when nothing is left
        self.sources: list[Callable[[], bool]] = []
        # whether something is left undone; asked when the crawl has ended
        self.behind: list[Callable[[], bool]] = []
        # what outputs look up of all pages at hand
        self.at_hand: list[Callable[[Page], object]] = []
        self.requests = OfRequests([], [])
        self.fates: SeedFates | None = None  # of the seeds, in a crawl that makes pages
        # what ends before the last checkpoint, and after it
        self.stops = ExitStack()
        self.ends = ExitStack()

    def open(self, crawl: Crawl, visitor: Visitor) -> None:
        """Open the run with its crawl."""
        self.crawl = crawl
        self.visitor = visitor
        self.is_open = True

    async def checkpoint(self, *, last: bool = False) -> None:
        """Write ahead in slices, then commit between two pages, in one turn of the event loop."""
        await self.keeping.checkpoint(last=last)

    def fail(self, error: Exception) -> None:
        """End the crawl because of an error: the state on disk stays that of the last checkpoint."""
        self.keeping.fail(error)

    @property
    def failed(self) -> StoreError | None:
        """Return why nothing more is kept."""
        return self.keeping.failed

    @property
    def expects_more(self) -> bool:
        """Return whether a source may bring more URLs."""
        return any(source() for source in self.sources)

    @property
    def is_work_left(self) -> bool:
        """Return whether the next run has something to do, if only to try once more."""
        if self.failed is not None:
            return True  # what was done since the last checkpoint
        crawl = self.crawl
        has_unread_seeds = crawl.parts.seeding.away > 0
        has_queue = crawl.stats()["queued"] > 0  # perhaps of hosts that did not answer
        return has_unread_seeds or has_queue or crawl.pending or self.expects_more

    def kept(self, stats: dict[str, Any]) -> dict[str, Any]:
        """Return the figures of the last good checkpoint, if one has failed.

        What was done since is not kept, and comes again.
        """
        if self.failed is None:
            return stats
        return at_rest({name: self.keeping.kept.get(name, 0) for name in stats})

    def kept_tables(self, tables: dict[str, Any]) -> dict[str, Any]:
        """Return the same of the tables of stats.json."""
        return tables if self.failed is None else self.keeping.kept.get("statistics", {})

    @property
    def saves_no_more(self) -> bool:
        """Return whether the last checkpoint was taken: what is done now is lost."""
        return self.keeping.saves_no_more
