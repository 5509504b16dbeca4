"""Budgets of registered domains: what traps cost, whether a good site is crawled whole, and millions of domains.

The zoo is crawled in simulated time. `--domains` measures memory and CPU time with that many domains known instead.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from benchmarks.support import zoo
from benchmarks.support.report import report, timed
from webcrawl.base.hosts import host_of
from webcrawl.base.model import Link, Outcome
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.arguments import Rules, Shape
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import open_frontier
from webcrawl.lab.simweb import ZOO, World
from webcrawl.store.crawldb import CrawlDB

LINKS = 5  # new domains that a page links to
CRAWLED = 10  # of so many known domains one is crawled
PAGES = 2000  # between two checkpoints


def open_at(db: CrawlDB, pages: int, memory: int = 128) -> Frontier:
    rules = Rules(ByDepth(8), Mercator(0, 0.1, 300), Limits(300, 30_000, 100), zoo.domain_of, ByReputation(pages))
    return open_frontier(db, Shape(8, 2.0, memory << 20), rules, random=Random(1))


def crawl(name: str, site: zoo.Site, links: int, pages: int, most: int, home: str = "http://www.zoo.test/") -> None:
    """Crawls a site that so many others link to, or that is a seed if there are none."""
    domain = zoo.domain_of(host_of(home))
    others = {f"other{number}.test": zoo.page_of_links(home) for number in range(links)}
    seeds = [f"http://{other}/" for other in others] or [home]
    with tempfile.TemporaryDirectory() as folder, closing(CrawlDB(Path(folder))) as db:
        frontier = open_at(db, pages)
        with timed() as clock:
            found = zoo.crawl(frontier, {domain: site, **others}, seeds, most)
        over, _ = frontier.held
    share = clock.cpu / found.total() * 1e6
    report("budgets", site=name, links=links, pages=found[domain], over_budget=over, us_per_page=share)


def know(domains: int, memory: int) -> None:
    """Pages that each link to five new domains, one of which is crawled; checkpoints in between."""
    with tempfile.TemporaryDirectory() as folder, closing(CrawlDB(Path(folder))) as db:
        frontier = open_at(db, 1000, memory)
        heard = frontier.heard or _nobody
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        with timed() as clock:
            for page in range(domains // LINKS):
                source = f"http://s{page % 100_000}.test/{page}"
                heard(source, [f"http://d{page * LINKS + at}.test/" for at in range(LINKS)])
                if page % (CRAWLED // LINKS) == 0:
                    frontier.add([Link(f"http://d{page * LINKS}.test/", "L", source).pack()])
                    link = frontier.take(page)
                    if link is not None:
                        frontier.done(link, Outcome(200, 0.01), page)
                if page % PAGES == PAGES - 1:
                    for _ in db.prepare():
                        pass
                    db.checkpoint()
        rows = db.query("SELECT (SELECT count(*) FROM linked), (SELECT count(*) FROM domain)")[0]
        size = db.path.stat().st_size >> 20
    share = clock.cpu / domains * 1e6
    report("budgets", linked=rows[0], crawled=rows[1], us_per_domain=share, rss_before=before, db_mib=size)


def _nobody(page: str, urls: Sequence[str]) -> None:
    """For a frontier that does not want the links."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.budgets", description=__doc__)
    parser.add_argument("--pages", type=int, default=1000, help="DOMAIN_BUDGET_PAGES (%(default)s)")
    parser.add_argument("--most", type=int, default=20_000, help="pages after which a trap is given up (%(default)s)")
    parser.add_argument("--simweb", action="store_true", help="the traps of scrapy simweb, and its large site")
    parser.add_argument("--domains", type=int, help="domains to know, instead of the zoo")
    parser.add_argument("--memory", type=int, default=128, help="FRONTIER_MEMORY in MiB (%(default)s)")
    args = parser.parse_args()
    if args.domains:
        know(args.domains, args.memory)
        return
    if args.simweb:
        world = World(20, 100, zoo=ZOO, large=[100 * args.pages], popular=True, size=(1000, 1500))
        site = zoo.simulated(world)
        for number, name in enumerate(ZOO):
            if name != "zoo_farm":  # has as many domains as one wants, each with its own budget
                crawl(name, site, 3, args.pages, args.most, f"http://trap{number}.test/")
        crawl("large", site, 3, args.pages, 10**9, "http://large0.test/")
        return
    for links in (0, 1, 2):
        for name, trap in zoo.TRAPS.items():
            crawl(name, trap, links, args.pages, args.most)
    for links in (3, 10):
        crawl("good", zoo.good(100 * args.pages), links, args.pages, 10**9)


if __name__ == "__main__":
    main()
