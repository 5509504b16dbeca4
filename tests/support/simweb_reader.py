"""A second opinion on the synthetic web: a plain reader of its pages, and the simplest correct
crawler.

It shares no code with the synthetic web or with the crawler of this project.
"""

import asyncio
import re
import ssl
import zlib
from collections import Counter

import ada_url
import httptools
import pycares
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

SELECTORS = {
    "a": "a[href]",
    "area": "area[href]",
    "frame": "frame[src]",
    "iframe": "iframe[src]",
    "canonical": "link[rel=canonical][href]",
    "link": "link[rel=alternate][href], link[rel=stylesheet][href]",
    "img": "img[src]",
    "srcset": "img[srcset]",
    "script": "script[src]",
    "style": "[style]",
    "media": "video[src]",
    "object": "object[data]",
    "form": "form[action]",
    "refresh": "meta[http-equiv=refresh i]",
}
FOLLOWED = {"a", "area", "frame", "iframe", "refresh", "canonical"}
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le"}
CODECS = {"latin1": "cp1252", "iso-8859-1": "cp1252", "gb2312": "gb18030"}
MAX_BODY_BYTES = 2 * 2**20
LOOK_SECONDS = 0.02  # of patience that one look takes, however late it comes
MAX_OVERHEAD_BYTES = 2**17  # of what is not body


def decoded(body: bytes, media: str) -> str:
    """Return the text of a page, by its byte order mark, its Content-Type or its own
    declaration.
    """
    for mark, codec in MARKS.items():
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    for label in re.findall(
        r"charset=\"?([\w-]+)", media.lower() + body[:1024].decode("latin-1").lower()
    ):
        try:
            return body.decode(CODECS.get(label, label), "replace")
        except LookupError:
            continue
    return body.decode("utf-8", "replace")


def unpacked(body: bytes) -> bytes:
    """Return the start of a gzip-coded body, as much as the limit allows; others unchanged."""
    return (
        zlib.decompressobj(wbits=31).decompress(body, MAX_BODY_BYTES)
        if body[:2] == b"\x1f\x8b"
        else body
    )


def joined(base: str, href: str) -> str | None:
    """Return the absolute form of a link that http can fetch, or None.

    It is without fragment and credentials.
    """
    try:
        url = ada_url.URL(href, base)
    except ValueError:
        return None
    if url.protocol not in ("http:", "https:"):
        return None
    url.hash, url.username, url.password = "", "", ""
    return url.href.rstrip("#")


def read(url: str, body: bytes, media: str) -> list[tuple[str, str]]:
    """Return kind and URL of every link on a page."""
    if media.partition(";")[0].strip().lower() not in ("text/html", "application/xhtml+xml"):
        return []
    tree = LexborHTMLParser(decoded(body, media))
    based = tree.css_first("base[href]")
    base = (joined(url, based.attributes["href"]) if based else None) or url
    found = []
    for source, selector in SELECTORS.items():
        for node in tree.css(selector):
            target = joined(base, _href(node, source))
            if target is not None:
                found.append((source, target))
    return found


def _href(node, source: str) -> str:
    """Return the address in an element, which depends on the kind of link."""
    if source == "refresh":
        return re.sub(r"^\d+;\s*(url=)?", "", node.attributes["content"], flags=re.IGNORECASE)
    if source == "srcset":
        return node.attributes["srcset"].split()[0]
    if source == "style":
        return re.search(r"url\((.*)\)", node.attributes["style"])[1]
    names = {"img": "src", "script": "src", "media": "src", "object": "data", "form": "action"}
    name = names.get(source, "src" if "frame" in source else "href")
    return node.attributes[name] or ""


class Response:
    """A response, parsed as its bytes come."""

    def __init__(self) -> None:
        self.status, self.headers, self.body, self.complete = 0, {}, b"", False
        self.headed = False
        self._fed = 0
        self._parser = httptools.HttpResponseParser(self)

    def on_header(self, name, value):
        self.headers[name.decode("latin-1").lower()] = value.decode("utf-8", "replace")

    def on_headers_complete(self):
        self.headed = True

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        self.status, self.complete = self._parser.get_status_code(), True

    def feed(self, data):
        """Take data, and return whether the response is complete, or enough of it was read."""
        self._parser.feed_data(data)
        self._fed += len(data)
        return (
            self.complete
            or len(self.body) > MAX_BODY_BYTES
            or self._fed - len(self.body) > MAX_OVERHEAD_BYTES
        )

    def finish(self):
        """Return the response once the connection has ended, or once enough was read.

        Raise ConnectionError if it is not complete.
        """
        ends_with_connection = {"content-length", "transfer-encoding"}.isdisjoint(self.headers)
        is_enough = len(self.body) > MAX_BODY_BYTES or (ends_with_connection and self.headed)
        if not self.complete and not is_enough:
            raise ConnectionError
        self.status = self._parser.get_status_code()
        if self.headers.get("content-encoding") == "gzip":
            self.body = unpacked(self.body)
        return self


