"""The admission check of a crawl: rejects URLs excluded since they were queued, then asks robots.txt."""

from __future__ import annotations

from webcrawl.crawl.robots import RobotsAdmission
from webcrawl.frontier.admission import Decision
from webcrawl.model import Link, Status
from webcrawl.urls.filters.chain import Chain


class CrawlAdmission:
    """`robots` is None for a crawl that does not obey it."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.robots: RobotsAdmission | None = None

    def __call__(self, link: Link, now: float, /) -> Decision:
        if self.chain.reject(link.url):
            return Status.EXCLUDED
        return self.robots.decide(link, now) if self.robots is not None else None

    def excludes(self, url: str) -> bool:
        """Whether a rule in force by now refuses it."""
        return self.chain.reject(url)
