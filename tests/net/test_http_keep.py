"""Connections that are kept for a host's next request, and those that must not be."""

import asyncio
import os
import socket

import pytest

from tests.support.net_http import (
    LOOPS,
    OK,
    Names,
    Visits,
    answer,
    client,
    connections_to,
    fetches,
    replay,
    run,
    serving,
)
from tests.support.waiting import eventually
from webcrawl.net.errors import EmptyAnswer, TimedOut
from webcrawl.net.protocols import PLAIN, Options

pytestmark = pytest.mark.parametrize("loop", LOOPS)


def connections_for(loop, unrequested, pause, *, closes=False):
    """How many are opened for four requests, if the server sends this on the first one, so long
    after its answer.
    """
    connections = []

    async def handler(reader, writer):
        connections.append(1)
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(OK)
            if len(connections) == 1:
                await asyncio.sleep(pause)
                writer.write(unrequested)
                if closes:
                    return

    run(fetches(handler, 4, pause=0.1, keep=10), loop)
    return len(connections)


class TestKeepAlive:
    def test_a_kept_connection_is_used_again(self, loop):
        """With `keep`, one connection serves all requests to a host."""
        visits = Visits()
        made, counters = run(fetches(visits, 5, keep=10), loop)

        assert (visits.connections, len(visits.requests)) == (1, 5)
        assert (counters.opened, counters.reused, counters.stale) == (1, 4, 0)
        assert [got.body for got in made] == [b"ok"] * 5
        assert made[0].timings.connect > 0
        assert made[1].timings.connect == made[1].timings.dns == 0
        assert made[1].ip == "127.0.0.1"

    @pytest.mark.parametrize("surplus", [OK.replace(b"ok", b"no"), b""], ids=["bytes", "the end"])
    def test_what_came_while_the_process_was_busy(self, loop, surplus):
        """A connection on which bytes or its end wait to be read is not used: they would be taken
        for the next answer.
        """

        async def fetched():
            sockets = []

            async def handler(reader, writer):
                sockets.append(writer.get_extra_info("socket").fileno())
                while await reader.readuntil(b"\r\n\r\n"):
                    writer.write(OK)

            async with serving(handler) as port, client() as http:
                url = f"http://127.0.0.1:{port}/"
                await http.fetch(url, keep=10)
                # Sent at once: until the next request the loop has no time to read it.
                with socket.socket(fileno=os.dup(sockets[0])) as first:
                    first.sendall(surplus)
                    first.shutdown(socket.SHUT_WR)
                return (await http.fetch(url, keep=10)).body, len(sockets)

        assert run(fetched(), loop) == (b"ok", 2)

    def test_options_that_are_not_of_the_way_there(self, loop):
        """A request that wants other bounds uses the connection that is kept, and leaves it to
        others.
        """

        async def go():
            visits = Visits()
            async with serving(visits) as port, client() as http:
                for options in (
                    Options(truncates=True),
                    PLAIN,
                    Options(timeout=5.0),
                    Options(maxsize=1000),
                ):
                    await http.fetch(f"http://127.0.0.1:{port}/", keep=10, options=options)
                return visits.connections

        assert run(go(), loop) == 1

    def test_another_way(self, loop):
        """A request from another local address does not use the connection that is kept."""

        async def go():
            visits = Visits()
            async with serving(visits) as port, client() as http:
                for options in (PLAIN, Options(bind=("127.0.0.2", 0))):
                    await http.fetch(f"http://127.0.0.1:{port}/", keep=10, options=options)
                return visits.connections

        assert run(go(), loop) == 2

    def test_without_keep_there_is_no_second_turn(self, loop):
        """Without `keep` every fetch has its own connection, and says so in the request."""
        visits = Visits()
        run(fetches(visits, 3), loop)

        assert visits.connections == 3
        assert all(b"\r\nConnection: close\r\n" in request for request in visits.requests)

    @pytest.mark.parametrize(
        "reply",
        [
            OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
            OK.replace(b"1.1", b"1.0"),
            OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            OK + b"x",
        ],
    )
    def test_connections_that_cannot_be_kept(self, loop, reply):
        """A connection that the server closes, or that has excess data, is not reused."""
        visits = Visits(reply)
        made, _ = run(fetches(visits, 3, keep=10), loop)

        assert visits.connections == 3
        assert [got.body for got in made] == [b"ok"] * 3

    def test_bytes_between_the_turns_end_the_connection(self, loop):
        """Unrequested data is never taken for the next response."""
        visits = Visits(idle=b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        made, _ = run(fetches(visits, 3, pause=0.1, keep=10), loop)

        assert visits.connections == 3
        assert [got.body for got in made] == [b"ok"] * 3

    @pytest.mark.parametrize("pause", [0.0, 0.02], ids=["with the answer", "after it"])
    def test_who_has_sent_too_much_gets_one_request_per_connection(self, loop, pause):
        """The next time it may come later, and would be taken for the answer to the next request."""
        assert connections_for(loop, OK, pause) == 4

    def test_a_server_that_is_tired_of_waiting(self, loop):
        """An unasked 408 ends an idle connection, and the next one may be kept."""
        farewell = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"

        assert connections_for(loop, farewell, 0.02, closes=True) == 2

    def test_a_connection_the_server_closed_is_not_noticed_by_the_caller(self, loop):
        """A kept connection that was closed before the next request is replaced."""
        visits = Visits(close_after=1)

        made, counters = run(fetches(visits, 4, pause=0.02, keep=10), loop)

        assert [got.body for got in made] == [b"ok"] * 4
        assert counters.opened == 4

    def test_a_stale_connection_is_not_requested_once_more(self, loop):
        """A kept connection that ends on a request is an error: the caller retries, with its delay
        and its count.
        """
        connections = []

        async def handler(reader, writer):
            connections.append(1)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            await reader.readuntil(b"\r\n\r\n")  # the second request is read and not answered

        async def go():
            async with serving(handler) as port, client() as http:
                url = f"http://127.0.0.1:{port}/"
                await http.fetch(url, keep=10)
                with pytest.raises(EmptyAnswer):
                    await http.fetch(url, keep=10)
                assert (len(connections), http.counters.stale) == (1, 1)
                return await http.fetch(url)

        assert run(go(), loop).body == b"ok"
        assert len(connections) == 2

    @pytest.mark.parametrize(("silence", "error"), [(0.0, EmptyAnswer), (5.0, TimedOut)])
    def test_only_one_request_finds_out_that_none_can_be_kept(self, loop, silence, error):
        """After a request without an answer on a kept connection, every request has a connection of
        its own.
        """
        visits = []

        async def handler(reader, writer):
            visits.append(1)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(silence)

        async def go():
            async with serving(handler) as port, client(timeout=0.5) as http:
                url = f"http://127.0.0.1:{port}/"
                await http.fetch(url, keep=10)
                with pytest.raises(error):
                    await http.fetch(url, keep=10)
                return [(await http.fetch(url, keep=10)).body for _ in range(5)]

        assert run(go(), loop) == [b"ok"] * 5
        assert len(visits) == 6

    def test_a_server_that_never_answers_is_not_requested_twice(self, loop):
        """An empty response on a new connection is an error, without a second try."""
        visits = []

        async def handler(reader, writer):
            visits.append(await reader.readuntil(b"\r\n\r\n"))

        async def go():
            async with serving(handler) as port, client() as http:
                await http.fetch(f"http://127.0.0.1:{port}/", keep=10)

        with pytest.raises(EmptyAnswer):
            run(go(), loop)
        assert len(visits) == 1

    def test_kept_connections_are_bounded(self, loop):
        """At most `keep_at_most` connections are kept: those that were kept first."""

        async def go():
            visits = Visits()
            names = Names(**{f"h{number}": ["127.0.0.1"] for number in range(6)})
            async with serving(visits) as port, client(names, keep_at_most=3) as http:
                for number in (0, 1, 2, 3, 4, 5, 2, 1, 0, 3):
                    await http.fetch(f"http://h{number}.test:{port}/", keep=10)
                    await eventually(lambda: connections_to(port) <= 3)
                return visits.connections

        assert run(go(), loop) == 7

    def test_a_kept_connection_ends_when_its_time_is_over(self, loop, monkeypatch):
        """A connection that was not reused within `keep` seconds is closed, and its socket is free."""
        monkeypatch.setattr("webcrawl.net.connection_pool._SWEEP", 0.01)

        async def go():
            async with serving(Visits()) as port, client() as http:
                await http.fetch(f"http://127.0.0.1:{port}/", keep=0.01)
                assert connections_to(port) == 1
                await eventually(lambda: not connections_to(port))

        run(go(), loop)


SLOW = {"timeout": 3600.0, "grace": 0.1, "rate": 10_000}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


@pytest.mark.parametrize(
    "sent", [b"", b"H", b"HTTP/1.1 200 OK\r\nServer: x\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"]
)
def test_a_head_that_is_not_complete_in_time(loop, sent):
    """A server that falls silent within the head has timed out."""
    with pytest.raises(TimedOut):
        run(answer(sent, hang=True, **SLOW), loop)


@pytest.mark.parametrize("body", [b"", b"begun"])
def test_a_body_that_stops(loop, body):
    """What came of the body is kept, as at the deadline."""
    got = run(answer(HEAD + body, hang=True, **SLOW), loop)

    assert (got.status, got.body, got.truncated) == (200, body, "time")


def test_a_body_that_drips(loop):
    """Bytes that come one by one do not keep a slow answer alive."""

    async def drip(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def fetch():
        async with serving(drip) as port, client(**SLOW) as http:
            return await http.fetch(f"http://127.0.0.1:{port}/")

    assert run(fetch(), loop).truncated == "time"


def test_no_rate(loop):
    """Without a least rate an answer may begin whenever it likes before its deadline."""

    async def late(reader, writer):
        await asyncio.sleep(0.3)
        await replay(HEAD + b"x" * 1000)(reader, writer)

    async def fetch():
        async with serving(late) as port, client(timeout=3600.0, grace=0.1, rate=0) as http:
            return await http.fetch(f"http://127.0.0.1:{port}/")

    assert len(run(fetch(), loop).body) == 1000


class Watch:
    source = None


def test_whoever_watches_sees_the_bytes(loop):
    """A fetch shows where its answer comes from, and how much has come."""
    watch = Watch()

    async def fetch():
        async with (
            serving(replay(HEAD + b"x" * 500, hang=True)) as port,
            client(timeout=3600.0) as http,
        ):
            task = asyncio.create_task(http.fetch(f"http://127.0.0.1:{port}/", watch=watch))
            while watch.source is None or watch.source.received < 500:
                assert not task.done()
                await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return watch.source.received

    assert run(fetch(), loop) == 0  # afterwards nothing is waited for
