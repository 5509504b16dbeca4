"""Drops links that are too deep in their site, or too many sites away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from webcrawl.base.url_text import host_of
from webcrawl.urls.filters.filter_protocol import Origin, Setup
from webcrawl.urls.host_names import RegisteredDomains, sites, steps


class DepthFilter:
    """A link within its page's site is one deeper than the page; one into another site is the first
    there.

    Both counts have the same limit. Links without a path of their page, as of a request that a
    spider makes, count from the start; with `from_start` all do. A limit of a host's own is for
    links within its site: others count as ever.
    """

    name = "depth"
    for_requisites = None  # they are counted by themselves: crawl/requisites.py

    def __init__(
        self, deepest: int, domains: RegisteredDomains, *, from_start: bool = False
    ) -> None:
        self._deepest = deepest
        self._domains = domains
        self._from_start = from_start
        # of hosts that have a limit of their own
        self.per_host: Mapping[str, int | None] | None = None

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        deepest = setup.settings["URL_MAX_DEPTH"]
        # Scrapy's DEPTH_LIMIT, which was taken for ours (crawl/checks/scrapys.py), keeps its
        # meaning.
        return cls(deepest, setup.domains, from_start=setup.settings.get("DEPTH_LIMIT") == deepest)

    def within(self, _url: str, /) -> bool:
        return True

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        if self.per_host is None or not origin.url:
            return self._within_limits(urls, origin)
        limits = self._own_limits(urls, self.per_host, origin)
        if not limits:
            return self._within_limits(urls, origin)
        depth = origin.depth if self._from_start or not origin.path else steps(origin.path)
        kept = {url for url, limit in limits.items() if depth <= limit}
        others = [url for url in urls if url not in limits]
        kept.update(self._within_limits(others, origin))
        return [url for url in urls if url in kept]

    def _own_limits(
        self, urls: list[str], per_host: Mapping[str, int | None], origin: Origin
    ) -> dict[str, int]:
        """Return the limit of each link within its page's site whose host has a limit of its own."""
        limits = {}
        home = self._domains(host_of(origin.url))
        for url in urls:
            host = host_of(url)
            limit = per_host[host]
            if limit is not None and self._domains(host) == home:
                limits[url] = limit
        return limits

    def _within_limits(self, urls: list[str], origin: Origin) -> list[str]:
        deepest, path = self._deepest, origin.path
        if origin.depth <= deepest:  # so are both counts, which are never more
            return urls
        if not path or self._from_start:
            return []
        depth_in_site = steps(path)
        # it enters no further site (`entered`)
        is_redirect_of_entry = path[-1] == "R" and not depth_in_site
        may_stay = depth_in_site <= deepest
        may_leave = sites(path) < deepest or is_redirect_of_entry
        if may_stay == may_leave:
            return urls if may_stay else []
        domains = self._domains
        home = domains(host_of(origin.url))
        return [url for url in urls if (domains(host_of(url)) == home) == may_stay]
