"""Links per core: canonical form, filters, cache, seen store and front-end, with 100 million URLs
seen before.

Each page has 40 links: 8 of its site's navigation, `--new` new ones, and the rest among two million
URLs that are in the seen store already. The store's file F is made directly, from their
fingerprints and enough others. The measured part ends with the merge that judges everything
submitted; making the pages does not count.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Self

import numpy as np
from scrapy.settings import Settings

from benchmarks.support.profile import OTHER, START, profiled
from benchmarks.support.report import percent, report, timed
from benchmarks.support.seen_streams import Strided
from webcrawl.adapter.values import plain_values
from webcrawl.base.model import Link
from webcrawl.crawl.assembly import open_parts
from webcrawl.crawl.crawl import SLICE, Crawl
from webcrawl.crawl.parts import Parts
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.runs import RunWriter
from webcrawl.urls.url_fingerprint import Fingerprints

LINKS, NAVIGATION_LINKS = 40, 8
MILLION = 1_000_000
KNOWN = 2 * MILLION  # URLs in F that pages link to
HOSTS = 20_000
KEY = bytes(range(16))
BLOCK_PAGES = 1000  # pages made at a time
CHECKPOINT_PAGES = 100_000  # pages; a real crawl makes one per minute
Page = tuple[Link, list[str]]


def known_url(number: int) -> str:
    return f"http://www.site{number % HOSTS}.example/archive/story-{number}.html"


def pages(new: int) -> Iterator[list[Page]]:
    """Yield blocks of pages with their links without end; `new` links of each page are new."""
    random = Random(1)
    fresh = 0
    menu = [f"/section{number}/" for number in range(NAVIGATION_LINKS)]
    while True:
        block = []
        for _ in range(BLOCK_PAGES):
            host = f"http://www.site{min(int(random.paretovariate(0.8)), HOSTS) - 1}.example"
            old = [
                known_url(random.randrange(KNOWN)) for _ in range(LINKS - NAVIGATION_LINKS - new)
            ]
            own = [f"/news/story-{number}.html" for number in range(fresh, fresh + new)]
            fresh += new
            page = Link(f"{host}/page-{fresh}.html", "LL", seed="http://www.seed.example/")
            block.append((page, menu + old + own))
        yield block


def fill_seen_store(folder: Path, count: int) -> None:
    """Write F with so many keys: those of the known URLs, and others.

    They are sorted, a million at a time.
    """
    db = CrawlDB(folder)
    db.set("key", KEY)
    (folder / "seen").mkdir()
    writer, others = RunWriter(db.disk, folder / "seen" / "url-00000001"), Strided(count - KNOWN)
    ours = np.sort(np.array(Fingerprints(KEY)(map(known_url, range(KNOWN))), np.uint64))
    done = 0
    for first in range(0, count - KNOWN, MILLION):
        last = min(first + MILLION, count - KNOWN)
        keys = others.keys(np.arange(first, last, dtype=np.uint64))
        here = int(np.searchsorted(ours, keys[-1], "right")) if last < count - KNOWN else KNOWN
        writer.append(np.sort(np.concatenate([keys, ours[done:here]])))
        done = here
    writer.finish()
    db.execute("INSERT INTO run VALUES ('url-00000001', 'url', ?)", (writer.count,))
    db.checkpoint()
    db.close()


def open_crawl_parts(jobdir: Path, memory: int) -> Parts:
    """Return the parts of a crawl with the settings' defaults."""
    settings = Settings({"JOBDIR": str(jobdir), "SEEN_MEMORY": memory})
    settings.setmodule("webcrawl.settings", priority="default")
    return open_parts(plain_values(settings, "web"), CrawlDB(jobdir / "state"))


class TimedBlocks:
    """Iterates over blocks of pages, and adds up the CPU seconds that making them takes."""

    def __init__(self, blocks: Iterator[list[Page]]) -> None:
        self._blocks = blocks
        self.cpu = 0.0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Page]:
        with timed() as clock:
            block = next(self._blocks)
        self.cpu += clock.cpu
        return block


def discover_all(crawl: Crawl, parts: Parts, blocks: Iterable[list[Page]]) -> int:
    """Submit links until T is full, wait for the verdicts, and queue what is new.

    Return the number of links.
    """
    links = 0
    for number, block in enumerate(blocks, 1):
        for link, found in block:
            crawl.parts.discovery.discover(link, found, "L")
        links += sum(len(found) for _, found in block)
        if parts.seen.busy:
            break
        if number * BLOCK_PAGES % CHECKPOINT_PAGES == 0:
            for _ in crawl.parts.db.prepare():
                pass
            crawl.checkpoint()
    while parts.seen.busy:
        time.sleep(0.01)
    while records := parts.seen.pop_new(SLICE):
        parts.frontier.add(records)
    return links


def measure(seen: int, new: int, memory: int) -> None:
    """Measure the links of a crawl, and report them."""
    with tempfile.TemporaryDirectory(prefix="links-") as name:
        with timed() as filling:
            fill_seen_store(Path(name) / "state", seen)
        parts, blocks = open_crawl_parts(Path(name), memory), TimedBlocks(pages(new))
        crawl = Crawl(parts)
        with profiled() as profile:
            links = discover_all(crawl, parts, blocks)
        stats = parts.seen.stats()
        crawl.close()
    cpu = profile.cpu - blocks.cpu
    # OTHER is the making of pages
    stages = {
        stage: seconds for stage, seconds in profile.spent.items() if stage not in (OTHER, START)
    }
    report(
        "suite/links",
        seen_before=seen,
        links=links,
        links_a_cpu_second=links / cpu,
        new=parts.frontier.queued,
        merges=stats["merges"],
        filling_cpu=filling.cpu,
        us_a_link=1e6 * cpu / links,
        percent=percent(stages),
    )


def main() -> None:
    """Measure with the numbers of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.links", description=__doc__)
    parser.add_argument(
        "--seen", type=int, default=100 * MILLION, help="URLs seen before (default: %(default)s)"
    )
    parser.add_argument(
        "--new", type=int, default=10, help="new links per page (default: %(default)s)"
    )
    parser.add_argument(
        "--memory", type=int, default=256, help="SEEN_MEMORY, MiB (default: %(default)s)"
    )
    args = parser.parse_args()
    measure(args.seen, args.new, args.memory)


if __name__ == "__main__":
    main()
