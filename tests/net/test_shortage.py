"""A machine that lacks sockets: new connections wait, and neither URL nor host is charged."""

import asyncio
import errno
import logging
import os
import socket
import ssl
from types import SimpleNamespace

import pycares
import pytest

from tests.support.clocks import SetByHand
from tests.support.net_http import OK, Gate, Names, Visits, client, run, serving
from tests.support.waiting import eventually
from webcrawl.base.model import Status, Timings
from webcrawl.net import dns_cares, shortage
from webcrawl.net.connection import HttpConnection
from webcrawl.net.connection_reach import Reach
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answers import DnsAnswer as Addresses
from webcrawl.net.dns_answers import DnsFailure
from webcrawl.net.dns_cares import NameServers
from webcrawl.net.errors import ConnectFailed, EmptyAnswer, FetchError, NoSocket
from webcrawl.net.http_answer import AnswerParser
from webcrawl.net.protocols import Access
from webcrawl.net.shortage import (
    BEAT_INTERVAL,
    MOST_CONNECTIONS_KEPT,
    OTHERS,
    STOP_GAP,
    ConnectionRoom,
    RunningClock,
    Shortage,
    room,
    worth_keeping,
)
from webcrawl.net.stream import Stream

LACKS = [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL]


class Failing(asyncio.SelectorEventLoop):
    """A loop whose connections fail with these error numbers, then succeed."""

    def __init__(self, *numbers):
        super().__init__()
        self.numbers = list(numbers)

    async def create_connection(self, *args, **options):
        if self.numbers:
            number = self.numbers.pop(0)
            raise OSError(number, os.strerror(number))
        return await super().create_connection(*args, **options)


def on(loop, coroutine):
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(asyncio.wait_for(coroutine, 120))


async def connected(access, host="127.0.0.1", port=8081):
    """The error of one attempt."""
    reach = Reach(access, Stream, "http")
    try:
        with pytest.raises(FetchError) as caught:
            await reach.open(host, port, Timings())
        return caught.value
    finally:
        await reach.close()
        access.shortage.close()


class TestErrors:
    @pytest.mark.parametrize("number", LACKS)
    def test_what_this_machine_lacks_is_no_socket(self, number):
        """Out of descriptors, buffers, memory or ports: NoSocket, whose status is nobody's outcome."""

        async def scenario():
            return await connected(Access(Names(), Gate()))

        error = on(Failing(number), scenario())

        assert type(error) is NoSocket
        assert error.status == Status.UNTRIED

    def test_memory_that_openssl_lacks(self):
        """OpenSSL's want of memory is an OSError without a number of ours."""
        error = ssl.SSLError(1, "[SSL] malloc failure")
        error.reason = "MALLOC_FAILURE"

        assert shortage.is_ours(error)
        assert not shortage.is_ours(ssl.SSLError(1, "[SSL] wrong version number"))

    @pytest.mark.parametrize(
        ("number", "kind"), [(errno.ENOBUFS, NoSocket), (errno.ECONNRESET, EmptyAnswer)]
    )
    def test_a_connection_that_is_lost(self, number, kind):
        """A connection that ends for a lack of ours is nobody's failure; one that the server resets
        is the server's.
        """

        async def scenario():
            loop = asyncio.get_running_loop()
            connection = HttpConnection(loop, loop.time, lambda _: None, lambda _: None)
            connection.connection_made(SimpleNamespace(write=lambda _: None, abort=lambda: None))
            asked = loop.create_task(connection.ask(b"", AnswerParser(1000)))
            await asyncio.sleep(0)
            connection.connection_lost(OSError(number, os.strerror(number)))
            return await asyncio.gather(asked, return_exceptions=True)

        (error,) = run(scenario())
        assert type(error) is kind

    @pytest.mark.parametrize("number", [errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EPERM])
    def test_what_the_host_refuses_is_its_own(self, number):
        """A refused connection is the host's failure."""

        async def scenario():
            return await connected(Access(Names(), Gate()))

        assert type(on(Failing(number), scenario())) is ConnectFailed

    def test_an_address_that_no_address_of_ours_can_reach_is_no_lack(self, monkeypatch):
        """EADDRNOTAVAIL for IPv6 without IPv6 is the host's failure: waiting would not help."""

        class Unreachable(socket.socket):
            def connect(self, address):
                raise OSError(errno.EADDRNOTAVAIL, "no source address")

        async def scenario():
            monkeypatch.setattr(shortage.socket, "socket", Unreachable)
            return await connected(Access(Names(), Gate()))

        assert type(on(Failing(errno.EADDRNOTAVAIL), scenario())) is ConnectFailed


