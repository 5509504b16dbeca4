"""Scrapy's private names that this package uses, checked at the start.

docs/decisions/adapter-fastpath.md says how to move to the next minor version.
"""

from __future__ import annotations

from types import FunctionType

import scrapy
from scrapy.core.engine import ExecutionEngine, _Slot
from scrapy.core.scraper import Scraper, Slot
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.pipelines import ItemPipelineManager
from scrapy.signalmanager import SignalManager

SCRAPY = (2, 19)
# Underscored methods that are called or replaced, and attributes that a constructor sets.
PRIVATE: dict[type, tuple[str, ...]] = {
    ExecutionEngine: ("_slot", "_start"),
    Scraper: ("_check_if_closing",),
    ItemPipelineManager: ("_add_middleware", "_mw_methods_requiring_spider", "_spider"),
}
# Names without an underscore that no documentation promises, replaced or relied upon.
UNDOCUMENTED: dict[type, tuple[str, ...]] = {
    ExecutionEngine: ("close_spider_async", "scraper", "start_async", "stop_async"),
    _Slot: ("close", "closing", "inprogress", "nextcall", "remove_request"),
    Scraper: (
        "call_spider_async",
        "concurrent_items",
        "handle_spider_output_async",
        "handle_spider_error",
        "slot",
        "spidermw",
    ),
    Slot: ("active", "itemproc_size"),
    ItemPipelineManager: ("methods",),
    SpiderMiddlewareManager: ("methods",),
    SignalManager: ("send_catch_log", "send_catch_log_async", "sender"),
}


class ForeignScrapy(Exception):  # noqa: N818 - reads as what it is
    """The installed Scrapy is not one that was tested; the message is one line."""


def check(
    version: tuple[int | str, ...] = scrapy.version_info, *lists: dict[type, tuple[str, ...]]
) -> None:
    """Raise ForeignScrapy unless version and names are those that this package was written for."""
    wanted = ".".join(map(str, SCRAPY))
    here = ".".join(map(str, version))
    if version[:2] != SCRAPY:
        raise ForeignScrapy(
            f"Scrapy {here} is installed: webcrawl needs {wanted}; pip install 'scrapy~={wanted}.0'"
        )
    lists = lists or (PRIVATE, UNDOCUMENTED)
    used = [(kind, name) for names in lists for kind, some in names.items() for name in some]
    missing = [f"{kind.__name__}.{name}" for kind, name in used if not _has(kind, name)]
    if missing:
        raise ForeignScrapy(
            f"Scrapy {here} has no {', '.join(missing)}: webcrawl needs an unchanged Scrapy {wanted}"
        )


def _has(kind: type, name: str) -> bool:
    return hasattr(kind, name) or any(name in _set_by(one) for one in kind.__mro__)


def _set_by(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes that a class's own constructor may set."""
    constructor = vars(kind).get("__init__")
    return constructor.__code__.co_names if isinstance(constructor, FunctionType) else ()
