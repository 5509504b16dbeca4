"""The only way out for a browser: a proxy on loopback that asks the crawl for everything.

It opens no connection itself. A request names its page by a password; without one it is refused,
and so is whatever the browser does on its own account. It answers as every https server with a key
made for one crawl. The heads of its requests and of the answers are HTTP/1.1's, within bounds.

Each page has a browser context of its own, so that what the browser itself keeps ends with the
page. What one page leaves to the next is in `SharedResources`.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

from webcrawl.base.model import header
from webcrawl.base.system import secret_file
from webcrawl.content.html.mimetype import parse
from webcrawl.net.header_times import fresh_for, max_age

Headers = list[tuple[bytes, bytes]]

# They belong to one connection, or the next sender makes them anew (RFC 9110 7.6.1).
_HOP = frozenset(
    (
        *(
            b"connection",
            b"keep-alive",
            b"proxy-authenticate",
            b"proxy-authorization",
            b"proxy-connection",
            b"te",
        ),
        *(b"trailer", b"transfer-encoding", b"upgrade", b"content-length"),
    )
)
# The crawl says itself who it is and what it can decode, and has no older copy of anything.
_REPLACED = _HOP | {b"host", b"user-agent", b"accept-encoding"}
_REPLACED |= {b"if-none-match", b"if-modified-since"}
# the body is decoded; other ways to the server are closed
_ANSWERED = _HOP | {b"content-encoding", b"alt-svc"}
_HINTS = b"sec-ch-"  # client hints: they describe the browser, not the crawler


class BadMessage(Exception):  # noqa: N818 - as in net/errors.py
    """Not a request that a proxy can read."""


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """A request of a browser's."""

    method: str
    target: str
    headers: Headers

    def header(self, name: bytes) -> bytes:
        """Return the first value of a header, by its name in lower case; empty if there is none."""
        return next((value for given, value in self.headers if given.lower() == name), b"")

    @property
    def password(self) -> str:
        """Return the password of its Proxy-Authorization; empty if there is none."""
        scheme, _, word = self.header(b"proxy-authorization").partition(b" ")
        if scheme.lower() != b"basic":
            return ""
        try:
            return b64decode(word.strip(), validate=True).decode("ascii").partition(":")[2]
        except ValueError:
            return ""

    def onward(self) -> Headers:
        """Return the headers that go to the server."""
        found: Headers = []
        for name, value in self.headers:
            lower = name.lower()
            is_browsers_own = lower in _REPLACED or lower.startswith(_HINTS)
            if not is_browsers_own:
                found.append((name, value))
        return found


@dataclass(frozen=True, slots=True)
class BrowserAnswer:
    """The answer that a browser gets."""

    status: int
    headers: Headers
    body: bytes = b""

    def encode(self, *, bodiless: bool = False) -> bytes:
        """Return the message. A header that could end its line is left out."""
        lines = [b"HTTP/1.1 %d \r\n" % self.status]
        lines += [
            b"%b: %b\r\n" % (name, value) for name, value in self.headers if _may_pass(name, value)
        ]
        lines.append(b"Content-Length: %d\r\n\r\n" % len(self.body))
        return b"".join(lines) if bodiless else b"".join((*lines, self.body))


def refusal(status: int, why: str) -> BrowserAnswer:
    """Return an answer of the proxy's own."""
    return BrowserAnswer(status, [(b"Content-Type", b"text/plain; charset=utf-8")], why.encode())


def read_ask(head: bytes) -> BrowserRequest:
    """Return the request that this head is; raises BadMessage."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        raise BadMessage(f"the browser sent an invalid request line: {first[:100]!r}")
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        is_name = bool(name) and name == name.strip()
        if not colon or not is_name:
            raise BadMessage(f"the browser sent an invalid header: {line[:100]!r}")
        headers.append((name, value.strip()))
    try:
        return BrowserRequest(words[0].decode("ascii"), words[1].decode("ascii"), headers)
    except UnicodeDecodeError as error:
        raise BadMessage("not ASCII") from error


def _may_pass(name: bytes, value: bytes) -> bool:
    if name.lower() in _ANSWERED:
        return False
    return not any(byte in name + value for byte in b"\r\n\0")


VALID = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class ProxyIdentity:
    """A server's side of TLS, and what makes a browser accept its key, for whatever name."""

    context: ssl.SSLContext
    # of the public key, as Chromium's --ignore-certificate-errors-spki-list has it
    fingerprint: str

    @classmethod
    def make(cls) -> ProxyIdentity:
        """Make a new key and its certificate.

        One certificate is enough: the browser trusts the key, and no authority.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webcrawl's proxy")])
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
        )
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + VALID)
        certificate = builder.sign(key, SHA256())
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        context = _context(certificate.public_bytes(Encoding.PEM) + secret)
        return cls(context, b64encode(sha256(public).digest()).decode())


def _context(pem: bytes) -> ssl.SSLContext:
    """Python's ssl reads keys from files only: from one in memory, so that the key is on no disk."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    with secret_file(pem) as path:
        context.load_cert_chain(path)
    return context


