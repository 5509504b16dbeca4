"""The token bucket behind BANDWIDTH_MAX, on a simulated clock, and an answer that is told to wait."""

import asyncio
import heapq
import itertools
from random import Random

import pytest

from tests.net.test_http_tls import server_context
from tests.net.test_late import Question
from tests.support.net_http import Names, client, limited, run, serving
from webcrawl.net.connection import MeteredAnswer
from webcrawl.net.connection_pool import Deadlines
from webcrawl.net.protocols import FetchLimits
from webcrawl.net.reading_limits import BURST, UNMETERED_BYTES, Bandwidth

PIECE = 65_536  # bytes that come at once


class Turn:
    """Stands in for the loop, and for its clock."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        self.calls, self._numbers = [], itertools.count()
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: self)

    def clock(self):
        return self.now

    def call_later(self, wait, call):
        entry = [self.now + wait, next(self._numbers), call]
        heapq.heappush(self.calls, entry)
        return Handle(entry)

    def until(self, end):
        while self.calls and self.calls[0][0] <= end:
            self.now, _, call = heapq.heappop(self.calls)
            if call is not None:
                call()
        self.now = end


class Handle:
    def __init__(self, entry):
        self._entry = entry

    def cancel(self):
        self._entry[2] = None


class Coming:
    """An answer on its way: so many bytes, one piece every few milliseconds, as long as it is read."""

    def __init__(self, web, size):
        self._web, self._left, self._size, self._read = web, size, size, True
        web.turn.call_later(web.random.uniform(0, 2 * web.latency), self._come)

    def _come(self):
        if not self._read:
            return
        piece = min(PIECE, self._left)
        self._left -= piece
        self._web.came += piece
        self._web.most = max(self._web.most, self._web.came - self._web.allowed())
        short = self._web.bandwidth.received(piece)
        if not self._left:
            self._web.ended(self._size)
            return
        if short and self._size - self._left > UNMETERED_BYTES:
            self._web.bandwidth.wait(self)
        else:
            self._web.turn.call_later(0.001, self._come)

    def pause_reading(self):
        self._read = False

    def go_on(self):
        self._read = True
        self._web.turn.call_later(0.001, self._come)


class Web:
    """Gives the bandwidth as many requests as it takes, `most` at once."""

    def __init__(self, turn, rate, sizes, latency=0.2, slots=100):
        self.turn, self.random, self.latency = turn, Random(1), latency
        self.bandwidth = Bandwidth(turn.clock)
        self.bandwidth.on_end = self.fill
        self._sizes, self._slots, self._open = sizes, slots, 0
        self.came = self.most = self.answers = 0
        self._rate, self._began = rate, turn.now
        self.bandwidth.limit(rate)
        self.fill()

    def allowed(self):
        return self._rate * (self.turn.now - self._began)

    def fill(self):
        while not self.bandwidth.held and self._open < self._slots:
            self.bandwidth.reserve_answer()
            self._open += 1
            Coming(self, self._sizes(self.random))

    def ended(self, size):
        self._open -= 1
        self.answers += 1
        self.bandwidth.finished(size)
        self.fill()


@pytest.fixture(name="turn")
def _turn(monkeypatch):
    return Turn(monkeypatch)


def pages(random):
    return min(int(random.lognormvariate(10, 1)), 2_000_000)


class TestRate:
    @pytest.mark.parametrize("rate", [10_000, 100_000, 1_000_000, 10_000_000])
    @pytest.mark.parametrize("latency", [0.01, 1.0])
    def test_is_kept(self, turn, rate, latency):
        """Over minutes as many bytes come as may, whatever the pages' sizes and the servers'
        latency are.
        """
        web = Web(turn, rate, pages, latency, slots=1000)
        begin, seconds = turn.now, 300 if rate < 1_000_000 else 60
        turn.until(begin + seconds)

        assert web.came / seconds == pytest.approx(rate, rel=0.05 if rate > 10_000 else 0.1)

    def test_is_no_limit_above_what_comes(self, turn):
        """A limit of 1 GB/s holds nothing back where less comes."""
        web, free = Web(turn, 10**9, pages), Web(turn, 0, pages)
        turn.until(turn.now + 5)

        assert web.came == pytest.approx(free.came, rel=0.05)

    @pytest.mark.parametrize("size", [500, 2_000_000])
    def test_of_sizes_that_nobody_expected(self, turn, size):
        """Answers much smaller or larger than the first guess are reckoned with once some have
        come.
        """
        web = Web(turn, 1_000_000, lambda _: size, slots=1000)
        begin = turn.now
        turn.until(begin + 60)
        before = web.came
        turn.until(begin + 120)

        assert (web.came - before) / 60 == pytest.approx(1_000_000, rel=0.05)

    def test_a_large_answer_is_no_burst(self, turn):
        """Of a body of 2 MB as many bytes come as may, after the first pieces."""
        web = Web(turn, 100_000, lambda _: 2_000_000)
        turn.until(turn.now + 200)

        assert web.most <= 20 * PIECE

    def test_small_answers_never_wait(self, turn):
        """An answer of up to 64 KiB is read as it comes: only requests are held back."""
        web = Web(turn, 20_000, lambda _: UNMETERED_BYTES)
        web.bandwidth.wait = pytest.fail
        turn.until(turn.now + 100)

        assert web.answers > 20

    def test_failures_give_back(self, turn):
        """A request without an answer costs nothing in the end."""
        bandwidth = Bandwidth(turn.clock)
        bandwidth.limit(10_000)
        turn.until(turn.now + 10)
        for _ in range(3):
            bandwidth.reserve_answer()
            assert bandwidth.held
            bandwidth.finished(None)
            assert not bandwidth.held


class TestChange:
    def test_another_limit(self, turn):
        """Another rate is in force at once; none lets everything go."""
        web = Web(turn, 100_000, lambda _: 2_000_000)
        turn.until(turn.now + 20)
        before, begin = web.came, turn.now
        web.bandwidth.limit(5_000_000)
        turn.until(begin + 60)
        assert (web.came - before) / 60 == pytest.approx(5_000_000, rel=0.05)

        before, begin = web.came, turn.now
        web.bandwidth.limit(0)
        turn.until(begin + 5)
        assert not web.bandwidth.held
        assert web.came - before > 5 * 50_000_000

    def test_a_first_limit_under_way(self, turn):
        """What is on its way when a limit begins does not count, and gives nothing back."""
        bandwidth = Bandwidth(turn.clock)
        bandwidth.limit(10_000)
        bandwidth.finished(50_000)
        bandwidth.reserve_answer()

        assert bandwidth.held

    def test_at_the_start(self, turn):
        """A limit holds nothing until something was taken: nobody is called before the crawl is
        open.
        """
        bandwidth = Bandwidth(turn.clock)
        bandwidth.on_end = pytest.fail
        bandwidth.limit(10_000)
        turn.until(turn.now + 10)

        assert not bandwidth.held
        assert turn.calls == []

    def test_without_a_limit_nothing_is_held(self, turn):
        """Without a limit nothing is held, and a timer is never set."""
        bandwidth = Bandwidth(turn.clock)

        assert not bandwidth.received(10**9)
        assert not bandwidth.held
        assert turn.calls == []

    def test_saved_bytes(self, turn):
        """An idle bucket saves a quarter of a second's bytes, however long it is idle."""
        bandwidth = Bandwidth(turn.clock)
        bandwidth.limit(1_000_000)
        turn.until(turn.now + 1000)
        held = [bandwidth.received(1000) for _ in range(300)]

        assert held.index(True) == int(1000 * BURST)


