"""The phase of each download, and for how long it lasts (LARM's ThreadMonitor)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from scrapy import Request

from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.adapter.trip import trip_of
from webcrawl.base.readable import text_without_credentials
from webcrawl.base.url_text import host_of
from webcrawl.crawl.trip import Trip

LONGEST = 500  # characters of a URL
SECURE = "https:"


def downloads(downloader: FrontierDownloader) -> list[dict[str, Any]]:
    """A row for each request under way and each page that is being processed, the longest first."""
    now, running = time.monotonic(), set(downloader.running.all())
    rows = [
        _row(trip, url, _phase(trip, url, running, way), now)
        for trip, url, way in _trips(downloader)
    ]
    return sorted(rows, key=lambda row: -row["seconds"])


def phases(downloader: FrontierDownloader) -> Counter[str]:
    """The number of these at each step."""
    running = set(downloader.running.all())
    return Counter(_phase(trip, url, running, way) for trip, url, way in _trips(downloader))


def _trips(downloader: FrontierDownloader) -> Iterator[tuple[Trip, str, str | None]]:
    """With each its URL and the proxy, if there is one."""
    known: set[Trip] = set()
    for request in downloader.active:
        if isinstance(request, Trip):
            trip, way = request, None
        else:
            trip, way = _of(request), request.meta.get("proxy")
        known.add(trip)
        yield trip, request.url, way
    for trip in downloader.barrier.inside:
        if trip not in known and trip.link is not None:
            yield trip, trip.link.url, None


def _of(request: Request) -> Trip:
    return trip_of(request) or Trip(inline=True)


def _phase(trip: Trip, url: str, running: set[Trip], way: str | None) -> str:
    """The step: an answer is read by another process or rendered, or its page is in the spider and
    the pipelines.

    `way` is the proxy, which looks up names by itself.
    """
    if trip.readers:
        return "reader"
    if trip.outcome is not None or trip.refusal is not None:
        return "pipelines"
    if trip not in running or trip.fetched is not None:
        return "queued" if trip.fetched is None else "rendered"
    if trip.source is not None:
        return "body" if trip.source.received else "head"
    timings = trip.timings
    if not way and (timings is None or not timings.dns):
        return "dns"
    return (
        "tls" if timings is not None and timings.connect and url.startswith(SECURE) else "connect"
    )


def _row(trip: Trip, url: str, phase: str, now: float) -> dict[str, Any]:
    robots = trip.is_prerequisite
    return {
        "seconds": round(now - trip.begun, 1) if trip.begun else 0.0,
        "phase": f"robots, {phase}" if robots else phase,
        "bytes": _received(trip),
        "host": _host(url),
        "url": text_without_credentials(url)[:LONGEST],
        "awaited": trip.inline,
    }


def _received(trip: Trip) -> int:
    if trip.exchange is not None:
        return trip.exchange.received
    return trip.source.received if trip.source is not None else 0


def _host(url: str) -> str:
    try:
        return host_of(url)
    except IndexError:  # a request that somebody awaits may have any URL
        return "-"
