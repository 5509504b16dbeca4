"""HTTP/2: who is offered it, what becomes of its answers, and what a server may do to us with it."""

import asyncio
import gzip
import subprocess
import sys
from itertools import chain, repeat

import pytest

from tests.support.hostile import rows
from tests.support.http2_servers import (
    NO_PROTOCOL,
    Http2Pages,
    alert,
    away,
    behind_door,
    context,
    data,
    frames,
    headers,
    reset,
)
from tests.support.net_http import LOOPS, OK, Names, client, limited, run, serving, tunnel
from tests.support.net_proxy import Proxy
from webcrawl.net.connection_open import NEEDED, PREFER, Http2Offers
from webcrawl.net.errors import (
    BadHead,
    ConnectionLost,
    EmptyAnswer,
    FetchError,
    HeadTooLong,
    Http2Only,
    NotHttp,
    TimedOut,
    TlsFailed,
    TooManyInterim,
    Upgraded,
)
from webcrawl.net.failure_words import in_words
from webcrawl.net.http2 import Http2Session
from webcrawl.net.http_answer import AnswerParser
from webcrawl.net.protocols import FetchLimits, Options
from webcrawl.net.protocols import Proxy as ProxyAddress

NAMES = Names(site=["127.0.0.1"])


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return context(tmp_path_factory.mktemp("tls"), "site.test")


def page(_, path, fields):
    return (
        200,
        [("content-type", "text/html"), ("x-asked", fields.get("user-agent", ""))],
        f"<p>{path}".encode(),
    )


def by_alpn(http2, answer=OK):
    """A server's handler: this one where h2 was chosen, else this answer to a request."""

    async def handler(reader, writer):
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
            await http2(reader, writer)
        else:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await reader.read()

    return handler


def fetched(
    handler, tls, *paths, way=NEEDED, shut=None, loop="uvloop", offers=None, fetch=None, **options
):
    """What a client gets of these paths from a server behind a door, with the door."""

    async def go():
        async with (
            behind_door(handler, tls, **({} if shut is None else {"shut": shut[0]})) as (
                door,
                port,
            ),
            client(NAMES, http2=offers or Http2Offers(way), **options) as http,
        ):
            got = [
                await http.fetch(
                    f"https://site.test:{port}{path}", **{"keep": 5.0, **(fetch or {})}
                )
                for path in paths or ("/",)
            ]
            return got, door, http

    return run(go(), loop)


OPEN = (None,)  # shut: whoever does not offer h2 gets in nevertheless