class TestAnswer:
    @pytest.mark.parametrize("scheme", ["http", "https"])
    @pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
    def test_a_body_takes_its_time(self, tmp_path, loop, scheme):
        """A long body is read as fast as it may be; that time counts neither as the server's nor
        against it.
        """
        size = 600_000

        async def handler(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            for _ in range(size // 10_000):
                writer.write(b"x" * 10_000)
                await writer.drain()
            await reader.read()

        async def fetched():
            slow = {"timeout": 0.5, "grace": 0.2, "rate": 100_000}
            tls = server_context(tmp_path, "good.test") if scheme == "https" else None
            async with (
                serving(handler, tls=tls) as port,
                client(Names(good=["127.0.0.1"]), bandwidth=limited(400_000), **slow) as http,
            ):
                now = asyncio.get_running_loop().time
                begun = now()
                exchange = await http.fetch(f"{scheme}://good.test:{port}/")
                return exchange, now() - begun

        exchange, seconds = run(fetched(), loop)

        assert (len(exchange.body), exchange.truncated) == (size, "")
        assert seconds > 0.7
        assert exchange.timings.total < 0.5

    def test_a_server_that_stalls(self):
        """A server that sends no more is as late as ever, limit or not."""

        async def handler(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
            await reader.read()

        async def fetched():
            async with (
                serving(handler) as port,
                client(timeout=0.2, bandwidth=limited(10_000)) as http,
            ):
                return await http.fetch(f"http://127.0.0.1:{port}/")

        assert run(fetched()).truncated == "time"

    def test_a_deadline_waits(self, monkeypatch):
        """The time in which an answer was not read is added to its deadline, and to its server's
        patience.
        """
        turn = Turn(monkeypatch)
        turn.time = turn.clock
        turn.call_at = lambda when, call: turn.call_later(when - turn.now, call)
        ended, deadlines, begin = (
            [],
            Deadlines(FetchLimits(timeout=10, grace=1, rate=1000), turn.time),
            turn.now,
        )
        slow = Question("slow", ended)
        slow.held = 5.0
        deadlines.add(slow, begin + 10)
        turn.until(begin + 5.9)
        assert ended == []
        turn.until(begin + 6.6)

        assert ended == ["slow"]

    def test_an_answer_that_ends_while_it_waits(self):
        """Nothing is read of a connection whose answer nobody waits for any more."""

        class Connection:
            def __init__(self):
                self.resumed = []

            def pause(self):
                self.resumed.append(False)

            def resume(self, answer):
                self.resumed.append(answer)

        connection = Connection()
        answer = MeteredAnswer(Bandwidth(), connection, lambda: 1.0, 100)
        answer.pause_reading()
        answer.go_on()

        assert (connection.resumed, answer.held) == ([False, answer], 0.0)
