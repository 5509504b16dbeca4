"""The phase of each download, and how long it has lasted (LARM's ThreadMonitor)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from scrapy import Request

from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.adapter.request_trip import trip_of
from webcrawl.base.model import Timings
from webcrawl.base.readable import text_without_credentials
from webcrawl.base.url_text import host_of
from webcrawl.crawl.trip import Trip

MAX_URL_CHARS = 500
HTTPS_PREFIX = "https:"


def downloads(downloader: FrontierDownloader) -> list[dict[str, Any]]:
    """Return a row for each request under way and each page being processed, the longest first."""
    now = time.monotonic()
    running = set(downloader.running.all())
    rows = [
        _row(trip, url, _phase(trip, url, running, proxy), now)
        for trip, url, proxy in _trips(downloader)
    ]
    return sorted(rows, key=lambda row: -row["seconds"])


def phases(downloader: FrontierDownloader) -> Counter[str]:
    """Return the number of requests under way and pages being processed, by phase."""
    running = set(downloader.running.all())
    return Counter(_phase(trip, url, running, proxy) for trip, url, proxy in _trips(downloader))


def _trips(downloader: FrontierDownloader) -> Iterator[tuple[Trip, str, str | None]]:
    """Yield each trip with its URL, and with its proxy or None."""
    known: set[Trip] = set()
    for request in downloader.active:
        if isinstance(request, Trip):
            trip = request
            proxy = None
        else:
            trip = _trip_of(request)
            proxy = request.meta.get("proxy")
        known.add(trip)
        yield trip, request.url, proxy
    for trip in downloader.barrier.inside:
        if trip not in known and trip.link is not None:
            yield trip, trip.link.url, None


def _trip_of(request: Request) -> Trip:
    return trip_of(request) or Trip(inline=True)


def _phase(trip: Trip, url: str, running: set[Trip], proxy: str | None) -> str:
    """Return the phase that a request or its page has reached."""
    # Another process reads the answer
    if trip.readers:
        return "reader"
    has_ended = trip.outcome is not None or trip.refusal is not None
    # The page may still be in the spider
    if has_ended:
        return "pipelines"
    if trip.fetched is not None:
        return "rendered"
    if trip not in running:
        return "queued"
    if trip.source is not None:
        return "body" if trip.source.received else "head"
    return _phase_of_connection(trip.timings, url, has_proxy=bool(proxy))


def _phase_of_connection(timings: Timings | None, url: str, *, has_proxy: bool) -> str:
    """Return the phase of a connection that is being made."""
    # A proxy looks up the name itself
    has_address = has_proxy
    is_connected = False
    if timings is not None:
        has_address = has_address or bool(timings.dns)
        is_connected = bool(timings.connect)
    if not has_address:
        return "dns"
    if is_connected and url.startswith(HTTPS_PREFIX):
        return "tls"
    return "connect"


def _row(trip: Trip, url: str, phase: str, now: float) -> dict[str, Any]:
    """Return the row of a download in the answer of `ctl threads`."""
    is_robots = trip.is_prerequisite
    return {
        "seconds": round(now - trip.begun, 1) if trip.begun else 0.0,
        "phase": f"robots, {phase}" if is_robots else phase,
        "bytes": _received_bytes(trip),
        "host": _host(url),
        "url": text_without_credentials(url)[:MAX_URL_CHARS],
        "awaited": trip.inline,
    }


def _received_bytes(trip: Trip) -> int:
    if trip.exchange is not None:
        return trip.exchange.received
    return trip.source.received if trip.source is not None else 0


def _host(url: str) -> str:
    try:
        return host_of(url)
    except IndexError:
        # A request that code awaits may have any URL
        return "-"
