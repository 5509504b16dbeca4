"""The holders of the engine: it fetches only when there is none."""

from __future__ import annotations

from contextlib import suppress
from weakref import WeakKeyDictionary

from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.scheduler import scheduler_of

_holders: WeakKeyDictionary[Crawler, dict[object, str]] = WeakKeyDictionary()


def hold(crawler: Crawler, holder: object, why: str, *, held: bool) -> str:
    """Pauses the engine for this holder, or lets it go on unless others hold it. What is under way is finished.

    `why`: in a few words, for progress and status. Of several holders the first one's are said. Returns what comes of
    it, for a line.
    """
    holders = _holders.setdefault(crawler, {})
    before = bool(holders)
    if held:
        holders[holder] = why
    else:
        holders.pop(holder, None)
    trouble = next(iter(holders.values()), "")
    with suppress(NotConfigured):  # somebody else's scheduler has no status
        crawl = scheduler_of(crawler).crawl
        crawl.parts.hold(trouble)
        trouble = crawl.outlook.stopped_by
    engine = crawler.engine
    if engine is not None and bool(holders) != before:
        _turn(crawler, engine, held=held)
    return f"nothing is fetched ({trouble})" if trouble else "fetching resumes"


def _turn(crawler: Crawler, engine: ExecutionEngine, *, held: bool) -> None:
    if held:
        engine.pause()
        return
    engine.unpause()
    with suppress(NotConfigured):  # somebody else's scheduler is asked every few seconds
        scheduler_of(crawler).wake()
