"""A crawl whose pages come from archives: it has outputs, a log, counters and checkpoints, and asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.parts import Parts
from webcrawl.net.robots_book import NO_HEAD, SCHEMES, origin_of, robots_url
from webcrawl.net.robots_entry import Head
from webcrawl.net.robots_said import RobotsSaid

SILENT = 1 << 14


class Offline(Crawl):
    """Has no budgets, and no rules that would have to be obeyed."""

    def new_body(self, link: Link, body: bytes) -> None:
        """Nobody's budget grows."""

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
        """Nobody is asked, so its rules do not matter."""
        del location, chain, head
        self.robots_read(link.url, status, body, now)
        return ()

    def robots_read(self, url: str, status: int, body: bytes, now: float) -> None:
        """Of use to those that ask what a robots.txt says of the use of pages."""


class Rereading(Offline):
    """Remembers bodies seen before; what its pages link to is no concern of its."""

    rereads = True

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._silent: set[str] = set()  # origins of which no robots.txt is known that says anything of use

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
        """Counts the links."""
        del page, hop, base, needed, targets
        self._counters["links"] += len(links)

    def redirected(self, page: Link, location: str, chain: str) -> None:
        """Counts a link."""
        del page, location, chain
        self._counters["links"] += 1

    def robots_read(self, url: str, status: int, body: bytes, now: float) -> None:
        """Takes what it says of the use of pages, which holds for those that follow."""
        origin = origin_of(url)
        if url == robots_url(origin):
            self._robots.book.answered(origin, status, body, now)
            self._silent.discard(origin)

    def robots_said(self, url: str) -> RobotsSaid | None:
        """Of most archives no robots.txt is known: a look into the table for each page would cost 20 us."""
        if not url.startswith(SCHEMES):
            return None
        origin = origin_of(url)
        if origin in self._silent:
            return None
        said = super().robots_said(url)
        if said is None:
            if len(self._silent) >= SILENT:
                self._silent.clear()
            self._silent.add(origin)
        return said

    def finish(
        self,
        link: Link,
        outcome: Outcome,
        exchange: Exchange | None,
        withheld: Exchange | None = None,  # noqa: ARG002 - only of what no archive has
    ) -> None:
        """Logs an answer, each of them: an archive does not tell which was the last of its URL."""
        self._counted(outcome, exchange)
        self._logged(link, outcome, exchange)
