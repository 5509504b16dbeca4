"""The robots.txt part of admission: fetches it first, in the host's turn, redirects included (docs/robots.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from webcrawl.frontier.admission import Decision
from webcrawl.model import Link, Status
from webcrawl.net.robots_book import Heard, RobotsBook, Verdict, origin_of, robots_url
from webcrawl.net.robots_policy import follows
from webcrawl.urls.hosts import host_of

CHASE = 300.0  # seconds to wait for a robots.txt that was redirected to another host
LOOK = 5.0  # seconds until a URL that waits for it is tried again
CHASES = 4096  # at most so many at once; beyond that an origin is tried again later
CHAIN = 1024  # characters of cookies kept for each: 4 MiB for all; longer ones are forgotten


@dataclass(slots=True)
class Chase:
    """An origin's robots.txt that redirects elsewhere."""

    url: str
    hops: int
    until: float
    chain: str  # the cookies set on the way


class RobotsAdmission:
    """Part of the admission check. A prerequisite's link has the path `P`, as its history the origin it is for, and the
    request of the link that needs it: the way to the host may be in there.
    """

    def __init__(self, book: RobotsBook) -> None:
        self.book = book
        self._chases: dict[str, Chase] = {}

    def decide(self, link: Link, now: float) -> Decision:
        if link.path.endswith("P"):
            return None
        verdict = self.book.verdict(link.url, now)
        if verdict is Verdict.ALLOWED:
            return None
        if verdict is Verdict.FETCH:
            return self._ask(link, now)
        if verdict is Verdict.WAIT:
            return float(self.book.next_try(link.url))
        return Status.ROBOTS_FORBIDDEN if verdict is Verdict.FORBIDDEN else Status.ROBOTS_UNREACHABLE

    def _ask(self, link: Link, now: float) -> Decision:
        origin = origin_of(link.url)
        chase = self._chases.get(origin)
        url = chase.url if chase else robots_url(origin)
        if chase is not None and host_of(url) != host_of(link.url):
            if now < chase.until:
                return now + LOOK
            del self._chases[origin]
            self.book.answered(origin, Status.TIMEOUT, b"", now)
            return float(self.book.next_try(link.url))
        made = Link(url, link.path + "P", link.url, link.seed, history=origin, request=link.request)
        made.chain = chase.chain if chase else ""
        return made

    def answered(
        self,
        link: Link,
        status: int,
        body: bytes,
        location: str | None,
        now: float,
        expedite: Callable[[bytes], None],
        chain: str = "",
    ) -> Heard | None:
        """Books the answer to a robots.txt request; returns None while a redirect is being followed.

        `location` is the canonical URL that the answer redirects to, if it does and the crawl may go there, `chain`
        what the next request takes with it. On another host it takes that host's turn, though its first one: the
        origin's URLs wait for it.
        """
        origin = link.history
        chain = chain if len(chain) <= CHAIN else ""
        before = self._chases.pop(origin, None)
        hops = before.hops if before else 0
        if location and follows(status, hops) and len(self._chases) < CHASES:
            self._chases[origin] = Chase(location, hops + 1, now + CHASE, chain)
            if host_of(location) != host_of(origin + "/"):
                expedite(replace(link, url=location, via=link.url, attempt=0, chain=chain).pack())
            return None
        return self.book.answered(origin, status, body, now)
