"""The proxy between a browser and the crawl: who is served, what is requested, what is refused.

The browser is raw.
"""

import asyncio
import ssl
from base64 import b64encode

import pytest

from webcrawl.net.browser_proxy import (
    METHOD,
    PROTOCOL,
    STRANGERS,
    UNSAID,
    BrowserAnswer,
    BrowserProxy,
    BrowserRequest,
    ProxyIdentity,
    SharedResources,
)

IDENTITY = ProxyIdentity.make()


class Browser:
    """One connection to a proxy, whose answers are what it asked."""

    def __init__(self, fetch=None):
        self.requested, self.refused, self.refused_to = [], [], []
        self.proxy = BrowserProxy(fetch or self.fetch, IDENTITY.context, self._refuse)

    def _refuse(self, kind, page):
        self.refused.append(kind)
        self.refused_to.append(page == self.page)

    async def fetch(self, page, ask, url):
        self.requested.append((page, ask.method, url, ask.onward()))
        return BrowserAnswer(
            200,
            [(b"Content-Type", b"text/plain"), (b"Connection", b"x"), (b"Content-Encoding", b"br")],
            b"hello",
        )

    async def __aenter__(self):
        await self.proxy.start()
        self.page = self.proxy.admit()
        host, port = self.proxy.address.removeprefix("http://").split(":")
        self.reader, self.writer = await asyncio.open_connection(host, int(port))
        return self

    async def __aexit__(self, *_):
        self.writer.close()
        await self.proxy.close()

    def key(self, page=None):
        return b64encode(f"page:{page or self.page}".encode()).decode()

    async def ask(self, line, *headers, page=None):
        """Sends a head; returns status line and body of the answer, or None if the connection ends."""
        lines = [line, *headers]
        if page != "nobody":
            lines.append(f"Proxy-Authorization: Basic {self.key(page)}")
        return await self.send("\r\n".join([*lines, "", ""]).encode())

    async def send(self, data):
        self.writer.write(data)
        try:
            self.head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        if data.startswith(b"HEAD"):
            return int(self.head.split()[1]), ""
        length = next(
            (
                int(line[16:])
                for line in self.head.split("\r\n")
                if line.startswith("Content-Length: ")
            ),
            0,
        )
        return int(self.head.split()[1]), (await self.reader.readexactly(length)).decode()

    async def tunnel(self, authority, page=None):
        """CONNECT, and the browser's side of TLS."""
        told = await self.ask(f"CONNECT {authority} HTTP/1.1", page=page)
        if told == (200, ""):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            await self.writer.start_tls(context, server_hostname=authority.partition(":")[0])
        return told


def run(work, **options):
    async def inside():
        async with asyncio.timeout(10):
            async with Browser(**options) as browser:
                return await work(browser), browser.requested

    return asyncio.run(inside())


def test_a_page_gets_what_it_asks():
    """A request with a page's password is asked of the crawl, by its absolute URL, and the
    connection is kept.
    """

    async def work(browser):
        first = await browser.ask(
            "GET http://a.test/x?y HTTP/1.1", "Host: other.test", "Accept: */*"
        )
        return first, await browser.ask("HEAD http://b.test/ HTTP/1.1"), browser.page

    (first, second, page), requested = run(work)

    assert first == (200, "hello")
    assert [one[:3] for one in requested] == [
        (page, "GET", "http://a.test/x?y"),
        (page, "HEAD", "http://b.test/"),
    ]
    assert second == (200, "")


