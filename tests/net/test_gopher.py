"""The Gopher client against small servers on loopback, well-behaved and others."""

import asyncio
import socket
import struct
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.net_http import (
    EVERY_PORT,
    LOOPS,
    Gate,
    Names,
    bounds,
    run,
    serving,
)
from tests.support.waiting import eventually
from webcrawl.base.model import Status
from webcrawl.net.errors import (
    AddressRefused,
    BadUrl,
    ConnectFailed,
    ConnectionLost,
    DnsFailed,
    EmptyAnswer,
    FetchError,
    TimedOut,
)
from webcrawl.net.gopher import GopherClient
from webcrawl.net.protocols import Access

pytestmark = pytest.mark.parametrize("loop", LOOPS)

MENU = b"1Below\t/below\ta.test\t70\r\n.\r\n"


class Hole:
    """Answers every selector with the same pieces, then closes or stays silent."""

    def __init__(self, *pieces, hang=False):
        self.pieces, self.hang, self.requested = pieces, hang, []

    async def __call__(self, reader, writer):
        self.requested.append(await reader.readline())
        for piece in self.pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.002)
        if self.hang:
            await asyncio.sleep(60)
        writer.write_eof()
        await reader.read()


@asynccontextmanager
async def client(guard=None, ports=EVERY_PORT, **options):
    access = Access(Names(a=["127.0.0.1"]), guard or Gate(), ports=ports)
    gopher = GopherClient(access, bounds(options), **options)
    try:
        yield gopher
    finally:
        await gopher.close()
        assert len(gopher._reach) == 0


async def ask(server, path="/1", guard=None, **options):
    async with serving(server) as port, client(guard, **options) as gopher:
        return await gopher.fetch(f"gopher://a.test:{port}{path}")


class TestAnswers:
    def test_a_menu(self, loop):
        """A menu is kept as received, including its final dot."""
        hole = Hole(MENU[:9], MENU[9:])
        got = run(ask(hole), loop)

        assert hole.requested == [b"\r\n"]
        assert (got.status, got.body, got.truncated) == (200, MENU, "")
        assert got.headers == [(b"content-type", b"text/x-gopher-menu")]
        assert (got.head, got.request, got.ip) == (b"", b"", "127.0.0.1")
        assert got.body is got.payload is got.wire
        assert 0 < got.timings.connect <= got.timings.total
        assert 0 <= got.timings.first_byte <= got.timings.total

    @pytest.mark.parametrize(
        ("path", "line"),
        [
            ("", b"\r\n"),
            ("/", b"\r\n"),
            ("/0/a%20b/c", b"/a b/c\r\n"),
            ("/0a?b=c", b"a?b=c\r\n"),
            ("/1caf%E9", b"caf\xe9\r\n"),
            ("/7find%09two%20words", b"find\ttwo words\r\n"),
            ("/9x#y", b"x\r\n"),
        ],
    )
    def test_what_is_sent(self, loop, path, line):
        """The selector is the URL's path without the type, decoded, whatever bytes it has."""
        hole = Hole(b".\r\n")
        run(ask(hole, path), loop)
        assert hole.requested == [line]

    def test_text(self, loop):
        """The final dot and doubled dots are removed from a text's body; the payload keeps them."""
        raw = b"one\r\n..two\r\n...\r\n.\r\n"
        got = run(ask(Hole(raw), "/0x"), loop)
        assert (got.body, got.payload) == (b"one\r\n.two\r\n..\r\n", raw)
        assert got.headers == [(b"content-type", b"text/plain")]

    def test_text_of_a_server_that_stuffs_nothing(self, loop):
        """A text without the final dot is unchanged."""
        raw = b"one\n..two\n.\nthree"
        assert run(ask(Hole(raw), "/0x"), loop).body == raw

    def test_a_binary_goes_to_the_close(self, loop):
        """In a binary, bytes that look like an end are data."""
        raw = b"GIF89a\r\n.\r\n" + bytes(range(256))
        got = run(ask(Hole(raw[:11], raw[11:]), "/gx", patience=0.0), loop)
        assert (got.body, got.headers) == (raw, [(b"content-type", b"image/gif")])

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("/hx", "text/html"),
            ("/Ia.png", "image/png"),
            ("/9a.pdf", "application/pdf"),
            ("/9a", None),
        ],
    )
    def test_types(self, loop, path, kind):
        """The item type gives the content type, otherwise the selector's ending."""
        got = run(ask(Hole(b"x"), path), loop)
        assert got.headers == ([(b"content-type", kind.encode())] if kind else [])

    def test_a_server_that_does_not_close(self, loop):
        """After the final dot a server has a moment to close, not the whole deadline."""
        got = run(ask(Hole(MENU, hang=True), patience=0.05), loop)
        assert (got.body, got.truncated) == (MENU, "")

    def test_a_dot_in_the_middle(self, loop):
        """Data that follows a lone dot soon still belongs to the answer."""
        got = run(ask(Hole(b"one\r\n.\r\n", b"two\r\n"), "/0x"), loop)
        assert got.body == b"one\r\n.\r\ntwo\r\n"

    def test_nothing(self, loop):
        """An answer without a byte is an empty file."""
        got = run(ask(Hole(), "/9x"), loop)
        assert (got.status, got.body, got.truncated) == (200, b"", "")

    @pytest.mark.parametrize("path", ["/1no", "/0no", "/9no"])
    def test_a_refusal(self, loop, path):
        """An answer that is only an error item is a 404."""
        error = b"3'no' does not exist\t\terror.host\t1\r\niSorry\t\terror.host\t1\r\n.\r\n"
        assert run(ask(Hole(error), path), loop).status == 404

    @pytest.mark.parametrize(
        "answer",
        [b"3 apples\r\n", b"3 apples\t1\ta\tb\r\nand text", b"3x\t\ta\t1\r\n" + MENU, b"3"],
    )
    def test_what_only_begins_like_one(self, loop, answer):
        """A text that begins with a 3, and a menu with an error among its items, are not errors."""
        assert run(ask(Hole(answer)), loop).status == 200


