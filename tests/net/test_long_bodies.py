"""Bodies that may be longer than others, as long as there is room for them."""

import asyncio
import gc

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.net_answers import PAGE, ZIPPED, chunked, head, read
from tests.support.net_http import Gate, Names, client, replay, run, serving
from webcrawl.base.zstd_frame import zstd
from webcrawl.net.errors import TooLarge, Untried
from webcrawl.net.protocols import Options
from webcrawl.net.reading_limits import LONGEST_SITEMAP, BodyRoom, Claim
from webcrawl.net.stream import read_body

FORMS = {
    "plain": head() + PAGE,
    "length": head(b"Content-Length: %d" % len(PAGE)) + PAGE,
    "chunked": head(b"Transfer-Encoding: chunked") + chunked(PAGE),
    "gzip": head(b"Content-Encoding: gzip") + ZIPPED,
    "br": head(b"Content-Encoding: br") + brotli.compress(PAGE),
    "zstd, chunked": head(b"Content-Encoding: zstd", b"Transfer-Encoding: chunked")
    + chunked(zstd.compress(PAGE)),
}


@pytest.fixture(autouse=True)
def _steps(monkeypatch):
    monkeypatch.setattr("webcrawl.net.reading_limits.STEP", 100)


@pytest.mark.parametrize("form", FORMS)
@given(splits=st.lists(st.integers(0, len(PAGE) + 200), max_size=5))
def test_a_body_with_room_is_whole(form, splits):
    """However it is framed and coded, and wherever the network splits it."""
    message = read(FORMS[form], splits, truncate=50, claim=Claim(BodyRoom(10_000), 10_000))

    assert (message.forms()[2], message.truncated, message.flaws) == (PAGE, "", [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("left", "spare"), [(10_000, 300), (300, 10_000)])
def test_a_longer_one_is_truncated(form, left, spare):
    """At what it may have, or at what others leave."""
    message = read(FORMS[form], truncate=50, claim=Claim(BodyRoom(left), spare))

    assert (message.forms()[2], message.truncated) == (PAGE[:350], "length")


def test_without_room_it_is_as_any_other():
    """Nobody waits: it is truncated where all bodies are.

    So it is where the settings allow more than any sitemap has.
    """
    for claim in (Claim(BodyRoom(0), 10_000), Claim(BodyRoom(10_000), -5)):
        assert read(FORMS["gzip"], truncate=50, claim=claim).forms()[2] == PAGE[:50]


def test_codings_in_codings_have_none():
    """Such a body is a bomb rather than a sitemap."""
    data = head(b"Content-Encoding: gzip, br") + brotli.compress(ZIPPED)

    assert read(data, truncate=50, claim=Claim(BodyRoom(10_000), 10_000)).forms()[2] == PAGE[:50]


def test_room_is_given_back_with_the_body():
    """Once nobody has the message, or the exchange made of it, others have its room."""
    room = BodyRoom(10_000)
    message = read(FORMS["plain"], truncate=50, claim=Claim(room, 10_000))
    assert room.free < 10_000 - len(PAGE) + 50 + 1
    claim = message.claim
    del message
    assert room.free < 10_000
    del claim

    assert room.free == 10_000


@pytest.mark.parametrize(
    ("options", "size", "truncated"),
    [
        (Options(), 1000, "length"),
        (Options(long=True), len(PAGE), ""),
        (Options(long=True, maxsize=500), 0, ""),
    ],
)
def test_who_may_have_it(options, size, truncated):
    """Requests that ask for it, unless a longer body is to be refused."""

    async def go():
        async with (
            serving(replay(FORMS["length"])) as port,
            client(Names(), Gate(), truncate=1000) as http,
        ):
            try:
                got = await http.fetch(f"http://127.0.0.1:{port}/", options=options)
            except TooLarge:
                return 0, ""
            return len(got.body), got.truncated

    assert run(go()) == (size, truncated)


def test_a_sitemap_may_have_what_its_protocol_allows():
    """50 MiB."""
    assert LONGEST_SITEMAP == 52_428_800


async def until_waiting(room):
    while not room._waiting:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.001)