def test_a_tunnel_is_opened_by_the_proxy_itself():
    """In a tunnel the proxy speaks TLS in the server's place, and each request is asked of the
    crawl as https.
    """

    async def work(browser):
        await browser.tunnel("a.test:443")
        first = await browser.send(b"GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        return first, await browser.send(b"GET /y HTTP/1.1\r\n\r\n")

    told, requested = run(work)

    assert told == ((200, "hello"), (200, "hello"))
    assert [url for _, _, url, _ in requested] == ["https://a.test/x", "https://a.test/y"]


def test_a_tunnel_keeps_an_unusual_port():
    """The port of a tunnel is part of the URL, so that the crawl's port rules apply to it."""

    async def work(browser):
        await browser.tunnel("a.test:25")
        return await browser.send(b"GET / HTTP/1.1\r\n\r\n")

    assert run(work)[1][0][2] == "https://a.test:25/"


@pytest.mark.parametrize("page", ["nobody", "wrong"])
@pytest.mark.parametrize(
    "line", ["GET http://a.test/ HTTP/1.1", "CONNECT a.test:443 HTTP/1.1", "GET / HTTP/1.1"]
)
def test_nobody_else_is_served(line, page):
    """Without the password of an open page, everything is answered 407: also what the browser does
    by itself.
    """

    async def work(browser):
        return await browser.ask(line, page=page), browser.head

    (told, head), requested = run(work)

    assert told == (407, "")
    assert "Proxy-Authenticate: Basic" in head
    assert requested == []


def test_a_page_that_is_closed_is_nobody():
    """With its page, a password and the connections opened with it end."""

    async def work(browser):
        await browser.ask("GET http://a.test/ HTTP/1.1")
        browser.proxy.dismiss(browser.page)
        return await browser.ask("GET http://a.test/ HTTP/1.1")

    told, requested = run(work)

    assert told is None or told[0] == 407
    assert len(requested) == 1


def test_what_a_page_waits_for_ends_with_it():
    """A request that waits for its host's turn is given up when its page is closed."""
    begun, ended = asyncio.Event(), []

    async def waits(*_):
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def work(browser):
        task = asyncio.create_task(browser.ask("GET http://a.test/ HTTP/1.1"))
        await begun.wait()
        browser.proxy.dismiss(browser.page)
        return await task

    assert run(work, fetch=waits)[0] is None
    assert ended == [True]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE"])
def test_only_safe_methods_pass(method):
    """A crawler reads pages; what their scripts would change or send stays undone."""

    async def work(browser):
        return await browser.ask(f"{method} http://a.test/ HTTP/1.1", "Content-Length: 0"), browser

    (told, browser), requested = run(work)

    assert told[0] == 405
    assert requested == []
    assert browser.refused == [METHOD]
    assert browser.refused_to == [True], "the page that asked is not told of"


def test_no_other_protocol_is_spoken():
    """A WebSocket is refused, in the open and in a tunnel."""

    async def work(browser):
        await browser.ask(
            "GET http://a.test/ HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade"
        )
        return browser

    async def tunnelled(browser):
        await browser.tunnel("a.test:443")
        await browser.send(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")
        return browser

    for one in (work, tunnelled):
        browser, requested = run(one)
        assert browser.head.startswith("HTTP/1.1 403 ")
        assert requested == []
        assert browser.refused == [PROTOCOL]


def test_a_tunnel_without_tls_ends():
    """Whatever is not TLS in a tunnel ends it: a WebSocket in the open asks for one."""

    async def work(browser):
        await browser.ask("CONNECT a.test:80 HTTP/1.1")
        return await browser.send(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"), browser.refused

    assert run(work) == ((None, [PROTOCOL]), [])


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"G\xff / HTTP/1.1\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_a_bad_head_ends_the_connection(data):
    """Heads are bounded and strict; nothing is answered to one that is not a request."""

    async def work(browser):
        return await browser.send(data)

    assert run(work) == (None, [])


def test_the_crawl_says_who_it_is():
    """The browser's own identity, its codings and copies stay here; cookies and the rest of its
    headers pass.
    """

    async def work(browser):
        return await browser.ask(
            "GET http://a.test/ HTTP/1.1",
            *(
                "User-Agent: Chrome",
                "Accept-Encoding: br",
                "If-None-Match: x",
                "Sec-CH-UA: x",
                "Connection: close",
            ),
            *("Accept: image/*", "Cookie: a=b", "Referer: http://a.test/"),
        )

    ((_, _, _, headers),) = run(work)[1]

    assert headers == [
        (b"Accept", b"image/*"),
        (b"Cookie", b"a=b"),
        (b"Referer", b"http://a.test/"),
    ]


def test_the_answer_has_its_own_framing():
    """The body is decoded and whole: the headers of the server's connection and coding are left
    out.
    """

    async def work(browser):
        await browser.ask("GET http://a.test/ HTTP/1.1")
        return browser.head

    assert run(work)[0] == "HTTP/1.1 200 \r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n"


def test_an_answer_cannot_break_its_head():
    """A header with a line end, from whatever server, is left out."""
    assert (
        BrowserAnswer(200, [(b"A", b"b\r\nC: d"), (b"E\n", b"f")]).encode()
        == b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"
    )


def test_every_crawl_has_its_own_key():
    """The key is made anew, so that no other browser trusts it."""
    assert ProxyIdentity.make().fingerprint != IDENTITY.fingerprint


def test_strangers_have_few_connections():
    """Whoever opens connections without a page's password has so many at once, and none of those
    that have one.
    """

    async def work(browser):
        await browser.ask("GET http://a.test/ HTTP/1.1")
        host, port = browser.proxy.address.removeprefix("http://").split(":")
        strangers = [await asyncio.open_connection(host, int(port)) for _ in range(STRANGERS + 20)]
        ended = [reader.read() for reader, _ in strangers[:20]]
        assert await asyncio.gather(*ended, return_exceptions=True)
        still = await browser.ask("GET http://a.test/2 HTTP/1.1")
        for _, writer in strangers:
            writer.close()
        return still

    told, _ = run(work)

    assert told == (200, "hello")


URL, NOW = "http://a.test/app.js", 1_000_000_000.0
SCRIPT = (b"Content-Type", b"text/javascript; charset=utf-8")


def ask(*headers, method="GET"):
    return BrowserRequest(method, URL, [*headers])


def kept(*headers, status=200, body=b"x", requested=None):
    shared = SharedResources(room=10_000)
    shared.keep(URL, requested or ask(), BrowserAnswer(status, [*headers], body), NOW)
    return shared


def test_an_answer_is_shared_as_long_as_it_says():
    """Cache-Control counts; from then on the answer is fetched again."""
    shared = kept(SCRIPT, (b"Cache-Control", b"public, max-age=60"))

    assert shared.find(URL, ask(), NOW + 59).body == b"x"
    assert shared.find(URL, ask(), NOW + 60) is None


@pytest.mark.parametrize("more", [[], [(b"Cache-Control", b"private")]])
@pytest.mark.parametrize("kind", [b"text/javascript", b"text/css", b"font/woff2", b"image/png"])
def test_parts_of_a_design_that_say_no_time_are_shared_for_a_day(kind, more):
    """RFC 9111 4.2.2: how long they hold is for the cache to say."""
    shared = kept((b"Content-Type", kind), *more)

    assert shared.find(URL, ask(), NOW + UNSAID - 1)
    assert shared.find(URL, ask(), NOW + UNSAID) is None


@pytest.mark.parametrize(
    "headers",
    [
        [(b"Content-Type", b"application/json")],
        [(b"Content-Type", b"text/html")],
        [],
        *(
            [SCRIPT, (b"Cache-Control", value)]
            for value in (b"no-store", b"no-cache", b"max-age=0")
        ),
        [SCRIPT, (b"Expires", b"0")],
        [SCRIPT, (b"Pragma", b"no-cache")],
        [SCRIPT, (b"Vary", b"Accept, *")],
    ],
)
def test_other_answers_are_not_shared(headers):
    """Neither data that says nothing, nor what its server wants to be requested each time."""
    assert kept(*headers).find(URL, ask(), NOW) is None


def test_errors_and_parts_are_not_shared():
    """Only a GET's whole answer of status 200, without a password."""
    assert kept(SCRIPT, status=404).find(URL, ask(), NOW) is None
    for requested in (
        ask(method="HEAD"),
        ask((b"Range", b"bytes=0-1")),
        ask((b"Authorization", b"Basic eA==")),
    ):
        assert kept(SCRIPT, requested=requested).find(URL, ask(), NOW) is None
        assert kept(SCRIPT).find(URL, requested, NOW) is None


def test_vary_is_obeyed():
    """A request that differs in a header that the answer depends on is another one."""
    french = (b"Accept-Language", b"fr")
    shared = kept(SCRIPT, (b"Vary", b"Accept-Encoding, accept-language"), requested=ask(french))

    assert shared.find(URL, ask(french), NOW)
    assert shared.find(URL, ask(), NOW) is None


def test_room_is_bounded():
    """The answer that was wanted longest ago goes first; one that is larger than the room is not
    kept.
    """
    shared = SharedResources(room=100_000)
    for name, size in (("a", 40_000), ("b", 40_000), ("c", 100_001)):
        shared.keep(name, ask(), BrowserAnswer(200, [SCRIPT], b"x" * size), NOW)
    assert shared.find("a", ask(), NOW)

    shared.keep("d", ask(), BrowserAnswer(200, [SCRIPT], b"x" * 40_000), NOW)

    assert [name for name in "abcd" if shared.find(name, ask(), NOW)] == ["a", "d"]


def test_an_answer_takes_the_place_of_an_earlier_one():
    """Its room is counted once."""
    shared = SharedResources(room=100_000)
    for body in (b"x" * 60_000, b"y" * 60_000):
        shared.keep(URL, ask(), BrowserAnswer(200, [SCRIPT], body), NOW)

    assert shared.find(URL, ask(), NOW).body == b"y" * 60_000


def test_answers_without_a_body_take_room():
    """There are no more of them than it has room for their heads."""
    shared = SharedResources(room=100_000)
    for number in range(100):
        shared.keep(
            f"{URL}{number}", ask(), BrowserAnswer(200, [SCRIPT, (b"X-Long", b"x" * 20_000)]), NOW
        )

    assert [number for number in range(100) if shared.find(f"{URL}{number}", ask(), NOW)] == [
        96,
        97,
        98,
        99,
    ]
