"""What the end of a download says of its host, and of our own network."""

import time

import pytest
from scrapy import Request

from tests.support.warc_crawl import exchange
from webcrawl.adapter.download_errors import ScrapyOutcomes
from webcrawl.base.model import Link, Status
from webcrawl.crawl.trip import Trip
from webcrawl.net.errors import (
    BadHead,
    ConnectFailed,
    ConnectionLost,
    DnsFailed,
    TimedOut,
    TlsFailed,
)
from webcrawl.net.shortage import RunningClock

URL = "http://a.test/"


class Network:
    """Hears of answers in place of an Uplink."""

    def __init__(self):
        self.answers = []

    def record_answer(self, url, ended):
        del ended
        self.answers.append(url)


@pytest.mark.parametrize(
    ("truncated", "is_well"),
    [("", True), ("length", True), ("unspecified", True), ("time", False), ("disconnect", False)],
)
def test_an_answer_that_is_truncated(truncated, is_well):
    """An answer is a sign that the network is well, unless the rest of it was to come and did not.

    DOWNLOAD_TRUNCATE and broken chunks are no such reasons: in a crawl that keeps little of each
    page, all are truncated.
    """
    outcomes = ScrapyOutcomes((), (), RunningClock(), whole=False)
    outcomes.uplink = network = Network()

    outcomes.note_answer(Request(URL), Trip(exchange=exchange(URL, truncated=truncated)), 200)

    assert network.answers == [URL] * is_well


class Stopped:
    """A process that did not run for so long while the download was under way."""

    def __init__(self, seconds):
        self.seconds = seconds

    def lost_since(self, begun):
        del begun
        return self.seconds


def failed(error, *, stopped):
    """The outcome of a download that ended with this error, after 160 seconds."""
    outcomes, request = ScrapyOutcomes((), (), Stopped(stopped), whole=False), Request(URL)
    trip, failure = Trip(Link(URL), begun=time.monotonic() - 160), OSError(str(error))
    failure.__cause__ = error
    outcomes.note_failure(request, trip, outcomes.judged(request, failure, trip.begun))
    return trip.outcome


@pytest.mark.parametrize("kind", [DnsFailed, ConnectFailed, TimedOut, ConnectionLost])
def test_what_fails_after_a_stop_is_charged_to_nobody(kind):
    """A download that fails after its process was stopped is made again, as if it had not been
    tried.

    The server may have given up on a crawler that did not read, and a limit may have passed
    meanwhile.
    """
    assert failed(kind("it failed"), stopped=154).status == Status.UNTRIED
    assert failed(kind("it failed"), stopped=0).status == kind.status


@pytest.mark.parametrize("kind", [BadHead, TlsFailed])
def test_what_the_host_has_said_counts(kind):
    """A failure that shows that the host has answered is the host's, and took the time in which the
    process ran.
    """
    outcome = failed(kind("it failed"), stopped=154)

    assert outcome.status == kind.status
    assert outcome.seconds == pytest.approx(6, abs=5)


@pytest.mark.parametrize("truncated", ["disconnect", "time"])
def test_a_body_that_broke_off_in_a_stop_is_fetched_again(truncated):
    """A body that is not whole uses up no attempt of its URL if the process was stopped meanwhile."""
    found = {}
    for stopped in (0, 154):
        trip = Trip(Link(URL), exchange=exchange(URL, truncated=truncated), begun=time.monotonic())
        ScrapyOutcomes((), (), Stopped(stopped), whole=False).note_answer(Request(URL), trip, 200)
        found[stopped] = trip.outcome

    assert (found[0].status, found[0].short) == (200, truncated)
    assert found[154].status == Status.UNTRIED
