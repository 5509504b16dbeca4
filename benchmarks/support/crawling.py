"""Crawls of the synthetic web, with server and crawler on one core each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support.processes import Cost, cost

PORT, TLS_PORT, DNS_PORT = 18_110, 18_143, 18_153
CRAWLER, SERVER = "0", "1"
IMPOLITE = ("POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0")


@contextmanager
def served(hosts: int, pages: int, *options: str, cores: str = SERVER) -> Iterator[int]:
    """Serve the synthetic web in a separate process for the block, and yield its process id."""
    command = ["taskset", "-c", cores, sys.executable, "-m", "webcrawl.lab.simweb"]
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
    """Run a crawler on its core to its end, and return its cost."""
    return cost(["taskset", "-c", CRAWLER, *command])


def webcrawl(folder: Path, hosts: int, *settings: str, tls: bool = False) -> list[str]:
    """Write the seeds of all hosts, and return the command that crawls them."""
    seeds = folder / "seeds.txt"
    scheme, port = ("https", TLS_PORT) if tls else ("http", PORT)
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
