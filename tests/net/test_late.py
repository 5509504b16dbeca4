"""A time limit that this process notices late, because it was busy or stopped, is nobody's fault
but its own.
"""

import asyncio
import socket
import time

import pytest

from tests.support import net_ftp as ftp
from tests.support.lookups import FixedLookup
from tests.support.net_http import EVERY_PORT, LOOPS, Gate, Names, bounds, client, run, serving
from webcrawl.net import shortage
from webcrawl.net.connection_pool import SLOW_LOOK_INTERVAL, Deadlines
from webcrawl.net.dns import CachingResolver
from webcrawl.net.errors import ConnectTimeout, DnsFailed, FetchError, TimedOut, TlsTimeout, Untried
from webcrawl.net.gopher import GopherClient
from webcrawl.net.protocols import Access, FetchLimits
from webcrawl.net.shortage import BEAT_INTERVAL, LATENESS_TOLERATED, RunningClock, until

# seconds of the limit, and of work in which nothing else of the process runs
SHORT, BUSY = 0.2, 0.6


async def name_server_is_silent():
    lookup = FixedLookup()
    lookup.gate = asyncio.Event()
    resolver = CachingResolver(lookup, timeout=SHORT)
    try:
        await resolver.resolve("silent.test")
    finally:
        await resolver.close()


async def host_does_not_accept():
    with socket.socket() as full, socket.socket() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)  # one connection may wait, and no other is answered
        waiting.connect(full.getsockname())
        async with client(connect_timeout=SHORT) as http:
            await http.fetch(f"http://127.0.0.1:{full.getsockname()[1]}/")


async def handshake_stalls():
    async with serving(lambda *_: asyncio.sleep(60)) as port, client(connect_timeout=SHORT) as http:
        await http.fetch(f"https://127.0.0.1:{port}/")


async def nothing_before_the_deadline():
    async with serving(lambda *_: asyncio.sleep(60)) as port, client(timeout=SHORT) as http:
        await http.fetch(f"https://127.0.0.1:{port}/")


async def ftp_does_not_greet():
    await ftp.ask(ftp.Script(greeting=b""), timeout=SHORT)


async def gopher_does_not_answer():
    async with serving(lambda *_: asyncio.sleep(60)) as port:
        gopher = GopherClient(Access(Names(), Gate(), ports=EVERY_PORT), bounds({"timeout": SHORT}))
        try:
            await gopher.fetch(f"gopher://127.0.0.1:{port}/")
        finally:
            await gopher.close()


ATTEMPTS = {
    name_server_is_silent: DnsFailed,
    host_does_not_accept: ConnectTimeout,
    handshake_stalls: TlsTimeout,
    nothing_before_the_deadline: TlsTimeout,
    ftp_does_not_greet: TimedOut,
    gopher_does_not_answer: TimedOut,
}


def busy_in_time(monkeypatch):
    """Other work begins in this process when a time limit has begun, and goes on beyond it."""
    enter = until.__aenter__

    async def entered(self):
        asyncio.get_running_loop().call_later(SHORT / 2, time.sleep, BUSY)
        await enter(self)

    monkeypatch.setattr(until, "__aenter__", entered)


def error_of(attempt, loop):
    """What an attempt ends with."""

    async def scenario():
        with pytest.raises(FetchError) as caught:
            await attempt()
        return type(caught.value)

    return run(scenario(), loop)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
class TestAttempts:
    def test_a_busy_process_blames_nobody(self, monkeypatch, loop, attempt):
        """What ends because this process was busy is tried again, and charged to nobody."""
        monkeypatch.setattr(shortage, "LATENESS_TOLERATED", BUSY / 2)
        busy_in_time(monkeypatch)

        assert error_of(attempt, loop) is Untried

    def test_otherwise_it_is_the_others_fault(self, monkeypatch, loop, attempt):
        """Who does not answer a process that listens is charged with it."""
        monkeypatch.setattr(shortage, "LATENESS_TOLERATED", 60.0)

        assert error_of(attempt, loop) is ATTEMPTS[attempt]


@pytest.mark.parametrize("script", [{"stall": True}, {"end": b""}], ids=["data", "last word"])
def test_a_transfer_while_the_process_is_busy(monkeypatch, script):
    """What could not be read of a transfer, because this process was busy, is not missing: it is
    tried again.
    """
    monkeypatch.setattr(shortage, "LATENESS_TOLERATED", BUSY / 2)
    busy_in_time(monkeypatch)

    with pytest.raises(Untried):
        run(ftp.ask(ftp.Script(b"abc", **script), timeout=SHORT))


def test_what_is_done_in_time_counts():
    """Within the limit nothing is changed; errors of its own, time-outs of the system among them,
    pass.
    """

    async def scenario(error):
        async with until(asyncio.get_running_loop().time() + 60):
            raise error

    for error in (TimeoutError("of the system"), ConnectionResetError()):
        with pytest.raises(type(error)) as caught:
            asyncio.run(scenario(error))
        assert caught.value is error


class Question:
    """Stands in for a connection; records when it expires."""

    def __init__(self, name, ended):
        self.name, self.ended, self.received, self.held = name, ended, 0, 0.0

    def expire(self):
        self.ended.append(self.name)


