"""The only entry of the fast path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response

from webcrawl.adapter.fastpath.engine import Engine
from webcrawl.adapter.fastpath.names import check
from webcrawl.adapter.fastpath.request_path import RequestPath
from webcrawl.adapter.fastpath.signals import shorten_signals
from webcrawl.crawl.trip import Trip


def install(
    engine: ExecutionEngine | None,
    *,
    finished: Callable[[Trip], None],
    closing: Callable[[], None],
    failure: Callable[[], Exception | None],
    robots: Callable[[Response], Iterator[Any]] | None = None,
) -> Engine:
    """Installs the request path in an engine; call it in the scheduler's `open`.

    `finished` is called when a request is entirely done: its items have left the pipelines, or its failure is handled.
    Scrapy has no signal for that. `closing` is called when the spider begins to close, and `failure` when all is over:
    what it returns is raised to whoever started the crawl. Raises ForeignScrapy if the installed Scrapy lacks a
    private name that is used here. `robots` is the callback of requests for robots.txt.
    """
    check()
    handle = Engine(engine, closing, failure)
    handle.path = RequestPath(handle, finished, robots)
    shorten_signals(handle.engine.crawler.signals)
    return handle
