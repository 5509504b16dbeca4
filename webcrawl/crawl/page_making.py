"""Makes pages of answers, and submits their links; an error ends a page, or the crawl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from webcrawl.base.own_code import OwnCodeError
from webcrawl.content.page import Page
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.store.errors import StoreError


class PageMaking:
    """Makes pages of all answers at hand, submits their links, then looks up what outputs want."""

    def __init__(
        self,
        visitor: Visitor,
        follow: Callable[[Page], object],
        look_ups: Sequence[Callable[[Page], object]],
        fail: Callable[[Exception], object],
        *,
        end_error: type[Exception],
    ) -> None:
        """`follow` may run code of the user's; `end_error` is what it raises to end the crawl.

        `look_ups` is read each time: outputs add to it as they open.
        """
        self._visitor = visitor
        self._follow = follow
        self._look_ups = look_ups
        self._fail = fail
        self._end_error = end_error

    def pages(self, trips: Sequence[Trip]) -> list[Iterable[Page] | Exception]:
        """Return for each answer its page, or why there is none.

        What is iterated may raise after the page: then only its links could not be chosen.
        """
        pages = self._visited(trips)
        # One stage after the other over all pages: a stage then finds its code and its tables in
        # the processor's caches. In `ends` is the error of each page, or None.
        ends = [_tried(self._follow, page) if isinstance(page, Page) else page for page in pages]
        if self._look_ups:
            pages_made = [page for page in pages if isinstance(page, Page)]
            self._look_up([page for page in pages_made if page.found is not None])
        return list(map(self._page_or_error, trips, pages, ends))

    def _look_up(self, pages: Sequence[Page]) -> None:
        """Look up what outputs want of these pages, as far as memory suffices.

        An error is ignored: it comes again where the outputs ask for what is missing.
        """
        for look_up in self._look_ups:
            for page in pages:
                if isinstance(_tried(look_up, page), MemoryError):
                    return

    def _visited(self, trips: Sequence[Trip]) -> list[Page | Exception]:
        """Return each page, or why there is none.

        Without memory the crawl ends at once: the next page might take it down.
        """
        pages: list[Page | Exception] = []
        for trip in trips:
            trip.visited = True
            try:
                pages.append(self._visitor.visit(*trip.answer()))
            except MemoryError as error:
                self._fail(error)
                return [*pages, *[error] * (len(trips) - len(pages))]
            except BaseException as error:  # noqa: BLE001 - it ends this page; the others go on
                pages.append(tamed(error))
        return pages

    def _page_or_error(
        self, trip: Trip, page: Any, wrong: Exception | None
    ) -> Iterable[Page] | Exception:
        """Return what the loop goes on with after a page was made: the page, an error or nothing.

        `wrong`: the error of the code that made it. One that ends the crawl leaves the page to the
        next run; one of our machine ends the crawl.
        """
        if wrong is None:
            return [page]
        # before its links were chosen: the next run has the page again
        if isinstance(wrong, self._end_error):
            trip.abandoned = True
            return wrong
        # a lack of ours: the page is not done
        if isinstance(wrong, (StoreError, OwnCodeError, OSError, MemoryError)):
            self._fail(wrong)
            return []
        return _page_then(page, wrong) if isinstance(page, Page) else wrong


def _tried(call: Callable[[Page], object], page: Page) -> Any:
    """Return what the call returns, or the error that it raises."""
    try:
        return call(page)
    except BaseException as error:  # noqa: BLE001 - as above
        return tamed(error)


def _page_then(page: Page, error: Exception) -> Iterator[Page]:
    """Return a page whose links could not be chosen: it is archived nevertheless."""
    yield page
    raise error
