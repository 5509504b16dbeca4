"""Says how an archived page has changed since the capture of it that was read before.

The digests of all bodies seen so far form a set, from which nothing is ever removed. That set also
counts a page's states. One digest says that the page has an nth state, and another says which state
that is. A capture identical to the previous one adds no digest.
"""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.model import Exchange, Link
from webcrawl.base.page_values import GONE, Change
from webcrawl.content.page import Page
from webcrawl.crawl.page_states import CHANGED
from webcrawl.frontier.seen.content import ContentSeen

READS = (b"GET ", b"HEAD ")
NONE = -1  # in the place of the number of a state
ABSENT = b""  # in the place of a body's digest: the page is gone


class ArchivedStates:
    """One per visitor that reads archives."""

    def __init__(
        self,
        bodies: ContentSeen,
        digests: Callable[[bytes], bytes],
        *,
        skips_seen: bool,
    ) -> None:
        """`skips_seen`: whether pages with known bodies are skipped.

        Unless known bodies are skipped, a capture that is as the one before counts as new, and is
        processed once more.
        """
        self._bodies = bodies
        self._digests = digests
        self._same = Change.UNCHANGED if skips_seen else Change.NEW

    def judge(self, page: Page, link: Link, exchange: Exchange) -> None:  # noqa: ARG002 - as of pages fetched again
        """Set `page.change` beside the capture before: new, unchanged, changed or gone."""
        if exchange.request and not exchange.request.startswith(READS):
            return
        if 200 <= exchange.status < 300:
            page.digest = page.digest or self._digests(exchange.body)
            page.change = self._heard(page, exchange, page.digest)
            return
        # A page that was never there is not gone.
        if exchange.status in GONE and self._last(page) != NONE:
            page.change = self._heard(page, exchange, ABSENT)

    def _heard(self, page: Page, exchange: Exchange, state: bytes) -> Change:
        """Note the state that the page has now; return what that is beside its last one."""
        last = self._last(page)
        if last != NONE and self._bodies.holds(self._is_in(page, last, state)):
            if state == ABSENT:
                return Change.GONE
            # Another capture of the URL may have ended since, so its URL would not tell
            if not exchange.state.was_begun:
                return self._same
            last -= 1  # it is this very capture that is known
        else:
            self._bodies.seen(self._has(page, last + 1))
            self._bodies.seen(self._is_in(page, last + 1, state))
        if state == ABSENT:
            return Change.GONE
        return Change.NEW if last == NONE else Change.CHANGED

    def _last(self, page: Page) -> int:
        """Return the number of the state in which the page was read last, or NONE.

        It looks back twice as far each time until there is no such state, then bisects: of a
        thousand states it reads twenty.
        """
        if not self._bodies.holds(self._has(page, 0)):
            return NONE
        known, unknown = 0, 1
        while self._bodies.holds(self._has(page, unknown)):
            known, unknown = unknown, 2 * unknown
        while unknown - known > 1:
            middle = (known + unknown) // 2
            if self._bodies.holds(self._has(page, middle)):
                known = middle
            else:
                unknown = middle
        return known

    def _has(self, page: Page, number: int) -> bytes:
        """Return the digest that is kept if a page has a state of this number."""
        return self._digests(CHANGED + page.url.encode() + (b" %d" % number if number else b""))

    def _is_in(self, page: Page, number: int, state: bytes) -> bytes:
        """Return the digest by which it is known which state that is."""
        return self._digests(b"%s%d %s %s" % (CHANGED, number, page.url.encode(), state))

    def note(self, page: Page) -> None:
        """Do nothing: an archive has the pages of one body in any order."""

    def returns(self, page: Page, link: Link, exchange: Exchange) -> bool:  # noqa: ARG002 - as of pages fetched again
        """Return whether to process a page whose body is already known.

        It is processed if the page has changed to that body.
        """
        return page.change is not Change.NEW
