"""Owners' preferences obeyed: what is forbidden for all purposes leaves only its head."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.model import Exchange, WithheldBytes
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.content.purpose_bits import Purpose
from webcrawl.content.stated_preferences import RobotsWord
from webcrawl.net.robots import RobotsSaid
from webcrawl.store.jobdir.crawl_line import WITHHELD


class Owners:
    """The owners of hosts: what they say of the use of pages, and which pages are not kept.

    They say it in robots.txt, in headers and in documents. `judges`: whether the crawl has declared
    a purpose, by which pages are withheld; else none is.
    """

    def __init__(
        self, said: Callable[[str], RobotsSaid | None] | None, agent: str, purpose: Purpose
    ) -> None:
        """`said`: what the robots.txt of a URL's host says; None if the crawl asks for none."""
        self._said = said
        self._agent = agent
        self.purpose = purpose
        self._plain = RobotsWord(agent=agent)
        self.judges = bool(purpose.declared)

    def word(self, url: str) -> RobotsWord:
        """Return the owner's word on a URL, in one look; nearly all hosts say nothing."""
        said = self._said(url) if self._said is not None else None
        return self._plain if said is None else RobotsWord(said.of(url), said.licenses, self._agent)

    def withholds(self, page: Page) -> bool:
        """Return whether a page must not be kept. Read the head of its document if needed."""
        return self.purpose.withholds(page.said_so_far) or self.purpose.withholds(page.preferences)


def withhold(page: Page, exchange: Exchange, purpose: Purpose) -> tuple[str, ...]:
    """Remove all but the head from a page and its answer; return which sources forbid the rest.

    The addresses of links stay until they are followed, without their texts.
    """
    # Before the body, in which some of them are, is removed.
    preferences = page.preferences
    sources = purpose.sources(preferences)
    exchange.state.withheld = WithheldBytes(len(exchange.payload), len(exchange.wire))
    exchange.state.notes += (f"{WITHHELD}:{'+'.join(sources)}",)
    # The digest of what came is kept: to ask for it computes it, while the bytes are there.
    exchange.digest  # noqa: B018
    exchange.wire = exchange.payload = exchange.body = page.body = b""
    exchange.state.found = exchange.state.refers = None
    exchange.state.views = ()
    exchange.rendered = exchange.state.is_original = False
    page.title = ""
    page.looked_up = {"preferences": preferences}
    if page.found is not None:
        links = [(kind, address, "", rel) for kind, address, _, rel in page.found.links]
        page.found = DocumentLinks(
            page.found.base, page.found.encoding, links, whole=page.found.whole
        )
    return sources


def forget_links(page: Page) -> None:
    """Remove the links of a withheld page, which were followed: no output lists them."""
    if page.found is not None:
        page.found = DocumentLinks(page.found.base, page.found.encoding)
    page.followed = ()
    page.flags = None
