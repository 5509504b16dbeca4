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
NO_STATE = -1  # in the place of the number of a state: the page was not read before
ABSENT = b""  # in the place of a body's digest: the page is gone


class ArchivedStates:
    """Tells what has become of a page from one of its captures to the next.

    A *state* is what a page was at one or more captures in a row: a body, known by its digest, or
    ABSENT. The states of a page are numbered from 0. There is one object per visitor that reads
    archives.
    """

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
        # what a capture that is as the one before counts as
        self._change_if_same = Change.UNCHANGED if skips_seen else Change.NEW

    def judge(self, page: Page, link: Link, exchange: Exchange) -> None:  # noqa: ARG002 - as of pages fetched again
        """Set `page.change` beside the capture before: new, unchanged, changed or gone."""
        # The answer to a form that was sent is no capture of the page. A capture whose request is
        # not archived counts as a GET.
        if exchange.request and not exchange.request.startswith(READS):
            return
        if 200 <= exchange.status < 300:
            page.digest = page.digest or self._digests(exchange.body)
            page.change = self._note_state(page, exchange, page.digest)
            return
        # A page that was never there is not gone.
        if exchange.status in GONE and self._last_number(page) != NO_STATE:
            page.change = self._note_state(page, exchange, ABSENT)

    def _note_state(self, page: Page, exchange: Exchange, state: bytes) -> Change:
        """Note the state that the page has now; return what that is beside the one before."""
        before = self._last_number(page)
        if before != NO_STATE and self._bodies.holds(self._mark_of_state(page, before, state)):
            if state == ABSENT:
                return Change.GONE
            # Another capture of the URL may have ended since, so its URL would not tell
            if not exchange.state.was_begun:
                return self._change_if_same
            # An earlier run has noted this very capture: what counts is the state before it.
            before -= 1
        else:
            self._bodies.seen(self._mark_of_number(page, before + 1))
            self._bodies.seen(self._mark_of_state(page, before + 1, state))
        if state == ABSENT:
            return Change.GONE
        return Change.NEW if before == NO_STATE else Change.CHANGED

    def _last_number(self, page: Page) -> int:
        """Return the number of the state in which the page was read last, or NO_STATE.

        It tries numbers twice as high each time until there is no such state, then bisects: of a
        thousand states it reads twenty.
        """
        if not self._bodies.holds(self._mark_of_number(page, 0)):
            return NO_STATE
        known, unknown = 0, 1
        while self._bodies.holds(self._mark_of_number(page, unknown)):
            known, unknown = unknown, 2 * unknown
        while unknown - known > 1:
            middle = (known + unknown) // 2
            if self._bodies.holds(self._mark_of_number(page, middle)):
                known = middle
            else:
                unknown = middle
        return known

    def _mark_of_number(self, page: Page, number: int) -> bytes:
        """Return the digest that is kept if a page has a state of this number."""
        return self._digests(CHANGED + page.url.encode() + (b" %d" % number if number else b""))

    def _mark_of_state(self, page: Page, number: int, state: bytes) -> bytes:
        """Return the digest that is kept if the page's state of this number is this one."""
        return self._digests(b"%s%d %s %s" % (CHANGED, number, page.url.encode(), state))

    def note(self, page: Page) -> None:
        """Do nothing: an archive has the pages of one body in any order."""

    def returns(self, page: Page, link: Link, exchange: Exchange) -> bool:  # noqa: ARG002 - as of pages fetched again
        """Return whether to process a page whose body is already known.

        It is processed if the page has changed to that body.
        """
        return page.change is not Change.NEW
