"""Targets: FTP and Gopher servers' bytes, through the clients with fake streams; the HTTP client
through a socket.
"""

import asyncio
import json
from collections.abc import Coroutine, Iterator
from functools import cache
from typing import Any

from tests.fuzzing.answers import read
from tests.fuzzing.target import Target, chance, folder, pieces
from tests.support.net_answers import WHOLE
from tests.support.net_http import Gate, Names, replay, serving
from webcrawl.base.model import Exchange
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.crawl.page_links import ftp_links, menu_links
from webcrawl.net.errors import FetchError
from webcrawl.net.ftp import FtpClient
from webcrawl.net.ftp_listing import LISTING
from webcrawl.net.ftp_session import ReplyReader, http_date
from webcrawl.net.gopher import GopherClient, item_url, items, parse_gopher, plain
from webcrawl.net.http import HttpClient
from webcrawl.net.http2 import Http2Session
from webcrawl.net.http_answer import AnswerParser
from webcrawl.net.protocols import Access, FetchLimits
from webcrawl.urls.canonical import InvalidUrl, canonical

TRUNCATE = 2000
BOUNDS = FetchLimits(TRUNCATE)
FTP_URLS = [
    "ftp://h.test/",
    "ftp://h.test/a/b/",
    "ftp://h.test/a/b.txt",
    "ftp://h.test/x;type=a",
    "ftp://h.test/%20/;type=d",
]
GOPHER_URLS = [
    "gopher://h.test/",
    "gopher://h.test/0a",
    "gopher://h.test/9b.gz",
    "gopher://h.test/7s%09q",
    "gopher://h.test/h/x",
]


class Heard:
    """A stream that delivers exactly these pieces."""

    ip, reset, first_byte = "127.0.0.1", False, 1.0

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = iter(parts)
        self.said: list[bytes] = []

    async def read(self) -> bytes:
        return next(self.parts, b"")

    def write(self, data: bytes) -> None:
        self.said.append(data)

    def abort(self) -> None: ...
    def close(self) -> None: ...


class Reached:
    """Opens one such stream after the other."""

    def __init__(self, streams: list[Heard]) -> None:
        self.streams, self.made = iter(streams), list(streams)

    async def open(self, *_: object) -> Heard:
        return next(self.streams)

    async def open_data(self, _: str, port: int) -> Heard:
        assert 0 < port < 65536
        return next(self.streams, Heard([]))


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """One loop for all inputs: making a loop costs more than a session."""
    return _runner().run(coroutine)


def fetched(client: Any, url: str) -> Exchange | None:
    try:
        exchange = run(client.fetch(url))
    except FetchError:
        return None
    assert max(len(exchange.payload), len(exchange.body)) <= TRUNCATE
    assert 200 <= exchange.status < 600
    return exchange


def ftp(data: bytes) -> None:
    """An answer or one of our errors; only whole commands are sent.

    In the input a NUL begins the next connection.
    """
    random = chance(data)
    streams = [Heard(pieces(part, random) if part else []) for part in data.split(b"\0", 3)]
    client = FtpClient(Access(Names(), Gate()), BOUNDS, user_agent="fuzz/1")
    client._reach = Reached(streams)
    exchange = fetched(client, random.choice(FTP_URLS))
    for said in streams[0].said:
        assert said.endswith(b"\r\n")
        assert not set(b"\r\n\0") & set(said[:-2])
    if exchange is not None and exchange.content_type.startswith(LISTING):
        found_in(ftp_links(exchange.body, exchange.content_type, exchange.url), exchange.url)


def replies(data: bytes) -> None:
    """The same replies however they arrive, each with a code, and the same end."""
    assert _replies([data]) == _replies(pieces(data, chance(data)))
    http_date(data.decode("latin-1"))


def _replies(parts: list[bytes]) -> list[object]:
    reader, found = ReplyReader(), []
    try:
        for part in parts:
            reader.feed(part)
            while (reply := reader.next_reply()) is not None:
                assert 100 <= reply.code < 600
                assert "\n" not in reply.text
                found.append(reply)
    except FetchError as error:
        found.append(type(error))
    return found


def listing(data: bytes) -> None:
    """Everything found in a listing lies in its folder."""
    for kind in ("mlsd", "list"):
        found_in(
            ftp_links(data, f"{LISTING}; format={kind}", "ftp://h.test/a/b;type=d"),
            "ftp://h.test/a/b/",
        )


