"""The parts that a crawl is made of, and those that may be beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from webcrawl.base.model import Link
from webcrawl.crawl.admission import RobotsAdmission, RobotsAnswers
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.control.exclusions import FileOptOuts
from webcrawl.crawl.control.in_force import InForce
from webcrawl.crawl.crawl_end import CrawlEnd
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.discovery import Discovery
from webcrawl.crawl.host_orders import HostOrders
from webcrawl.crawl.hostless import Hostless
from webcrawl.crawl.inline import Halfway, InlineDownloads
from webcrawl.crawl.inspection import About
from webcrawl.crawl.lost_requests import Refusals, Unkept
from webcrawl.crawl.moments import Moments
from webcrawl.crawl.seeding import Seeding
from webcrawl.crawl.uplink import Uplink
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.frontier.seen.portions import Portions
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.record.statistics import Statistics
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs
from webcrawl.store.user_files import UserFiles
from webcrawl.urls.link_pipeline import LinkPipeline

if TYPE_CHECKING:
    from webcrawl.crawl.hive.member import DroneParts
    from webcrawl.crawl.rendering.deciding import Deciding
    from webcrawl.crawl.revisiting import Revisiting
    from webcrawl.crawl.signalling import Signalling


class Follower(Protocol):
    """Does, beside the crawl, what may be done only with what a checkpoint has."""

    def committed(self) -> None:
        """Note that a checkpoint was taken."""

    def finish_work(self) -> Iterator[float | None]:
        """End the work after the last checkpoint, in slices.

        A number that is yielded is the seconds until the next slice makes sense.
        """

    def close(self) -> None:
        """Stop as soon as possible; the work may be unfinished."""


class Followers:
    """Those that are told of each checkpoint, and closed before the crawl."""

    def __init__(self) -> None:
        self._all: list[Follower] = []

    def add(self, follower: Follower) -> None:
        """Tell this follower, too, of each checkpoint from now on."""
        self._all.append(follower)

    def committed(self) -> None:
        """Note that a checkpoint was taken."""
        for follower in self._all:
            follower.committed()

    def finish_work(self) -> Iterator[float | None]:
        """Yield what followers do after the last checkpoint, in slices."""
        for follower in self._all:
            yield from follower.finish_work()

    def close(self, rest: ExitStack) -> None:
        """Let `rest` close all followers, whatever one of them raises."""
        for follower in self._all:
            rest.callback(follower.close)


@dataclass(frozen=True, slots=True)
class Parts:
    """All that a crawl is made of.

    The crawl owns the parts, and closes those that hold files or threads.
    """

    db: CrawlDB
    moments: Moments
    clock: CrawlClock
    pipeline: LinkPipeline
    seen: SeenStore
    content: ContentSeen
    frontier: Frontier
    discovery: Discovery
    robots: RobotsAdmission
    robots_answers: RobotsAnswers
    seeding: Seeding
    outputs: Outputs
    user_files: UserFiles  # feeds
    log: CrawlLog
    portions: Portions
    refusals: Refusals
    hostless: Hostless
    counters: Counter[str]
    unkept: Unkept
    halfway: Halfway
    inline: InlineDownloads
    crawl_end: CrawlEnd
    uplink: Uplink
    statistics: Statistics
    in_force: InForce
    file_optouts: FileOptOuts
    about: About
    # hears of each answer with a body that was not seen before
    new_body: Callable[[Link, bytes], object]
    hosts: HostOrders | None  # with our frontier
    drone_parts: DroneParts | None = None  # if this is one drone of a hive
    # what sitemaps, feeds and hubs say of pages that are fetched again
    signalling: Signalling | None = None
    revisiting: Revisiting | None = None  # if pages are fetched again
    rendering: Deciding | None = None  # if a browser renders the pages that need it

    def set_pause_reason(self, why: str, holder: object) -> None:
        """Have the crawl fetch nothing, for this reason; without one this holder lets it go on.

        `holder`: who pauses the crawl. It goes on when all holders have let it.
        """
        holders = self.in_force.holders
        was_held = bool(holders)
        if why:
            holders[holder] = why
        else:
            holders.pop(holder, None)
        # With several holders, the crawl goes on when the last one lets it.
        if was_held and not holders:
            self.begin_again()

    def begin_again(self) -> None:
        """Go on after a pause: hosts waited meanwhile, and nothing was fetched, for no fault."""
        self.frontier.demand.paused_until(self.clock())
        self.crawl_end.begin_again()
