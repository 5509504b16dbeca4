"""The admission check: rejects URLs excluded since they were queued, then asks features and robots.

robots.txt is fetched first, in the host's turn, redirects included (docs/robots-and-preferences.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from webcrawl.base.model import Link, Packed, Status, url_of
from webcrawl.base.url_text import Ports, host_of
from webcrawl.crawl.discovery import OtherDrones
from webcrawl.crawl.uplink import Uplink
from webcrawl.frontier.core import Admission, Decision, OriginWait
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.frontier.protocol import Frontier
from webcrawl.net.robots import RobotsSaid, agent_of
from webcrawl.net.robots_book import (
    MEMORY,
    NO_HEAD,
    TRIES,
    RobotsBook,
    RobotsDecision,
    origin_of,
    robots_url,
)
from webcrawl.net.robots_entry import Heard, RobotsHead, follows
from webcrawl.urls.filters.filter_protocol import Chain

if TYPE_CHECKING:
    from webcrawl.crawl.ground import Ground

# seconds to wait for a robots.txt that was redirected to another host
REDIRECTED_ROBOTS_WAIT = 300.0
WAIT_FOR_ROBOTS = 5.0  # seconds until a URL that waits for it is tried again
MOST_CHASES = 4096  # chases at once; beyond that an origin's robots.txt is tried again later
# seconds after which a request tries its proxy again for a robots.txt: others of its host go first
PROXY_RETRY_WAIT = 40.0
MAX_PROXY_FAILURES = 1024  # requests whose proxy failures are remembered
# characters of cookies kept for each chase: 4 MiB for all; longer ones are forgotten
MAX_CHAIN_CHARS = 1024


@dataclass(slots=True)
class Chase:
    """An origin's robots.txt that redirects elsewhere, until the last redirect is answered."""

    url: str  # where the last redirect leads: it is requested next
    hops: int  # redirects so far
    until: float  # the crawl's time from which the robots.txt counts as timed out
    chain: str  # the cookies set on the way


