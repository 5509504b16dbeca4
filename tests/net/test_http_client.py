"""The HTTP client against servers on loopback, on every event loop."""

import asyncio
import gzip
import socket
import struct
import sys

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
    open_files,
    replay,
    run,
    serving,
)
from tests.support.waiting import eventually
from webcrawl.base.model import Status
from webcrawl.net.errors import (
    ConnectFailed,
    ConnectionLost,
    ConnectTimeout,
    EmptyAnswer,
    NotHttp,
    TimedOut,
)

pytestmark = pytest.mark.parametrize("loop", LOOPS)


class TestExchange:
    def test_everything_the_archive_needs(self, loop):
        """An exchange has the exact request, head, body, address and times."""
        got = run(answer(OK, path="/a?b#c"), loop)

        assert got.url.endswith("/a?b#c")
        assert got.request.startswith(b"GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:")
        assert (got.status, got.head, got.body) == (200, OK[:-2], b"ok")
        assert got.wire is got.payload is got.body
        assert (got.ip, got.tls, got.truncated, got.flaws) == ("127.0.0.1", "", "", ())
        times = got.timings
        assert 0 <= times.first_byte <= times.total
        assert 0 < times.connect <= times.total
        assert got.started > 1.6e9

    def test_the_request_that_is_kept_is_the_one_that_was_sent(self, loop):
        """The bytes in `request` are the bytes that the server reads."""
        visits = Visits()
        (got,), _ = run(fetches(visits, 1, headers=[(b"If-None-Match", b'"x"')]), loop)

        assert visits.requests == [got.request]

    def test_a_request_with_a_body(self, loop):
        """POST sends its body after the head; `request` is both."""
        visits = Visits()
        (got,), _ = run(fetches(visits, 1, method="POST", body=b"a=b"), loop)

        assert visits.requests == [got.request]
        assert got.request.endswith(b"\r\n\r\na=b")

    def test_flaws_and_truncation_reach_the_exchange(self, loop):
        """Flaws of a response are recorded in the exchange."""
        flawed = run(
            answer(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 9\r\n\r\n",
                b"plaintext",
            ),
            loop,
        )
        truncated = run(
            answer(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 5000, truncate=1000, hang=True), loop
        )

        assert (flawed.body, flawed.flaws) == (b"plaintext", ("coding",))
        assert (len(truncated.body), truncated.truncated) == (1000, "length")

    @pytest.mark.parametrize(
        ("told", "truncated"),
        [
            (b"bytes 0-1/9", "disconnect"),
            (b"bytes 7-8/9", "disconnect"),
            (b"bytes 0-1/2", ""),
            (b"bytes 0-1/*", ""),
        ],
    )
    def test_a_part_that_nobody_requested_is_truncated(self, loop, told, truncated):
        """A 206 to a request without Range is a page whose rest is missing, if it says that there
        is more.
        """
        part = (
            b"HTTP/1.1 206 Partial Content\r\nContent-Range: %b\r\nContent-Length: 2\r\n\r\nok"
            % told
        )

        assert run(answer(part), loop).truncated == truncated
        assert run(answer(part, headers=[(b"Range", b"bytes=0-1")]), loop).truncated == ""

    def test_not_modified_is_no_answer_to_who_has_nothing(self, loop):
        """A 304 to a request without a condition lacks the page; a 304 to one with a condition is
        whole.
        """
        same = b"HTTP/1.1 304 Not Modified\r\n\r\n"

        assert run(answer(same), loop).truncated == "disconnect"
        assert run(answer(same, headers=[(b"If-None-Match", b'"1"')]), loop).truncated == ""

    def test_an_error_page_is_an_answer(self, loop):
        """Every HTTP status is an exchange, none an exception."""
        for status in (404, 500, 301, 999):
            assert (
                run(answer(b"HTTP/1.1 %d x\r\nContent-Length: 1\r\n\r\nx" % status), loop).status
                == status
            )

    def test_no_dictionary_is_ever_spoken_of(self, loop):
        """A server may offer one (RFC 9842): the next request to it has none, and asks for no
        coding that needs one.
        """
        offer = b'HTTP/1.1 200 OK\r\nUse-As-Dictionary: match="/*"\r\nContent-Length: 2\r\n\r\nok'

        async def go():
            visits = Visits(offer)
            async with serving(visits) as port, client() as http:
                return [
                    (await http.fetch(f"http://127.0.0.1:{port}/{page}", keep=10)).request
                    for page in range(2)
                ]

        for request in run(go(), loop):
            assert b"dictionary" not in request.lower()
            assert b"\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" in request


