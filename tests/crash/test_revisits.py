"""kill -9 of a crawl that revisits: the record of each page is neither lost nor doubled."""

import time
from collections import Counter
from random import Random

import pytest

from tests.support.changing import DAY, crawl_of, records_of, seen
from tests.support.crawling import wait_until
from webcrawl.verify.whole import verify

AGE = 1.0
PAGES = 80
RATES = {"fixed": 2 * PAGES, "optimal": PAGES / 2}


@pytest.mark.parametrize("policy", ["fixed", "optimal"])
def test_killed_while_it_revisits(tmp_path, simweb, policy):
    """After each kill each page that was fetched has one record, and in the end each has had its turns, and no more."""
    mix = {"change_poisson": 0.6, "change_never": 0.4, "validator_strong": 0.5}
    server = simweb(10, PAGES, mix=mix, size=(2000, 2500), time_scale=DAY)
    settings = {"REVISIT_POLICY": policy, "REVISIT_AGE": AGE, "REVISIT_RATE": RATES[policy], "CHECKPOINT_INTERVAL": 0.2}
    crawl, chance, done = crawl_of(server, tmp_path, **settings), Random(1), 0
    for _ in range(4):
        running = crawl.start()
        wait_until(lambda done=done: server.log.count >= done + PAGES)
        time.sleep(chance.uniform(0, 1))
        running.process.kill()
        running.process.join()
        assert running.process.exitcode < 0
        done = len(seen(server).hits)
        assert [*verify(crawl.jobdir, Counter())] == []
        records, fetched = records_of(crawl)
        assert records == Counter(fetched)

    status = crawl.run(CLOSESPIDER_TIMEOUT=4)

    last = seen(server, done)
    asked = {url: len(hits) for url, hits in last.pages.items()}
    assert status == 0
    assert last.rude + seen(server).without_robots == []
    assert [*verify(crawl.jobdir, Counter())] == []
    records, fetched = records_of(crawl)
    assert records == Counter(fetched) == Counter(seen(server).pages.keys())
    if policy == "fixed":
        assert len(asked) == PAGES
        assert min(asked.values()) >= 2
        assert min(wait for url in asked for wait in last.waits(url)) > 0.8 * AGE
