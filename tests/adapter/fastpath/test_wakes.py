"""When the engine is made to ask for more requests."""

import asyncio
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.reactor import CallLaterOnce

from webcrawl.adapter.fastpath.engine import Engine
from webcrawl.adapter.fastpath.request_path import STARTS, RequestPath
from webcrawl.adapter.trip import give_trip
from webcrawl.base.model import Outcome
from webcrawl.crawl.trip import Trip


class Downloader:
    """Answers at once."""

    def __init__(self, *, turned_away):
        self.turned_away, self.active, self.middleware = turned_away, set(), SimpleNamespace(methods={})

    async def download(self, request):
        return Response(request.url, request=request)


class Scraper:
    """Works on a page for as long as the test likes."""

    concurrent_items = 8
    spidermw = SimpleNamespace(methods={"process_spider_input": [1], "process_spider_output": []})

    def __init__(self):
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.slot = SimpleNamespace(active=set(), active_size=0, MIN_RESPONSE_SIZE=1, finish_response=print)

    call_spider_async = None  # nobody's spider is called

    async def _scrape(self, *_):
        self.begun.set()
        await self.may_end.wait()

    def _check_if_closing(self):
        pass


async def wakes(*, turned_away):
    """How often the engine was woken when a download had ended, and when its page was done too."""
    request = give_trip(Request("http://a.example/"), Trip(outcome=Outcome(200)))
    downloader, scraper, woken = Downloader(turned_away=turned_away), Scraper(), []
    crawler = SimpleNamespace(signals=SimpleNamespace(sender=None, send_catch_log=lambda *_, **__: None), spider=None)
    slot = SimpleNamespace(
        scheduler=SimpleNamespace(next_request=lambda: request), add_request=print, remove_request=print
    )
    engine = SimpleNamespace(
        crawler=crawler,
        downloader=downloader,
        scraper=scraper,
        spider=None,
        _start=None,
        logformatter=SimpleNamespace(crawled=lambda *_: None),
    )
    done = asyncio.Event()
    handle = SimpleNamespace(engine=engine, slot=slot, wake=lambda: woken.append(1))
    RequestPath(handle, lambda _: done.set())
    assert engine._start_scheduled_request()
    await scraper.begun.wait()
    before = len(woken)
    scraper.may_end.set()
    await done.wait()
    return before, len(woken)


@pytest.mark.parametrize(("turned_away", "expected"), [(True, (1, 2)), (False, (0, 1))])
def test_a_download_that_ends_wakes_an_engine_that_was_turned_away(turned_away, expected):
    """Any other has asked for all that is due: it is woken when the page is done, not before."""
    assert asyncio.run(wakes(turned_away=turned_away)) == expected


async def asks(*, scraper_slot):
    """How often an engine asks that is woken twice."""
    asked = []
    nextcall = CallLaterOnce(lambda: asked.append(1))
    slot = SimpleNamespace(nextcall=nextcall, closing=None, close=print, inprogress=set())
    scraper = SimpleNamespace(slot=scraper_slot)
    engine = SimpleNamespace(_slot=slot, scraper=scraper, start_async=None, close_spider_async=None, stop_async=None)
    handle = Engine(engine, print, lambda: None)
    handle.wake()
    handle.wake()
    await asyncio.sleep(0.01)
    return len(asked)


@pytest.mark.parametrize(("scraper_slot", "expected"), [(None, 0), ("open", 1)])
def test_an_engine_whose_scraper_is_not_open_is_not_made_to_ask(scraper_slot, expected):
    """A drone's first letters may come while its crawl opens: Scrapy logged a failed assertion."""
    assert asyncio.run(asks(scraper_slot=scraper_slot)) == expected


async def started(seconds):
    """How many of nine requests each turn of the event loop starts, if the scheduler takes so long for one."""
    waiting, now, turns = list(range(9)), 1.0, []

    def next_request():
        nonlocal now
        now += seconds
        return give_trip(Request(f"http://a.example/{waiting.pop()}"), Trip(outcome=Outcome(200))) if waiting else None

    woken = asyncio.Event()
    signals = SimpleNamespace(sender=None, send_catch_log=lambda *_, **__: None)
    crawler = SimpleNamespace(signals=signals, spider=None)
    slot = SimpleNamespace(
        scheduler=SimpleNamespace(next_request=next_request), add_request=print, remove_request=lambda _: None
    )
    scraper = Scraper()
    scraper.may_end.set()
    engine = SimpleNamespace(
        crawler=crawler,
        downloader=Downloader(turned_away=False),
        scraper=scraper,
        spider=None,
        _start=None,
        logformatter=SimpleNamespace(crawled=lambda *_: None),
    )
    handle = SimpleNamespace(engine=engine, slot=slot, wake=woken.set)
    RequestPath(handle, lambda _: None, clock=lambda: now)
    while waiting:
        before = len(waiting)
        while engine._start_scheduled_request():
            pass
        turns.append(before - len(waiting))
        if waiting:
            await woken.wait()
        woken.clear()
    return turns


@pytest.mark.parametrize(
    ("seconds", "expected"), [(STARTS / 100, [9]), (STARTS / 3.5, [4, 4, 1]), (2 * STARTS, [1] * 9)]
)
def test_requests_are_started_for_a_part_of_a_turn(seconds, expected):
    """An engine that has started requests for longer than STARTS is woken for the others: what is ready goes first."""
    assert asyncio.run(started(seconds)) == expected
