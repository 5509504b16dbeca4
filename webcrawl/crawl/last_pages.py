"""Pages that do not come back from the user's code, and code of theirs that does not open or close.

A checkpoint leaves such pages out, and the end of the crawl leaves them to the next run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from webcrawl.base.readable import count, readable
from webcrawl.crawl.failures import suspended
from webcrawl.crawl.trip import Trip

logger = logging.getLogger(__name__)

# seconds until a line says which pages the end waits for, and until it does not wait
REPORTED_AFTER, LEFT_AFTER = 10.0, 30.0
CANCELLED = 1.0  # seconds for a page that was cancelled
OPENING_LOOK_INTERVAL = 1.0  # seconds between two looks at code that does not open
# Seconds for code that closes, in a crawl that was told to stop. Listeners to the end, as feeds are,
# and threads may be storing what nobody else has: without an hour of theirs it would be lost.
CLOSED, STORED = 60.0, 3600.0


class Way(Protocol):
    """A way of pages through the user's code: Scrapy's engine, or the crawl's own loop.

    `cancel` cancels the pages that wait there. `forsake` ends those that go on nevertheless.
    """

    def waiting_pages(self) -> Mapping[Trip, Any]: ...
    def cancel(self) -> None: ...
    def forsake(self) -> None: ...


async def opened(
    open_code: Callable[[], Awaitable[Any]], is_over: Callable[[], bool], what: str
) -> Any:
    """Await what opens code of the user's, and return or raise what it does.

    After REPORTED_AFTER seconds a line says what the crawl waits for. If the crawl is over, as it
    was told to stop meanwhile, return None.
    """
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(open_code())
    looks = 0
    while not (await asyncio.wait({task}, timeout=OPENING_LOOK_INTERVAL))[0]:
        looks += 1
        if is_over():
            line = "%s does not return%s: the crawl ends without it"
            logger.error(line, what, _waits_begun_since(before))
            task.cancel()
            return None
        if looks * OPENING_LOOK_INTERVAL == REPORTED_AFTER:
            line = "the crawl waits for %s%s before it begins"
            logger.warning(line, what, _waits_begun_since(before))
    return await task


def _waits_begun_since(before: set[asyncio.Task[Any]]) -> str:
    """Return where the tasks wait that were not among those `before`, as `of` does."""
    return of(begun.get_coro() for begun in asyncio.all_tasks() - before)


async def closed(
    close: Callable[[], Awaitable[object]],
    hurries: Callable[[], bool],
    what: str = "",
) -> bool:
    """Await what closes code of the user's, and return whether it is closed; raise what it raises.

    If `hurries` says that the crawl was told to stop, code that is not closed in time is left.
    `what`: a listener, in words for the log, which has STORED seconds; without it, a pipeline.
    """
    most = STORED if what else CLOSED
    what = what or "close_spider of a pipeline"
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(close())
    seconds = 0.0
    while True:
        done, _ = await asyncio.wait({task}, timeout=REPORTED_AFTER)
        if done:
            break
        seconds += REPORTED_AFTER
        waits = _waits_begun_since(before)
        if hurries() and seconds >= most:
            line = "%s does not return%s: the crawl ends without waiting for it"
            logger.error(line, what, waits)
            task.cancel()
            return False
        if seconds == REPORTED_AFTER:
            line = "the crawl waits for %s%s before it ends; a second signal ends it at once"
            logger.warning(line, what, waits)
    await task
    return True


class LastPages:
    """Says for which pages the end of a crawl waits, and cancels them after LEFT_AFTER seconds.

    The seconds are from the beginning of the closing, the time for downloads included.
    """

    def __init__(self, ways: Sequence[Way], what: str) -> None:
        """`what`: what becomes of pages that do not come back, for the log."""
        self._ways = ways
        self._what = what
        asyncio.get_running_loop().call_later(REPORTED_AFTER, self._say)
        asyncio.get_running_loop().call_later(LEFT_AFTER, self._cancel)

    def _say(self) -> None:
        """Log which pages the crawl waits for before it ends, if there are any."""
        if pages := waiting_pages(self._ways):
            line = (
                "the crawl waits for %s in the spider, the pipelines or a middleware%s before it "
                "ends: up to %s more; a second signal ends it at once"
            )
            logger.warning(
                line,
                count(len(pages), "page"),
                of(pages.values()),
                f"{LEFT_AFTER - REPORTED_AFTER:.0f} s",
            )

    def _cancel(self) -> None:
        """Cancel the pages that have not come back; end them if they catch that."""
        if pages := waiting_pages(self._ways):
            line = (
                "%s did not return from the spider, the pipelines or a middleware%s: %s; the first "
                "is %s"
            )
            url = readable(next(iter(pages)).url)
            logger.warning(line, count(len(pages), "page"), of(pages.values()), self._what, url)
            for way in self._ways:
                way.cancel()
                # Code of the user's may catch the cancellation, and go on.
                asyncio.get_running_loop().call_later(CANCELLED, way.forsake)


def waiting_pages(ways: Iterable[Way]) -> dict[Trip, Any]:
    """Return the coroutines of all pages that wait for something there."""
    return {trip: coroutine for way in ways for trip, coroutine in way.waiting_pages().items()}


def of(coroutines: Iterable[Any]) -> str:
    """Return where these wait, in brackets; empty if that is not known."""
    places = sorted({suspended(coroutine) for coroutine in coroutines} - {""})
    return f" [{'; '.join(places)}]" if places else ""
