"""Handles what code raises besides Exceptions: panics in Rust, time-outs, cancellations.

Scrapy handles none of it: the page would never be over, and its host, the crawl's end and Ctrl-C
would wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from inspect import isasyncgen, isgenerator
from typing import Any

from webcrawl.crawl.trip import PAGE


class Panic(Exception):  # noqa: N818 - reads as what it is
    """An error of one page, like any other, with words and traceback of what was raised."""


def tamed(error: BaseException) -> Exception:
    """Return the error as an Exception, so that it ends one page; raise it if it must end more.

    The cancellation of the crawl must. A cancellation that the page's code has brought about need
    not, unless the next run has the page again.
    """
    if isinstance(error, Exception):
        return error
    page = PAGE.get()
    # The crawl cancels code of no page, and pages that it has marked so before.
    is_left = page is None or page.abandoned or page.cancelled or page.resumed
    is_cancelled_by_crawl = isinstance(error, asyncio.CancelledError) and is_left
    if is_cancelled_by_crawl or isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    return Panic(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__)


class _Taming:
    """Lets Exceptions alone pass, as they are; what else is raised within it is tamed."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and not isinstance(error, Exception):
            raise tamed(error) from None


TAMED = _Taming()


def taming(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return the call changed so that it, and generators that it returns, raise only Exceptions."""

    async def called(*arguments: Any) -> Any:
        with TAMED:
            output = await call(*arguments)
        if isgenerator(output):
            return _read(output)
        return reading(output) if isasyncgen(output) else output

    return called


def _read(output: Generator[Any, Any, Any]) -> Iterator[Any]:
    while True:
        with TAMED:
            try:
                one = next(output)
            except StopIteration:
                return
        yield one


async def reading(output: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield the same values, until an Exception."""
    while True:
        with TAMED:
            try:
                one = await anext(output)
            except StopAsyncIteration:
                return
        yield one
