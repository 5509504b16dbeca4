"""Whole crawls of a synthetic web with endless traps: what is spent on them until everything owed
is there.
"""

from collections import Counter
from dataclasses import dataclass

from tests.support.crawling import PATIENCE, wait_until
from webcrawl.lab.simweb import truth, wait_until_idle, zoo_hits
from webcrawl.lab.simweb.host_kinds import is_robots


@dataclass(frozen=True)
class Spent:
    """What the crawl had asked for when it was stopped, or had ended."""

    status: int  # the exit status
    owed: int  # URLs that the truth demands
    missing: set[str]  # those of them that had not been requested
    pages: int  # requests other than for robots.txt
    traps: Counter[str]  # those for pages of traps, by kind


def crawl_until_owed(server, crawl, *, most, seconds=PATIENCE, **known):
    """Stops the crawl once it has asked for everything owed, or for `most` pages.

    `known` goes to `truth`.
    """
    seeds = crawl.arguments["seeds"].read_text().split()
    owed = truth(server.world, seeds, **known).must
    missing, hits = set(owed), server.log.hits
    read = 0

    def enough():
        nonlocal read
        new = hits[read:]
        read += len(new)
        missing.difference_update(hit.url for hit in new)
        return not missing or read >= most or not running.process.is_alive()

    running = crawl.start()
    try:
        wait_until(enough, seconds)
        if running.process.is_alive():
            running.interrupt()
        status = running.wait(seconds)
    finally:
        if running.process.is_alive():
            running.kill()
    wait_until_idle(server)
    pages = sum(not is_robots(hit.path) for hit in hits)
    return Spent(
        status, len(owed), owed - {hit.url for hit in hits}, pages, zoo_hits(server.world, hits)
    )
