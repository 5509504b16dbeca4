"""Small bodies that many sites have, read again where their relative links lead to other pages."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.model import Exchange, redirects_in_a_row
from webcrawl.content.page import Page
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.frontier.seen.shells import SHELL_SIZE, Shells


class ReadShells:
    """Reads a body whose links were submitted on another site, if they may lead to other pages on this one."""

    def __init__(self, shells: Shells, content: ContentSeen, read: Callable[[Page, Exchange], object]) -> None:
        self._shells, self._content, self._read = shells, content, read

    def known(self, page: Page, exchange: Exchange) -> None:
        """It is remembered only if it has links."""
        if page.link is None or len(exchange.body) > SHELL_SIZE:
            return
        notes = self._shells.follows(page.digest, page.url, redirects_in_a_row(page.link.path))
        if not notes:
            return
        self._read(page, exchange)
        if page.links:
            exchange.followed = True
            for note in notes:
                self._content.seen(note)