class Turn:
    """Stands in for the loop: its time passes only when it is told to, and it has one timer."""

    def __init__(self, monkeypatch):
        self.now, self.timer = 1000.0, None
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: self)

    def time(self):
        return self.now

    def call_at(self, when, call):
        assert self.timer is None
        self.timer = (when, call)
        return self

    def cancel(self):
        self.timer = None

    def until(self, now):
        """Lets the time pass, timer and all."""
        while self.timer is not None and self.timer[0] <= now:
            when, call = self.timer
            self.now, self.timer = max(self.now, when), None
            call()
        self.now = now


@pytest.fixture(name="turn")
def _turn(monkeypatch):
    return Turn(monkeypatch)


def ended(turn, waits, removed=(), last=0.03):
    """The names of the expired requests, in order, after `last` seconds."""
    found, deadlines, now = [], Deadlines(FetchLimits(), turn.time), turn.now
    questions = {name: Question(name, found) for name in [*waits, "last"]}
    for name, wait in {**waits, "last": last}.items():
        deadlines.add(questions[name], now + wait)
    for name in removed:
        deadlines.remove(questions[name])
    turn.until(now + last)
    return found


class TestDeadlines:
    @pytest.mark.parametrize("waits", [{"a": 0.01, "b": 0.02}, {"b": 0.02, "a": 0.01}])
    def test_the_earliest_ends_first(self, turn, waits):
        """Requests expire in the order of their deadlines, in whatever order they were added."""
        assert ended(turn, waits) == ["a", "b", "last"]

    def test_what_is_answered_does_not_end(self, turn):
        """A removed request does not expire, even if the timer was set for it."""
        assert ended(turn, {"a": 0.01, "b": 0.02}, removed=["a"]) == ["b", "last"]

    def test_a_deadline_may_have_passed(self, turn):
        """A request added after its deadline expires in the loop's next turn."""
        assert ended(turn, {"a": -1.0}) == ["a", "last"]

    def test_those_of_one_moment_end_together(self, turn):
        """All requests of one deadline expire together, and later ones still expire in time."""
        assert ended(turn, {"a": 0.01, "b": 0.01, "c": 0.01}) == ["a", "b", "c", "last"]

    def test_nothing_ends_after_close(self, turn):
        """After `close` no request expires."""
        found, deadlines = [], Deadlines(FetchLimits(), turn.time)
        deadlines.add(Question("a", found), turn.now + 0.001)
        deadlines.close()
        turn.until(turn.now + 0.01)

        assert found == []


class TestPace:
    BOUNDS = FetchLimits(grace=10, rate=100)

    def ended_at(self, turn, pace, deadline=3600.0):
        """The second in which an answer ends to which so many bytes are added every half second."""
        ended, deadlines = [], Deadlines(self.BOUNDS, turn.time)
        question = Question("a", ended)
        deadlines.add(question, turn.now + deadline)
        for half in range(1, 2 * 3600):
            question.received += pace
            turn.until(1000 + half / 2)
            if ended:
                return half / 2
        return None

    def test_silence_ends_after_the_grace(self, turn):
        """An answer of which nothing comes ends when the grace is over."""
        assert self.ended_at(turn, 0) == 10

    def test_a_dripping_answer_ends_soon_after_the_grace(self, turn):
        """Each byte gives an answer only as much time as the least rate says."""
        assert 10 <= self.ended_at(turn, 5) <= 12

    def test_an_answer_at_the_least_rate_does_not_end(self, turn):
        """An answer that comes at the least rate on average ends at its deadline only."""
        assert self.ended_at(turn, 50, deadline=600) == 600

    def test_an_answer_somewhat_slower_ends_later(self, turn):
        """An answer at half the least rate has twice the grace."""
        assert 20 <= self.ended_at(turn, 25) <= 21

    def test_the_deadline_holds_within_the_grace(self, turn):
        """A deadline before the end of the grace ends the request."""
        assert self.ended_at(turn, 50, deadline=3) == 3

    def test_without_a_rate_only_the_deadline_counts(self, turn):
        """With a least rate of 0 a silent answer ends at its deadline."""
        ended, deadlines = [], Deadlines(FetchLimits(grace=10, rate=0), turn.time)
        deadlines.add(Question("a", ended), turn.now + 100)
        turn.until(1099.9)
        assert ended == []
        turn.until(1100)
        assert ended == ["a"]

    def test_nobody_is_judged_when_the_crawler_itself_was_late(self, turn):
        """After this process did not run for a while, what came meanwhile is read before a request
        is judged.
        """
        ended, deadlines = [], Deadlines(self.BOUNDS, turn.time)
        question = Question("a", ended)
        deadlines.add(question, turn.now + 3600)
        turn.now += 10 + 2 * LATENESS_TOLERATED
        turn.until(turn.now)  # the timer of the tenth second is called only now
        assert ended == []
        question.received = 10_000
        turn.until(turn.now + SLOW_LOOK_INTERVAL)

        assert ended == []


def test_a_deadline_leaves_out_the_time_in_which_the_process_did_not_run(turn):
    """A request has all of its seconds, however long the process was stopped meanwhile."""
    ended, clock = [], RunningClock(turn.time)
    clock.beat()
    deadlines = Deadlines(FetchLimits(), clock)
    deadlines.add(Question("a", ended), turn.now + 60)
    turn.until(turn.now + BEAT_INTERVAL)
    clock.beat()
    turn.now += 154
    for _ in range(57):
        turn.until(turn.now + BEAT_INTERVAL)
        clock.beat()
    assert ended == []

    turn.until(turn.now + BEAT_INTERVAL)

    assert ended == ["a"]
