"""When the engine is made to ask for more requests."""

import asyncio
from types import SimpleNamespace

import pytest
from scrapy.utils.reactor import CallLaterOnce

from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.adapter.request_passage import LoopTurn
from webcrawl.crawl.driver import STARTING_TIME


async def asks(*, scraper_slot):
    """How often an engine asks that is woken twice."""
    asked = []
    nextcall = CallLaterOnce(lambda: asked.append(1))
    slot = SimpleNamespace(nextcall=nextcall, closing=None, close=print, inprogress=set())
    scraper = SimpleNamespace(slot=scraper_slot)
    engine = SimpleNamespace(
        _slot=slot, scraper=scraper, start_async=None, close_spider_async=None, stop_async=None
    )
    handle = EngineHandle(engine, print, lambda: None)
    handle.wake()
    handle.wake()
    await asyncio.sleep(0.01)
    return len(asked)


@pytest.mark.parametrize(("scraper_slot", "expected"), [(None, 0), ("open", 1)])
def test_an_engine_whose_scraper_is_not_open_is_not_made_to_ask(scraper_slot, expected):
    """A drone's first batches may come while its crawl opens: Scrapy logged a failed assertion."""
    assert asyncio.run(asks(scraper_slot=scraper_slot)) == expected


async def given(seconds):
    """How many of nine requests each turn of the event loop gives out, if each takes so long."""
    left, now, turns = 9, 1.0, []
    turn = LoopTurn(lambda: now)
    while left:
        before = left
        while left and not turn.is_long():
            left, now = left - 1, now + seconds
        turns.append(before - left)
        await asyncio.sleep(0)
    return turns


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(STARTING_TIME / 100, [9]), (STARTING_TIME / 3.5, [4, 4, 1]), (2 * STARTING_TIME, [1] * 9)],
)
def test_requests_are_given_out_for_a_part_of_a_turn(seconds, expected):
    """After STARTING_TIME seconds the others are left to the next turn: what is ready goes first."""
    assert asyncio.run(given(seconds)) == expected
