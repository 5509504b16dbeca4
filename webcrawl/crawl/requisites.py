"""Requisites: what a page needs to be shown (Heritrix' TransclusionDecideRule).

They are fetched beyond the scope, the depth and the file types of a crawl, and so are theirs: from
a page to its style sheet, what that imports, and a font are three hops. The discovery path counts
them: E for each, since the last link that was followed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from webcrawl.base.model import Exchange, Link, is_needed, may_need, redirects_in_a_row
from webcrawl.content.html.link_kinds import REFRESH, FoundLink
from webcrawl.content.page import Page
from webcrawl.crawl.discovery import Discovery
from webcrawl.crawl.moments import Feature
from webcrawl.crawl.page_links import LinkRules, PageLinks

KINDS = frozenset(("img", "srcset", "script", "style", "media", "object", "frame", "iframe"))
# pages that are shown in others: links as well, where the scope allows it
FRAMES = frozenset(("frame", "iframe"))
RELS = frozenset(
    (
        "stylesheet",
        "icon",
        "mask-icon",
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "preload",
        "modulepreload",
    )
)
SOURCES = (*sorted(KINDS), "link")  # all kinds that may be some
HOPS = {"refresh": "R"}  # all other requisites are E


def is_requisite(link: FoundLink) -> bool:
    """Return whether a link names what its page needs to be shown."""
    kind = link[0]
    if kind in KINDS:
        return True
    return kind == "link" and not RELS.isdisjoint(link[3].lower().split())


class Requisites(Feature):
    """Submits what each page needs to be shown, before its links."""

    def __init__(
        self,
        discovery: Discovery,
        rules: LinkRules,
        page_links: PageLinks,
        read: Callable[[Page, Exchange], object],
    ) -> None:
        """`read` finds the links in a body."""
        self._discovery = discovery
        self._rules = rules
        self._page_links = page_links
        self._read = read

    def on_known_body(self, page: Page, exchange: Exchange) -> None:
        """Read a body whose links were submitted: its requisites may be other files here."""
        if page.found is not None or page.link is None or not may_need(page.link.path):
            return
        # 0.2 ms for a page that would not be read otherwise.
        self._read(page, exchange)
        if page.found is not None:
            page.found = replace(
                page.found, links=list(filter(is_requisite, page.found.links)), whole=False
            )

    def next_links(self, page: Page, link: Link, found: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """Return the links that may be followed as links; requisites are submitted."""
        if not found or self._rules.forbids(page):
            return ()
        links, needed = self._apart(page, link, found)
        if needed:
            needed = self._page_links.truncated(page, link, needed)
            page.followed = needed
            self._page_links.submit(page, link, needed, HOPS, "E", needed=True)
        return links

    def _apart(
        self, page: Page, link: Link, found: Sequence[FoundLink]
    ) -> tuple[Sequence[FoundLink], Sequence[FoundLink]]:
        """Return the links that may be followed, and the requisites, wherever they are.

        Of a page that is shown in another, and not one of the crawl itself, no link is followed. A
        frame is a link too: it is followed as one if it passes the filters.
        """
        # A page of the crawl itself, and not one that is only shown in another.
        is_own_page = not is_needed(link.path) or self._discovery.is_within(page.url)
        has_hops_left = may_need(link.path)
        # A frame that is a link begins a way of its own: its style sheets have three hops again.
        frames = self._passing_frames(page, link, found) if is_own_page else frozenset()
        links, needed = [], []
        for one in found:
            if has_hops_left and is_requisite(one) and one[1] not in frames:
                needed.append(one)
            elif is_own_page:
                links.append(one)
            # A frame that is redirected by its document, not by HTTP.
            elif one[0] == REFRESH and redirects_in_a_row(link.path) < self._rules.redirects:
                needed.append(one)
        return links, needed

    def _passing_frames(self, page: Page, link: Link, found: Sequence[FoundLink]) -> frozenset[str]:
        """Return the addresses of frames that pass the filters, if frames are followed."""
        addresses = [one[1] for one in found if one[0] in FRAMES and one[0] in self._rules.followed]
        return self._discovery.passing(link, addresses, page.base) if addresses else frozenset()
