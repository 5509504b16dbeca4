"""The cost of a page in the archive.

The same pages, 40 links each, go through our writer and through warcio's (response and request, gzip, version 1.1):
CPU microseconds and bytes on disk per page. Ours also writes a metadata record, and its `without` line is the cost
without compression. `level` lines compare isal's levels on the page alone.
"""

from __future__ import annotations

import argparse
import io
import random
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from unittest import mock

from isal import isal_zlib
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from benchmarks.support.report import Clock, report, timed
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.lab.simweb.random_content import LENGTH, filler
from webcrawl.record.warc import warc_record
from webcrawl.record.warc.warc_writer import WarcFiles, WarcWriter
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

REQUEST = [
    ("Host", "www.example.org"),
    ("User-Agent", "webcrawl/0.1 (+http://www.example.org/crawler; crawler@example.org)"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Connection", "keep-alive"),
]
HEADERS = [
    ("Date", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ("Server", "Apache/2.4.57 (Debian)"),
    ("Last-Modified", "Mon, 13 Nov 2023 10:00:00 GMT"),
    ("ETag", '"9090-60a0b7ddf1440"'),
    ("Vary", "Accept-Encoding"),
    ("Content-Type", "text/html; charset=utf-8"),
]
INFO = {"software": "webcrawl/0.1", "robots": "obey"}


def _page(chance: random.Random, size: int) -> bytes:
    """A page of 40 paragraphs, each with a link, of other text than the previous page's."""
    text, parts = filler(1), []
    for _ in range(40):
        start = chance.randrange(LENGTH)
        name = f"{chance.getrandbits(40):x}"
        parts.append(
            f'<p>{text[start : start + size // 40 - 60]}<a class="more" href="/news/{name}.html">{name}</a></p>\n'
        )
    return "".join(parts).encode()


def _head(first: str, fields: Iterable[tuple[str, str]]) -> bytes:
    return "\r\n".join([first, *(f"{name}: {value}" for name, value in fields), "", ""]).encode()


def _exchange(number: int, body: bytes) -> Exchange:
    head = _head("HTTP/1.1 200 OK", [*HEADERS, ("Content-Length", str(len(body)))])
    request = _head(f"GET /{number} HTTP/1.1", REQUEST)
    url = f"http://www.example.org/{number}"
    timings = Timings(total=0.1)
    return Exchange(url, request, 200, head, [], body, body, body, "192.0.2.1", 1.7e9, timings)


def ours(pages: list[bytes], folder: Path) -> tuple[Clock, int]:
    exchanges = list(map(_exchange, range(len(pages)), pages))  # new objects, because an Exchange caches its digest
    with closing(CrawlDB(folder / "state")) as db:
        outputs = Outputs(db, folder)
        files = WarcFiles("bench", 1 << 30, INFO)
        writer = WarcWriter(db, outputs, files, random=random.SystemRandom(), clock=time.time)
        link = Link("http://www.example.org/", "LLL", "http://www.example.org/index.html", "http://example.org/")
        with timed() as clock:
            for exchange in exchanges:
                writer.write(link, exchange, duplicate=False, metadata={})
        outputs.close()
    return clock, sum(path.stat().st_size for path in (folder / "warc").glob("*.warc.gz*"))


def warcio(pages: list[bytes], folder: Path) -> tuple[Clock, int]:
    exchanges = list(map(_exchange, range(len(pages)), pages))
    path = folder / "warcio.warc.gz"
    with path.open("wb") as file, timed() as clock:
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        writer.write_record(writer.create_warcinfo_record(path.name, INFO))
        for exchange in exchanges:
            fields = [*HEADERS, ("Content-Length", str(len(exchange.wire)))]
            heads = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
            response = writer.create_warc_record(
                exchange.url, "response", payload=io.BytesIO(exchange.wire), http_headers=heads
            )
            asked = StatusAndHeaders(f"GET {exchange.url} HTTP/1.1", REQUEST, is_http_request=True)
            request = writer.create_warc_record(exchange.url, "request", http_headers=asked)
            writer.write_request_response_pair(request, response)
    return clock, path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.warc", description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--size", type=int, default=37_000)
    args = parser.parse_args()
    chance = random.Random(1)
    pages = [_page(chance, args.size) for _ in range(args.n)]
    size = sum(map(len, pages)) / args.n
    with tempfile.TemporaryDirectory() as scratch:
        costs = {}
        for name, run in (("webcrawl", ours), ("warcio", warcio)):
            (folder := Path(scratch) / name).mkdir()
            clock, written = run(pages, folder)
            costs[name] = clock.cpu
            report("warc", writer=name, pages=args.n, page=size, us=1e6 * clock.cpu / args.n, bytes=written / args.n)
        report("warc", writer="warcio / webcrawl", times=costs["warcio"] / costs["webcrawl"])
        (folder := Path(scratch) / "without").mkdir()
        with mock.patch.object(warc_record.isal_zlib, "compress", lambda data, *_: data):
            clock, _ = ours(pages, folder)
        report("warc", writer="webcrawl without compression", us=1e6 * clock.cpu / args.n)
    for level in range(4):
        with timed() as clock:
            packed = sum(len(isal_zlib.compress(page, level, 31)) for page in pages)
        report("warc", level=level, us=1e6 * clock.cpu / args.n, bytes=packed / args.n)


if __name__ == "__main__":
    main()
