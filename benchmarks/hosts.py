"""What a host costs a crawl apart from its pages: a web of many hosts with few pages each, over
http and https.

Each scheme is crawled with one, two and four pages per host, and with two pages on a quarter of the
hosts: with many pages on few hosts a page would cost less, for another reason. A crawl's CPU time
is taken to be a start, and so much for each host and each page: least squares give the three. A
host costs a name to resolve (by a name server on loopback that knows all answers), a robots.txt
that is fetched, read, archived and logged, a connection, and a record; all that before its first
page. A third of the hosts have no robots.txt, a third one that allows everything.

Server and crawler have one core each; the server's CPU time is not counted. Its hosts share 32
addresses, but a connection is used for one host only. It offers tickets of TLS sessions, which the
crawler does not take.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.support.crawling import IMPOLITE, PORT, SERVER, TLS_PORT, measured, webcrawl
from benchmarks.support.processes import beside
from benchmarks.support.report import report
from webcrawl.lab.simweb import Log, World, running

ROBOTS = {"robots_missing": 1 / 3, "robots_disallow": 1 / 3}
PAGES = (1, 2, 4)  # per host
HOSTS_DIVISOR = 4  # of the web with fewer hosts


class EvenWorld(World):
    """A world whose hosts all have the same number of pages."""

    def _pages_of(self, host: int) -> int:
        return self.pages // self.hosts

    def first_page(self, host: int) -> int:
        return host * (self.pages // self.hosts)


def _serve(ready: Connection, hosts: int, pages: int, scheme: str) -> None:
    """Serve the web on a core of its own, and send the name server's address when it is ready."""
    os.sched_setaffinity(0, {int(SERVER)})
    mix = ROBOTS | ({"https": 1.0} if scheme == "https" else {})
    world = EvenWorld(
        hosts, hosts * pages, port=PORT, tls_port=TLS_PORT, mix=mix, size=(2000, 4000), links=10
    )
    with running(world, log=Log(keep=False)) as server:
        ready.send(server.nameserver)
        with suppress(EOFError):
            ready.recv()


def crawl(scheme: str, hosts: int, pages: int, settings: list[str]) -> tuple[int, int, float]:
    """Crawl a web once, and return its hosts, its pages and the CPU seconds of the crawl."""
    with (
        beside(_serve, hosts, pages, scheme) as nameserver,
        tempfile.TemporaryDirectory() as folder,
    ):
        values = (f"DNS_NAMESERVERS={nameserver}", *IMPOLITE, *settings)
        spent = measured(webcrawl(Path(folder), hosts, *values, tls=scheme == "https"))
        stats = json.loads((Path(folder) / "job/stats.json").read_text())
    crawled = stats["answers"] - hosts  # one robots.txt each
    report(
        f"hosts/{scheme}",
        hosts=hosts,
        pages=crawled,
        cpu_us_a_page=1e6 * spent.cpu / crawled,
        cpu_seconds=spent.cpu,
        seconds=spent.seconds,
        crawler_rss_mib=spent.peak,
    )
    return hosts, crawled, spent.cpu


def fit(runs: list[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Return the seconds that a start, a host and a page take, by least squares."""
    hosts, pages, cpu = np.array(runs).T
    start, host, page = np.linalg.lstsq(
        np.stack([np.ones(len(runs)), hosts, pages]).T, cpu, rcond=None
    )[0]
    return float(start), float(host), float(page)


def run(scheme: str, hosts: int, rounds: int, settings: list[str]) -> None:
    """Crawl all webs of a scheme, and report what a host and a page cost."""
    webs = [*((hosts, pages) for pages in PAGES), (max(hosts // HOSTS_DIVISOR, 1), PAGES[1])]
    runs = [crawl(scheme, *web, settings) for _ in range(rounds) for web in webs]
    start, host, page = fit(runs)
    report(
        f"hosts/{scheme}/cost",
        us_a_host=1e6 * host,
        us_a_page=1e6 * page,
        start_seconds=start,
        rounds=rounds,
    )


def main() -> None:
    """Measure the schemes that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument(
        "--hosts", type=int, default=4000, help="hosts of the larger webs (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="crawls of each web (default: %(default)s)"
    )
    parser.add_argument(
        "--scheme", choices=("http", "https"), action="append", help="only this one"
    )
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl"
    )
    args = parser.parse_args()
    for scheme in args.scheme or ("http", "https"):
        run(scheme, args.hosts, args.rounds, args.setting)


if __name__ == "__main__":
    main()
