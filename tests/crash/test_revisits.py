"""kill -9 of a crawl that revisits: the record of each page is neither lost nor doubled."""

import sqlite3
import time
from collections import Counter
from contextlib import closing, suppress
from random import Random

import pytest

from tests.support.changing import DAY, crawl_of, records_of, run_until, seen
from tests.support.crawling import wait_until
from webcrawl.lab.simweb import wait_until_idle
from webcrawl.tools.verify_crawl import verify

AGE = 1.0
PAGES = 80
RATES = {"fixed": 2 * PAGES, "optimal": PAGES / 2}


def killed(crawl, server, chance, times, begun=lambda: True):
    """Kills the crawl so many times, each at some moment within a second of its next 80 requests,
    once it has begun.

    After each, what it left is sound: yields what was counted of it.
    """
    for _ in range(times):
        done, found = server.log.count, Counter()
        running = crawl.start()
        wait_until(lambda done=done: server.log.count >= done + PAGES and begun())
        time.sleep(chance.uniform(0, 1))
        running.kill()
        assert running.process.exitcode < 0
        wait_until_idle(server)
        assert [*verify(crawl.jobdir, found)] == []
        yield found


@pytest.mark.parametrize("policy", ["fixed", "optimal"])
def test_killed_while_it_revisits(tmp_path, simweb, policy):
    """After each kill each page that was fetched has one record, and in the end each has had its
    turns, and no more.
    """
    mix = {"change_poisson": 0.6, "change_never": 0.4, "validator_strong": 0.5}
    server = simweb(10, PAGES, mix=mix, size=(2000, 2500), time_scale=DAY)
    settings = {
        "REVISIT_POLICY": policy,
        "REVISIT_AGE": AGE,
        "REVISIT_RATE": RATES[policy],
        "CHECKPOINT_INTERVAL": 0.2,
    }
    crawl = crawl_of(server, tmp_path, **settings)
    for _ in killed(crawl, server, Random(1), times=4):
        records, fetched = records_of(crawl)
        assert records == Counter(fetched)

    def enough(found):
        requested = [len(hits) for hits in found.pages.values()]
        return sum(requested) > 2 * PAGES and (
            policy != "fixed" or (len(requested) == PAGES and min(requested) > 1)
        )

    status, last = run_until(crawl, server, enough, server.log.count)

    assert status == 0
    assert last.rude + seen(server).without_robots == []
    assert [*verify(crawl.jobdir, Counter())] == []
    records, fetched = records_of(crawl)
    assert records == Counter(fetched) == Counter(seen(server).pages.keys())
    if policy == "fixed":
        assert min(wait for url in last.pages for wait in last.waits(url)) > 0.8 * AGE


def has_listings(crawl):
    """Whether a checkpoint has any."""
    path = crawl.jobdir / "state/crawl.db"
    if not path.exists():
        return False
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db,
        suppress(sqlite3.OperationalError),
    ):
        return db.execute("SELECT count(*) FROM listed").fetchone()[0] > 0
    return False  # it makes the table when it first needs it


def test_killed_while_it_is_told(tmp_path, simweb):
    """Sitemaps have pages fetched ahead of time; a kill then loses and doubles no record
    either.
    """
    mix = {"change_poisson": 0.8, "change_moves": 0.1, "sitemap_plain": 0.6, "sitemap_index": 0.4}
    server = simweb(10, PAGES, mix=mix, size=(2000, 2500), time_scale=DAY)
    settings = {
        "REVISIT_AGE": AGE,
        "REVISIT_RATE": PAGES,
        "CHECKPOINT_INTERVAL": 0.2,
        "SITEMAPS": True,
    }
    crawl = crawl_of(server, tmp_path, **settings)
    for found in killed(crawl, server, Random(2), 3, lambda: has_listings(crawl)):
        records, fetched = records_of(crawl)
        assert set(records.values()) == {1}
        assert records.keys() <= fetched
        assert found["listings"] > 0
