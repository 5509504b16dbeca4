"""The one way in."""

from __future__ import annotations

from collections.abc import Callable

from scrapy import Request
from scrapy.core.engine import ExecutionEngine

from webcrawl.adapter.trip import Trip
from webcrawl.fastpath.engine import Engine
from webcrawl.fastpath.names import check
from webcrawl.fastpath.request_path import RequestPath
from webcrawl.fastpath.signals import skip_unheard_signals


def install(
    engine: ExecutionEngine | None, *, finished: Callable[[Request, Trip], None], closing: Callable[[], None]
) -> Engine:
    """From the scheduler's `open` on, requests of the scheduler pass through the engine on the short way.

    `finished` is called when all is done for a request: its items have left the pipelines, or its failure is handled.
    Scrapy's signals report downloads, not this, and for some requests nothing. `closing` is called when the spider
    begins to close. ForeignScrapy if this Scrapy has other private names than those used here.
    """
    check()
    handle = Engine(engine, closing)
    RequestPath(handle, finished)
    skip_unheard_signals(handle.engine.crawler.signals)
    return handle
