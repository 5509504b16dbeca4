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

from benchmarks.processes import cost
from benchmarks.report import report

PORT, TLS_PORT, DNS_PORT = 18_110, 18_143, 18_153
CRAWLER, SERVER = "0", "1"


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


def measured(command: list[str]) -> tuple[float, float, int]:
    """CPU seconds, wall seconds and peak MiB of a process."""
    spent = cost(["taskset", "-c", CRAWLER, *command])
    return spent.cpu, spent.seconds, spent.peak


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
    with served(hosts, pages), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpu, seconds, peak = measured(
            webcrawl(folder, hosts, "POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0", *settings)
        )
        stats = json.loads((folder / "job/stats.json").read_text())
        rate = stats["pages"] / cpu
        figures = {"pages": stats["pages"], "pages_a_cpu_second": rate, "us_a_page": 1e6 / rate}
        report("crawl", **figures, pages_a_second=stats["pages"] / seconds, crawler_rss_mib=peak)
        if plain:
            command = [sys.executable, "-m", "benchmarks.plain_scrapy", *map(str, (hosts, pages, PORT, plain))]
            cpu, seconds, peak = measured(command)
            base = plain / cpu
            report(
                "crawl/scrapy",
                pages=plain,
                pages_a_cpu_second=base,
                pages_a_second=plain / seconds,
                crawler_rss_mib=peak,
            )
            report("crawl/ratio", times=rate / base)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crawl", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument(
        "--pages", type=int, default=20_000, help="pages of the synthetic web, all of which are crawled"
    )
    parser.add_argument("--plain", type=int, default=2000, help="pages for plain Scrapy; 0: leave it out")
    parser.add_argument("-s", "--setting", action="append", default=[], help="NAME=VALUE for webcrawl")
    args = parser.parse_args()
    run(args.hosts, args.pages, args.plain, args.setting)


if __name__ == "__main__":
    main()