class TestWaiting:
    """Bodies beyond what each may have share some room, and wait for it while others have it."""

    BODY = bytes(range(256)) * 20
    ANSWER = head(b"Content-Length: %d" % len(BODY)) + BODY

    @pytest.fixture(autouse=True)
    def _base(self, monkeypatch):
        monkeypatch.setattr("webcrawl.net.http.BYTES_WITHOUT_CLAIM", 1000)
        monkeypatch.setattr("webcrawl.net.reading_limits.BYTES_WITHOUT_CLAIM", 1000)
        monkeypatch.setattr("webcrawl.net.stream.BYTES_WITHOUT_CLAIM", 1000)

    def fetched(self, room, go, handler=None):
        """Runs `go` with a function that fetches the body."""

        async def served():
            async with (
                serving(handler or replay(self.ANSWER)) as port,
                client(Names(), Gate(), truncate=10_000, room=room) as http,
            ):
                return await go(lambda: http.fetch(f"http://127.0.0.1:{port}/"))

        return run(served())

    @pytest.mark.parametrize("form", ["length", "chunked", "gzip", "zstd, chunked"])
    def test_more_bodies_than_there_is_room_for_are_all_whole(self, form):
        """Twenty at once, in room for less than one: each is given back before the next one has it
        all.
        """

        async def go(fetch):
            async def size():
                exchange = await fetch()
                return len(exchange.body), exchange.truncated

            return await asyncio.gather(*(size() for _ in range(20)))

        assert self.fetched(BodyRoom(500), go, replay(FORMS[form])) == [(len(PAGE), "")] * 20

    def test_it_waits_until_another_body_is_given_back(self):
        """While somebody has a body that fills the room, a second one is not read beyond what all
        may have.
        """
        room = BodyRoom(1000)

        async def go(fetch):
            first = await fetch()
            second = asyncio.ensure_future(fetch())
            await until_waiting(room)
            waits = not second.done()
            del first
            gc.collect()
            return waits, (await second).body

        assert self.fetched(room, go) == (True, self.BODY)

    def test_bodies_that_wait_for_each_other_go_on(self, monkeypatch):
        """A page may wait for a download that needs its room: when nothing has moved for long, the
        download goes on.
        """
        monkeypatch.setattr("webcrawl.net.reading_limits.PATIENCE", 0.05)

        async def go(fetch):
            first = await fetch()
            second = await fetch()
            return first.body, second.body

        assert self.fetched(BodyRoom(1000), go) == (self.BODY, self.BODY)

    def test_a_server_that_does_not_wait_as_long_is_requested_again(self, monkeypatch):
        """The missing part is our own lack: it is neither a short body nor a failure of the server."""
        monkeypatch.setattr("webcrawl.net.connection.PAUSE_ALL_SERVERS_BEAR", 0.0)
        room, ended, asked = BodyRoom(1000), asyncio.Event(), []

        async def goes(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            asked.append(1)
            writer.write(self.ANSWER if len(asked) == 1 else self.ANSWER[:3000])
            await writer.drain()
            if len(asked) > 1:
                await until_waiting(room)
                writer.transport.abort()
                ended.set()

        async def go(fetch):
            first = await fetch()
            second = asyncio.ensure_future(fetch())
            await ended.wait()
            del first
            gc.collect()
            with pytest.raises(Untried):
                await second

        self.fetched(room, go, goes)

    def test_files_of_other_protocols_wait_too(self):
        """What is read piece by piece is read on when there is room."""

        class Pieces:
            reset = False

            def __init__(self, size):
                self.pieces = [b"x" * 100] * (size // 100)

            async def read(self):
                return self.pieces.pop() if self.pieces else b""

        async def go():
            room, deadline = BodyRoom(1000), asyncio.get_running_loop().time() + 60
            holder, claim = Claim(room, 9000, may_wait=True), Claim(room, 9000, may_wait=True)
            assert sum(holder.more() for _ in range(10)) == 1000
            holder.loaded()
            reading = asyncio.ensure_future(read_body(Pieces(5000), 10_000, deadline, claim=claim))
            await until_waiting(room)
            del holder
            gc.collect()
            return await reading

        assert run(go()) == (b"x" * 5000, "")
