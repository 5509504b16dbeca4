"""Reading the links of a page, in several ways: one JSON line each.

The page is that of the other benchmarks: 37 KB, 40 links. `ratio` is to lexbor alone, which parses the page and lists
the addresses of its anchors. With WEBCRAWL_CASES the real pages of html-newspaper and html-readability are read too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

from parsel import Selector
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from selectolax.lexbor import LexborHTMLParser

from benchmarks.support.report import report, timed
from webcrawl.content.html import link_kinds, tree_guard
from webcrawl.content.html.encoding_sniffing import encoding_of
from webcrawl.content.html.link_reader import LinkReader

URL = "http://site.test/dir/page.html"
UTF_8 = "text/html; charset=utf-8"
WORDS = (
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consectetur",
    "adipiscing",
    "elit",
    "sed",
    "do",
    "eiusmod",
    "tempor",
)


def page(links: int = 40, words: int = 100) -> bytes:
    """A page with head, headings, paragraphs, images and links, always the same bytes."""
    chance = random.Random(1)

    def text(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    head = (
        '<meta charset="utf-8"><title>A page</title><link rel="canonical" href="/c"><link rel=stylesheet href="/s.css">'
    )
    rows = [
        f'<div class="row" id="r{n}"><h2>{text(5)}</h2><p>{text(words)} <a href="/dir/page{n}.html" class="link">'
        f'{text(3)}</a> {text(15)}</p><img src="/i{n}.png" alt="x"></div>'
        for n in range(links)
    ]
    return f"<!DOCTYPE html><html><head>{head}</head><body>{''.join(rows)}</body></html>".encode()


def lexbor(body: bytes) -> list[str | None]:
    return [node.attributes["href"] for node in LexborHTMLParser(body).css("a[href]")]


def ways(body: bytes) -> dict[str, Callable[[], object]]:
    """The ways of reading, by name."""
    reader, texts = LinkReader(), LinkReader(anchor_text=True)
    every, extractor = LinkReader(link_kinds.KINDS), LinkExtractor()
    text = body.decode()
    return {
        "lexbor alone": lambda: lexbor(body),
        "guard": lambda: tree_guard.heavy(body),
        "encoding, declared in the page": lambda: encoding_of(body),
        "links": lambda: reader.links(body, UTF_8, URL),
        "links, encoding not in the header": lambda: reader.links(body, "text/html", URL),
        "links with anchor text": lambda: texts.links(body, UTF_8, URL),
        "links of all kinds": lambda: every.links(body, UTF_8, URL),
        "parsel css": lambda: Selector(text).css("a::attr(href)").getall(),
        "LinkExtractor": lambda: extractor.extract_links(HtmlResponse(URL, body=body, encoding="utf-8")),
    }


def measure(call: Callable[[], object], count: int) -> float:
    """CPU microseconds per call, the best of five rounds, because the machine is shared."""
    best = float("inf")
    for _ in range(5):
        with timed() as clock:
            for _ in range(count):
                call()
        best = min(best, clock.cpu / count)
    return best * 1e6


def real() -> list[bytes]:
    root = Path(os.environ["WEBCRAWL_CASES"])
    return [
        gzip.decompress((folder / json.loads(line)["file"]).read_bytes())
        for folder in (root / "html-newspaper", root / "html-readability")
        for line in gzip.decompress((folder / "links.jsonl.gz").read_bytes()).splitlines()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.html", description=__doc__)
    parser.add_argument("--n", type=int, default=300, help="pages per round")
    count = parser.parse_args().n
    body = page()
    alone = measure(lambda: lexbor(body), count)
    for name, call in ways(body).items():
        slow = name in ("parsel css", "LinkExtractor")
        cost = measure(call, max(count // 10, 1) if slow else count)
        report("html", way=name, bytes=len(body), cpu_us=cost, ratio=cost / alone)
    if "WEBCRAWL_CASES" in os.environ:
        bodies, reader = real(), LinkReader()
        plain = measure(lambda: [lexbor(one) for one in bodies], 1) / len(bodies)
        ours = measure(lambda: [reader.links(one, UTF_8, URL) for one in bodies], 1) / len(bodies)
        heavy = sum(map(tree_guard.heavy, bodies))
        report("html", way="217 real pages", lexbor_alone_us=plain, cpu_us=ours, ratio=ours / plain, heavy=heavy)


if __name__ == "__main__":
    main()
