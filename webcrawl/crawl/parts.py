"""The parts that a crawl is made of, and those that may be beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from webcrawl.base.model import Packed
from webcrawl.crawl.admission import RobotsAdmission
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.control.exclusions import FileOptOuts
from webcrawl.crawl.control.in_force import InForce
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.ending import Ending
from webcrawl.crawl.host_orders import HostOrders
from webcrawl.crawl.inline import Halfway
from webcrawl.crawl.lost_requests import Unkept
from webcrawl.crawl.refusals import Refusals
from webcrawl.crawl.revisiting import Revisiting
from webcrawl.crawl.seeding import Seeding
from webcrawl.crawl.signalling import Signalling
from webcrawl.crawl.uplink import Uplink
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.frontier.seen.portions import Portions
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.record.statistics.statistics import Statistics
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.recent_urls import RecentUrls

if TYPE_CHECKING:
    from webcrawl.crawl.hive.member import Post


class Follower(Protocol):
    """Does, beside the crawl, what may be done only with what a checkpoint has."""

    def committed(self) -> None:
        """A checkpoint was taken."""

    def rest(self) -> Iterator[float | None]:
        """After the last checkpoint: ends the work, in slices. A number: seconds until the next one makes sense."""

    def close(self) -> None:
        """Stops as soon as possible; the work may be unfinished."""


@dataclass(frozen=True, slots=True)
class Parts:
    """All that a crawl is made of. The crawl owns the parts, and closes those that hold files or threads."""

    db: CrawlDB
    clock: CrawlClock
    pipeline: LinkPipeline
    seen: SeenStore
    content: ContentSeen
    frontier: Frontier
    robots: RobotsAdmission
    seeding: Seeding
    outputs: Outputs
    log: CrawlLog
    lately: RecentUrls
    portions: Portions
    site_of: Callable[[str], str]
    refusals: Refusals
    counters: Counter[str]
    unkept: Unkept
    halfway: Halfway
    ending: Ending
    uplink: Uplink
    statistics: Statistics
    in_force: InForce
    file_optouts: FileOptOuts
    hosts: HostOrders | None  # with our frontier
    excludes: Callable[[str], bool]  # whether a rule refuses a URL by now
    post: Post | None = None  # if this is one drone of a hive
    trace: Callable[[str, Sequence[str]], None] | None = None  # hears of the links of each page
    leave: Callable[[Sequence[Packed]], None] | None = None  # takes the links, if they are not to be followed
    signalling: Signalling | None = None  # what sitemaps, feeds and hubs say of pages that are fetched again
    sitemaps: bool = False  # whether they are looked for by name
    revisiting: Revisiting | None = None  # if pages are fetched again
