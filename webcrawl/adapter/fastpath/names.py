"""The private names of Scrapy that this package uses, with their purpose, checked at the start.

docs/decisions/adapter-fastpath.md says how to move to the next minor version. The package also
imports undocumented functions of `scrapy.utils` (defer, python, misc, asyncio), which fail at the
import if they are gone.
"""

from __future__ import annotations

from types import FunctionType

import scrapy
from scrapy.core.engine import ExecutionEngine, _Slot
from scrapy.core.scraper import Scraper, Slot
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.pipelines import ItemPipelineManager
from scrapy.signalmanager import SignalManager

SCRAPY = (2, 19)
# Underscored methods that are called or replaced, and attributes that a constructor sets.
PRIVATE: dict[type, tuple[str, ...]] = {
    ExecutionEngine: (
        "_slot",  # lets the engine ask the scheduler at once (engine.py)
        # replaced: makes an Exception of what a spider raises and is none, for which Scrapy would
        # wait for ever (guest_requests.py)
        "_start",
    ),
    Scraper: ("_check_if_closing",),  # the end of the scraper, where a pipeline never returns
    # a subclass calls the pipelines in a row: 0.3 us in place of 2.6 for three (items.py)
    ItemPipelineManager: ("_add_middleware", "_mw_methods_requiring_spider", "_spider"),
}
# Names without an underscore that no documentation promises, replaced or relied upon.
UNDOCUMENTED: dict[type, tuple[str, ...]] = {
    Crawler: ("crawling",),  # what Scrapy's stop asks, before the engine runs (engine.py)
    ExecutionEngine: (
        # replaced, as is stop_async: a Ctrl-C while the crawl closes waits for the last checkpoint,
        # which Scrapy would leave out, with exit status 0 (engine.py)
        "close_spider_async",
        "scraper",  # its documented start_itemproc_async takes pages to the pipelines
        "start_async",  # replaced: an exception from it is exit status 1 (engine.py)
        "stop_async",
    ),
    _Slot: (
        # replaced: learns that the spider begins to close, and waits for the crawl's own loop
        "close",
        "closing",
        # replaced: learns that a request is over, with its items. Scrapy has no signal for that
        "inprogress",
        "nextcall",
        # replaced once the slot is closed: Scrapy would fail at a pipeline's download while it
        # closes, with AlreadyCalledError
        "remove_request",
    ),
    Scraper: (
        "call_spider_async",  # replaced, as ExecutionEngine._start
        "concurrent_items",
        # replaced if CONCURRENT_ITEMS is 1: outputs are processed in the page's own task, so that
        # the end can say where it waits
        "handle_spider_output_async",
        "handle_spider_error",  # what happens to an exception of the spider's code
        "slot",
        "spidermw",  # whether there is a spider middleware
    ),
    Slot: ("active", "itemproc_size"),  # as Scraper._check_if_closing
    ItemPipelineManager: ("methods",),
    SpiderMiddlewareManager: ("methods",),
    # The two methods are replaced, to skip signals without a listener: 0.3 us in place of 1.9
    SignalManager: ("send_catch_log", "send_catch_log_async", "sender"),
}


class ForeignScrapy(Exception):  # noqa: N818 - reads as what it is
    """The installed Scrapy is not one that was tested. The message is one line."""


def check(
    version: tuple[int | str, ...] = scrapy.version_info, *lists: dict[type, tuple[str, ...]]
) -> None:
    """Raise ForeignScrapy if Scrapy is of another version than tested, or lacks one of the names.

    `lists` are names by class, by default PRIVATE and UNDOCUMENTED.
    """
    wanted = ".".join(map(str, SCRAPY))
    installed = ".".join(map(str, version))
    # Another version may give a name another meaning, which raises no error: a signal would be
    # missing, or a request finished twice
    if version[:2] != SCRAPY:
        raise ForeignScrapy(
            f"Scrapy {installed} is installed: webcrawl needs {wanted}; "
            f"pip install 'scrapy~={wanted}.0'"
        )
    missing: list[str] = []
    for names_by_class in lists or (PRIVATE, UNDOCUMENTED):
        for kind, names in names_by_class.items():
            missing += [f"{kind.__name__}.{name}" for name in names if not _has(kind, name)]
    if missing:
        raise ForeignScrapy(
            f"Scrapy {installed} has no {', '.join(missing)}: "
            f"webcrawl needs an unchanged Scrapy {wanted}"
        )


def _has(kind: type, name: str) -> bool:
    """Return whether a class has an attribute of this name, or sets it in a constructor."""
    return hasattr(kind, name) or any(name in _names_in_constructor(base) for base in kind.__mro__)


def _names_in_constructor(kind: type) -> tuple[str, ...]:
    """Return the names that a class's own constructor uses, among which are those it sets."""
    constructor = vars(kind).get("__init__")
    return constructor.__code__.co_names if isinstance(constructor, FunctionType) else ()
