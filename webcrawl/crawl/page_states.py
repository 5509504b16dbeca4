"""Says what a page has become beside earlier answers, and which of its states it has had before.

What is known of that lies among the digests of bodies that were seen, as digests of body and URL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from webcrawl.base.model import Exchange, Link
from webcrawl.base.page_values import GONE, By, Change, PageJudgement
from webcrawl.content.page import Page
from webcrawl.crawl.revisit.record import is_ahead
from webcrawl.crawl.revisiting import Revisiting
from webcrawl.frontier.seen.content import ContentSeen

# In digests that are kept beside those of bodies
CHANGED, FETCHED, HERE, COPY = b"changed ", b"fetched ", b" here ", b" copy "


class States:
    """One per visitor."""

    def __init__(
        self, bodies: ContentSeen, digests: Callable[[bytes], bytes], known: Revisiting
    ) -> None:
        self._bodies = bodies
        self._digests = digests
        self._known = known

    def judge(self, page: Page, link: Link, exchange: Exchange) -> None:
        """Says what the page has become, by its record: new, as it was when it was fetched last,
        changed or gone.

        The digest is of the decoded body: a content coding may come out otherwise each time, by
        gzip's time stamp.
        """
        known, number = self._known, 0
        if exchange.status == 200:
            page.digest = self._digests(exchange.body)
            number = int.from_bytes(page.digest[:8], "big") or 1
        found = known.judge(link, exchange, number, lambda: page.fingerprint)
        seen = known.is_seen(link) and not self._is_first(page, known)
        if found is None and seen and exchange.status in GONE:
            found = PageJudgement(Change.GONE, announced=True)
        if found is None:
            if seen or known.knows(link):  # an answer that says nothing of the page
                page.change = Change.UNCHANGED
            return
        if found.change is Change.NEW and seen:
            same = self._had(page) and not known.was_gone(link)
            found = replace(
                found,
                change=Change.UNCHANGED if same else Change.CHANGED,
                by=By.DIGEST if same else By.TEXT,
            )
        exchange.state.revisit = found
        exchange.state.same_since = found.stored
        exchange.state.copy_of = found.copy_of
        page.earlier = found.said if found.by is By.STATUS else page.earlier
        page.change = found.change
        page.revisit = found.visits + (found.change is not Change.NEW)
        if found.change is Change.NEW:
            self._note_first(page, link)
        if found.change in (Change.CHANGED, Change.GONE):
            self._bodies.seen(self._has_changed(page))
        elif seen and found.digest_before == 0 and self._bodies.holds(self._has_changed(page)):
            # perhaps: which of its states was the last is not known here
            page.change = Change.CHANGED

    def _has_changed(self, page: Page) -> bytes:
        """By which it is known that a page was ever found changed, or gone."""
        return self._digests(CHANGED + page.url.encode())

    def _was_fetched(self, page: Page) -> bytes:
        """By which it is known that a page was ever fetched."""
        return self._digests(FETCHED + page.url.encode())

    def _is_first(self, page: Page, known: Revisiting) -> bool:
        """True if a page that a signal has fetched is known never to have been fetched before."""
        return known.knows_first and not self._bodies.holds(self._was_fetched(page))

    def _note_first(self, page: Page, link: Link) -> None:
        if link.history:  # it may be one that was forgotten
            self._bodies.seen(self._was_fetched(page))
        else:
            self._bodies.add(self._was_fetched(page))

    def _was_here(self, page: Page) -> bytes:
        """By which it is known that the first page with this body was this one."""
        return self._digests(page.digest + HERE + page.url.encode())

    def _was_copy(self, page: Page) -> bytes:
        """By which it is known that this page had this body, too, and was not the first."""
        return self._digests(page.digest + COPY + page.url.encode())

    def _had(self, page: Page) -> bool:
        """True if this very page was ever found with this body."""
        return self._bodies.holds(self._was_here(page)) or self._bodies.holds(self._was_copy(page))

    def note(self, page: Page) -> None:
        """The page has this body, whose duplicates are known."""
        if page.duplicate:
            self._bodies.seen(self._was_copy(page))
        else:
            self._bodies.add(self._was_here(page))

    def returns(self, page: Page, link: Link, exchange: Exchange) -> bool:
        """True if a page has become again what it was before, or has moved here for good."""
        if _is_back(exchange):
            return True
        if page.change is Change.NEW:
            return bool(link.history) and (not is_ahead(link) or self._had(page))
        return page.change is Change.CHANGED and self._bodies.holds(self._was_here(page))


def _is_back(exchange: Exchange) -> bool:
    """True if the page was away, and is again what it was."""
    found = exchange.state.revisit
    return (
        found is not None and found.change is Change.CHANGED and found.digest == found.digest_before
    )