LONGEST_HEAD = 65_536  # bytes
HEAD_TIMEOUT = 60.0  # seconds until a head must be there
# connections that have named no page: with one more the oldest ends, so that none takes all
# descriptors
STRANGERS = 64
SAFE = ("GET", "HEAD", "OPTIONS")  # RFC 9110 9.2.1: a page that is only read changes nothing
WHO = b'HTTP/1.1 407 \r\nProxy-Authenticate: Basic realm="page"\r\nContent-Length: 0\r\n\r\n'
USER = "page"  # the browser wants a name with a password

Fetch = Callable[[str, BrowserRequest, str], Awaitable[BrowserAnswer]]
"""Given a page, what it asks and the URL: the answer. It must not raise."""
METHOD, PROTOCOL = "method", "protocol"  # why the proxy itself refuses what a page asks


class BrowserProxy:
    """Serves the pages that were admitted, each under a password of its own."""

    def __init__(
        self, fetch: Fetch, tls: ssl.SSLContext, refused: Callable[[str, str], object]
    ) -> None:
        """`refused` hears of each request of a page that is refused here: METHOD or PROTOCOL, and the page."""
        self._fetch = fetch
        self._tls = tls
        self._refused = refused
        self._pages: dict[str, set[asyncio.Task[None]]] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        # of these, whose page is not known; the oldest first
        self._strangers: dict[asyncio.Task[None], None] = {}
        self.address = ""

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LONGEST_HEAD)
        self.address = "http://{}:{}".format(*self._server.sockets[0].getsockname())

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def admit(self, page: str = "") -> str:
        """Return a new page, or one in the place of another that was dismissed.

        Its name is its password.
        """
        page = page or secrets.token_urlsafe(24)
        self._pages[page] = set()
        return page

    def dismiss(self, page: str) -> None:
        """End a page that is closed: its requests end, and it gets no more."""
        for task in self._pages.pop(page, ()):
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection; if too many have not said whose they are, end the oldest."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a connection is served by a task")
        self._tasks.add(task)
        self._strangers[task] = None
        if len(self._strangers) > STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()
        try:
            await _Talk(self, reader, writer).run()
        except (
            OSError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
            BadMessage,
            asyncio.CancelledError,
        ):
            # the browser has left, or is shown the door; TimeoutError and SSLError are OSErrors
            pass
        finally:
            self._tasks.discard(task)
            self._strangers.pop(task, None)
            for tasks in self._pages.values():
                tasks.discard(task)
            writer.transport.abort()

    def page_of(self, ask: BrowserRequest) -> str:
        """Return the page that asks; empty if no page does."""
        password = ask.password
        return password if password in self._pages else ""

    def enter(self, page: str) -> None:
        """Note that the connection that is being served is this page's."""
        task = asyncio.current_task()
        if task is not None and page in self._pages:
            self._pages[page].add(task)
            self._strangers.pop(task, None)

    async def answer(self, page: str, ask: BrowserRequest, url: str) -> BrowserAnswer:
        if ask.header(b"upgrade"):
            self._refused(PROTOCOL, page)
            return refusal(403, "no other protocols")
        if ask.method not in SAFE:
            self._refused(METHOD, page)
            return refusal(405, "only safe methods")
        return await self._fetch(page, ask, url)

    async def encrypt(self, page: str, writer: asyncio.StreamWriter) -> None:
        """Answer as the server that the browser wants to reach by TLS.

        Raise SSLError if it speaks something else.
        """
        try:
            await writer.start_tls(self._tls)
        except ssl.SSLError:
            self._refused(PROTOCOL, page)  # a WebSocket in the open asks for a tunnel
            raise


