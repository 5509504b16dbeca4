"""Disk operations that fail or are the last: `python -m tests.campaign.faults`, `… --how full
--most 10 --seed 3`.

See docs/checkpoints-and-crashes.md.
"""

import argparse
import time
from collections import Counter
from random import Random

from tests.campaign.programs import say, tell, workshop
from tests.crash.test_faults import Faulty, every_fault, killed_in_the_middle, sample
from tests.support.broken import DIES, FAILS


def fault(options, folder, simweb):
    """Makes disk operations of a small crawl, and of a resumed one, fail or be the last."""
    tried = happened = 0
    for number, prepare in enumerate((None, killed_in_the_middle)):
        begun = time.monotonic()
        (folder / str(number)).mkdir()
        crawl = Faulty(simweb, folder / str(number))
        if prepare is not None:
            prepare(crawl)
        found = crawl.operations()
        faults = [one for one in every_fault(found) if options.how in (None, one.how)]
        faults = sample(faults, Random(options.seed), options.most)
        ends = Counter(crawl.suffer(fault) for fault in faults)
        tried, happened = tried + len(faults), happened + ends[True]
        say(
            f"{'resumed' if prepare else 'new'} crawl: {found.total()} operations of {len(found)} kinds, {len(faults)} "
            f"faults tried, {ends[True]} happened, each followed by a snapshot and a whole crawl; "
            f"{time.monotonic() - begun:.0f} s"
        )
    tell(faults=happened, tried=tried)


def main():
    """Run the program with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.faults", description=__doc__)
    parser.add_argument("--how", choices=(*FAILS, *DIES), help="only in this way")
    parser.add_argument(
        "--most", type=int, default=10**9, help="no more faults than these of each crawl"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with workshop("faults") as (folder, simweb):
        fault(options, folder, simweb)


if __name__ == "__main__":
    main()
