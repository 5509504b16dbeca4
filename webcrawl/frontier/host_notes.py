"""What pages and answers tell of single hosts, kept in their records wherever these are."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.frontier.core import Core
from webcrawl.frontier.domains import Domains
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.listed import URLS, Listed

Tell = Callable[[Link], None]


class HostNotes:
    """Each method is for one fact."""

    def __init__(self, core: Core, domains: Domains) -> None:
        self._core, self._domains = core, domains
        self._grown: dict[int, list[Tell]] = {}  # are told of the page with which a host has so many
        self.young = 1  # a host with more pages is of no news

    def when_grown(self, pages: int, tell: Tell) -> None:
        """Tells of the page with which a host has given so many."""
        self._grown.setdefault(pages, []).append(tell)
        self.young = max(self.young, pages)

    def grew(self, host: Host, link: Link, before: int) -> None:
        """A host that had given fewer than `young` pages has answered."""
        if not before and host.pages:
            self._core.counters["hosts answered"] += 1
        if before != host.pages in self._grown:
            for tell in self._grown[host.pages]:
                tell(link)

    def missing(self, name: str, shown: bytes | None = None) -> bytes:
        """What is kept of a host's answer for a URL that cannot exist; replaced if `shown` is given."""
        with self._core.opened(name) as host:
            if shown is not None:
                host.missing = shown
                self._core.hosts.touch(host)
            return host.missing

    def http2(self, name: str, *, learned: bool = False, by_page: bool = False) -> bool:
        """True if the host speaks only HTTP/2, as far as is known; from now on it is, if `learned`.

        `by_page`: its answer to one URL says so, which counts for nothing beside pages that came by HTTP/1.1. Without
        `learned`: whether it would count.
        """
        with self._core.opened(name) as host:
            if learned and not host.http2 and not (by_page and host.pages):
                host.http2 = True
                self._core.hosts.touch(host)
            return host.http2 or (by_page and not learned and not host.pages)

    def take_listed(self, url: str, urls: int) -> int:
        """Of so many URLs that a sitemap names, how many its host may have of its sitemaps; their turns begin."""
        with self._core.opened(host_of(url)) as host:
            if host.listed is None:
                host.listed = Listed()
            self._core.hosts.touch(host)
            return host.listed.take(urls, URLS * max(self._domains.links_to(url), 1))
