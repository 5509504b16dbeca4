"""What a second core gives to one crawl: the same web, crawled on one core and on two.

Compression leaves the event loop's thread if there is a second core. Three crawls in turn, all with
politeness off: on one core; on two; on two as if there were one, which says what the handing over
costs. Printed are the CPU time of a page without start and end, the share of the event loop's
thread in it, pages per second of wall-clock time, and how late timers of the event loop were.

The bound that does not depend on other load is pages / max(CPU of the loop's thread, CPU of all
others): what the rate would be if nobody had to wait for Python's lock. With fewer than four cores
the synthetic web needs the crawl's second one: the seconds that it used are subtracted from those
of the two-core crawl, which flatters neither, since the crawl alone keeps no two cores busy.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

from benchmarks.support.crawling import IMPOLITE, served, webcrawl
from benchmarks.support.processes import cost, cpu_so_far
from benchmarks.support.report import report
from webcrawl.crawl.outputs import warc
from webcrawl.crawl.periodic import Loop

LOOK_SECONDS = 0.01  # between two measurements of how late the event loop is
ONE, TWO, TWO_AS_ONE = "one core", "two cores", "two cores, no thread"
CORES_FOR_WEB_TOO = 4  # cores of a machine on which the web has its own


class Meter:
    """An extension of the crawl under test: prints what its threads used, as its last line."""

    def __init__(self, crawler: Crawler) -> None:
        self._delays: list[float] = []
        self._due = 0.0
        self._begun = self._ended = 0.0, 0.0  # CPU seconds of this thread and of all
        self._loop = Loop(self._measure_delay)
        if crawler.settings.getbool("METER_NO_THREAD"):
            warc.usable_cores = lambda: [0]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        meter = cls(crawler)
        crawler.signals.connect(meter.opened, signals.spider_opened)
        crawler.signals.connect(meter.closed, signals.spider_closed)
        atexit.register(meter.print_usage)
        return meter

    def opened(self) -> None:
        self._begun = time.thread_time(), time.process_time()
        self._due = time.perf_counter() + LOOK_SECONDS
        self._loop.start(LOOK_SECONDS, now=False)

    def _measure_delay(self) -> None:
        now = time.perf_counter()
        self._delays.append(max(now - self._due, 0.0))
        self._due = now + LOOK_SECONDS

    def closed(self) -> None:
        self._loop.stop()
        self._ended = time.thread_time(), time.process_time()

    def print_usage(self) -> None:
        """Print the CPU seconds of the loop and of all threads, and the delays."""
        percent = quantiles(self._delays, n=100) if len(self._delays) > 1 else [0.0] * 99
        loop, total = (end - begin for begin, end in zip(self._begun, self._ended, strict=True))
        print(json.dumps({"loop": loop, "all": total, "late": percent[49], "late_99": percent[98]}))


@dataclass(slots=True)
class Run:
    """One crawl."""

    pages: int
    loop: float  # CPU seconds of the event loop's thread
    others: float  # of all others
    seconds: float  # from the first line of crawl.log to the last
    web: float  # CPU seconds of the synthetic web on the crawl's cores
    delay: float
    delay_99: float

    @property
    def us_a_page(self) -> float:
        return 1e6 * (self.loop + self.others) / self.pages

    @property
    def bound(self) -> float:
        """Pages per second that the busiest thread allows."""
        return self.pages / max(self.loop, self.others)

    @property
    def rate(self) -> float:
        """Pages per second, without the time that the web took."""
        return self.pages / (self.seconds - self.web)


def crawl(how: str, hosts: int, pages: int, size: int, settings: list[str]) -> Run:
    """Crawl the web on one core or two, report it, and return what it took."""
    cores = [str(core) for core in sorted(os.sched_getaffinity(0))]
    ours = cores[: 1 if how == ONE else 2]
    theirs = cores[2:] if len(cores) >= CORES_FOR_WEB_TOO else cores[1:]
    extensions = json.dumps({"benchmarks.cores.Meter": 0})
    more = [*IMPOLITE, f"EXTENSIONS={extensions}", *settings]
    if how == TWO_AS_ONE:
        more.append("METER_NO_THREAD=1")
    with (
        tempfile.TemporaryDirectory() as name,
        served(hosts, pages, "--size", str(size), cores=",".join(theirs)) as web,
    ):
        before = cpu_so_far(web)
        spent = cost(["taskset", "-c", ",".join(ours), *webcrawl(Path(name), hosts, *more)])
        busy = 0.0 if set(theirs).isdisjoint(ours) else cpu_so_far(web) - before
        # one robots.txt each
        fetched = json.loads((Path(name) / "job/stats.json").read_text())["answers"] - hosts
        seconds = _seconds(Path(name) / "job/logs/crawl.log")
    used = json.loads(spent.said.splitlines()[-1])
    run = Run(
        fetched,
        used["loop"],
        used["all"] - used["loop"],
        seconds,
        busy,
        used["late"],
        used["late_99"],
    )
    report(
        f"cores/{how}",
        pages=run.pages,
        us_a_page=run.us_a_page,
        loop_us_a_page=1e6 * run.loop / run.pages,
        others_us_a_page=1e6 * run.others / run.pages,
        bound_pages_a_second=run.bound,
        pages_a_second=run.rate,
        web_subtracted=run.web,
        late_ms=1000 * run.delay,
        late_99_ms=1000 * run.delay_99,
    )
    return run


def _seconds(log: Path) -> float:
    """Return the seconds from the first line of a log to the last."""
    with log.open() as lines:
        first, *_, last = (datetime.fromisoformat(line.split(" ", 1)[0]) for line in lines)
    return (last - first).total_seconds()


def main() -> None:
    """Crawl in turn in all three ways, and report the medians of the ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument(
        "--pages", type=int, default=20_000, help="pages of the synthetic web, all crawled"
    )
    parser.add_argument("--size", type=int, default=40_000, help="bytes per page")
    parser.add_argument("--rounds", type=int, default=7, help="the ratios are medians of so many")
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE for all"
    )
    args = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("this needs two cores")
    rounds = [
        {
            how: crawl(how, args.hosts, args.pages, args.size, args.setting)
            for how in (ONE, TWO, TWO_AS_ONE)
        }
        for _ in range(args.rounds)
    ]
    report(
        "cores/ratios",
        rounds=args.rounds,
        wall_clock=median(runs[TWO].rate / runs[ONE].rate for runs in rounds),
        bound=median(runs[TWO].bound / runs[TWO_AS_ONE].bound for runs in rounds),
        cpu=median(runs[TWO].us_a_page / runs[TWO_AS_ONE].us_a_page for runs in rounds),
    )


if __name__ == "__main__":
    main()
