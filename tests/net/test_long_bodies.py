"""Bodies that may be longer than others, as long as there is room for them."""

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.net_answers import PAGE, ZIPPED, chunked, head, read
from tests.support.net_http import Gate, Names, client, replay, run, serving
from webcrawl.net.codings import zstd
from webcrawl.net.errors import TooLarge
from webcrawl.net.long_bodies import MOST, Claim, Room
from webcrawl.net.protocols import Options

FORMS = {
    "plain": head() + PAGE,
    "length": head(b"Content-Length: %d" % len(PAGE)) + PAGE,
    "chunked": head(b"Transfer-Encoding: chunked") + chunked(PAGE),
    "gzip": head(b"Content-Encoding: gzip") + ZIPPED,
    "br": head(b"Content-Encoding: br") + brotli.compress(PAGE),
    "zstd, chunked": head(b"Content-Encoding: zstd", b"Transfer-Encoding: chunked") + chunked(zstd.compress(PAGE)),
}


@pytest.fixture(autouse=True)
def _steps(monkeypatch):
    monkeypatch.setattr("webcrawl.net.long_bodies.STEP", 100)


@pytest.mark.parametrize("form", FORMS)
@given(cuts=st.lists(st.integers(0, len(PAGE) + 200), max_size=5))
def test_a_body_with_room_is_whole(form, cuts):
    """However it is framed and coded, and wherever the network cuts it."""
    message = read(FORMS[form], cuts, truncate=50, claim=Claim(Room(10_000), 10_000))

    assert (message.forms()[2], message.truncated, message.flaws) == (PAGE, "", [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("left", "spare"), [(10_000, 300), (300, 10_000)])
def test_a_longer_one_is_cut(form, left, spare):
    """At what it may have, or at what others leave."""
    message = read(FORMS[form], truncate=50, claim=Claim(Room(left), spare))

    assert (message.forms()[2], message.truncated) == (PAGE[:350], "length")


def test_without_room_it_is_as_any_other():
    """Nobody waits: it is cut where all bodies are. So it is where the settings allow more than any sitemap has."""
    for claim in (Claim(Room(0), 10_000), Claim(Room(10_000), -5)):
        assert read(FORMS["gzip"], truncate=50, claim=claim).forms()[2] == PAGE[:50]


def test_codings_in_codings_have_none():
    """Such a body is a bomb rather than a sitemap."""
    data = head(b"Content-Encoding: gzip, br") + brotli.compress(ZIPPED)

    assert read(data, truncate=50, claim=Claim(Room(10_000), 10_000)).forms()[2] == PAGE[:50]


def test_room_is_given_back_with_the_body():
    """Once nobody has the message, or the exchange made of it, others have its room."""
    room = Room(10_000)
    message = read(FORMS["plain"], truncate=50, claim=Claim(room, 10_000))
    assert room.free < 10_000 - len(PAGE) + 50 + 1
    claim = message.claim
    del message
    assert room.free < 10_000
    del claim

    assert room.free == 10_000


@pytest.mark.parametrize(
    ("options", "size", "truncated"),
    [(Options(), 1000, "length"), (Options(long=True), len(PAGE), ""), (Options(long=True, maxsize=500), 0, "")],
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
    assert MOST == 52_428_800
