"""Kills of a crawl that revisits, a day of its web per second: `python -m tests.campaign.revisits
--kills 5`.

See docs/checkpoints-and-crashes.md.
"""

import argparse
import time
from collections import Counter
from random import Random

from tests.campaign.makeup import ALWAYS, SOMETIMES
from tests.campaign.programs import say, tell, workshop
from tests.crash.test_revisits import killed
from tests.support.changing import DAY, crawl_of, records_of, run_until, seen
from webcrawl.lab.simweb.mix import changing
from webcrawl.store.jobdir import crawl_line
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.verify_crawl import verify

POLICIES = ("fixed", "uniform", "proportional", "history", "optimal")
# with others at most 1
LISTED = {"sitemap_plain": 0.3, "sitemap_index": 0.25, "sitemap_now": 0.2, "feed_atom": 0.3}


def there(jobdir):
    """The pages that were there when they were fetched last, as the last checkpoint has it."""
    with Snapshot(jobdir / "state") as snapshot:
        ((length,),) = snapshot.rows("SELECT length FROM output WHERE path = ?", (crawl_line.LOG,))
    lines = [*map(crawl_line.read, (jobdir / crawl_line.LOG).read_bytes()[:length].splitlines())]
    last = {line.url: line.status for line in lines if not line.is_prerequisite}
    return {url for url, status in last.items() if status in (200, 304)}


def revisit(options, folder, simweb):
    """After each kill every page that was fetched has one record; in the end the pages have had
    their turns.
    """
    chance = Random(options.seed)
    policy, outputs = chance.choice(POLICIES), [name for name in SOMETIMES if chance.random() < 0.5]
    listings = chance.random() < 0.5
    rate = chance.choice((0.25, 1)) * options.pages
    say(
        f"{policy}, {rate:g} pages per day, {'with' if listings else 'without'} listings: {' '.join(outputs)}"
    )
    mix = changing() | {"odd_304_always": 0.0} | (LISTED if listings else {})
    server = simweb(
        10,
        options.pages,
        mix=mix,
        size=(2000, 2500),
        seed=options.seed,
        time_scale=DAY,
        addresses=10,
    )
    settings = {
        "REVISIT_POLICY": policy, "REVISIT_RATE": rate, "SITEMAPS": listings, "FEED_LINKS": listings,
        "CHECKPOINT_INTERVAL": 0.2, "OUTPUTS": " ".join([*ALWAYS, "changes", *outputs]),
    }  # fmt: skip
    crawl, begun, kills = crawl_of(server, folder, **settings), time.monotonic(), 0
    for found in killed(crawl, server, chance, times=options.kills):
        records, fetched = records_of(crawl)
        doubled = [url for url, count in records.items() if count > 1]
        assert doubled == [], doubled
        assert records.keys() <= fetched, sorted(records.keys() - fetched)[:5]
        lost = there(crawl.jobdir) - records.keys()
        assert listings or not lost, sorted(lost)[:5]
        kills += 1
        say(
            f"kill {kills}: {found['rows'] if 'rows' in found else len(fetched)} pages, {len(records)} records"
        )
    since, last_began = server.log.count, time.monotonic()
    status, last = run_until(
        crawl, server, lambda _: time.monotonic() - last_began > options.days, since
    )
    assert status == 0, crawl.output.read_text()[-2000:]
    assert last.rude + seen(server).without_robots == []
    assert [*verify(crawl.jobdir, Counter())] == []
    records, fetched = records_of(crawl)
    assert set(records.values()) == {1}
    pages = seen(server).pages
    tell(
        kills=kills, days=round(time.monotonic() - begun), pages=len(pages),
        requests=sum(map(len, pages.values())), records=len(records), fetched=len(fetched),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.revisits", description=__doc__)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--pages", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with workshop("revisits") as (folder, simweb):
        revisit(options, folder, simweb)


if __name__ == "__main__":
    main()