class TestTime:
    def test_no_answer(self, loop):
        """A silent server times out."""
        with pytest.raises(TimedOut) as error:
            run(answer(hang=True, timeout=0.1), loop)
        assert (error.value.status, error.value.name) == (Status.TIMEOUT, "timeout")

    def test_a_head_that_does_not_end(self, loop):
        """An incomplete head at the deadline is a timeout."""
        with pytest.raises(TimedOut):
            run(answer(b"HTTP/1.1 200 OK\r\n", hang=True, timeout=0.1), loop)

    def test_a_body_that_does_not_end(self, loop):
        """An incomplete body at the deadline is kept as received."""
        got = run(
            answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"abc", hang=True, timeout=0.2),
            loop,
        )

        assert (got.body, got.truncated) == (b"abc", "time")

    def test_a_slow_drip(self, loop):
        """A body that trickles endlessly ends at the deadline, however steady it is."""

        async def drip(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"x")
                await asyncio.sleep(0.005)

        async def go():
            async with serving(drip) as port, client(timeout=0.2) as http:
                return await http.fetch(f"http://127.0.0.1:{port}/")

        got = run(go(), loop)

        assert got.truncated == "time"
        assert 1 < len(got.body) < 200

    def test_a_connection_that_is_not_taken(self, loop):
        """A server with a full accept queue costs no more than the connect timeout."""

        async def go():
            with socket.socket() as full:
                full.bind(("127.0.0.1", 0))
                full.listen(0)
                port = full.getsockname()[1]
                waiting = [socket.socket() for _ in range(8)]
                for sock in waiting:
                    sock.setblocking(False)
                    sock.connect_ex(("127.0.0.1", port))
                await asyncio.sleep(0.05)
                try:
                    async with client(connect_timeout=0.1) as http:
                        await http.fetch(f"http://127.0.0.1:{port}/")
                finally:
                    for sock in waiting:
                        sock.close()

        with pytest.raises(ConnectTimeout) as error:
            run(go(), loop)
        assert error.value.status is Status.CONNECT_FAILED

    def test_the_deadline_holds_for_the_name_too(self, loop):
        """The resolver's time counts towards the deadline."""

        class Slow(Names):
            async def resolve(self, host):
                await asyncio.sleep(60)

        async def go():
            async with client(Slow(), timeout=0.1) as http:
                await http.fetch("http://slow.test/")

        with pytest.raises(ConnectTimeout):
            run(go(), loop)


class TestEnds:
    def test_a_closed_port_is_a_failed_connection(self, loop):
        """A closed port is a failed connection."""

        async def go():
            async with serving(Visits()) as port:
                pass
            async with client() as http:
                await http.fetch(f"http://127.0.0.1:{port}/")

        with pytest.raises(ConnectFailed) as error:
            run(go(), loop)
        assert (error.value.status, error.value.name) == (Status.CONNECT_FAILED, "connect")

    @pytest.mark.parametrize(
        ("sent", "raised"),
        [
            (b"", EmptyAnswer),
            (b"HTTP/1.1 200 OK\r\nServer: x\r\n", ConnectionLost),
            (b"\x16\x03\x01\x02\x00", NotHttp),
        ],
    )
    def test_answers_that_are_none(self, loop, sent, raised):
        """A response that ends in its head, or is not HTTP, is an error with a name."""
        with pytest.raises(raised) as error:
            run(answer(sent), loop)
        assert type(error.value) is raised
        assert error.value.status is Status.CONNECTION_LOST

    def test_a_reset(self, loop):
        """A connection that is reset within the body keeps what arrived."""

        async def handler(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nabc")
            await asyncio.sleep(0.05)
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

        async def go():
            async with serving(handler) as port, client() as http:
                return await http.fetch(f"http://127.0.0.1:{port}/")

        got = run(go(), loop)

        assert (got.body, got.truncated) == (b"abc", "disconnect")

    def test_cancelling_a_fetch_closes_its_connection(self, loop):
        """A cancelled fetch leaves no connection behind, and the client stays usable."""

        async def go():
            async with serving(replay(hang=True)) as port, client() as http:
                tasks = [
                    asyncio.create_task(http.fetch(f"http://127.0.0.1:{port}/")) for _ in range(5)
                ]
                await eventually(lambda: connections_to(port) == len(tasks))
                for task in tasks:
                    task.cancel()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
                await eventually(lambda: not connections_to(port))
                return outcomes

        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in run(go(), loop))

    def test_close_ends_what_is_under_way(self, loop):
        """close() ends running fetches with a named error and waits for the sockets."""

        async def go():
            visits = Visits(b"")  # which are no answer
            async with serving(visits) as port, client() as http:
                task = asyncio.create_task(http.fetch(f"http://127.0.0.1:{port}/"))
                await eventually(lambda: visits.requests)
                await http.close()
                with pytest.raises(ConnectionLost):
                    await task
                return connections_to(port)

        assert run(go(), loop) == 0


class TestResources:
    def test_no_file_descriptor_is_left(self, loop):
        """However a fetch ends, its socket is closed."""

        async def go():
            endings = [
                replay(OK), replay(b""), replay(b"junk"), replay(hang=True),
                replay(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 9999),
                replay(b"HTTP/1.1 200 OK\r\n", hang=True), replay(b"HTTP/1.1 200 OK\r\n\r\nabc", hang=True),
                replay(b"HTTP/1.1 101 x\r\n\r\n", hang=True), replay(b"HTTP/1.1 200 OK\r\n" + b"x" * 99999, hang=True),
            ]  # fmt: skip
            counts: list[int] = []  # the loop itself opens some in the first round
            for _ in range(3):
                for handler in endings:
                    async with (
                        serving(handler) as port,
                        client(timeout=0.05, truncate=1000) as http,
                    ):
                        urls = [
                            f"http://127.0.0.1:{port}/",
                            f"https://127.0.0.1:{port}/",
                            "http://127.0.0.1:1/",
                        ]
                        await asyncio.gather(
                            *(http.fetch(url, keep=1) for url in urls), return_exceptions=True
                        )
                await eventually(lambda: open_files() <= min(counts, default=sys.maxsize))
                counts.append(open_files())

        run(go(), loop)

    def test_many_at_once(self, loop):
        """Each of hundreds of concurrent fetches gets its own response."""

        async def echo(reader, writer):
            head = await reader.readuntil(b"\r\n\r\n")
            page = gzip.compress(head.split(b" ")[1] * 200, 1)
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
                % len(page)
                + page
            )
            await writer.drain()
            await reader.read(1)

        async def go():
            async with serving(echo) as port, client(connect_timeout=60.0, timeout=60.0) as http:
                urls = [f"http://127.0.0.1:{port}/{number}" for number in range(300)]
                return await asyncio.gather(*map(http.fetch, urls))

        for number, got in enumerate(run(go(), loop)):
            assert got.body == b"/%d" % number * 200
