"""Compares a page with its earlier answers, and knows which of its states it has had before.

These states are kept among the digests of bodies that were seen, as digests of body and URL.
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

# What is hashed with the digest of a body, or with a URL: so the digests of a page's states can be
# kept among those of bodies, and are never taken for one.
CHANGED, FETCHED, HERE, COPY = b"changed ", b"fetched ", b" here ", b" copy "


class States:
    """The states of pages that come many times. A visitor has one such object."""

    def __init__(
        self, bodies: ContentSeen, digests: Callable[[bytes], bytes], known: Revisiting
    ) -> None:
        self._bodies = bodies
        self._digests = digests
        self._known = known

    def judge(self, page: Page, link: Link, exchange: Exchange) -> None:
        """Set `page.change` by the page's record: new, unchanged, changed or gone.

        The digest is of the decoded body: a content coding may come out otherwise each time, by
        gzip's time stamp.
        """
        number = 0  # there is no body
        if exchange.status == 200:
            page.digest = self._digests(exchange.body)
            number = int.from_bytes(page.digest[:8], "big") or 1
        judgement = self._known.judge(link, exchange, number, lambda: page.fingerprint)
        was_fetched = self._known.is_seen(link) and not self._is_first(page)
        if was_fetched:
            judgement = self._without_record(judgement, page, link, exchange)
        if judgement is not None:
            self._apply(judgement, page, link, exchange, was_fetched=was_fetched)
        elif was_fetched or self._known.knows(link):  # an answer that says nothing of the page
            page.change = Change.UNCHANGED

    def _without_record(
        self, judgement: PageJudgement | None, page: Page, link: Link, exchange: Exchange
    ) -> PageJudgement | None:
        """Return the judgement of a page that was fetched before, although its record is not here.

        Without the record it seems to be new, and nothing is said of one that is gone.
        """
        if judgement is None:
            is_gone = exchange.status in GONE
            return PageJudgement(Change.GONE, announced=True) if is_gone else None
        if judgement.change is not Change.NEW:
            return judgement
        # It seems to be new: only its states show whether it had this body before.
        if self._had(page) and not self._known.was_gone(link):
            return replace(judgement, change=Change.UNCHANGED, by=By.DIGEST)
        return replace(judgement, change=Change.CHANGED, by=By.TEXT)

    def _apply(
        self,
        judgement: PageJudgement,
        page: Page,
        link: Link,
        exchange: Exchange,
        *,
        was_fetched: bool,
    ) -> None:
        """Note a judgement in the page, in its exchange and among the digests.

        `was_fetched`: a signal has had this page fetched, and its own record is not here.
        """
        change = judgement.change
        exchange.state.revisit = judgement
        exchange.state.same_since = judgement.stored
        exchange.state.copy_of = judgement.copy_of
        if judgement.by is By.STATUS:
            page.earlier = judgement.said
        page.change = change
        page.revisit = judgement.visits + (change is not Change.NEW)
        if change is Change.NEW:
            self._note_first(page, link)
        if change in (Change.CHANGED, Change.GONE):
            self._bodies.seen(self._has_changed(page))
            return
        has_record = judgement.digest_before != 0
        if was_fetched and not has_record and self._bodies.holds(self._has_changed(page)):
            # perhaps: which of its states was the last is not known here
            page.change = Change.CHANGED

    def _has_changed(self, page: Page) -> bytes:
        """Return the digest that is kept if a page was ever found changed, or gone."""
        return self._digests(CHANGED + page.url.encode())

    def _was_fetched(self, page: Page) -> bytes:
        """Return the digest that is kept if a page was ever fetched."""
        return self._digests(FETCHED + page.url.encode())

    def _is_first(self, page: Page) -> bool:
        """Return whether a page that a signal has fetched was never fetched before."""
        return self._known.knows_first and not self._bodies.holds(self._was_fetched(page))

    def _note_first(self, page: Page, link: Link) -> None:
        if link.history:  # it may be one that was forgotten
            self._bodies.seen(self._was_fetched(page))
        else:
            self._bodies.add(self._was_fetched(page))

    def _was_here(self, page: Page) -> bytes:
        """Return the digest that is kept if this page was the first with this body."""
        return self._digests(page.digest + HERE + page.url.encode())

    def _was_copy(self, page: Page) -> bytes:
        """Return the digest that is kept if this page had this body, too, and was not the first."""
        return self._digests(page.digest + COPY + page.url.encode())

    def _had(self, page: Page) -> bool:
        """Return whether this very page was ever found with this body."""
        return self._bodies.holds(self._was_here(page)) or self._bodies.holds(self._was_copy(page))

    def note(self, page: Page) -> None:
        """Note that the page has this body, whose duplicates are known."""
        if page.duplicate:
            self._bodies.seen(self._was_copy(page))
        else:
            self._bodies.add(self._was_here(page))

    def returns(self, page: Page, link: Link, exchange: Exchange) -> bool:
        """Return whether a page is again what it was before, or has moved here for good."""
        if _is_back(exchange):
            return True
        if page.change is Change.CHANGED:
            return self._bodies.holds(self._was_here(page))
        if page.change is not Change.NEW or not link.history:
            return False
        # A link ahead of its turn has a history, although its page may be new.
        return not is_ahead(link) or self._had(page)


def _is_back(exchange: Exchange) -> bool:
    """Return whether the page was away, and is again what it was."""
    found: PageJudgement | None = exchange.state.revisit
    if found is None or found.change is not Change.CHANGED:
        return False
    return found.digest == found.digest_before
