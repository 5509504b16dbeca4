"""Takes what comes from other drones into the crawl."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webcrawl.base.model import Link, is_prerequisite, is_revisit, unpack
from webcrawl.crawl.discovery import Discovery
from webcrawl.crawl.revisiting import Revisiting
from webcrawl.crawl.seeding import Seeding
from webcrawl.frontier.protocol import Frontier

RobotsHeard = Callable[[Link, int, bytes, str, str], None]


class Mailbox:
    """The crawl as `hive.drone.Home`."""

    def __init__(
        self,
        discovery: Discovery,
        frontier: Frontier,
        seeding: Seeding,
        now: Callable[[], float],
        robots: RobotsHeard,
        revisiting: Revisiting | None = None,
    ) -> None:
        self._revisiting = revisiting
        self._discovery, self._frontier, self.robots = discovery, frontier, robots
        self.now, self.forget, self.seeds_again = now, discovery.forget, seeding.again

    def links(self, records: Sequence[bytes]) -> None:
        asked = [record for record in records if is_prerequisite(record)]
        for record in asked:  # a robots.txt that another drone was redirected to
            self._frontier.expedite(record)
        self._discovery.received([record for record in records if not is_prerequisite(record)] if asked else records)

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        if free:
            self._discovery.insert(link, *variants)
        else:
            self._discovery.accept(link, *variants)

    def vote(self, source: str, url: str) -> None:
        self._frontier.vote(source, url)

    def queued(self, records: Sequence[bytes]) -> None:
        if self._revisiting is not None:
            again = [record for record in records if is_revisit(record)]
            if again:
                self._revisiting.receive([*map(unpack, again)])
                records = [record for record in records if not is_revisit(record)]
        self._frontier.add(records)
