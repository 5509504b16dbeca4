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
MIN_PAGES = 20  # pages of a host that is looked at
SITEMAP_SETTINGS = {"off": False, "default": None, "at once": True}
Web = Mapping[str, bytes]


def synthetic(hosts: int, pages: int) -> Web:
    """Return the pages of the synthetic web by URL."""
    world = World(hosts, pages, size=(1000, 2000), links=10)
    requests = (
        WebRequest(host, path(page))
        for host in range(hosts)
        for page in range(world.pages_of(host))
    )
    return {
        f"{world.origin(request.host)}{request.path}": world.answer(request).body
        for request in requests
    }


def recorded() -> Web:
    """Return the pages of site-uci-shared by URL."""
    path = Path(os.environ["WEBCRAWL_CASES"]) / "site-uci-shared" / "pages.jsonl.zst"
    with zstd.open(path, options={zstd.DecompressionParameter.window_log_max: 27}) as file:
        text = file.read().decode()
    return {page["url"]: page["body"].encode() for page in map(json.loads, text.split("\n")[:-1])}


class Crawl(Core):
    """A crawl of these pages, whose hosts have sitemaps.

    `shares_at` has, by origin and number of requests, the share of the host's pages that are known
    then, and the share of pages among the requests.
    """

    def __init__(self, folder: Path, web: Web, *, lies: int, **given: object) -> None:
        """Open the crawl. `lies` is the number of URLs in a sitemap that do not exist, per page."""
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
        self.requested: Counter[str] = Counter()
        self.known_pages: dict[str, set[str]] = defaultdict(set)
        self.fetched: Counter[str] = Counter()
        self.shares_at: dict[tuple[str, int], tuple[float, float]] = {}
        pipeline, self.process = self.crawl.parts.pipeline, self.crawl.parts.pipeline.process
        pipeline.process = self._note_links  # type: ignore[method-assign] # to see what is found

    def _note_links(self, *arguments: object) -> object:
        found = self.process(*arguments)  # type: ignore[arg-type]
        for url in found.urls:
            self.known_pages[host_of(url)].add(url)
        return found

    def exchange(self, url: str) -> Exchange:
        """Return a page, a sitemap of all pages, a robots.txt that names it, or a 404."""
        origin = url[: url.index("/", 8)]
        body = self.web.get(url, b"")
        kind = "text/html; charset=utf-8"
        if origin not in self.hosts:
            body = b""
        elif url == f"{origin}/robots.txt":
            body, kind = f"Sitemap: {origin}/sitemap.xml".encode(), "text/plain"
        elif url == f"{origin}/sitemap.xml":
            urls: list[str] = []
            for page in sorted(self.hosts[origin]):
                urls += [f"{page}~{number}" for number in range(self.lies)]
                urls.append(page)
            entries = "".join(f"<url><loc>{escape(one)}</loc></url>" for one in urls)
            body = b"<urlset>%s</urlset>" % entries.encode()
            kind = "text/xml"
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
        """Fetch until nothing is left."""
        crawl = self.crawl
        while crawl.pending:
            self._now += 1.0
            while (link := crawl.next_link(self._now)) is not None:
                self._fetch(link)
            crawl.next_ready()

    def _fetch(self, link: Link) -> None:
        """Fetch a link, and note what is known of its host if the number of requests is a mark."""
        exchange = self.exchange(link.url)
        page = self.visitor.visit(link, exchange)
        if link.is_prerequisite:
            self.visitor.follow_robots(page)
        else:
            self.visitor.follow(page)
        self._finish(link, exchange, exchange.status)
        host, origin = host_of(link.url), link.url[: link.url.index("/", 8)]
        self.requested[host] += origin in self.hosts
        self.fetched[host] += link.url in self.web
        pages = self.hosts[origin]
        if self.requested[host] in MARKS and len(pages) >= MIN_PAGES:
            known_pages = len(self.known_pages[host].intersection(pages)) / len(pages)
            self.shares_at[origin, self.requested[host]] = (
                known_pages,
                self.fetched[host] / self.requested[host],
            )


def compare(name: str, web: Web, seeds: list[str], lies: int) -> None:
    """Crawl a web with each way to use sitemaps, and report each."""
    for mode, sitemaps in SITEMAP_SETTINGS.items():
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
            rows = [row for (_, requested), row in crawl.shares_at.items() if requested == mark]
            figures[f"known_after_{mark}"] = mean(known_pages for known_pages, _ in rows)
            figures[f"pages_in_{mark}"] = mean(share for _, share in rows)
        requests = crawl.crawl.parts.counters
        report(
            "sitemaps",
            web=name,
            sitemaps=mode,
            lies=lies,
            requests=sum(crawl.requested.values()),
            fetched=sum(crawl.fetched.values()),
            read=requests["sitemaps"],
            **figures,
        )


def main() -> None:
    """Run the benchmark with the options of the command line."""
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