class RobotsAdmission:
    """The part of the admission check that asks robots.txt.

    A *prerequisite* is the link to a robots.txt that must be fetched before another link. Its path
    ends with `P`, its history is the origin whose rules are wanted, and its request is that of the
    link that needs it: the proxy may be in there. A *chase* follows the redirects of a robots.txt.
    """

    def __init__(self, book: RobotsBook, ports: Ports | None = None) -> None:
        self.book = book
        self.drone: OtherDrones | None = None  # set once the crawl has joined its hive
        self._ports = ports or Ports()
        self._chases: dict[str, Chase] = {}  # by origin, the oldest first
        # by request: how often its proxy did not reach a robots.txt, and when to try again
        self._proxy_failures: dict[str, tuple[int, float]] = {}

    @classmethod
    def open(cls, ground: Ground) -> Self:
        """Return the admission, which is asked only with ROBOTSTXT_OBEY."""
        values = ground.values
        book = RobotsBook(
            RobotsRows(ground.db),
            agent_of(values),
            sitemaps=values["SITEMAPS"] is not False,
            lazily=values["SITEMAPS"] is None,
            retry_wait=values["HOST_RETRY_WAIT"],
            patience=values["HOST_PATIENCE"],
            memory=min(MEMORY, (values["FRONTIER_MEMORY"] << 20) // 4),
        )
        robots = cls(book, Ports(values["PORTS_ALLOWED"]))
        if values["ROBOTSTXT_OBEY"]:
            ground.moments.next_decision.append(robots.decide)
        return robots

    def decide(self, link: Link, now: float, /) -> Decision:
        """Answer whether a link may be fetched by its site's robots.txt: None if so.

        Else a Status that ends the URL, a wait of its origin, or the link to a robots.txt to fetch
        first.
        """
        if link.is_prerequisite:
            return None
        verdict = self.book.verdict(link.url, now)
        if verdict is RobotsDecision.ALLOWED:
            return None
        if verdict is RobotsDecision.FETCH:
            return self._after_proxy_failure(link, now) or self._ask(link, now)
        # The host's URLs of its other origins pass meanwhile: a queue may begin with URLs of a dead
        # http while https is up.
        if verdict is RobotsDecision.WAIT:
            return OriginWait(self.book.next_try(link.url))
        if verdict is RobotsDecision.FORBIDDEN:
            return Status.ROBOTS_FORBIDDEN
        return Status.ROBOTS_UNREACHABLE

    def is_gone(self, link: Link, *, at_once: bool = False) -> bool:
        """Return whether a robots.txt has been unreachable more than once, and is not awaited.

        `at_once`: once is enough.
        """
        return self.book.is_gone(link.url, 1 if at_once else TRIES)

    def way_failed(self, link: Link, now: float) -> None:
        """Note that the proxy of `link.via`, which needs this robots.txt, did not reach it."""
        # Taken out first, so that it becomes the last one: the oldest is forgotten.
        failures, _ = self._proxy_failures.pop(link.request, (0, 0.0))
        self._proxy_failures[link.request] = failures + 1, now + PROXY_RETRY_WAIT
        if len(self._proxy_failures) > MAX_PROXY_FAILURES:
            oldest = next(iter(self._proxy_failures))
            del self._proxy_failures[oldest]

    def _after_proxy_failure(self, link: Link, now: float) -> Decision:
        """Return what a link gets whose proxy has failed for a robots.txt, or None to try it.

        After one failure it waits for PROXY_RETRY_WAIT; a second one ends it. Failures that nobody
        has followed up for as long again are forgotten.
        """
        failed = self._proxy_failures.get(link.request)
        if failed is None:
            return None
        failures, retry_at = failed
        if now >= retry_at + PROXY_RETRY_WAIT:
            del self._proxy_failures[link.request]
            return None
        if failures > 1:
            return Status.ROBOTS_UNREACHABLE
        return retry_at if retry_at > now else None

    def _ask(self, link: Link, now: float) -> Decision:
        """Return the prerequisite of a link, or the wait of its origin during a chase elsewhere.

        The attempt of the prerequisite says how often in a row the robots.txt was unreachable.
        """
        origin = origin_of(link.url)
        chase = self._chases.get(origin)
        url = chase.url if chase else robots_url(origin)
        # Another host is requested in that host's turn (`record_answer` has queued it there), so the
        # answer has to be waited for, though not for ever.
        if chase is not None and host_of(url) != host_of(link.url):
            if now < chase.until:
                return OriginWait(now + WAIT_FOR_ROBOTS)
            del self._chases[origin]
            self.book.record_answer(origin, Status.TIMEOUT, b"", now)
            return self.decide(link, now)  # rules known before are in force now
        return Link(
            url,
            link.path + "P",
            link.url,
            link.seed,
            self.book.tries(origin),
            history=origin,
            chain=chase.chain if chase else "",
            request=link.request,
        )

    def record_answer(
        self,
        link: Link,
        status: int,
        body: bytes,
        location: str | None,
        now: float,
        expedite: Callable[[bytes], None],
        chain: str = "",
        head: RobotsHead = NO_HEAD,
    ) -> Heard | None:
        """Book the answer to a robots.txt request; return None while a redirect is being followed.

        `status` may be the Status that it failed with. `location` is the canonical URL that the
        answer redirects to, if it does and the crawl may go there, `chain` the cookies for the next
        request. If it is on another host, `expedite` puts the request at the head of that host's
        queue, because the origin's URLs wait for it.
        """
        origin = link.history
        chain = chain if len(chain) <= MAX_CHAIN_CHARS else ""
        chase_before = self._chases.pop(origin, None)
        hops = chase_before.hops if chase_before else 0
        if location and follows(status, hops) and self._ports.allow_url(location):
            if not self._has_room(now):
                # Nothing was learnt, and the origin is at no fault: it is tried again later.
                return self.book.record_answer(origin, Status.UNTRIED, b"", now)
            self._chases[origin] = Chase(location, hops + 1, now + REDIRECTED_ROBOTS_WAIT, chain)
            # On the same host, `decide` asks for the new URL with the next of the origin's URLs.
            if host_of(location) != host_of(origin + "/"):
                target = Link(
                    location, link.path, link.url, link.seed, 0, origin, chain, link.request
                )
                expedite(target.pack())
            return None
        # it was redirected: what the head says is of another URL
        if link.url != robots_url(origin):
            head = NO_HEAD
        return self.book.record_answer(origin, status, body, now, head)

    def conditions(self, link: Link) -> list[tuple[bytes, bytes]]:
        """Return headers by which a server may say that the rules at hand are right."""
        if link.chain or link.url != robots_url(link.history):
            return []
        return self.book.validators(link.history).headers

    def dropped(self, link: Link) -> None:
        """Note that a link was dropped without a request.

        If it was a robots.txt on another host, the origin that waits for it stops waiting.
        """
        if not link.is_prerequisite:
            return
        # In a hive, the origin may be that of another drone, which is told instead.
        if self.drone is not None and self.drone.send_robots_failure(link):
            return
        chase = self._chases.get(link.history)
        if chase is not None:
            chase.until = 0.0  # the next URL of the origin finds it timed out

    def _has_room(self, now: float) -> bool:
        """Return whether one more chase may begin; for that, drop the oldest that have timed out.

        A chase may have timed out unnoticed, if no URL of its origin was due since.
        """
        chases = self._chases
        while len(chases) >= MOST_CHASES:
            oldest = next(iter(chases))
            if now < chases[oldest].until:
                return False
            del chases[oldest]
        return True


class CrawlAdmission:
    """Asks the exclusions whether a URL may be fetched when its turn has come, then all other rules."""

    def __init__(self, chain: Chain, admissions: Sequence[Admission]) -> None:
        """`chain` has the URL filters; `admissions` are the other rules, in their order."""
        self.chain = chain
        self._admissions = admissions

    def __call__(self, link: Link, now: float, /) -> Decision:
        if self.chain.reject(link.url):
            return Status.EXCLUDED
        for next_decision in self._admissions:
            if decision := next_decision(link, now):
                return decision
        return None

    def excludes(self, url: str) -> bool:
        """Return whether a rule that is in force by now refuses the URL."""
        return self.chain.reject(url)


class RobotsAnswers:
    """Passes each answer to the drone that needs it, to the rules, and to the host's wait."""

    def __init__(
        self,
        robots: RobotsAdmission,
        uplink: Uplink,
        frontier: Frontier,
        other_drones: OtherDrones | None,
    ) -> None:
        """`other_drones` may have requested a robots.txt; None if the crawl is in no hive."""
        self._robots = robots
        self._uplink = uplink
        self._frontier = frontier
        self._other_drones = other_drones

    def record_answer(
        self,
        link: Link,
        status: int,
        body: bytes,
        location: str | None,
        now: float,
        chain: str = "",
        head: RobotsHead = NO_HEAD,
    ) -> Sequence[str]:
        """Book the answer to a robots.txt, or the Status it failed with; return its sitemaps.

        `location` is where it redirects to. There are no sitemaps if the answer was another
        drone's, redirects, or failed while our own network is out.
        """
        if self._other_drones is not None and self._other_drones.send_robots_answer(
            link, status, body, location, chain
        ):
            return ()
        if status < 0 and not self._uplink.robots_fails(link.history, status, now):
            return ()
        heard = self._robots.record_answer(
            link, status, body, location, now, self._expedite, chain, head
        )
        if heard is not None and heard.crawl_delay is not None:
            self._frontier.crawl_delay(host_of(link.history + "/"), heard.crawl_delay)
        return heard.sitemaps if heard is not None else ()

    def said(self, url: str) -> RobotsSaid | None:
        """Return what the robots.txt of its host says of the use of pages, if anything."""
        return self._robots.book.said(url)

    def _expedite(self, record: Packed) -> None:
        """Have a robots.txt on another host fetched before all else of that host."""
        if self._other_drones is None or self._other_drones.is_ours(url_of(record)):
            self._frontier.expedite(record)
        else:
            self._other_drones.ask_robots(record)
