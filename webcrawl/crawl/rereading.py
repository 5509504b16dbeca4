"""A crawl whose pages come from archives: it has outputs, a log, counters and checkpoints, and asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webcrawl.crawl.crawl import Crawl
from webcrawl.model import Exchange, Link, Outcome
from webcrawl.net.robots_book import NO_HEAD
from webcrawl.net.robots_fresh import Head


class Rereading(Crawl):
    """Remembers bodies seen before; what its pages link to is no concern of its."""

    rereads = True

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
        """Nobody is asked, so nobody's rules matter."""
        del link, status, body, location, now, chain, head
        return ()

    def robots_said(self, url: str) -> None:
        """Nothing: those of the time are not known."""
        del url

    def finish(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Logs an answer, each of them: an archive does not tell which was the last of its URL."""
        self._counted(outcome, exchange)
        self._logged(link, outcome, exchange)
