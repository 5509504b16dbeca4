"""Pages that a seed's domain costs, or has, with and without families of URLs that are folded, in
simulated time.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from random import Random

from benchmarks.support import families, zoo
from benchmarks.support.report import report
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Rules, Shape
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import open_frontier
from webcrawl.store.crawldb import CrawlDB

PAGES = 1000  # DOMAIN_BUDGET_PAGES; a seed's domain has ten times as many
BUDGET = 10 * PAGES


def fetched(site: zoo.Site, *, folds: bool) -> int:
    """Return how many pages of a site are fetched, with its start page as the seed."""
    with tempfile.TemporaryDirectory() as folder:
        db = CrawlDB(Path(folder))
        rules = Rules(
            ByDepth(8),
            Mercator(0, 0.1, 300),
            Limits(queues=30, max_queues=100),
            zoo.domain_of,
            ByReputation(PAGES),
            folds=folds,
        )
        frontier = open_frontier(db, Shape(8, 2.0, 32 << 20), rules, random=Random(1))
        pages = zoo.crawl(frontier, {"zoo.test": site}, [f"{families.HOME}/"], BUDGET)
        db.close()
    return pages["zoo.test"]


def main() -> None:
    """Crawl each site without and with families, and report the pages."""
    sites = {**families.TRAPS, **{name: site for name, (site, _) in families.GOOD.items()}}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", choices=sites, action="append", help="one of these alone")
    for name in parser.parse_args().site or sites:
        without, folded = (fetched(sites[name], folds=folds) for folds in (False, True))
        report("families", site=name, good=name in families.GOOD, without=without, folded=folded)


if __name__ == "__main__":
    main()
