"""What the downloader asks of earlier crawls before a request."""

import asyncio
import time
from types import SimpleNamespace

from scrapy import Request

from webcrawl.adapter.earlier_pages import Since
from webcrawl.adapter.trip import Trip


def test_a_look_at_the_archive_is_no_time_of_the_host():
    """The download begins when the earlier page has been read, however slow that disk is."""
    read = []
    earlier = SimpleNamespace(lost=0, of_url=lambda url: read.append(time.monotonic()), close=lambda: None)
    since, trip = Since(earlier, lambda names: None), Trip(begun=time.monotonic())

    assert asyncio.run(since.latest(Request("http://a.test/"), trip)) is None

    since.close()
    assert trip.begun >= read[0]