async def patient(work, seconds):
    """Return the result of `work` within so many seconds of this process.

    A busy machine may make any number of others' of them. Raise TimeoutError if they are over.
    """
    task = asyncio.ensure_future(work)
    try:
        for _ in range(round(seconds / LOOK_SECONDS)):
            if (await asyncio.wait([task], timeout=LOOK_SECONDS))[0]:
                return task.result()
        raise TimeoutError
    finally:
        task.cancel()


class Crawler:
    """Fetches each URL once, without politeness.

    It makes up to three tries, and follows five redirects in a row, and few pages per trap.
    """

    def __init__(
        self,
        nameserver: str,
        *,
        seconds: float,
        trap=re.compile(r"/x/trap_"),
        inside=lambda _, __: True,
    ):
        self._channel = pycares.Channel(servers=[nameserver], timeout=0.2, tries=2)
        self._seconds, self._trap, self._inside = seconds, trap, inside
        self._names, self._robots, self._trapped = {}, {}, Counter()
        self._gate = asyncio.Semaphore(24)
        self._seen = set()
        self.late = set()  # URLs whose answer was given up
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE

    async def crawl(self, seeds) -> None:
        async with asyncio.TaskGroup() as group:
            for url in seeds:
                self._add(group, url, 0)
        self._channel.close()

    def _add(self, group, url, hops):
        """Visit a URL that is new, unless its trap has had enough pages."""
        if url in self._seen:
            return
        if self._trap.search(url):
            domain = url.split("/")[2].split(".")[-2].rpartition("-")[2]
            self._trapped[domain] += 1
            if self._trapped[domain] > 20:
                return
        self._seen.add(url)
        group.create_task(self._visit(group, url, hops))

    async def _visit(self, group, url, hops):
        """Fetch a URL if robots.txt allows it, and visit what it leads to."""
        origin = "/".join(url.split("/")[:3])
        if origin not in self._robots:
            self._robots[origin] = asyncio.ensure_future(self._rules(origin))
        rules = await asyncio.shield(self._robots[origin])
        if rules is None or not rules.can_fetch(url, "webcrawl"):
            return
        response = await self._fetch(url)
        if response is None:
            return
        if response.status // 100 == 3:
            target = joined(url, response.headers.get("location", "http://["))
            self._redirect(group, url, target, hops)
        if response.status == 200:
            self._follow(group, url, hops, response)

    def _redirect(self, group, url, target, hops):
        if target is not None and hops < 5 and self._inside(url, target):
            self._add(group, target, hops + 1)

    def _follow(self, group, url, hops, response):
        """Visit the links of a page."""
        for source, link in read(url, response.body, response.headers.get("content-type", "")):
            if source == "refresh":
                self._redirect(group, url, link, hops)
            elif source in FOLLOWED and self._inside(url, link):
                self._add(group, link, 0)

    async def _rules(self, origin):
        """Return the rules of an origin, or None if they are unreachable."""
        url = f"{origin}/robots.txt"
        for _ in range(6):
            response = await self._fetch(url)
            if response is None or response.status >= 500:
                return None
            if response.status in (301, 302):
                url = joined(url, response.headers["location"])
                continue
            text = response.body[: 500 * 1024].decode("utf-8-sig") if response.status == 200 else ""
            return Protego.parse(text)
        return Protego.parse("")

    async def _fetch(self, url):
        """Return the response to a URL after up to three tries, or None."""
        response = None
        for _ in range(3):
            async with self._gate:
                try:
                    response = await patient(self._exchange(url), self._seconds)
                except TimeoutError:
                    response = None
                    self.late.add(url)
                except (OSError, httptools.HttpParserError, httptools.HttpParserUpgrade):
                    response = None
            if response is not None and response.status not in (408, 429, 500, 502, 503, 504):
                break
        return response

    async def _exchange(self, url):
        """Return the response of the first address that accepts a connection.

        Raise ConnectionError if there is none.
        """
        parts = ada_url.URL(url)
        for address in await self._resolve(parts.hostname):
            if not address.startswith("127.0."):
                continue
            context = self._tls if parts.protocol == "https:" else None
            try:
                reader, writer = await asyncio.open_connection(
                    address, int(parts.port or 80), ssl=context
                )
            except ConnectionRefusedError:
                continue
            try:
                target = parts.pathname + parts.search
                lines = f"GET {target} HTTP/1.1\r\nHost: {parts.host}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n"
                writer.write(lines.encode() + b"\r\n")
                return await self._answer(reader)
            finally:
                writer.transport.abort()
        raise ConnectionError

    async def _answer(self, reader):
        response = Response()
        while data := await reader.read(2**16):
            if response.feed(data):
                break
        return response.finish()

    async def _resolve(self, name):
        """Return the addresses of a name. Raise ConnectionError if there are none."""
        if name not in self._names:
            loop, future = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
            self._names[name] = future
            self._channel.query(
                name,
                pycares.QUERY_TYPE_A,
                callback=lambda *got: loop.call_soon_threadsafe(future.set_result, got),
            )
        result, error = await asyncio.shield(self._names[name])
        if error is not None:
            if error != pycares.errno.ARES_ENOTFOUND:
                self._names.pop(name, None)
            raise ConnectionError
        return [record.data.addr for record in result.answer if record.type == pycares.QUERY_TYPE_A]