class TestPauses:
    def test_a_pause_ends_by_itself(self):
        """While there is a pause `end` waits; then `on_end` is called."""

        async def scenario():
            short, calls = Shortage(), []
            short.on_end = lambda: calls.append(short.is_pausing)
            short.begins("it is so")
            await short.end()
            short.close()
            return calls

        assert run(scenario()) == [False]

    def test_pauses_grow_while_nothing_opens(self, monkeypatch):
        """A pause is twice as long as the one before, up to the longest; after a connection it is
        the shortest.
        """
        monkeypatch.setattr(shortage, "SHORTEST_PAUSE", 0.01)
        monkeypatch.setattr(shortage, "LONGEST_PAUSE", 0.03)

        async def scenario():
            short, lengths = Shortage(), []
            for opened in (False, False, False, True, False):
                short.begins("x")
                lengths.append(short._pause.last)
                await short.end()
                short.opened = opened
            short.close()
            return lengths

        assert run(scenario()) == [0.01, 0.02, 0.03, 0.03, 0.01]

    def test_a_shortage_is_told_once_and_its_end_once(self, monkeypatch, caplog):
        """However many connections fail, the log has one line when it begins and one when it is
        over.
        """
        monkeypatch.setattr(shortage, "SHORTEST_PAUSE", 0.001)
        monkeypatch.setattr(shortage, "QUIET", 0.05)
        caplog.set_level(logging.INFO)

        async def scenario():
            short = Shortage()
            for _ in range(5):
                short.begins("too many open files")
                short.begins("too many open files")
                await short.end()
            short.opened = True
            await eventually(lambda: len(caplog.records) > 1)
            await asyncio.sleep(0.1)

        run(scenario())

        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]

    def test_a_shortage_is_not_over_before_a_connection_opens(self, monkeypatch, caplog):
        """As long as nobody has tried, nobody says that there are sockets again."""
        monkeypatch.setattr(shortage, "SHORTEST_PAUSE", 0.001)
        monkeypatch.setattr(shortage, "QUIET", 0.001)
        caplog.set_level(logging.INFO)

        async def scenario():
            short = Shortage()
            short.begins("too many open files")
            await short.end()
            await asyncio.sleep(0.05)
            before = caplog.messages[1:]
            short.opened = True
            await eventually(lambda: caplog.messages[1:])
            return before

        assert run(scenario()) == []
        assert caplog.messages[1:] == ["this machine has sockets again"]

    def test_idle_connections_are_given_up_first(self):
        """When a pause begins, connections that were kept for later requests are closed."""
        visits = Visits(OK)

        async def scenario():
            short = Shortage()
            async with serving(visits) as port, client(shortage=short) as http:
                await http.fetch(f"http://127.0.0.1:{port}/", keep=10)
                short.begins("x")
                await http.fetch(f"http://127.0.0.1:{port}/", keep=10)
                short.close()

        run(scenario())

        assert visits.connections == 2


class TestNames:
    class Lookup:
        """Gives these answers, one after the other."""

        def __init__(self, *answers):
            self.answers = list(answers)

        async def ask(self, host):
            return self.answers.pop(0)

    def test_a_question_that_could_not_be_sent_is_no_failure_of_the_name(self):
        """Without a socket for the question resolving raises NoSocket, and asks again the next
        time.
        """
        lookup = self.Lookup(
            Addresses(failure=DnsFailure.NO_SOCKET), Addresses(("192.0.2.1",), 60.0)
        )

        async def scenario():
            resolver = CachingResolver(lookup)
            with pytest.raises(NoSocket):
                await resolver.resolve("a.test")
            return await resolver.resolve("a.test")

        assert run(scenario()) == ["192.0.2.1"]

    def test_a_channel_without_memory_is_no_failure_of_the_name(self, monkeypatch):
        """If c-ares gets no memory for a channel, resolving raises NoSocket, and the next attempt
        makes one.
        """

        def fail(*_):
            raise pycares.AresError(pycares.errno.ARES_ENOMEM, "no memory")

        async def scenario():
            servers = NameServers([("127.0.0.1", 9)])
            with monkeypatch.context() as short:
                short.setattr(dns_cares, "Channel", fail)
                lacking = await servers.ask("a.test")
            assert servers._current() is not None
            await servers.close()
            return lacking.failure

        assert run(scenario()) is DnsFailure.NO_SOCKET

    def test_a_name_without_a_socket_begins_a_pause(self):
        """What DNS lacks, connections will lack too."""

        async def scenario():
            short = Shortage()
            access = Access(
                CachingResolver(self.Lookup(Addresses(failure=DnsFailure.NO_SOCKET))),
                Gate(),
                shortage=short,
            )
            try:
                with pytest.raises(NoSocket):
                    await Reach(access, Stream, "http").open("a.test", 80, Timings())
                return short.is_pausing
            finally:
                short.close()

        assert run(scenario()) is True