def found_in(found: DocumentLinks, place: str) -> None:
    for _, link, text, _ in found.links:
        text.encode()
        assert canonical(link, found.base, 10**6).startswith(place.partition(";")[0])


def gopher(data: bytes) -> None:
    """An answer or one of our errors."""
    random = chance(data)
    stream = Heard(pieces(data, random) if data else [])
    client = GopherClient(Access(Names(), Gate()), BOUNDS, patience=0.0)
    client._reach = Reached([stream])
    fetched(client, random.choice(GOPHER_URLS))
    assert len(stream.said) == 1
    assert not set(b"\r\n\0") & set(stream.said[0][:-2])


def menu(data: bytes) -> None:
    """A menu's link fits a request line or is refused."""
    assert len(plain(data)) <= len(data)
    for item in items(data):
        url = item_url(item)
        if url.startswith("gopher://"):
            try:
                target = parse_gopher(canonical(url, max_length=10**6))
            except (InvalidUrl, FetchError):
                continue
            assert target.line.count(b"\n") == 1
            assert (
                (target.kind, target.selector) == (item.kind, item.selector)
                or b"\t" in item.selector
                or b"#" in url.encode()
            )
    for _, link, text, _ in menu_links(data, "", "gopher://h.test/1/").links:
        (link + text).encode()


def client(data: bytes) -> None:
    """The client over a real socket returns what the reader returns, and has closed the socket
    afterwards.
    """
    expected = read([data], TRUNCATE, bodiless=False, reset=False)
    got = run(_asked(data))
    if isinstance(expected, FetchError):
        assert type(got) is type(expected), (got, expected)
    else:
        assert isinstance(got, Exchange), got
        wire, payload, body = expected.forms()
        assert (got.status, got.headers, got.head) == (
            expected.head.status,
            expected.head.headers,
            expected.head.raw,
        )
        assert got.truncated or got.payload == payload, wire
        assert got.truncated or got.flaws or got.body == body


def http2(data: bytes) -> None:
    """A message or a named error, the same however the bytes are split; no more is written than
    frames ask for.
    """
    assert _spoken([data]) == _spoken(pieces(data, chance(data)) if data else [])


def _spoken(parts: list[bytes]) -> tuple[Any, ...]:
    written: list[bytes] = []
    session, answer = Http2Session(written.append), AnswerParser(TRUNCATE)
    session.request(b"GET / HTTP/1.1\r\nHost: h.test\r\n\r\n", b"")
    message, at = None, 0
    try:
        while message is None and at < len(parts):
            message, at = session.feed(parts[at], answer), at + 1
        message = message or answer.lost(reset=True)
    except FetchError as error:
        return (type(error),)
    finally:
        for part in parts[at:]:
            session.between(part)
        assert sum(map(len, written)) <= 100 + 3 * sum(map(len, parts))
    wire, payload, body = message.forms()
    assert max(len(payload), len(body)) <= TRUNCATE + len(wire)
    return message.head.status, message.head.raw, message.truncated, message.flaws, body[:TRUNCATE]


async def _asked(data: bytes) -> Exchange | FetchError:
    parts = pieces(data, chance(data)) if data else []
    async with serving(replay(b"".join(parts[:1]), b"".join(parts[1:]))) as port:
        http = HttpClient(Access(Names(), Gate()), BOUNDS, user_agent="fuzz/1")
        try:
            return await http.fetch(f"http://127.0.0.1:{port}/")
        except FetchError as error:
            return error
        finally:
            await http.close()


def _listings() -> Iterator[bytes]:
    place = folder("ftp-gopher")
    if place is not None:
        for row in (place / "ftp-listings.jsonl").read_text(encoding="utf-8").splitlines():
            yield json.loads(row)["listing"].encode()


def _menus() -> Iterator[bytes]:
    place = folder("ftp-gopher")
    if place is not None:
        yield from (path.read_bytes() for path in sorted((place / "gopher").glob("*.menu")))


