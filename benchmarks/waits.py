"""How well `scrapy why` estimates when a URL's turn comes: actual waits by estimated ones, in simulated crawls.

In the first crawl hosts wait for their own delays, in the second for one of four slots, in the third for others at
their address. `within`: the share of URLs whose wait is 0.7 to 1.5 times the estimate. A second is added to both. What
else the machine does changes a crawl's pace under way, and so the second line: `paces` are those before and after.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.support.crawling import served, webcrawl
from benchmarks.support.report import report
from webcrawl.base.model import is_link, url_of
from webcrawl.base.url_text import host_of
from webcrawl.crawl.control.client import Client
from webcrawl.store.jobdir import crawl_line, host_row
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.tools.why.answer import Crawls

POLITE = ("POLITENESS_FACTOR=1", "POLITENESS_MIN_DELAY=0.4", "CHECKPOINT_INTERVAL=5", "OUTPUTS=none")
CRAWLS = {
    "delays": (30, 1500, POLITE),
    "slots": (60, 4000, (*POLITE, "POLITENESS_MIN_DELAY=0.1", "CONCURRENT_REQUESTS=4")),
    "addresses": (60, 1000, (*POLITE, "POLITENESS_PER_IP=on")),
}
BEGUN = 12.0  # seconds of the crawl before it is asked
SAMPLE = 400


def measure(name: str, lasts: float) -> None:
    """Asks one crawl, and compares with what its log says `lasts` seconds later."""
    hosts, pages, settings = CRAWLS[name]
    with served(hosts, pages, "--latency", "0.05"), tempfile.TemporaryDirectory() as scratch:
        job, copy = Path(scratch) / "job", Path(scratch) / "copy"
        crawl = subprocess.Popen(webcrawl(Path(scratch), hosts, *settings))
        try:
            while not (job / crawl_line.LOG).exists():
                time.sleep(0.1)
            time.sleep(BEGUN)
            Client(job, 20.0).ask("checkpoint")
            begun = time.time()
            shutil.copytree(job, copy, ignore=shutil.ignore_patterns("control.sock"))
            asked = Random(0).sample(*_sampled(copy))
            with Crawls(copy, alive=False) as crawls:
                due = {one.url: one.details["queue"]["due_in"] for one in crawls.answers(asked) if one.details["queue"]}
            time.sleep(max(begun + lasts - time.time(), 0.0))
        finally:
            crawl.terminate()
            crawl.wait()
        lines = [*filter(None, map(crawl_line.read, (job / crawl_line.LOG).read_bytes().splitlines()))]
        ended = {line.url: line.at - begun for line in lines if line.at > begun}
        paces = [sum(low < line.at - begun <= low + BEGUN for line in lines) / BEGUN for low in (-BEGUN, 0.0)]
    wanted = [url for url in due if due[url] is not None and (url in ended or due[url] < 0.6 * lasts)]
    ratios = [(ended.get(url, 10 * lasts) + 1) / (due[url] + 1) for url in wanted]
    report(
        "waits",
        crawl=name,
        urls=len(ratios),
        hosts=len(set(map(host_of, wanted))),
        paces=paces,  # URLs per second before and after: the estimate knows only the first
        median=median(ratios),
        within=sum(0.7 <= ratio <= 1.5 for ratio in ratios) / len(ratios),
    )


def _sampled(jobdir: Path) -> tuple[list[str], int]:
    """The URLs in the queues of hosts, and how many of them are asked about."""
    with JobDir.open(jobdir).snapshot() as snapshot:
        queues, found = SavedQueues(snapshot), []
        for row in host_row.host_rows(snapshot):
            for saved in host_row.read(row).queues:
                for piece in queues.pieces(saved):
                    found += [url_of(record) for record in queues.cut(piece, 0, "a queue") if is_link(record)]
    return sorted(found), min(SAMPLE, len(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crawl", choices=CRAWLS, action="append", help="one of these alone")
    parser.add_argument("--seconds", type=float, default=45.0, help="for which each crawl goes on")
    arguments = parser.parse_args()
    for crawled in arguments.crawl or CRAWLS:
        measure(crawled, arguments.seconds)
