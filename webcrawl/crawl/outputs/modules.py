"""Processing modules: pipelines that name the content types they want (docs/pipelines.md)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from fnmatch import fnmatchcase
from functools import lru_cache, wraps
from inspect import isawaitable
from typing import Any

from webcrawl.base.errors import RulesError, lack
from webcrawl.base.page_values import Change
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.output import Dropped
from webcrawl.crawl.outputs.output_protocol import TakesPages, is_module
from webcrawl.crawl.panics import tamed

logger = logging.getLogger(__name__)

Process = Callable[..., Any]
TYPES = 1024  # whose verdicts are remembered: a crawl meets few


def module(
    name: str,
    process: Process,
    content_types: str | Iterable[str],
    *,
    unchanged: bool = False,
    dropped: type[Exception] = Dropped,
) -> Process:
    """Return `process_item` of a module, which calls `process` for pages of these types alone.

    In a type `*` is a wildcard. Raise RulesError for what is no type. `unchanged`: also for pages
    that have not changed since they were fetched last, with a type or without. `dropped` is what it
    raises for a page that goes no further.

    An error of its own is logged and costs nothing else: the page goes on to the next pipeline, as
    it does if the module returns None.
    """
    patterns = _patterns(name, content_types)

    @lru_cache(TYPES)
    def wants(content_type: str) -> bool:
        return any(fnmatchcase(content_type, pattern) for pattern in patterns)

    def is_meant(page: Page) -> bool:
        if page.change is not Change.UNCHANGED:
            return wants(page.content_type)
        # A 304 rarely has a Content-Type.
        return unchanged and (wants(page.content_type) or not page.content_type)

    @wraps(process)
    def called(item: Any, *spider: Any) -> Any:
        """Call the module for an item that it wants; log its errors, and pass the item on."""
        if not isinstance(item, Page) or not is_meant(item):
            return item
        try:
            result = process(item, *spider)
        except BaseException as error:
            if _must_be_raised(tamed(error), dropped):
                raise
            logger.exception("%s: %s", name, item.url)
            return item
        if isawaitable(result):
            return _awaited(result, name, item, dropped)
        return item if result is None else result

    return called


def processors(name: str, output: object, dropped: type[Exception] = Dropped) -> list[Process]:
    """Return what an output has pages go through: nothing, its `process_item`, or its module's."""
    if is_module(output):
        types, unchanged = output.content_types, getattr(output, "unchanged", False)
        return [module(name, output.process_item, types, unchanged=unchanged, dropped=dropped)]
    return [output.process_item] if isinstance(output, TakesPages) else []


def _patterns(name: str, content_types: str | Iterable[str]) -> list[str]:
    """Return the content types of a module in lower case. Raise RulesError for what is none."""
    patterns: list[Any] = [content_types]
    if isinstance(content_types, Iterable) and not isinstance(content_types, str):
        patterns = [*content_types]
    for pattern in patterns:
        if not isinstance(pattern, str) or "/" not in pattern:
            raise RulesError(
                f"{name}: content_types must be types such as text/html or image/*, not {content_types!r}"
            )
    return [pattern.lower() for pattern in patterns]


async def _awaited(result: Awaitable[Any], name: str, page: Page, dropped: type[Exception]) -> Any:
    """Await what a module has returned for a page; else as `called` does without await."""
    try:
        item = await result
    except BaseException as error:
        if _must_be_raised(tamed(error), dropped):
            raise
        logger.exception("%s: %s", name, page.url)
        return page
    return page if item is None else item


def _must_be_raised(error: Exception, dropped: type[Exception]) -> bool:
    """Return whether a page was dropped on purpose, or more than the module is at fault."""
    return isinstance(error, dropped) or bool(lack(error))
