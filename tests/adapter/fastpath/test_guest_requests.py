"""Requests in Scrapy's engine, at the end of a crawl that does not wait for them any longer."""

import asyncio
from types import SimpleNamespace

from scrapy import Request

from webcrawl.adapter.fastpath.guest_requests import GuestRequests
from webcrawl.adapter.request_trip import attach_trip
from webcrawl.base.model import Link
from webcrawl.crawl.trip import Trip


def test_a_request_that_begins_after_the_others_were_cancelled_is_left_to_the_next_run():
    """Its page would be booked otherwise, although the spider's code never came to its end."""

    async def script():
        under_way = {}
        slot = SimpleNamespace()
        engine = SimpleNamespace(
            downloader=SimpleNamespace(tasks=under_way),
            scraper=SimpleNamespace(call_spider_async=asyncio.sleep, concurrent_items=100),
            _start=None,
        )
        handle = SimpleNamespace(engine=engine, slot=slot, give_up_pages=lambda requests: None)
        ended = []
        guests = GuestRequests(handle, lambda trip: ended.append((trip, trip.abandoned)))
        slot.remove_request = slot.inprogress.remove
        guests.cancel()

        late = Request("http://a.test/late")
        trip = Trip(link=Link(late.url))
        attach_trip(late, trip)
        slot.inprogress.add(late)
        under_way[late] = asyncio.ensure_future(asyncio.sleep(3600))
        guests.forsake()

        under_way[late].cancel()
        return ended == [(trip, True)]

    assert asyncio.run(script())
