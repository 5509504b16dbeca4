"""Who holds the engine at present: it fetches only when nobody does."""

from __future__ import annotations

from contextlib import suppress
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.scheduler import scheduler_of

_holders: WeakKeyDictionary[Crawler, set[object]] = WeakKeyDictionary()


def hold(crawler: Crawler, holder: object, *, held: bool) -> None:
    """Pauses the engine for this holder, or lets it go on unless others hold it. What is under way is finished."""
    holders = _holders.setdefault(crawler, set())
    before = bool(holders)
    (holders.add if held else holders.discard)(holder)
    engine = crawler.engine
    if engine is None or bool(holders) == before:
        return
    if held:
        engine.pause()
        return
    engine.unpause()
    with suppress(NotConfigured):  # somebody else's scheduler is asked every few seconds
        scheduler_of(crawler).wake()
