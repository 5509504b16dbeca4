"""What is said of each download: its phase, bytes and seconds, the longest first."""

import time
from types import SimpleNamespace

import pytest
from scrapy import Request

from webcrawl.adapter.download_phases import downloads, phases
from webcrawl.adapter.request_trip import attach_trip
from webcrawl.base.model import Link, Outcome, Timings
from webcrawl.crawl.trip import Trip


class _Running(list):
    def all(self):
        return self


class Downloader:
    """Requests under way; those of `running` have been sent on."""

    def __init__(self):
        self.active, self.barrier, self.running = set(), SimpleNamespace(inside=set()), _Running()

    def add(self, url, *, running=True, path="", **about):
        trip = Trip(Link(url, path), begun=time.monotonic(), **about)
        self.active.add(attach_trip(Request(url), trip))
        if running:
            self.running.append(trip)
        return trip


@pytest.mark.parametrize(
    ("url", "about", "phase"),
    [
        ("http://a/", {"running": False}, "queued"),
        ("http://a/", {}, "dns"),
        ("http://a/", {"timings": Timings()}, "dns"),
        ("http://a/", {"timings": Timings(dns=0.1)}, "connect"),
        ("https://a/", {"timings": Timings(dns=0.1)}, "connect"),
        ("https://a/", {"timings": Timings(dns=0.1, connect=0.1)}, "tls"),
        ("http://a/", {"source": SimpleNamespace(received=0)}, "head"),
        ("http://a/", {"source": SimpleNamespace(received=7)}, "body"),
        ("http://a/", {"fetched": Outcome(200)}, "rendered"),
        ("http://a/", {"outcome": Outcome(200)}, "pipelines"),
        ("http://a/robots.txt", {"path": "P"}, "robots, dns"),
    ],
)
def test_phases(url, about, phase):
    """Each step of a download has a name."""
    downloader = Downloader()
    downloader.add(url, **about)

    (row,) = downloads(downloader)
    assert (row["phase"], row["host"], row["url"]) == (phase, "a", url)


@pytest.mark.parametrize(
    ("timings", "phase"), [(None, "connect"), (Timings(), "connect"), (Timings(connect=0.1), "tls")]
)
def test_phases_behind_a_proxy(timings, phase):
    """A proxy looks up the names: whoever waits for it does not wait for a name server."""
    downloader = Downloader()
    downloader.add("https://a/", timings=timings)
    (request,) = downloader.active
    request.meta["proxy"] = "http://proxy:3128"

    assert downloads(downloader)[0]["phase"] == phase
    assert phases(downloader) == {phase: 1}


def test_the_longest_first():
    """Pages that are being processed are there too, and whatever somebody awaits, of any scheme."""
    downloader = Downloader()
    downloader.add("http://late/").begun -= 10
    downloader.add("http://soon/", source=SimpleNamespace(received=5))
    downloader.active.add(Request("data:,x"))
    downloader.barrier.inside.add(
        Trip(Link("http://page/"), outcome=Outcome(200), begun=time.monotonic() - 5)
    )
    rows = downloads(downloader)

    assert [row["host"] for row in rows][:2] == ["late", "page"]
    assert {row["host"]: row["bytes"] for row in rows}["soon"] == 5
    assert [row["awaited"] for row in rows if row["host"] == "-"] == [True]


def test_secrets():
    """A URL's credentials are not told, nor all of a very long one."""
    downloader = Downloader()
    downloader.active.add(Request("ftp://user:secret@host/" + "x" * 5000))

    (row,) = downloads(downloader)
    assert "secret" not in row["url"]
    assert len(row["url"]) <= 500