TALK = (
    b"220-hello\r\n220 ready\r\n331 password\r\n230 in\r\n250 ok\r\n250 ok\r\n200 type\r\n213 5\r\n"
    b"213 20240102030405\r\n229 (|||2000|)\r\n150 here\r\n226 done\r\n\x00hello\x00"
)
LIST = (
    b"drwxr-xr-x 2 o g 4096 Jan 02 2024 folder\r\n-rw-r--r-- 1 o g 1,234 Feb 29 12:30 file name\r\n"
    b"lrwxrwxrwx 1 o g 4 2024-01-02 03:04 link -> x\r\n01-02-24  03:04PM <DIR> dos\r\n"
    b"01-02-2024 03:04 99 a.txt\r\ntype=dir;modify=20240102030405; sub\r\nsize=5; f\r\n"
)
MENU = (
    b"iinfo\t\tnull\t1\r\n1menu\t/m\th.test\t70\r\n0text\tt?%\th.test\t70\t+\r\n"
    b"hweb\tURL:http://x.test/\th.test\t70\r\n3no\t\te\t1\r\n.\r\n"
)
SPOKEN = [
    b"220 ", b"220-", b"331 \r\n", b"230 \r\n", b"421 bye\r\n", b"530 no\r\n", b"550 no\r\n", b"500 no\r\n",
    b"150 \r\n", b"226 \r\n", b"213 99\r\n", b"213 ",
    b"229 (|||1|)\r\n", b"227 (127,0,0,1,9,9)\r\n", b"227 =1,2,3,4,0,0\r\n", b"250 \r\n", b"200 \r\n", b"\r\n", b"\0",
    b"120 \r\n", b"99 ", b"20240229000000",
]  # fmt: skip
LINES = [
    b"drwxr-xr-x ", b"-rw-r--r-- ", b"lrwxrwxrwx ", b" -> ", b"Jan 01 2024 ", b"01-01-24 01:01AM ", b"<DIR> ",
    b"total 5\r\n", b"type=", b"dir;", b"file;",
    b"modify=20240101000000;", b"../x", b"..", b".", b"%2e%2e", b";type=d", b"\\", b"?", b"#", b"//", b"http://",
    b"\r\n", b" 1 ", b"\xa0", b"\xe9",
]  # fmt: skip
ITEMS = [
    b"1", b"0", b"h", b"URL:", b"/URL:javascript:", b"\t", b"\th.test\t70\r\n", b"\t[::1]\t70\n", b"\t127.1\t0\n",
    b"\r\n.\r\n", b".", b"..", b"3", b"i", b"+", b"%0d%0a",
    b"?", b"#", b"%", b"\x80",
]  # fmt: skip

FRAMES = [  # heads of frames, and heads in small letters
    *(
        b"\0\0\0" + bytes([kind, flags]) + b"\0\0\0\1"
        for kind in range(10)
        for flags in (0, 1, 4, 5, 8)
    ),
    *(b"\0\0\0\4\0\0\0\0\0", b"\0\0\5\0\1\0\0\0\1hello", b"\0\0\4\3\0\0\0\0\1\0\0\0\7"),
    *(b"\0\0\1\1\4\0\0\0\1\x88", b"\0\0\2\1\5\0\0\0\1\x88\xbe", b"\0\0\x08\6\0\0\0\0\0pingping"),
    *(
        b"\0\0\x08\7\0\0\0\0\0\0\0\0\1\0\0\0\0",
        b"\x0f\x0d\x015",
        b"\x08\x03103",
        b"\x88",
        b"\xff",
        b"\0\1x\1y",
    ),
]
PAGE = b"\0\0\0\4\0\0\0\0\0\0\0\5\1\4\0\0\0\1\x88\x0f\x0d\x015\0\0\5\0\1\0\0\0\1hello"

TARGETS = [
    Target("http2", http2, [PAGE, PAGE + PAGE[9:], PAGE[:9] + FRAMES[-6] + PAGE[9:]], FRAMES),
    Target("ftp", ftp, [TALK, TALK.replace(b"hello\0", LIST), b"220 x\r\n530 no\r\n"], [*SPOKEN, *LINES]),
    Target("ftp_reply", replies, [TALK, b"220-a\n 220 b\n220-\n220 c\n"], SPOKEN),
    Target("ftp_listing", listing, [LIST], LINES, _listings),
    Target("gopher", gopher, [MENU, b"text\r\n..dot\r\n.\r\n", b"3error\t\te\t1\r\n"], ITEMS, _menus),
    Target("gopher_menu", menu, [MENU], ITEMS, _menus),
    Target("client", client, list(WHOLE.values()), [b"HTTP/1.1 200 OK\r\n", b"Content-Length: 3\r\n", b"\r\n\r\n",
    b"0\r\n\r\n"]),
]  # fmt: skip
