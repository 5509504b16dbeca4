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
LIMIT = 2 * 2**20
LOOK = 0.02  # seconds of patience that one look takes, however late it comes
OVERHEAD = 2**17  # bytes that are not body


def decoded(body: bytes, media: str) -> str:
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
    """The start of a gzip-coded body, as much as the limit allows; other bodies unchanged."""
    return zlib.decompressobj(wbits=31).decompress(body, LIMIT) if body[:2] == b"\x1f\x8b" else body


def joined(base: str, href: str) -> str | None:
    """The absolute form, without fragment and credentials, of a link that http can fetch; otherwise
    None.
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
    """Kind and URL of every link on a page."""
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
    if source == "refresh":
        return re.sub(r"^\d+;\s*(url=)?", "", node.attributes["content"], flags=re.IGNORECASE)
    if source == "srcset":
        return node.attributes["srcset"].split()[0]
    if source == "style":
        return re.search(r"url\((.*)\)", node.attributes["style"])[1]
    name = {"img": "src", "script": "src", "media": "src", "object": "data", "form": "action"}.get(
        source
    )
    name = name or ("src" if "frame" in source else "href")
    return node.attributes[name] or ""


class Response:
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
        self._parser.feed_data(data)
        self._fed += len(data)
        return self.complete or len(self.body) > LIMIT or self._fed - len(self.body) > OVERHEAD

    def finish(self):
        """The response once the connection has ended, or once enough was read."""
        ends_with_connection = {"content-length", "transfer-encoding"}.isdisjoint(self.headers)
        if not self.complete and not (
            len(self.body) > LIMIT or (ends_with_connection and self.headed)
        ):
            raise ConnectionError
        self.status = self._parser.get_status_code()
        if self.headers.get("content-encoding") == "gzip":
            self.body = unpacked(self.body)
        return self


async def patient(work, seconds):
    """What comes of it within so many seconds of this process, which a busy machine may make any
    number of others'.
    """
    task = asyncio.ensure_future(work)
    try:
        for _ in range(round(seconds / LOOK)):
            if (await asyncio.wait([task], timeout=LOOK))[0]:
                return task.result()
        raise TimeoutError
    finally:
        task.cancel()


class Crawler:
    """Fetches each URL once: up to three tries, five redirects in a row, few pages per trap, and no
    politeness.
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
        origin = "/".join(url.split("/")[:3])
        if origin not in self._robots:
            self._robots[origin] = asyncio.ensure_future(self._rules(origin))
        rules = await asyncio.shield(self._robots[origin])
        if rules is None or not rules.can_fetch(url, "webcrawl"):
            return
        response = await self._fetch(url)
        if response is None:
            return
        target = (
            joined(url, response.headers.get("location", "http://["))
            if response.status // 100 == 3
            else None
        )
        if target is not None and hops < 5 and self._inside(url, target):
            self._add(group, target, hops + 1)
        if response.status != 200:
            return
        for source, link in read(url, response.body, response.headers.get("content-type", "")):
            if source in FOLLOWED and self._inside(url, link) and (source != "refresh" or hops < 5):
                self._add(group, link, hops + 1 if source == "refresh" else 0)

    async def _rules(self, origin):
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
