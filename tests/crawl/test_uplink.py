"""Our own connection to the web: pause, probes and messages, with a simulated clock."""

import logging
import re
from collections import Counter
from dataclasses import replace

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Outcome, Status
from webcrawl.crawl.uplink import (
    HOSTS_PER_ROUND,
    LONGEST_PAUSE,
    REMINDER_INTERVAL,
    SHORTEST_PAUSE,
    Uplink,
)
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.net.errors import (
    AddressRefused,
    ConnectFailed,
    ConnectTimeout,
    DnsFailed,
    Sign,
    TlsFailed,
)
from webcrawl.net.outage_detector import Detector
from webcrawl.net.robots_book import RobotsBook, RobotsDecision
from webcrawl.store.crawldb import CrawlDB

HOSTS = 30


class Clock:
    """The crawl's, set by hand."""

    now = 1000.0

    def __call__(self):
        return self.now

    def at(self, steady):
        return steady

    def wall(self, at):
        return at


class World:
    """A frontier with hosts that have answered, and the uplink they are asked by."""

    def __init__(self, folder):
        self.db, self.clock, self.counters = CrawlDB(folder), Clock(), Counter()
        self.frontier = make(self.db, Limits(queues=50, max_queues=100))
        self.robots = RobotsBook(RobotsRows(self.db), "test")
        self.uplink = Uplink(Detector(str), self.frontier, self.robots, self.clock, self.counters)
        for number in range(HOSTS):
            add(self.frontier, *(f"http://site{number}/{page}" for page in range(5)))
        for _ in range(HOSTS):
            link = self.frontier.take(900)
            self.frontier.done(link, replace(OK, ip=f"site of {link.url}"), 900)
            self.uplink.record_answer(link.url, 900)

    def ask(self, link, error=None):
        """One request and its booking, as the downloader does it."""
        if error is None:
            self.uplink.record_answer(link.url, self.clock.now)
            self.frontier.done(link, OK, self.clock.now)
            return
        wait = self.uplink.failed(link.url, error, self.clock.now, self.clock.now)
        if wait is None:
            self.frontier.done(link, Outcome(error.status, 1.0, doubtful=True), self.clock.now)
        else:
            self.frontier.put_back(link, self.clock.now, wait)

    def break_down(self):
        while not self.uplink.out:
            self.ask(self.frontier.take(self.clock.now), ConnectTimeout("away"))

    def probes(self, seconds):
        """When probes are made, if all fail."""
        times, end = [], self.clock.now + seconds
        while self.clock.now < end:
            if self.uplink.may_probe(self.clock.now) and (
                link := self.uplink.probe(self.clock.now)
            ):
                times.append(self.clock.now)
                self.ask(link, ConnectTimeout("away"))
            else:
                self.clock.now += 0.5
        return times


@pytest.fixture(name="world")
def _world(tmp_path):
    world = World(tmp_path)
    yield world
    world.db.close()


def test_the_pause_begins(world, caplog):
    """It is said once, with what was seen; what failed has cost nothing."""
    world.break_down()

    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    said = "9 of the last 9 requests failed. Fetching is paused; up to 3 hosts are tried every 2 to 20 s"
    assert said in caplog.text
    assert world.counters == {"outage/count": 1, "outage/put_back": 9}
    assert all(world.frontier.look.record(f"site{number}")[0] == 0 for number in range(HOSTS))
    assert len(world.frontier) == 4 * HOSTS


def test_probes_are_few_and_grow_rarer(world):
    """Three at a time, first after two seconds, then ever later, at last every twenty."""
    world.break_down()
    begin = world.clock.now

    times = world.probes(300)

    assert times[:HOSTS_PER_ROUND] == [begin + SHORTEST_PAUSE] * HOSTS_PER_ROUND
    waits = [
        later - sooner
        for sooner, later in zip(
            times[::HOSTS_PER_ROUND], times[HOSTS_PER_ROUND::HOSTS_PER_ROUND], strict=False
        )
    ]
    assert waits == sorted(waits)
    assert max(waits) == LONGEST_PAUSE


def test_nobody_is_charged_for_probes(world):
    """However long it lasts, every URL keeps its attempts, and every host its record."""
    world.break_down()
    world.probes(3000)

    assert all(world.frontier.look.record(f"site{number}")[0] == 0 for number in range(HOSTS))
    assert len(world.frontier) == 4 * HOSTS
    assert world.counters["outage/count"] == 1


def test_it_is_over(world, caplog):
    """Three answers end it; how long it was and how much is will be repeated is said and counted.

    It is said to have lasted since the time that its first line says: the last answer before it
    came at 900, not 1000.

    That fetching resumes is not said: the crawl may be paused, or its disk full.
    """
    caplog.set_level(logging.INFO)
    world.break_down()
    world.probes(100)
    while world.uplink.out:
        if world.uplink.may_probe(world.clock.now) and (
            link := world.uplink.probe(world.clock.now)
        ):
            world.ask(link)
        else:
            world.clock.now += 0.5

    assert re.fullmatch(
        r"the network is back after 2\d\d seconds; \d+ requests will be repeated",
        caplog.messages[-1],
    )
    assert 100 <= world.counters["outage/seconds"] <= 125
    assert world.uplink.seconds == 0


