"""What sitemaps bring: how many of a host's pages are known, and fetched, after so many requests to
it.

The crawl without network and Scrapy, of hosts whose robots.txt names a sitemap: those of the
synthetic web, and, if WEBCRAWL_CASES has them, 41 of a university. `lies`: three of four URLs in it
do not exist. Only requests are counted, so every run gives the same figures.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from xml.sax.saxutils import escape

from benchmarks.core import Core
from benchmarks.support.report import report
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.base.url_text import host_of
from webcrawl.base.zstd_frame import zstd
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.web_answers import WebRequest
from webcrawl.lab.simweb.world import World

UNLIMITED = "webcrawl.frontier.allowances.unlimited.Unlimited"
MARKS = (5, 10, 20, 50, 100)  # requests to a host
LARGE = 20  # pages of a host that is looked at
MODES = {"off": False, "default": None, "at once": True}
Web = Mapping[str, bytes]


def synthetic(hosts: int, pages: int) -> Web:
    """The pages of the synthetic web."""
    world = World(hosts, pages, size=(1000, 2000), links=10)
    asks = (
        WebRequest(host, path(page))
        for host in range(hosts)
        for page in range(world.pages_of(host))
    )
    return {f"{world.origin(ask.host)}{ask.path}": world.answer(ask).body for ask in asks}


def recorded() -> Web:
    """The pages of site-uci-shared."""
    path = Path(os.environ["WEBCRAWL_CASES"]) / "site-uci-shared" / "pages.jsonl.zst"
    with zstd.open(path, options={zstd.DecompressionParameter.window_log_max: 27}) as file:
        text = file.read().decode()
    return {page["url"]: page["body"].encode() for page in map(json.loads, text.split("\n")[:-1])}


class Crawl(Core):
    """A crawl of these pages; `shown` maps numbers of requests to shares of the pages of each host."""

    def __init__(self, folder: Path, web: Web, *, lies: int, **given: object) -> None:
        super().__init__(
            folder,
            0,
            TRAP_RULES=False,
            POLITENESS_MIN_DELAY=1,
            DOMAIN_BUDGET=UNLIMITED,
            CONTENT_SEEN="process",
            **given,
        )
        self.web, self.lies = web, lies
        self.hosts: dict[str, list[str]] = defaultdict(list)
        for url in web:
            self.hosts[url[: url.index("/", 8)]].append(url)
        self.asked: Counter[str] = Counter()
        self.known: dict[str, set[str]] = defaultdict(set)
        self.fetched: Counter[str] = Counter()
        self.shown: dict[tuple[str, int], tuple[float, float]] = {}
        pipeline, self.process = self.crawl.parts.pipeline, self.crawl.parts.pipeline.process
        pipeline.process = self._found  # type: ignore[method-assign] # to see what is found

    def _found(self, *arguments: object) -> object:
        found = self.process(*arguments)  # type: ignore[arg-type]
        for url in found.urls:
            self.known[host_of(url)].add(url)
        return found

    def exchange(self, url: str) -> Exchange:
        """A page, a sitemap of all pages, a robots.txt that names it, or nothing."""
        origin = url[: url.index("/", 8)]
        body, kind = self.web.get(url, b""), "text/html; charset=utf-8"
        if origin not in self.hosts:
            body = b""
        elif url == f"{origin}/robots.txt":
            body, kind = f"Sitemap: {origin}/sitemap.xml".encode(), "text/plain"
        elif url == f"{origin}/sitemap.xml":
            urls = [
                one
                for page in sorted(self.hosts[origin])
                for one in [*[f"{page}~{n}" for n in range(self.lies)], page]
            ]
            body, kind = (
                b"<urlset>%s</urlset>"
                % "".join(f"<url><loc>{escape(one)}</loc></url>" for one in urls).encode(),
                "text/xml",
            )
        status = 200 if body else 404
        head = f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\n\r\n".encode()
        headers = [(b"Content-Type", kind.encode())]
        return Exchange(
            url,
            b"",
            status,
            head,
            headers,
            body,
            body,
            body,
            "127.0.0.1",
            self._now,
            Timings(total=0.01),
        )

    def run(self) -> None:
        """Until all is fetched."""
        crawl = self.crawl
        while crawl.pending:
            self._now += 1.0
            while (link := crawl.take(self._now)) is not None:
                self._ask(link)
            crawl.next_ready()

    def _ask(self, link: Link) -> None:
        exchange = self.exchange(link.url)
        page = self.visitor.visit(link, exchange)
        (self.visitor.follow_robots if link.is_prerequisite else self.visitor.follow)(page)
        self._finish(link, exchange, exchange.status)
        host, origin = host_of(link.url), link.url[: link.url.index("/", 8)]
        self.asked[host] += origin in self.hosts
        self.fetched[host] += link.url in self.web
        pages = self.hosts[origin]
        if self.asked[host] in MARKS and len(pages) >= LARGE:
            known = len(self.known[host].intersection(pages)) / len(pages)
            self.shown[origin, self.asked[host]] = known, self.fetched[host] / self.asked[host]


def compare(name: str, web: Web, seeds: list[str], lies: int) -> None:
    """A line for each way to use sitemaps."""
    for mode, sitemaps in MODES.items():
        with tempfile.TemporaryDirectory() as folder:
            crawl = Crawl(Path(folder), web, lies=lies, SITEMAPS=sitemaps)
            for seed in seeds:
                crawl.crawl.parts.discovery.submit(Link(seed))
            try:
                crawl.run()
            finally:
                crawl.crawl.close()
        figures: dict[str, object] = {}
        for mark in MARKS:
            rows = [row for (_, asked), row in crawl.shown.items() if asked == mark]
            figures[f"known_after_{mark}"] = mean(known for known, _ in rows)
            figures[f"pages_in_{mark}"] = mean(share for _, share in rows)
        requests = crawl.crawl.parts.counters
        report(
            "sitemaps",
            web=name,
            sitemaps=mode,
            lies=lies,
            requests=sum(crawl.asked.values()),
            fetched=sum(crawl.fetched.values()),
            read=requests["sitemaps"],
            **figures,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--pages", type=int, default=5000)
    options = parser.parse_args()
    web = synthetic(options.hosts, options.pages)
    for lies in (0, 3):
        compare("synthetic", web, [url for url in web if url.endswith(path(0))], lies)
        if "WEBCRAWL_CASES" in os.environ:
            pages = recorded()
            folder = Path(os.environ["WEBCRAWL_CASES"]) / "site-uci-shared"
            compare("site-uci-shared", pages, json.loads((folder / "seeds.json").read_text()), lies)


if __name__ == "__main__":
    main()
