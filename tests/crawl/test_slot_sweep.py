"""Once a second all downloads under way are looked at; a download's time is that between looks."""

import asyncio
from types import SimpleNamespace

import pytest

from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.base.model import Link
from webcrawl.crawl import slot_sweep
from webcrawl.crawl.running_downloads import Running
from webcrawl.crawl.slot_sweep import Sweep
from webcrawl.crawl.trip import Trip
from webcrawl.net.shortage import BEAT_INTERVAL, RunningClock

NOW = 1000.0


class Downloader:
    """Has downloads under way, and remembers which were cancelled."""

    now = NOW

    def __init__(self, count):
        self.trips, self.gone, self.full = (
            [Trip(Link(f"http://h{i}/")) for i in range(count)],
            [],
            True,
        )
        self.clock = RunningClock(lambda: self.now)
        self.network = SimpleNamespace(
            shortage=SimpleNamespace(is_pausing=False),
            bandwidth=SimpleNamespace(held=False),
            clock=self.clock,
        )
        self.running = SimpleNamespace(waiting=lambda: self.trips, cancel=self.cancel)

    def cancel(self, trip):
        self.trips.remove(trip)
        self.gone.append(trip.link.url)


class Crawl:
    """Cancels what has lasted for five seconds."""

    def overstaying(self, running, *, full):
        assert full
        self.running = {one.link.url: (one.seconds, one.received) for one in running}
        return [one for one in running if one.seconds >= 5]


@pytest.fixture(name="timers", autouse=True)
def _timers(monkeypatch):
    """The calls that were to be made later."""
    made = []
    loop = SimpleNamespace(call_later=lambda _, call: made.append(call), calls=made)
    monkeypatch.setattr(slot_sweep.asyncio, "get_running_loop", lambda: loop)
    return made


def swept(downloader, crawl, *times):
    """A sweep that looked at these times."""
    made = Sweep(
        crawl, downloader.network, downloader.running, lambda: downloader.full, pytest.fail
    )
    for now in times:
        look(made, downloader, now)
    return made


def look(made, downloader, now):
    """One look, so many seconds after the begin."""
    downloader.now = NOW + now
    slot_sweep.asyncio.get_running_loop().calls[-1]()


def test_a_download_is_cancelled_when_it_has_lasted_long_enough():
    """Its time begins with the first look that finds it: it has really lasted as long as is said,
    or longer.
    """
    downloader, crawl = Downloader(1), Crawl()
    made = swept(downloader, crawl, 1, 2, 3, 4, 5)
    assert crawl.running == {"http://h0/": (4, 0)}
    assert downloader.gone == []

    look(made, downloader, 6)

    assert downloader.gone == ["http://h0/"]


def test_each_has_its_own_time():
    """What began later is cancelled later."""
    downloader = Downloader(1)
    made = swept(downloader, Crawl(), 1, 2, 3)
    downloader.trips.append(Trip(Link("http://late/")))
    for second in (4, 5, 6, 7, 8):
        look(made, downloader, second)
    assert downloader.gone == ["http://h0/"]

    look(made, downloader, 9)

    assert downloader.gone == ["http://h0/", "http://late/"]


def test_time_in_which_the_crawler_did_not_run_is_nobodys():
    """After a pause of the whole process no download is older for it, but for the beat that was
    missed.
    """
    downloader, crawl = Downloader(1), Crawl()
    swept(downloader, crawl, 1, 2, 60)

    assert crawl.running == {"http://h0/": (1 + BEAT_INTERVAL, 0)}


def test_nothing_is_cancelled_while_no_connection_can_be_opened():
    """While this machine lacks sockets, a slot is of no use to anybody."""
    downloader = Downloader(1)
    downloader.network.shortage.is_pausing = True
    swept(downloader, Crawl(), *range(20))

    assert downloader.gone == []


def test_the_bytes_are_those_of_the_connection():
    """What has been received is asked of the connection that the answer comes by."""
    downloader, crawl = Downloader(2), Crawl()
    downloader.trips[1].source = SimpleNamespace(received=700)
    swept(downloader, crawl, 1, 2)

    assert crawl.running == {"http://h0/": (1, 0), "http://h1/": (1, 700)}


def test_a_mistake_ends_the_crawl(timers):
    """An exception in a look is reported, and the next look is made all the same."""
    failed = []
    downloader = Downloader(1)
    Sweep(None, downloader.network, downloader.running, lambda: True, failed.append)
    timers[-1]()

    assert [type(error) for error in failed] == [AttributeError]
    assert len(timers) == 2


def test_what_has_ended_holds_no_connection():
    """A trip lets go of its connection when the download ends: its page may be kept for long."""

    async def answer(request):
        trip.source = object()
        return request

    trip, downloader = Trip(Link("http://h/")), FrontierDownloader.__new__(FrontierDownloader)
    downloader.running, downloader.handlers = (
        Running(),
        SimpleNamespace(download_request_async=answer),
    )

    assert asyncio.run(downloader._call_handler("answer", trip)) == "answer"
    assert trip.source is None


def test_time_in_which_we_read_nothing_ourselves_is_nobodys():
    """While the crawl's own limit of bandwidth holds downloads back, none gets older, and none is
    cancelled.
    """
    downloader, crawl = Downloader(1), Crawl()
    downloader.network.bandwidth.held = True
    swept(downloader, crawl, *range(1, 20))

    assert downloader.gone == []