def test_a_failure_that_began_in_it_and_ends_later(world):
    """It charges nobody: a name server or a host may be waited for longer than the outage lasts."""
    world.break_down()
    begun, error = world.clock.now, ConnectTimeout("away")
    for number in range(3):
        world.clock.now += 1
        world.uplink.record_answer(f"http://site{number}/", world.clock.now)
    assert not world.uplink.out

    assert world.uplink.failed("http://site9/", error, begun, world.clock.now) == SHORTEST_PAUSE
    assert world.uplink.failed("http://site9/", error, world.clock.now, world.clock.now) is None


def test_it_is_said_once_an_hour(world, caplog):
    """An outage that lasts is recalled every hour."""
    world.break_down()
    world.probes(3 * REMINDER_INTERVAL + 60)

    assert [record.getMessage() for record in caplog.records[1:]] == [
        f"still no network after {hours}; fetching stays paused until it is back"
        for hours in ("1 hour", "2 hours", "3 hours")
    ]


def test_robots_txt_is_not_held_against_anybody(world):
    """A robots.txt that failed right before counts as never requested, or as it did before."""
    world.uplink.robots_fails("http://site0", Status.TIMEOUT, 1000.0)
    world.robots.record_answer("http://site0", Status.TIMEOUT, b"", 1000.0)
    world.robots.record_answer("http://site1", 200, b"", 900.0)
    world.uplink.robots_fails("http://site1", Status.TIMEOUT, 1000.0)
    world.robots.record_answer("http://site1", Status.TIMEOUT, b"", 1000.0)
    assert world.robots.verdict("http://site0/", 1001) is RobotsDecision.WAIT

    world.break_down()

    assert world.robots.verdict("http://site0/", 1001) is RobotsDecision.FETCH
    assert world.robots.verdict("http://site1/", 1001) is RobotsDecision.ALLOWED
    assert not world.uplink.robots_fails("http://site0", Status.TIMEOUT, 1001.0)
    assert world.uplink.robots_fails("http://site0", 503, 1001.0)


def test_a_failure_that_was_heard_and_is_not_booked_yet(world):
    """It is excused, too."""
    late, other = Outcome(Status.TIMEOUT, doubtful=True), Outcome(503)
    world.break_down()
    for outcome in (late, other):
        world.uplink.excuse(outcome)

    assert (late.status, late.wait, other.status) == (Status.UNTRIED, LONGEST_PAUSE, 503)


def test_what_is_certainly_the_hosts_own(world):
    """A TLS error says nothing against our network, and is charged during an outage."""
    error = TlsFailed("bad")
    for number in range(HOSTS):
        assert world.uplink.failed(f"http://site{number}/", error, 1000.0, 1000.0) is None
    assert not world.uplink.out

    world.break_down()

    assert world.uplink.failed("http://site1/", error, 1000.0, 1000.0) is None


def _inside():
    """What becomes of a name that leads to a forbidden address."""
    error = AddressRefused("10.0.0.1 port 80: private")
    error.sign = Sign.NO_NAME
    return error


@pytest.mark.parametrize("error", [DnsFailed("no such name", permanent=True), _inside()])
class TestNames:
    def test_hosts_that_have_answered(self, world, error):
        """If their names lead nowhere our own network is out, and none of them is charged."""
        while not world.uplink.out:
            world.ask(world.frontier.take(world.clock.now), error)

        assert all(world.frontier.look.record(f"site{number}")[0] == 0 for number in range(HOSTS))
        assert len(world.frontier) == 4 * HOSTS

    def test_hosts_that_were_never_reached(self, world, error):
        """However many of their names lead nowhere, that says nothing; but in an outage none of
        them is charged.
        """
        for number in range(1000):
            assert world.uplink.failed(f"http://new{number}/", error, 1000.0, 1000.0) is None
        assert not world.uplink.out

        world.break_down()

        assert world.uplink.failed("http://new/", error, 1000.0, 1000.0) == LONGEST_PAUSE

    def test_robots_txt(self, world, error):
        """One that was about to be booked when the outage was recognised is not."""
        world.break_down()

        assert not world.uplink.robots_fails("http://site0", error.status, 1000.0)


def test_hosts_of_one_address(world):
    """Failures at one address count once, whatever the hosts' names."""
    for number in range(100):
        error = ConnectFailed("refused")
        error.address = "192.0.2.1"
        world.uplink.failed(f"http://other{number}/", error, 1000.0, 1000.0)

    assert not world.uplink.out
