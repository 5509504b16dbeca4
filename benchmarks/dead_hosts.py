"""What dead hosts cost a crawl: its rate compared with the same crawl without them.

A dead host accepts connections and never answers. Dead hosts are additional: both crawls have the same number of live
hosts. Times, including a page's latency, are a tenth of the settings' defaults, so that half a minute includes all
tries of a dead host.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.support.crawling import CRAWLER, PORT, SERVER, measured, webcrawl
from benchmarks.support.processes import beside
from benchmarks.support.report import report
from webcrawl.lab.simweb import World, running
from webcrawl.lab.simweb.request_log import Log

LATENCY = 0.03
TIMES = {
    "DOWNLOAD_TIMEOUT": 3,
    "HOST_RETRY_WAIT": 6,
    "POLITENESS_FACTOR": 1,
    "POLITENESS_MIN_DELAY": 0.05,
    "POLITENESS_MAX_DELAY": 30,
}


def _serve(ready: Connection, hosts: int, pages: int, share: float) -> None:
    """Serves the synthetic web, in which this share of the hosts is dead."""
    os.sched_setaffinity(0, {int(SERVER)})
    mix = {"host_hang": share} if share else {}
    world = World(hosts, pages, port=PORT, mix=mix, size=(4000, 8000), links=20)
    with running(world, latency=LATENCY, log=Log(keep=False)) as server:
        ready.send(server.nameserver)
        ready.recv()


def crawl(name: str, hosts: int, pages: int, seconds: int, share: float, settings: list[str]) -> float:
    """Pages per second of a crawl that is stopped after so many seconds."""
    values = [f"{name}={value}" for name, value in {**TIMES, "CLOSESPIDER_TIMEOUT": seconds}.items()]
    with beside(_serve, hosts, pages, share) as nameserver, tempfile.TemporaryDirectory() as folder:
        values += [f"DNS_NAMESERVERS={nameserver}", "CONCURRENT_REQUESTS=100"]  # the default
        spent = measured(webcrawl(Path(folder), hosts, *values, *settings))
        stats = json.loads((Path(folder) / "job/stats.json").read_text())
    rate: float = (
        stats["pages"] / seconds
    )  # not the seconds in stats.json: a crawl waits at its end for requests in progress, to dead hosts too
    report(
        f"dead_hosts/{name}",
        hosts=hosts,
        dead=round(hosts * share),
        pages=stats["pages"],
        pages_a_second=rate,
        crawler_cpu=spent.cpu / spent.seconds,
        timeouts=stats.get("status/-4", 0),
    )
    return rate


def run(hosts: int, pages: int, seconds: int, share: float, settings: list[str]) -> None:
    alone = crawl("without", hosts, pages, seconds, 0.0, settings)
    all_hosts = round(hosts / (1 - share))
    beside = crawl("with", all_hosts, pages, seconds, share, settings)
    report("dead_hosts/cost", crawler_core=CRAWLER, share=1 - beside / alone)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dead_hosts", description=__doc__)
    parser.add_argument("--hosts", type=int, default=900, help="live hosts")
    parser.add_argument("--pages", type=int, default=60_000, help="pages of the synthetic web; must not run out")
    parser.add_argument("--seconds", type=int, default=30, help="duration of each of the two crawls")
    parser.add_argument("--share", type=float, default=0.1, help="share of dead hosts")
    parser.add_argument("-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl")
    args = parser.parse_args()
    run(args.hosts, args.pages, args.seconds, args.share, args.setting)


if __name__ == "__main__":
    main()