class _Talk:
    """One connection: requests in absolute form, or a tunnel with requests to a server."""

    def __init__(
        self, proxy: BrowserProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._page = ""
        self._origin = ""  # of the tunnel

    async def run(self) -> None:
        while await self._one():
            pass

    async def _one(self) -> bool:
        """Serve one request. Return whether another may follow."""
        async with asyncio.timeout(HEAD_TIMEOUT):
            ask = read_ask(await self._reader.readuntil(b"\r\n\r\n"))
        if not self._origin:
            self._page = self._proxy.page_of(ask)
            self._proxy.enter(self._page)
        # TLS ends here. A tunnel would hide paths from robots.txt, and bytes from the archive.
        if ask.method == "CONNECT" and self._page and not self._origin:
            self._writer.write(b"HTTP/1.1 200 \r\n\r\n")
            await self._proxy.encrypt(self._page, self._writer)
            self._origin = f"https://{ask.target.removesuffix(':443')}"
            return True
        # Chromium 156 asks for update.googleapis.com by itself, although that is switched off.
        if not self._page:
            self._writer.write(WHO)
            return not _has_body(ask)
        told = await self._proxy.answer(self._page, ask, self._origin + ask.target)
        self._writer.write(told.encode(bodiless=ask.method == "HEAD"))
        await self._writer.drain()
        return not _has_body(ask)


def _has_body(ask: BrowserRequest) -> bool:
    """Return whether a body follows the head.

    The proxy does not read it, and ends the connection.
    """
    return any(
        ask.header(name) not in (b"", b"0")
        for name in (b"content-length", b"transfer-encoding", b"upgrade")
    )


ANSWERS_ROOM = 64 << 20  # bytes of answers,
EACH, FIELD = 1000, 200  # with what Python needs for each, and for each of its header fields
# RFC 9111 4.2.2 leaves to the cache how long an answer holds if its head does not say. These kinds
# are parts of a site's design; data is asked for again.
UNSAID = 86_400.0  # seconds
PARTS = frozenset(
    ("text/css", "text/javascript", "application/javascript", "application/x-javascript")
)
PART_TYPES = ("font/", "image/")


class SharedResources:
    """The answers that may be used again; the one that was wanted longest ago goes first.

    Their heads count as well: a page may have any number of answers without a body.
    """

    def __init__(self, room: int = ANSWERS_ROOM) -> None:
        self._room = room
        self._used = 0
        # the last is its size
        self._kept: dict[str, tuple[float, Headers, BrowserAnswer, int]] = {}

    def find(self, url: str, ask: BrowserRequest, now: float) -> BrowserAnswer | None:
        """Return the answer to this request, if there is one that still holds."""
        kept = self._kept.get(url)
        if kept is None or not _may_be_shared(ask):
            return None
        until, varied, told, _ = kept
        differs = any(ask.header(name) != value for name, value in varied)
        if now >= until or differs:
            return None
        self._kept[url] = self._kept.pop(url)
        return told

    def keep(self, url: str, ask: BrowserRequest, told: BrowserAnswer, now: float) -> None:
        """Keep a whole answer that came now, if it may be used again."""
        vary = _varies_by(told.headers)
        may_be_shared = told.status == 200 and _may_be_shared(ask) and b"*" not in vary
        holds = _holds_for(told.headers, now)
        if not may_be_shared or not holds:
            return
        varied = [(name, ask.header(name)) for name in vary]
        fields = sum(len(name) + len(value) + FIELD for name, value in told.headers + varied)
        size = len(url) + len(told.body) + EACH + fields
        if size > self._room:
            return
        self._drop(url)
        self._kept[url] = now + holds, varied, told, size
        self._used += size
        while self._used > self._room:
            self._drop(next(iter(self._kept)))

    def _drop(self, url: str) -> None:
        if url in self._kept:
            self._used -= self._kept.pop(url)[-1]


def _may_be_shared(ask: BrowserRequest) -> bool:
    if ask.header(b"range") or ask.header(b"authorization"):
        return False
    return ask.method == "GET"


def _holds_for(headers: Headers, now: float) -> float:
    """Return the seconds from now."""
    has_date = header(headers, b"expires") is not None or header(headers, b"pragma") is not None
    if has_date or max_age(headers) is not None:
        return fresh_for(headers, now)
    mime = parse((header(headers, b"content-type") or b"").decode("latin-1"))
    if mime is None:
        return 0.0
    is_part = mime.essence in PARTS or mime.essence.startswith(PART_TYPES)
    return UNSAID if is_part else 0.0


def _varies_by(headers: Headers) -> list[bytes]:
    """Return the names of the request's headers by which the answer differs, in lower case.

    `*` is any header.
    """
    names = b",".join(_all(headers, b"vary")).split(b",")
    return [name.strip().lower() for name in names if name.strip()]


def _all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for given, value in headers if given.lower() == name]
