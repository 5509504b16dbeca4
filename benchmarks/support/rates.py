"""Pages per CPU second of webcrawl, of plain Scrapy in two forms, and of the limit, on the same
web.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.support.crawling import IMPOLITE, PORT, TLS_PORT, measured, served, webcrawl
from benchmarks.support.processes import Cost, cpu_so_far
from benchmarks.support.report import report

# Few over TLS: connections are not kept, and cost as much as pages
PAGES_A_HOST = {False: 20, True: 4}
# plain Scrapy gets a smaller web, for about the same run time
DIVISOR = {"scrapy": 10, "by-hand": 4}

MIN_SHARE = 0.9  # of a web's pages: webcrawl's trap filters skip some of the largest hosts


@dataclass(slots=True, frozen=True)
class Web:
    """A synthetic web in which every page has 40 links and the same size."""

    tls: bool
    size: int  # thousand bytes
    pages: int
    per_host: int = 0  # pages; 0: as PAGES_A_HOST has it

    def __str__(self) -> str:
        return f"{'https' if self.tls else 'http'}, {self.size} KB"

    @property
    def hosts(self) -> int:
        return max(self.pages // (self.per_host or PAGES_A_HOST[self.tls]), 1)

    @property
    def options(self) -> list[str]:
        return ["--size", str(1000 * self.size), *(["--kinds", "https"] if self.tls else [])]

    @property
    def arguments(self) -> list[str]:
        """Return the arguments of the programs under test."""
        port = TLS_PORT if self.tls else PORT
        return [*map(str, (self.hosts, self.pages, port)), *(["--tls"] if self.tls else [])]


@dataclass(slots=True)
class Rate:
    """The result of a run; robots.txt files do not count as pages."""

    pages: int
    cost: Cost
    server: float  # of its core

    @property
    def rate(self) -> float:
        return self.pages / self.cost.cpu


def run_webcrawl(web: Web) -> Rate:
    """Run the whole crawler, with everything on but politeness."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rate = _run(web, webcrawl(folder, web.hosts, *IMPOLITE, tls=web.tls))
        stats = json.loads((folder / "job/stats.json").read_text())
    rate.pages = stats["answers"] - web.hosts  # one robots.txt each
    return rate


def run_scrapy(web: Web) -> Rate:
    """Run a CrawlSpider with LinkExtractor."""
    return _plain(web, DIVISOR["scrapy"])


def run_by_hand(web: Web) -> Rate:
    """Run Scrapy with links by lexbor, as fast as a good user makes it."""
    return _plain(web, DIVISOR["by-hand"], "--by-hand")


def run_limit(web: Web) -> Rate:
    """Run the limit, without a crawler."""
    return _run(web, [sys.executable, "-m", "benchmarks.bare", *web.arguments])


def run_archive(web: Web) -> Rate:
    """Run the limit with the archive."""
    return _run(web, [sys.executable, "-m", "benchmarks.bare", *web.arguments, "--archive"])


def _plain(web: Web, fewer: int, *more: str) -> Rate:
    web = replace(web, pages=max(web.pages // fewer, 1))
    hosts, pages, port, *tls = web.arguments
    return _run(
        web, [sys.executable, "-m", "benchmarks.plain_scrapy", hosts, pages, port, "0", *tls, *more]
    )


def _run(web: Web, command: list[str]) -> Rate:
    """Serve a web, run a command that crawls it, and return its rate."""
    with served(web.hosts, web.pages, *web.options) as server:
        before = cpu_so_far(server)
        spent = measured(command)
        busy = (cpu_so_far(server) - before) / spent.seconds
    return Rate(int(spent.said.split()[-1]) if spent.said.strip() else 0, spent, busy)


RUNS: dict[str, Callable[[Web], Rate]] = {
    "webcrawl": run_webcrawl,
    "scrapy": run_scrapy,
    "by-hand": run_by_hand,
    "limit": run_limit,
    "archive": run_archive,
}


def measure(name: str, web: Web) -> Rate:
    """Run one of RUNS, report its figures and return them.

    Raise RuntimeError if it crawled too few pages for a measurement.
    """
    rate = RUNS[name](web)
    if rate.pages < MIN_SHARE * web.pages // DIVISOR.get(name, 1):
        raise RuntimeError(f"{name} crawled {rate.pages} pages of {web}: too few for a measurement")
    report(
        f"suite/{name}",
        web=str(web),
        hosts=web.hosts,
        pages=rate.pages,
        pages_a_cpu_second=rate.rate,
        us_a_page=1e6 / rate.rate,
        pages_a_second=rate.pages / rate.cost.seconds,
        rss_mib=rate.cost.peak,
        server_busy=rate.server,
    )
    return rate