@pytest.mark.parametrize(
    ("limit", "fetches", "kept", "fits"),
    [
        pytest.param(1_048_576, 100, 300, ConnectionRoom(100, 300), id="plenty"),
        pytest.param(1024, 1000, 3000, ConnectionRoom(791, 113), id="usual limit"),
        pytest.param(1024, 100, 300, ConnectionRoom(100, 300), id="usual limit and requests"),
        pytest.param(136, 100, 300, ConnectionRoom(51, 7), id="few"),
        pytest.param(30, 100, 300, ConnectionRoom(5, 0), id="hardly any"),
        pytest.param(10, 100, 300, ConnectionRoom(1, 0), id="none left"),
    ],
)
def test_connections_fit_below_the_limit(limit, fetches, kept, fits):
    """Fetches come first, an eighth is for kept connections, and the crawl's files have their part."""
    assert room(limit, 20, fetches, kept) == fits


def test_without_a_limit_of_requests_the_descriptors_are_the_limit():
    """CONCURRENT_REQUESTS = 0 means as many as fit."""
    assert room(10_000, 20, 0, 300).fetches == 10_000 - 20 - OTHERS - 300


@pytest.mark.parametrize(
    ("queues", "fetches", "factor", "kept"),
    [
        pytest.param(300, 100, 10, 1000, id="default"),
        pytest.param(60, 20, 10, 200, id="few"),
        pytest.param(3000, 1000, 10, 3000, id="a wide rotation"),
        pytest.param(768, 256, 10, MOST_CONNECTIONS_KEPT, id="many"),
        pytest.param(300, 100, 0, 300, id="without politeness"),
        pytest.param(50, 0, 10, 50, id="without a limit of requests"),
    ],
)
def test_connections_worth_keeping(queues, fetches, factor, kept):
    """As many hosts wait for their turn as politeness makes wait; a rotation has one for each of
    its hosts.
    """
    assert worth_keeping(queues, fetches, factor) == kept


@pytest.mark.parametrize("limit", range(20, 3000, 7))
def test_the_parts_are_never_more_than_the_whole(limit):
    """Fetches, kept connections and the reserve for other files stay below the limit."""
    fits = room(limit, 20, 1000, 3000)

    assert fits.fetches >= 1
    assert limit < 24 or fits.fetches + fits.kept + min(OTHERS, (limit - 20) // 2) <= limit - 20


@pytest.fixture(name="machine")
def _machine():
    """The machine's steady clock, which runs on while the process is stopped."""
    return SetByHand(5000.0)


@pytest.fixture(name="clock")
def _clock(machine):
    made = RunningClock(machine)
    made.beat()
    return made


def turns(machine, clock, seconds):
    """The event loop turns for so long."""
    for _ in range(int(seconds / BEAT_INTERVAL)):
        machine.now += BEAT_INTERVAL
        clock.beat()


def test_a_download_across_a_stop_takes_only_the_time_in_which_the_process_ran(machine, clock):
    """A download of two seconds, between whose halves the process is stopped, is one of three
    seconds at most.
    """
    begun = clock()
    turns(machine, clock, 1)
    machine.now += 150
    # even if what the stop held up comes before the beat that it held up
    assert clock() - begun == 1 + BEAT_INTERVAL
    turns(machine, clock, 1)

    assert clock() - begun == 2 + BEAT_INTERVAL


def test_the_seconds_lost_are_those_of_one_download(machine, clock):
    """A download has lost the stops that ended after it began, and no others."""
    machine.now += 100
    clock.beat()
    between = machine.now
    turns(machine, clock, 3)
    assert clock.lost_since(between) == 0

    machine.now += 50

    assert clock.lost_since(between) == 50 - BEAT_INTERVAL
    assert clock.lost_since(between - 1) == 150 - 2 * BEAT_INTERVAL


def test_a_busy_process_runs(machine, clock):
    """A loop that turns late, as on a busy machine, is one that turns."""
    begun = clock()
    for _ in range(10):
        machine.now += STOP_GAP
        clock.beat()

    assert clock() - begun == 10 * STOP_GAP
    assert clock.lost_since(begun) == 0


def test_it_never_goes_back(machine, clock):
    """A look at the clock shortly before a stop is no later than one after it."""
    machine.now += BEAT_INTERVAL - 0.1
    before = clock()
    machine.now += 1000

    assert before <= clock() <= before + BEAT_INTERVAL


@pytest.mark.parametrize("end", ["not begun", "stopped"])
def test_without_beats_it_is_a_plain_clock(machine, clock, end):
    """Before the first beat, and after the last one, a long pause between two looks is time like
    any other.
    """
    if end == "not begun":
        clock = RunningClock(machine)
    else:
        clock.stop()
    begun = clock()
    machine.now += 1000

    assert clock() - begun == 1000
