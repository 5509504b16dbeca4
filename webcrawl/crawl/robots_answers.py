"""The answers to requests of robots.txt, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.base.model import Link, Packed, url_of
from webcrawl.base.url_text import host_of
from webcrawl.crawl.admission import RobotsAdmission
from webcrawl.crawl.discovery import Elsewhere
from webcrawl.crawl.uplink import Uplink
from webcrawl.frontier.protocol import Frontier
from webcrawl.net.robots_book import NO_HEAD
from webcrawl.net.robots_entry import Head
from webcrawl.net.robots_said import RobotsSaid


class RobotsAnswers:
    """Passes each answer to the drone that needs it, to the rules, and to the host's wait."""

    def __init__(
        self, robots: RobotsAdmission, uplink: Uplink, frontier: Frontier, elsewhere: Elsewhere | None
    ) -> None:
        self._robots, self._uplink, self._frontier, self._elsewhere = robots, uplink, frontier, elsewhere

    def answered(
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
        if status < 0 and not self._uplink.robots_fails(link.history, status, now):
            return ()
        heard = self._robots.answered(link, status, body, location, now, self._expedite, chain, head)
        if heard is not None and heard.crawl_delay is not None:
            self._frontier.crawl_delay(host_of(link.history + "/"), heard.crawl_delay)
        return heard.sitemaps if heard is not None else ()

    def said(self, url: str) -> RobotsSaid | None:
        """The word of its host's robots.txt on the use of pages, if it has any."""
        return self._robots.book.said(url)

    def _expedite(self, record: Packed) -> None:
        """Has a robots.txt on another host fetched before all else of that host."""
        if self._elsewhere is None or self._elsewhere.is_ours(url_of(record)):
            self._frontier.expedite(record)
        else:
            self._elsewhere.ask_robots(record)
