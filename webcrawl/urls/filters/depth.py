"""Drops links that are too deep in their site, or too many sites away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from webcrawl.base.url_text import host_of
from webcrawl.urls.filters.filter_protocol import Origin, Setup
from webcrawl.urls.host_names import RegisteredDomains, sites, steps


class DepthFilter:
    """Drops links that are deeper in their site, or more sites away, than URL_MAX_DEPTH.

    A link within its page's site is one deeper than the page; a link into another site is the first
    there. Both counts have the same limit. Links without a path of their page, as of a request that
    a spider makes, count from the start; with `from_start` all do. A limit of a host's own is for
    links within its site; it does not apply to other links.
    """

    name = "depth"
    for_requisites = None  # requisites are counted in crawl/requisites.py

    def __init__(
        self, deepest: int, domains: RegisteredDomains, *, from_start: bool = False
    ) -> None:
        self._deepest = deepest
        self._domains = domains
        self._from_start = from_start
        # Limits set for single hosts; None if no host has one
        self.per_host: Mapping[str, int | None] | None = None

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        deepest = setup.settings["URL_MAX_DEPTH"]
        # Scrapy's DEPTH_LIMIT, which was taken for ours (crawl/checks/scrapys.py), keeps its
        # meaning: it counts from the start
        is_scrapys_limit = setup.settings.get("DEPTH_LIMIT") == deepest
        return cls(deepest, setup.domains, from_start=is_scrapys_limit)

    def within(self, _url: str, /) -> bool:
        return True

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        """Return the links within the limit of all hosts, or within that of their own host where it
        has one.
        """
        if self.per_host is None or not origin.url:
            return self._within_limits(urls, origin)
        own_limits = self._own_limits(urls, self.per_host, origin)
        kept = set(self._within_limits(urls, origin))
        depth = self._depth_in_site(origin)
        for url, limit in own_limits.items():  # they replace what the limit of all hosts says
            if depth <= limit:
                kept.add(url)
            else:
                kept.discard(url)
        return [url for url in urls if url in kept]

    def _depth_in_site(self, origin: Origin) -> int:
        """Return how deep in its site a link is that stays within it."""
        if self._from_start or not origin.path:
            return origin.depth
        return steps(origin.path)

    def _own_limits(
        self, urls: list[str], per_host: Mapping[str, int | None], origin: Origin
    ) -> dict[str, int]:
        """Return the limits of links to hosts with a limit of their own, by URL.

        Only links within their page's site have one.
        """
        limits = {}
        home = self._domains(host_of(origin.url))
        for url in urls:
            limit = per_host[host_of(url)]
            if limit is not None and self._is_within(home, url):
                limits[url] = limit
        return limits

    def _within_limits(self, urls: list[str], origin: Origin) -> list[str]:
        """Return the links that the limit of all hosts keeps."""
        # Neither count is ever larger than this one
        if origin.depth <= self._deepest:
            return urls
        if self._from_start or not origin.path:
            return []
        # The limit is for traps. Counted from the seed alone, a limit of 50 would lose 98.7 % of a
        # web of 10,000 sites, because a crawl reaches most sites by way of others
        may_stay = steps(origin.path) <= self._deepest
        # Without a limit for sites two domains that link to each other would never end
        may_leave = self._may_leave(origin.path)
        if may_stay == may_leave:
            return urls if may_stay else []
        home = self._domains(host_of(origin.url))
        return [url for url in urls if self._is_within(home, url) == may_stay]

    def _is_within(self, domain: str, url: str) -> bool:
        return self._domains(host_of(url)) == domain

    def _may_leave(self, path: str) -> bool:
        """Return whether links of a page with this path may lead to another site."""
        if sites(path) < self._deepest:
            return True
        # The redirect of the page that entered the site enters no further site (`entered`)
        return path[-1] == "R" and not steps(path)
