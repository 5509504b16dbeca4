"""The crawl that asks nobody: what has to do with hosts is no concern of its."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.crawl.crawl import Crawl
from webcrawl.model import Link
from webcrawl.net.robots_book import NO_HEAD
from webcrawl.net.robots_fresh import Head


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
