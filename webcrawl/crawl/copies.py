"""Bodies that were seen before, read again where their relative links lead to other pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Self

from webcrawl.base.model import Exchange, redirects_in_a_row
from webcrawl.base.url_text import host_of
from webcrawl.content.html.trees import markup
from webcrawl.content.page import Page
from webcrawl.crawl.moments import Feature
from webcrawl.crawl.parts import Parts
from webcrawl.frontier.seen.content import SHELL_SIZE, ContentSeen, Copies, Copy, Shells
from webcrawl.urls.host_names import RegisteredDomains

Read = Callable[[Page, Exchange], object]
# attributes, and the name of a meta element
LINKS = re.compile(rb"\b(href|src|refresh)\b", re.IGNORECASE)
QUERY_LINKS = b'="?', b"='?", b"=?"  # as they are written in HTML
LEFT_OUT = "copies/"  # of counters: copies whose links were left out, by the reason


class ReadCopies(Feature):
    """Reads a known body again if its links may lead to other pages from this URL.

    A *copy* is an answer with a body that was seen before. A *shell* is a small body that many sites
    have in common, such as a frameset. A *note* is a digest that is kept among those of bodies, and
    says where a body was already followed (frontier/seen/content.py).
    """

    def __init__(
        self,
        copies: Copies,
        shells: Shells | None,
        content: ContentSeen,
        counters: Counter[str],
        read: Read,
    ) -> None:
        """`shells` is set if copies on other sites may be mirrors, and only shells are followed."""
        self._copies = copies
        self._shells = shells
        self._content = content
        self._counters = counters
        self._read = read

    @classmethod
    def open(cls, parts: Parts, scope: str, digests: Callable[[bytes], bytes], read: Read) -> Self:
        """Have copies read in a crawl of this scope.

        Where links must stay on their site, each site's copy is followed. Elsewhere it may be a
        mirror.
        """
        holds = parts.content.holds
        may_be_mirror = scope not in ("host", "domain")
        copies = Copies(holds, digests, sites=may_be_mirror, aliases=scope != "host")
        shells = None
        if may_be_mirror:
            domain = RegisteredDomains()
            shells = Shells(holds, digests, lambda url: domain(host_of(url)))
        feature = cls(copies, shells, parts.content, parts.counters, read)
        parts.moments.join(feature)
        return feature

    def first(self, page: Page) -> None:
        """Remember where a new body was."""
        for note in self._copies.notes(page.digest, page.url):
            self._content.add(note)

    def on_known_body(self, page: Page, exchange: Exchange) -> None:
        """Read a known body for its links if they may lead elsewhere from this page's address.

        That it was read is remembered only if it has links.
        """
        if page.link is None:
            return
        by_query = any(link in exchange.body for link in QUERY_LINKS)
        copy, notes = self._copies.judge(page.digest, page.url, by_query=by_query)
        if copy is Copy.ELSEWHERE:
            notes = self._notes_of_shell(page, exchange)
        if not notes:
            # A copy whose links were submitted before loses none.
            if copy is not Copy.KNOWN and _may_have_links(exchange):
                self._counters[LEFT_OUT + copy.value] += 1
            return
        self._read(page, exchange)
        if page.links:
            exchange.state.followed = True
            for note in notes:
                self._content.seen(note)

    def _notes_of_shell(self, page: Page, exchange: Exchange) -> list[bytes]:
        """Return the notes to keep if a body is followed as a shell on this site; else nothing."""
        # Many hosts have the same small start page, such as a frameset or a refresh, whose relative
        # links lead to each host's own pages: every host but the first was lost behind it.
        link = page.link
        if self._shells is None or link is None or len(exchange.body) > SHELL_SIZE:
            return []
        notes = self._shells.follows(page.digest, page.url, redirects_in_a_row(link.path))
        return [*notes, *self._copies.notes(page.digest, page.url)] if notes else []


def _may_have_links(exchange: Exchange) -> bool:
    """Return whether a body seems to be markup with links, so that its loss is worth counting."""
    is_markup = bool(markup(exchange.content_type, exchange.body))
    return is_markup and LINKS.search(exchange.body) is not None