class TestBounds:
    def test_truncation(self, loop):
        """An endless answer is truncated, and the connection closed."""
        sent = 0

        async def flood(reader, writer):
            nonlocal sent
            await reader.readline()
            while True:
                writer.write(MENU[:-3] * 1000)
                sent += 24_000
                await writer.drain()

        got = run(ask(flood, truncate=100_000), loop)
        assert (len(got.payload), got.truncated) == (100_000, "length")
        assert got.body.endswith(b"\n")
        assert sent < 20_000_000

    def test_time(self, loop):
        """What arrived before the deadline is kept."""
        got = run(ask(Hole(b"GIF", hang=True), "/gx", timeout=0.2), loop)
        assert (got.body, got.truncated) == (b"GIF", "time")

    @pytest.mark.parametrize("pieces", [(), (b"G",)])
    def test_too_slow(self, loop, pieces):
        """An answer slower than the least rate ends long before its deadline, as if that had
        passed.
        """
        fetch = ask(Hole(*pieces, hang=True), "/gx", timeout=3600, grace=0.05, rate=1000)
        if pieces:
            got = run(fetch, loop)
            assert (got.body, got.truncated) == (b"G", "time")
        else:
            with pytest.raises(TimedOut):
                run(fetch, loop)

    def test_silence(self, loop):
        """No data before the deadline is a timeout."""
        with pytest.raises(TimedOut):
            run(ask(Hole(hang=True), timeout=0.1), loop)

    @pytest.mark.parametrize("sent", [b"", b"GIF"])
    def test_a_reset(self, loop, sent):
        """A reset keeps what arrived, marked as truncated; with no data the connection is lost."""

        async def reset(reader, writer):
            await reader.readline()
            writer.write(sent)
            await asyncio.sleep(0.02)
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        if sent:
            got = run(ask(reset, "/gx"), loop)
            assert (got.body, got.truncated) == (sent, "disconnect")
        else:
            with pytest.raises(EmptyAnswer):
                run(ask(reset, "/gx"), loop)

    def test_close_ends_what_is_under_way(self, loop):
        """close() ends running fetches and waits for their sockets."""

        async def go():
            hole = Hole(hang=True)
            async with serving(hole) as port, client() as gopher:
                task = asyncio.create_task(gopher.fetch(f"gopher://a.test:{port}/1"))
                await eventually(lambda: hole.requested)
                await gopher.close()
                return await asyncio.gather(task, return_exceptions=True)

        (outcome,) = run(go(), loop)
        assert isinstance(outcome, ConnectionLost) or outcome.body == b""

    @examples(40)
    @given(
        pieces=st.lists(st.binary(max_size=40), max_size=3),
        path=st.sampled_from(["/1", "/0x", "/9x", "/hx"]),
    )
    def test_any_answer(self, loop, pieces, path):
        """Whatever a server sends is an Exchange, unless it is empty."""
        got = run(ask(Hole(*pieces), path, truncate=50), loop)
        assert got.payload == b"".join(pieces)[:50]
        assert got.status in (200, 404)


class TestRefusals:
    @pytest.mark.parametrize(
        "url",
        [
            "http://a.test/",
            "gopher://",
            "gopher://a.test:0/1",
            "gopher://a.test:99999/1",
            "gopher://a.test/1%0D%0Ax",
            "gopher://a.test/1%00",
            "gopher://a.test/%E9",
            "gopher://a.test/1a b",
            "gopher://a.test/1\tb",
            "gopher://a.test/7find",
            "gopher://a.test/7find%09",
            "gopher://a.test/2phones",
            "gopher://a.test/8telnet",
            "gopher://a.test/T3270",
            "gopher://a.test/iinfo",
            "gopher://a.test/3error",
        ],
    )
    def test_urls_that_are_not_sent(self, loop, url):
        """Bad URLs, and anything but files, menus and filled-in searches, are not requested."""

        async def go():
            async with client() as gopher:
                await gopher.fetch(url)

        with pytest.raises(BadUrl) as error:
            run(go(), loop)
        assert error.value.status == Status.UNSUPPORTED

    def test_the_guard_is_asked(self, loop):
        """No address that the guard refuses is connected to."""
        hole = Hole(MENU)
        with pytest.raises(AddressRefused):
            run(ask(hole, guard=Gate("127.0.0.1")), loop)
        assert hole.requested == []

    @pytest.mark.parametrize(
        ("host", "error"), [("nowhere.test", DnsFailed), ("a.test:2", ConnectFailed)]
    )
    def test_a_missing_name_and_a_closed_port_are_told_apart(self, loop, host, error):
        """A name without address is a DNS error; a closed port is a failed connection."""

        async def go():
            async with client() as gopher:
                await gopher.fetch(f"gopher://{host}/1")

        with pytest.raises(FetchError) as raised:
            run(go(), loop)
        assert type(raised.value) is error
