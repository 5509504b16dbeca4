"""A crawl whose pages come from archives, with outputs, log and checkpoints: no fetches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.admission import RobotsAnswers
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.crawl_log import notes_of
from webcrawl.crawl.discovery import Discovery
from webcrawl.net.robots import RobotsSaid
from webcrawl.net.robots_book import SCHEMES, origin_of, robots_url

SILENT = 1 << 14


class NoRobotsAnswers(RobotsAnswers):
    """Nothing is requested, so rules do not matter."""

    def record_answer(self, *_: Any, **__: Any) -> Sequence[str]:
        """Book nothing, and name no sitemaps."""
        return ()


class Reread(RobotsAnswers):
    """What a robots.txt in an archive says of the use of pages holds for those that follow."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        # origins of which no robots.txt is known that says anything of use
        self._silent: set[str] = set()

    def record_answer(
        self,
        link: Link,
        status: int,
        body: bytes,
        location: str | None,
        now: float,
        *_: Any,
        **__: Any,
    ) -> Sequence[str]:
        """Book what an archived robots.txt says of the use of pages; its rules are not obeyed."""
        del location
        origin = origin_of(link.url)
        if link.url == robots_url(origin):
            self._robots.book.record_answer(origin, status, body, now)
            self._silent.discard(origin)
        return ()

    def said(self, url: str) -> RobotsSaid | None:
        """Return what the robots.txt of a URL's host says of its use, or None.

        Of most archives none is known: a look into the table for each page would cost 20 us.
        """
        if not url.startswith(SCHEMES):
            return None
        origin = origin_of(url)
        if origin in self._silent:
            return None
        said = super().said(url)
        if said is None:
            if len(self._silent) >= SILENT:
                self._silent.clear()
            self._silent.add(origin)
        return said


class Counted(Discovery):
    """Links of pages are only counted."""

    def discover(self, page: Link, links: Sequence[str], *_: Any, **__: Any) -> None:
        """Count the links, and submit none."""
        del page
        self._counters["links"] += len(links)

    def redirected(self, page: Link, location: str, chain: str) -> None:
        """Count a link, and do not submit it."""
        del page, location, chain
        self._counters["links"] += 1


class Offline(Crawl):
    """Has no budgets, and no rules that would have to be obeyed."""

    robots_answers: type[RobotsAnswers] = NoRobotsAnswers
    has_budgets = False


class Rereading(Offline):
    """Remembers bodies seen before; what its pages link to is no concern of its."""

    discovery, robots_answers = Counted, Reread
    rereads = True

    def will_retry(self, link: Link, outcome: Outcome) -> bool:  # noqa: ARG002
        """Nothing is."""
        return False

    def finish(
        self,
        link: Link,
        outcome: Outcome,
        exchange: Exchange | None,
        withheld: Exchange | None = None,  # noqa: ARG002 - only of what no archive has
    ) -> bool:
        """Log an answer; an archive does not tell which answer was the last of its URL."""
        if self.parts.halfway:
            self.parts.halfway.finished(link.url)
        self._counted(outcome, exchange)
        self._count_page(link, outcome, exchange)
        self.parts.log.finished(link, outcome, exchange, notes_of(link, exchange))
        return False
