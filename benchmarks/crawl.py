"""The whole crawler on the synthetic web, beside plain Scrapy on the same pages; server and crawler on a core each.

Everything is on: robots.txt, frontier and seen store on disk, WARC, logs, checkpoints. Politeness is off.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import Cost, cost
from benchmarks.report import report

PORT, TLS_PORT, DNS_PORT = 18_110, 18_143, 18_153
CRAWLER, SERVER = "0", "1"
IMPOLITE = ("POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0")


@contextmanager
def served(hosts: int, pages: int, *options: str) -> Iterator[int]:
    """The synthetic web in a process of its own; the number of that."""
    command = ["taskset", "-c", SERVER, sys.executable, "-m", "webcrawl.simweb"]
    command += [
        "--hosts",
        str(hosts),
        "--pages",
        str(pages),
        "--port",
        str(PORT),
        "--tls-port",
        str(TLS_PORT),
        "--dns-port",
        str(DNS_PORT),
        *options,
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if server.stdout is None or not server.stdout.readline().startswith("simweb ready"):
            raise RuntimeError("the synthetic web did not start")
        yield server.pid
    finally:
        server.terminate()
        server.wait()


def measured(command: list[str]) -> Cost:
    """What a crawler costs on its core."""
    return cost(["taskset", "-c", CRAWLER, *command])


def webcrawl(folder: Path, hosts: int, *settings: str, tls: bool = False) -> list[str]:
    """The command for a crawl of all hosts."""
    seeds, scheme, port = folder / "seeds.txt", "https" if tls else "http", TLS_PORT if tls else PORT
    seeds.write_text("".join(f"{scheme}://site{i}.test:{port}/\n" for i in range(hosts)))
    command = [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={seeds}"]
    values = [
        f"JOBDIR={folder / 'job'}",
        f"DNS_NAMESERVERS=127.0.0.1:{DNS_PORT}",
        "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/16",
        "CONCURRENT_REQUESTS=256",
        "LOG_LEVEL=ERROR",
        *settings,
    ]
    return command + [part for value in values for part in ("-s", value)]


def run(hosts: int, pages: int, plain: int, settings: list[str]) -> None:
    """Both fetch each host's robots.txt, and neither counts it as a page."""
    with served(hosts, pages), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spent = measured(webcrawl(folder, hosts, *IMPOLITE, *settings))
        stats = json.loads((folder / "job/stats.json").read_text())
    rate = _report("crawl", stats["pages"] - hosts, spent)
    if plain:
        with served(hosts // plain, pages // plain):
            size = map(str, (hosts // plain, pages // plain, PORT, 0))
            spent = measured([sys.executable, "-m", "benchmarks.plain_scrapy", *size])
        report("crawl/ratio", times=rate / _report("crawl/scrapy", int(spent.said), spent))


def _report(name: str, pages: int, spent: Cost) -> float:
    rate = pages / spent.cpu
    figures = {"pages": pages, "pages_a_cpu_second": rate, "us_a_page": 1e6 / rate}
    report(name, **figures, pages_a_second=pages / spent.seconds, crawler_rss_mib=spent.peak)
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crawl", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument(
        "--pages", type=int, default=20_000, help="pages of the synthetic web, all of which are crawled"
    )
    parser.add_argument("--plain", type=int, default=10, help="so many times fewer for plain Scrapy; 0: leave it out")
    parser.add_argument("-s", "--setting", action="append", default=[], help="NAME=VALUE for webcrawl")
    args = parser.parse_args()
    run(args.hosts, args.pages, args.plain, args.setting)


if __name__ == "__main__":
    main()