class TestOffers:
    @pytest.mark.parametrize("loop", LOOPS)
    def test_a_server_that_refuses_http11_is_offered_http2(self, loop, tls):
        """The alert no_application_protocol is followed by a second handshake, and the page comes
        by HTTP/2.
        """
        (got,), door, _ = fetched(Http2Pages(page), tls, loop=loop)

        assert door.hellos == [False, True]
        assert (got.status, got.body, got.protocol, got.tls[:7]) == (200, b"<p>/", "h2", "TLSv1.3")
        assert got.head == b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nx-asked: tests/1\r\n\r\n"
        assert got.request.startswith(b"GET / HTTP/1.1\r\nHost: site.test:")
        assert (got.wire, got.payload, got.truncated) == (b"<p>/", b"<p>/", "")
        assert got.timings.tls > 0
        assert got.timings.first_byte > 0

    @pytest.mark.parametrize("shut", [b"", alert(0, level=1), alert(40), alert(80)])
    @pytest.mark.parametrize("loop", LOOPS)
    def test_a_server_that_ends_the_handshake_is_offered_http2(self, loop, shut, tls):
        """So is one that hangs up in it, or that sends close_notify, handshake_failure or
        internal_error.
        """
        (got,), door, _ = fetched(Http2Pages(page), tls, shut=(shut,), loop=loop)

        assert (door.hellos, got.protocol) == ([False, True], "h2")

    @pytest.mark.parametrize("shut", [b"", alert(40), alert(80), alert(120)])
    def test_a_server_that_never_lets_in_has_one_second_handshake(self, shut):
        """One that fails both gets no other within the hour, whatever it says."""
        hellos = []

        async def handler(reader, writer):
            hellos.append(await reader.read(10))
            writer.write(shut)
            await writer.drain()

        async def go():
            async with serving(handler) as port, client(NAMES, http2=Http2Offers(NEEDED)) as http:
                for _ in range(3):
                    with pytest.raises((TlsFailed, Http2Only)):
                        await http.fetch(f"https://site.test:{port}/")

        run(go())
        assert len(hellos) == 4

    @pytest.mark.parametrize(
        "answer", [*map(alert, (42, 48, 70, 112, 116)), b"HTTP/1.1 400 Bad Request\r\n\r\n"]
    )
    def test_other_failures_of_tls_are_no_reason(self, answer):
        """A server that wants another certificate, version or name, or sends rubbish, gets no
        second handshake.
        """
        hellos = []

        async def handler(reader, writer):
            hellos.append(await reader.read(10))
            writer.write(answer)
            await writer.drain()

        async def go():
            async with serving(handler) as port, client(NAMES, http2=Http2Offers(NEEDED)) as http:
                await http.fetch(f"https://site.test:{port}/")

        with pytest.raises(TlsFailed):
            run(go())
        assert len(hellos) == 1

    @pytest.mark.parametrize("loop", LOOPS)
    def test_a_server_that_answers_with_frames_is_offered_http2(self, loop, tls):
        """So is one that lets HTTP/1.1 in and then sends frames, and the request is sent again."""
        pages = Http2Pages(page)

        async def handler(reader, writer):
            if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
                await pages(reader, writer)
            else:
                writer.write(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64")
                await reader.read()

        (got, again), door, _ = fetched(handler, tls, "/", "/2", shut=OPEN, loop=loop)

        assert (door.hellos, got.protocol, again.body) == ([False, True], "h2", b"<p>/2")

    def test_a_server_that_closes_on_a_request_is_offered_http2(self, tls):
        """So is one that ends the connection instead of answering, if it has chosen no protocol."""
        pages = Http2Pages(page)

        async def handler(reader, writer):
            if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
                await pages(reader, writer)
            else:
                await reader.read(10)

        (got,), door, _ = fetched(handler, tls, shut=OPEN)

        assert (door.hellos, got.protocol) == ([False, True], "h2")

    def test_a_server_that_closes_is_not_requested_twice(self, tmp_path):
        """One that does not choose HTTP/2 gets no second request, and no second handshake the next
        time.
        """
        requested = []

        async def handler(reader, writer):
            requested.append(await reader.readuntil(b"\r\n\r\n"))

        async def go():
            async with (
                serving(handler, tls=context(tmp_path, "site.test", protocols=())) as port,
                client(NAMES, http2=Http2Offers(NEEDED)) as http,
            ):
                for _ in range(2):
                    with pytest.raises(EmptyAnswer):
                        await http.fetch(f"https://site.test:{port}/")
                return http.counters.opened

        assert run(go()) == 3
        assert len(requested) == 2

    def test_a_post_is_not_sent_again(self, tls):
        """A request that may do something is not repeated."""

        async def handler(reader, writer):
            await reader.read(10)

        with pytest.raises(EmptyAnswer):
            fetched(handler, tls, shut=OPEN, fetch={"method": "POST", "body": b"x"})

    def test_the_second_time_http2_is_offered_at_once(self, tls):
        """What a server speaks is remembered."""
        got, door, _ = fetched(Http2Pages(page), tls, "/", "/b", fetch={"keep": 0.0})

        assert door.hellos == [False, True, True]
        assert [one.protocol for one in got] == ["h2", "h2"]
        assert b"Connection" not in got[0].request

    def test_without_time_for_a_second_handshake_it_is_the_next_first(self, tls):
        """A server that is slow to end the first one is offered HTTP/2 at once the next time, and
        remembered.
        """
        hellos, told = [], []
        offers = Http2Offers(NEEDED)
        offers.recorded = lambda host, *, learned=False, **_: (
            learned and (told.append(host) or True)
        )

        async def go():
            async with behind_door(Http2Pages(page), tls) as (_, inner):

                async def slow(reader, writer):
                    hello = await reader.read(5000)
                    hellos.append(b"\x02h2" in hello)
                    if len(hellos) == 3:
                        await tunnel(reader, writer, inner, hello)
                    else:
                        await asyncio.sleep(0.4 if len(hellos) == 1 else 60)

                async with serving(slow) as port, client(NAMES, http2=offers, timeout=0.8) as http:
                    with pytest.raises(TlsFailed):
                        await http.fetch(f"https://site.test:{port}/")
                    assert told == []
                    http.use(FetchLimits(timeout=30.0))
                    return (await http.fetch(f"https://site.test:{port}/")).protocol

        assert run(go()) == "h2"
        assert hellos == [False, True, True]
        assert told == ["site.test"]

    def test_the_hosts_record_is_told_and_asked(self, tls):
        """The host's record hears of it, and the next run offers HTTP/2 at once."""
        offers, told = Http2Offers(NEEDED), []
        offers.recorded = lambda host, *, learned=False, **_: (
            (learned and told.append(host)) or bool(told)
        )
        fetched(Http2Pages(page), tls, offers=offers)
        later = Http2Offers(NEEDED)
        later.recorded = offers.recorded
        _, door, _ = fetched(Http2Pages(page), tls, offers=later)

        assert told == ["site.test"]
        assert door.hellos == [True]

    def test_a_server_that_speaks_http11_again(self, tmp_path):
        """A server whose record says HTTP/2 may choose HTTP/1.1."""
        offers = Http2Offers(NEEDED)
        offers.recorded = lambda *_, **__: True

        async def handler(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            await reader.read()

        (got,), door, _ = fetched(
            handler, context(tmp_path, "site.test", protocols=["http/1.1"]), offers=offers
        )

        assert (got.body, got.protocol, door.hellos) == (b"ok", "", [True])

    @pytest.mark.parametrize(("way", "protocol"), [(NEEDED, ""), (PREFER, "h2")])
    def test_a_server_that_speaks_both(self, way, protocol, tmp_path):
        """Only who prefers HTTP/2 speaks it with a server that can do without."""
        tls = context(tmp_path, "site.test", protocols=["h2", "http/1.1"])
        (got,), door, _ = fetched(by_alpn(Http2Pages(page)), tls, way=way, shut=OPEN)

        assert (got.protocol, len(door.hellos)) == (protocol, 1)

    def test_a_server_that_has_chosen_http11_keeps_it(self, tmp_path):
        """A handshake that ends without a word, as on a machine that has too much to do, changes no
        protocol.
        """
        tls = context(tmp_path, "site.test", protocols=["h2", "http/1.1"])

        async def go():
            async with (
                behind_door(by_alpn(Http2Pages(page)), tls, None) as (door, port),
                client(NAMES, http2=Http2Offers(NEEDED)) as http,
            ):
                await http.fetch(f"https://site.test:{port}/")
                door.shut = b""
                with pytest.raises(TlsFailed):
                    await http.fetch(f"https://site.test:{port}/")
                return door.hellos

        assert run(go()) == [False, False]

    def test_a_server_that_chooses_http11_and_speaks_http2(self, tmp_path):
        """A front that takes what is offered, before a server of HTTP/2 alone, is offered HTTP/2 as
        well.
        """
        tls = context(tmp_path, "site.test", protocols=["h2", "http/1.1"])
        settings = b"\0\0\0\4\0\0\0\0\0"

        (got,), door, _ = fetched(by_alpn(Http2Pages(page), settings), tls, shut=OPEN)

        assert (got.protocol, door.hellos) == ("h2", [False, True])

    def test_a_page_of_frames_is_a_page(self, tmp_path, caplog):
        """A host whose pages come by HTTP/1.1 is offered HTTP/2 after one in frames with its next
        request.

        Nobody says of it that it speaks only HTTP/2, and that its URLs fail.
        """
        offers = Http2Offers(NEEDED)
        offers.recorded = lambda _, *, learned=False, by_page=False: learned and not by_page
        tls = context(tmp_path, "site.test", protocols=["h2", "http/1.1"])
        answers = iter((OK, b"\0\0\0\4\0\0\0\0\0", OK))

        async def handler(reader, writer):
            await by_alpn(Http2Pages(page), next(answers, OK))(reader, writer)

        async def go():
            async with (
                behind_door(handler, tls, None) as (door, port),
                client(NAMES, http2=offers) as http,
            ):
                first = await http.fetch(f"https://site.test:{port}/1")
                with pytest.raises(Http2Only):
                    await http.fetch(f"https://site.test:{port}/2")
                again = await http.fetch(f"https://site.test:{port}/2")
                return first.protocol, again.protocol, door.hellos

        assert run(go()) == ("", "h2", [False, False, True])
        assert "HTTP/2" not in caplog.text

    def test_a_server_that_wants_http11_for_a_page(self, tmp_path):
        """HTTP_1_1_REQUIRED is an answer that did not come; the next try is by HTTP/1.1."""
        handler = by_alpn(frames(reset(13), hang=True))

        async def go():
            tls = context(tmp_path, "site.test", protocols=["h2", "http/1.1"])
            async with (
                serving(handler, tls=tls) as port,
                client(NAMES, http2=Http2Offers(PREFER)) as http,
            ):
                with pytest.raises(EmptyAnswer):
                    await http.fetch(f"https://site.test:{port}/")
                return await http.fetch(f"https://site.test:{port}/")

        assert run(go()).body == b"ok"

    @pytest.mark.parametrize("way", [NEEDED, PREFER])
    def test_a_server_without_http11_that_wants_it_for_a_page(self, way, tls):
        """HTTP_1_1_REQUIRED of a server that speaks only HTTP/2 costs that URL, and not its host."""
        answers = iter((frames(reset(13), hang=True), Http2Pages(page)))

        async def handler(reader, writer):
            await next(answers)(reader, writer)

        async def go():
            async with (
                behind_door(handler, tls) as (_, port),
                client(NAMES, http2=Http2Offers(way)) as http,
            ):
                with pytest.raises(EmptyAnswer):
                    await http.fetch(f"https://site.test:{port}/")
                return await http.fetch(f"https://site.test:{port}/2")

        assert run(go()).body == b"<p>/2"

    def test_the_next_page_of_a_server_that_answers_in_frames_all_the_same(self, tls):
        """HTTP_1_1_REQUIRED costs no other URL, also where the handshake for HTTP/1.1 is let
        through.
        """
        offers = Http2Offers(PREFER)
        offers.recorded = lambda _, *, learned=False, by_page=False: learned and not by_page
        answers = chain((frames(reset(13), hang=True),), repeat(Http2Pages(page)))

        async def handler(reader, writer):
            await next(answers)(reader, writer)

        async def go():
            async with (
                behind_door(handler, tls, None) as (_, port),
                client(NAMES, http2=offers) as http,
            ):
                with pytest.raises(EmptyAnswer):
                    await http.fetch(f"https://site.test:{port}/")
                return [(await http.fetch(f"https://site.test:{port}/{n}")).body for n in "23"]

        assert run(go()) == [b"<p>/2", b"<p>/3"]

    @pytest.mark.parametrize("way", [PREFER, "off"])
    def test_the_setting_is_named_where_it_would_help(self, way, tmp_path):
        """Frames that no handshake has chosen are not read, whatever the setting."""
        offers, url, tls = (
            Http2Offers(way),
            "https://site.test:{}/",
            context(tmp_path, "site.test", protocols=()),
        )

        async def go():
            async with (
                serving(Http2Pages(page), tls=tls) as port,
                client(NAMES, http2=offers) as http,
            ):
                with pytest.raises(Http2Only) as error:
                    await http.fetch(url.format(port))
                return in_words(error.value, url.format(port))

        assert ("-s HTTP2=needed" in run(go())) == (way == "off")

    def test_who_does_not_speak_it_says_so(self, tls, caplog):
        """Without HTTP/2 the URL ends with an error of its own, and a line says why, once."""
        with pytest.raises(Http2Only) as error:
            fetched(Http2Pages(page), tls, way="off")

        assert (error.value.name, int(error.value.status), error.value.permanent) == (
            "http2_only",
            -7,
            True,
        )
        assert "site.test speaks only HTTP/2" in caplog.text
        assert "HTTP2 = off" in caplog.text

    def test_without_the_library_the_line_says_what_to_install(self, tls, caplog, monkeypatch):
        """A missing library is named, with the line that installs it."""
        monkeypatch.setattr("webcrawl.net.failure_words.find_spec", lambda _: None)
        with pytest.raises(Http2Only):
            fetched(Http2Pages(page), tls)

        assert "h2 is not installed: pip install 'h2>=4.3,<5'" in caplog.text


class TestRequests:
    def test_requests_share_a_connection(self, tls):
        """One stream after the other, as long as the connection is kept."""
        pages = Http2Pages(page)
        got, _, http = fetched(pages, tls, *(f"/{n}" for n in range(20)))

        assert [one.body for one in got] == [f"<p>/{n}".encode() for n in range(20)]
        assert (pages.connections, http.counters.reused) == (1, 19)

    @pytest.mark.parametrize("size", [0, 1, 16_384, 400_000, 1_500_000])
    def test_bodies_beyond_the_window(self, size, tls):
        """A body of any size comes whole: the window opens again as it is read."""
        (got, again), _, _ = fetched(Http2Pages(lambda *_: (200, [], b"x" * size)), tls, "/", "/2")

        assert (len(got.body), got.truncated, len(again.body)) == (size, "", size)

    def test_a_longer_body_is_truncated(self, tls):
        """What is beyond DOWNLOAD_TRUNCATE is not read."""
        (got,), _, _ = fetched(
            Http2Pages(lambda *_: (200, [], b"x" * 500_000)), tls, truncate=100_000
        )

        assert (len(got.body), got.truncated) == (100_000, "length")

    @pytest.mark.parametrize("size", [5, 200_000])
    def test_bodies_of_requests(self, size, tls):
        """The body of a request waits for the server's window."""
        pages = Http2Pages(page)
        (got,), _, _ = fetched(pages, tls, fetch={"method": "POST", "body": b"y" * size})

        assert [(len(body), fields[":method"]) for _, _, fields, body in pages.requested] == [
            (size, "POST")
        ]
        assert got.request.endswith(b"\r\n\r\n" + b"y" * size)

    def test_head(self, tls):
        """The answer to HEAD has a length and no body."""
        pages = Http2Pages(lambda *_: (200, [("content-length", "5")], b""))
        (got, again), _, http = fetched(pages, tls, "/", "/", fetch={"method": "HEAD"})

        assert (got.body, got.truncated, got.header(b"content-length")) == (b"", "", b"5")
        assert (again.status, http.counters.reused) == (200, 1)

    def test_content_codings(self, tls):
        """Bodies are decoded as ever."""
        coded = gzip.compress(b"<p>text")
        (got,), _, _ = fetched(
            Http2Pages(lambda *_: (200, [("content-encoding", "gzip")], coded)), tls
        )

        assert (got.payload, got.body) == (coded, b"<p>text")

    def test_a_server_that_goes_away_after_some_requests(self, tls):
        """GOAWAY ends the connection after the answer, and the next request opens another one."""
        pages = Http2Pages(page, last=2)
        got, _, http = fetched(pages, tls, *(f"/{n}" for n in range(5)))

        assert [one.status for one in got] == [200] * 5
        assert (pages.connections, http.counters.stale) == (3, 0)

    def test_signatures_and_cookies_are_sent(self, tls):
        """Fields of a request are the same as in HTTP/1.1, in small letters."""
        pages = Http2Pages(page)
        fetched(pages, tls, fetch={"headers": [(b"Cookie", b"a=1"), (b"If-None-Match", b'"x"')]})

        fields = pages.requested[0][2]
        assert (fields["cookie"], fields["if-none-match"], fields[":scheme"]) == (
            "a=1",
            '"x"',
            "https",
        )
        assert "connection" not in fields

    def test_a_limit_of_bandwidth(self, tls):
        """An answer that is held back comes whole, and the wait is not the server's."""

        async def go():
            async with serving(Http2Pages(lambda *_: (200, [], b"x" * 400_000)), tls=tls) as port:
                slow = {"timeout": 0.5, "grace": 0.2, "rate": 100_000}
                slow["bandwidth"] = limited(400_000)
                async with client(NAMES, http2=Http2Offers(PREFER), **slow) as http:
                    return await http.fetch(f"https://site.test:{port}/")

        got = run(go(), "uvloop")
        assert (len(got.body), got.truncated) == (400_000, "")
        assert got.timings.total < 0.5

    @pytest.mark.parametrize("fields", [[], [("content-length", "100000")]], ids=["end", "length"])
    @pytest.mark.parametrize("loop", LOOPS)
    def test_an_answer_that_ends_with_what_was_too_much(self, tls, loop, fields):
        """The next answer on the connection is read, although this one was held back when its last
        frames came.
        """

        async def go():
            async with (
                serving(Http2Pages(lambda *_: (200, fields, b"x" * 100_000)), tls=tls) as port,
                client(
                    NAMES, http2=Http2Offers(PREFER), timeout=2.0, bandwidth=limited(100_000)
                ) as http,
            ):
                got = [
                    await http.fetch(f"https://site.test:{port}/{at}", keep=9.0) for at in range(3)
                ]
                return [len(one.body) for one in got], http.counters.reused

        assert run(go(), loop) == ([100_000] * 3, 2)

    @pytest.mark.parametrize("shut", [NO_PROTOCOL, None])
    def test_through_a_proxy(self, tls, shut):
        """The second handshake has a tunnel of its own."""
        proxy = Proxy()

        async def go():
            async with (
                behind_door(Http2Pages(page), tls, shut) as (door, port),
                serving(proxy) as at,
                client(NAMES, http2=Http2Offers(NEEDED if shut else PREFER)) as http,
            ):
                options = Options(proxy=ProxyAddress("127.0.0.1", at))
                got = await http.fetch(f"https://site.test:{port}/", options=options)
                return got, door.hellos

        got, hellos = run(go())
        assert (got.body, got.protocol, got.ip) == (b"<p>/", "h2", "")
        assert (len(proxy.lines), hellos) == ((2, [False, True]) if shut else (1, [True]))


def ending(*pieces, tls, timeout=10.0, **options):
    """How a fetch ends that is answered so: an error's name, or status, truncation and flaws; and
    the body.
    """
    fetch = {"keep": 5.0, **options.pop("fetch", {})}
    offers = Http2Offers(PREFER)

    async def go():
        async with (
            serving(frames(*pieces, **options), tls=tls) as port,
            client(NAMES, http2=offers, timeout=timeout, truncate=100_000) as http,
        ):
            try:
                got = await http.fetch(f"https://site.test:{port}/", **fetch)
            except FetchError as error:
                return type(error), b""
            flaws = [one for one in got.flaws if not one.startswith("certificate")]
            return ", ".join([str(got.status), *filter(None, [got.truncated]), *flaws]), got.body

    return run(go(), "uvloop")


def plain(kind, flags=0, stream=0, body=b""):
    return len(body).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + body


LENGTH = (b"content-length", b"10")
CASES = {
    "whole": ([headers(LENGTH), data(b"0123456789", end=True)], {}, ("200", b"0123456789")),
    "no length": ([headers(), data(b"01234"), data(b"", end=True)], {}, ("200", b"01234")),
    "trailers": (
        [headers(), data(b"01234"), headers((b"x-sum", b"1"), end=True, status=b"")],
        {},
        ("200", b"01234"),
    ),
    "no end, whole by its length": (
        [headers(LENGTH), data(b"0123456789")],
        {"hang": True},
        ("200", b"0123456789"),
    ),
    "short": ([headers(LENGTH), data(b"01234", end=True)], {}, ("200, disconnect", b"01234")),
    "a length beyond all numbers": (
        [headers((b"content-length", b"%d" % 2**65)), data(b"0123456789", end=True)],
        {},
        ("200", b"0123456789"),
    ),
    "nothing of a length": ([headers(LENGTH, end=True)], {}, ("200, disconnect", b"")),
    "long": ([headers(LENGTH), data(b"0123456789abc", end=True)], {}, ("200", b"0123456789")),
    "padded and long": (
        [headers(LENGTH), plain(0, 9, 1, b"\2" + b"0123456789abc" + b"\0\0")],
        {},
        ("200", b"0123456789"),
    ),
    "beyond the bound": (
        [headers(), *[data(b"x" * 16_000)] * 20],
        {"hang": True},
        ("200, length", b"x" * 100_000),
    ),
    "closed in mid body": ([headers(), data(b"01234")], {}, ("200, disconnect", b"01234")),
    "closed without a head": ([], {}, (EmptyAnswer, b"")),
    "closed after an interim head": ([headers(status=b"103")], {}, (ConnectionLost, b"")),
    "reset": ([reset()], {"hang": True}, (EmptyAnswer, b"")),
    "reset in mid body": (
        [headers(), data(b"01234"), reset()],
        {"hang": True},
        ("200, disconnect", b"01234"),
    ),
    "reset after the end": (
        [headers(), data(b"01234", end=True), reset(0)],
        {"hang": True},
        ("200", b"01234"),
    ),
    "goes away before": ([away(0)], {"hang": True}, (EmptyAnswer, b"")),
    "goes away with the stream": (
        [away(1), headers(), data(b"01234", end=True)],
        {"hang": True},
        ("200", b"01234"),
    ),
    "goes away in mid body": (
        [headers(), data(b"01"), away(1), data(b"234", end=True)],
        {},
        ("200", b"01234"),
    ),
    "goes away in few bytes": ([plain(7, body=b"\0\0")], {"hang": True}, (BadHead, b"")),
    "interim": (
        [headers(status=b"103"), headers(), data(b"01234", end=True)],
        {},
        ("200", b"01234"),
    ),
    "interim without end": ([], {"endless": headers(status=b"103") * 50}, (TooManyInterim, b"")),
    "switching": ([headers(status=b"101")], {"hang": True}, (Upgraded, b"")),
    "no status": ([headers((b"x", b"y"), status=b"")], {"hang": True}, (BadHead, b"")),
    "no fields": ([plain(1, 4, 1)], {"hang": True}, (BadHead, b"")),
    "a status of letters": ([headers(status=b"ok")], {"hang": True}, (BadHead, b"")),
    "a request's pseudo header": ([headers((b":path", b"/"))], {"hang": True}, (BadHead, b"")),
    "a line in a value": ([headers((b"x", b"a\r\nb: c"))], {"hang": True}, (BadHead, b"")),
    "a capital": ([headers((b"X-Y", b"a"))], {"hang": True}, (BadHead, b"")),
    "blanks around a value": ([headers((b"x", b" a ")), data(b"01", end=True)], {}, ("200", b"01")),
    "fields of a connection": (
        [headers((b"transfer-encoding", b"chunked"), (b"upgrade", b"h2")), data(b"01", end=True)],
        {},
        ("200", b"01"),
    ),
    "lengths that contradict": (
        [headers(LENGTH, (b"content-length", b"3"))],
        {"hang": True},
        (BadHead, b""),
    ),
    "a length of letters": ([headers((b"content-length", b"ten"))], {"hang": True}, (BadHead, b"")),
    "data before a head": ([data(b"01234")], {"hang": True}, (BadHead, b"")),
    "a push": ([plain(5, 4, 1, b"\0\0\0\2" + b"\x82")], {"hang": True}, (BadHead, b"")),
    "a push in mid body": (
        [headers(), data(b"01"), plain(5, 4, 1, b"\0\0\0\2" + b"\x82")],
        {"hang": True},
        ("200, unspecified, framing", b"01"),
    ),
    "broken compression": ([plain(1, 4, 1, b"\xff" * 20)], {"hang": True}, (BadHead, b"")),
    "a head without end": (
        [headers(whole=False)],
        {"endless": plain(9, 0, 1, b"\0\1a\1b" * 3000)},
        (HeadTooLong, b""),
    ),
    "a head in small pieces": ([headers(whole=False)], {"endless": plain(9, 0, 1)}, (BadHead, b"")),
    "a large head": (
        [headers(*[(b"x%d" % n, b"y" * 300) for n in range(45)], end=True)],
        {},
        ("200", b""),
    ),
    "many fields": ([headers(*[(b"x", b"y")] * 300, end=True)], {"hang": True}, (HeadTooLong, b"")),
    "a bomb of compression": (
        [plain(1, 4, 1, b"\x88\x40\x01x" + b"\x7f\x81\x1e" + b"y" * 4000 + b"\xbe" * 9000)],
        {"hang": True},
        (HeadTooLong, b""),
    ),
    "a flood of pings": ([], {"endless": plain(6, body=b"12345678") * 100}, (HeadTooLong, b"")),
    "a flood of settings": ([], {"endless": plain(4) * 100}, (HeadTooLong, b"")),
    "a frame of many settings": (
        [plain(4, body=b"\x77\x77\0\0\0\1" * 2000)],
        {"hang": True},
        (HeadTooLong, b""),
    ),
    "a stream of its own": ([headers(stream=2)], {"hang": True}, (BadHead, b"")),
    "a flood in mid body": (
        [headers(), data(b"01234")],
        {"endless": plain(6, body=b"12345678") * 100},
        ("200, unspecified, framing", b"01234"),
    ),
    "a flood of empty data": (
        [headers()],
        {"endless": data(b"") * 100},
        ("200, unspecified, framing", b""),
    ),
    "unknown frames": (
        [plain(77, body=b"what"), headers(), data(b"01234", end=True)],
        {},
        ("200", b"01234"),
    ),
    "priorities": (
        [plain(2, 0, 1, b"\0\0\0\0\1"), headers(), data(b"01234", end=True)],
        {},
        ("200", b"01234"),
    ),
    "a frame of another stream": ([headers(stream=7)], {"hang": True}, (BadHead, b"")),
    "a large frame": ([plain(0, 0, 1, b"x" * 17_000)], {"hang": True}, (BadHead, b"")),
    "a truncated frame": ([headers(), data(b"01234")[:11]], {}, ("200, disconnect", b"")),
    "no frames": ([], {"first": b"HTTP/1.1 400 Bad Request\r\n\r\n", "hang": True}, (NotHttp, b"")),
    "no settings": ([headers()], {"first": b"", "hang": True}, (NotHttp, b"")),
    "no window for us": (
        [headers(), data(b"01", end=True)],
        {"first": plain(4, body=b"\0\4\0\0\0\0")},
        ("200", b"01"),
    ),
    "a wrong window": ([plain(8, body=b"\0\0\0\0")], {"hang": True}, (BadHead, b"")),
    "a window too large": ([plain(8, body=b"\x7f\xff\xff\xff")], {"hang": True}, (BadHead, b"")),
}


class TestHostile:
    @pytest.mark.parametrize("case", CASES)
    def test_how_it_ends(self, case, tls):
        """Each misdeed ends as its like in HTTP/1.1."""
        pieces, options, expected = CASES[case]

        assert ending(*pieces, tls=tls, **options) == expected

    def test_the_page_says_the_same(self):
        """tests/hostile/outcomes.md has the outcome of these cases."""
        told = {
            case: one[0] if isinstance(one[0], str) else one[0].name
            for case, (_, _, one) in CASES.items()
        }
        written = {case: outcome for case, _, outcome in rows("HTTP/2")}

        assert written.items() <= told.items()
        assert len(written) > 30

    def test_silence(self, tls):
        """Neither a head nor the rest of a body is waited for beyond the deadline."""
        assert ending(tls=tls, hang=True, timeout=0.3) == (TimedOut, b"")
        assert ending(headers(), data(b"01"), tls=tls, hang=True, timeout=0.3) == (
            "200, time",
            b"01",
        )

    def test_no_room_for_a_body(self, tls):
        """A server that never opens its window for the body of a request costs the deadline."""
        first = plain(4, body=b"\0\4\0\0\0\0")
        fetch = {"method": "POST", "body": b"x" * 100_000}

        assert ending(tls=tls, hang=True, first=first, timeout=0.3, fetch=fetch) == (TimedOut, b"")

    @pytest.mark.parametrize(
        "case", ["whole", "short", "long", "goes away with the stream", "interim", "trailers"]
    )
    def test_the_splits_do_not_matter(self, case):
        """An answer ends in the same way wherever the network splits it."""
        pieces, _, (_, body) = CASES[case]
        whole = b"".join([plain(4), *pieces])
        for split in range(1, len(whole)):
            session, answer, message = Http2Session(lambda _: None), AnswerParser(1000), None
            session.request(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", b"")
            for piece in (whole[:split], whole[split:]):
                message = message or session.feed(piece, answer)

            assert message is not None, split
            assert message.forms()[2] == body

    def test_between_requests(self, tls):
        """A kept connection answers pings, and is given up when the server goes away or says too
        much.
        """

        def ready():
            written = []
            session, answer = Http2Session(written.append), AnswerParser(1000)
            session.request(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", b"")
            message = session.feed(plain(4) + headers() + data(b"01", end=True), answer)
            assert session.reusable(message)
            written.clear()
            return session, written

        session, written = ready()
        assert session.between(plain(6, body=b"12345678"))
        assert written == [plain(6, 1, body=b"12345678")]
        assert not session.between(plain(6, body=b"12345678") * 2000)
        assert sum(map(len, written)) < 20_000
        assert not ready()[0].between(away())
        assert not ready()[0].between(b"what is this")

    def test_many_settings_end_a_connection(self, tls):
        """What a server sets is kept as long as its connection is: one that sets much has no other
        request on it.
        """
        many = b"".join((1000 + number).to_bytes(2) + b"\0\0\0\1" for number in range(100))

        async def go():
            handler = frames(
                headers(LENGTH), data(b"0123456789", end=True), first=plain(4, body=many), hang=True
            )
            async with (
                serving(handler, tls=tls) as port,
                client(NAMES, http2=Http2Offers(PREFER)) as http,
            ):
                return [
                    (await http.fetch(f"https://site.test:{port}/", keep=5.0)).body
                    for _ in range(2)
                ]

        assert run(go()) == [b"0123456789"] * 2

    def test_a_connection_has_its_last_stream(self, tls, monkeypatch):
        """A connection serves only so many requests: what h2 remembers of each is bounded."""
        monkeypatch.setattr("webcrawl.net.http2.LAST", 5)
        pages = Http2Pages(page)
        fetched(pages, tls, *(f"/{n}" for n in range(6)))

        assert pages.connections == 2


def test_it_is_not_loaded_where_it_is_not_needed():
    """A crawl of other servers does not load the library."""
    code = "import sys, webcrawl.net.network; sys.exit('h2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
