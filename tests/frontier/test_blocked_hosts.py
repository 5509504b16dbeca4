"""Blocked hosts: they are requested less and less often, and none of their URLs is lost."""

from collections import Counter
from itertools import pairwise

import pytest

from tests.support.frontiers import OK, add, make, requests_of
from tests.support.saving import prepared
from webcrawl.base.model import Link, Outcome
from webcrawl.frontier.handover_records import merge_host, pack_host
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.host_row import Health

BLOCK_PAGE = Outcome(200, 0.01, blocked_by="anubis")
DENIED = Outcome(503, 0.01, blocked_by="cloudflare")
HOUR, DAY = 3600.0, 86_400.0


def opened(db):
    return make(db, politeness=Mercator(0, 0.1, 300))


def urls(count):
    return [f"http://a/{number}" for number in range(count)]


def crawl(frontier, outcome, until=30 * DAY):
    """Fetches until nothing is left; `outcome` is that of a URL at a time: [(time, URL, vendor of a
    block page, final)].
    """
    requested = []
    for now, link, came in requests_of(frontier, outcome, until):
        assert not frontier.will_retry(link, came, now)
        requested.append((now, link.url, came.blocked_by, frontier.done(link, came, now)))
    return requested


def block_pages(frontier):
    return frontier.look.facts("a").block_pages


def test_a_host_is_requested_less_and_less_often(db):
    """A minute after the first answer, then twice as long each time, up to a day.

    It does not fail.
    """
    frontier = opened(db)
    add(frontier, *urls(3))

    requested = crawl(frontier, lambda *_: BLOCK_PAGE)
    waits = [later - before for (before, *_), (later, *_) in pairwise(requested)]

    assert waits[:4] == pytest.approx([60, 120, 240, 480], rel=0.11)
    assert max(waits) == pytest.approx(DAY, rel=0.11)
    assert frontier.look.facts("a").health is Health.BLOCKED
    assert frontier.look.record("a")[0] == 0
    assert len(frontier) == 3


@pytest.mark.parametrize("answer", [BLOCK_PAGE, DENIED])
def test_all_urls_are_fetched_once_it_opens(db, answer):
    """Also those that were blocked, whatever the status: another one is tried each time."""
    frontier = opened(db)
    add(frontier, *urls(5))

    requested = crawl(frontier, lambda _, now: answer if now < HOUR else OK)
    blocked = [url for _, url, vendor, _ in requested if vendor]

    assert len(set(blocked)) == 5 < len(blocked) < 8
    assert sorted(url for *_, url, vendor, final in requested if final) == urls(5)
    assert block_pages(frontier) is None
    assert frontier.counters["hosts blocked"] == frontier.counters["hosts unblocked"] == 1


def test_a_host_that_has_given_pages_is_blocked_after_three_in_a_row(db):
    """The two before have ended, and come again; as long as it may be those URLs alone, the others
    go on.
    """
    frontier = opened(db)
    add(frontier, *urls(8))

    requested = crawl(
        frontier, lambda url, now: BLOCK_PAGE if url > "http://a/3" and now < HOUR else OK
    )
    final = [url for *_, url, vendor, final in requested if final and not vendor]

    assert [vendor for *_, vendor, _ in requested[:7]] == [
        "",
        "",
        "",
        "",
        "anubis",
        "anubis",
        "anubis",
    ]
    assert sorted(final) == urls(8)
    assert requested[7][0] - requested[6][0] > 200


def test_a_url_that_alone_is_blocked_has_ended(db):
    """Its host goes on as ever."""
    frontier = opened(db)
    add(frontier, *urls(9))

    requested = crawl(
        frontier, lambda url, _: BLOCK_PAGE if url in ("http://a/3", "http://a/4") else OK
    )

    assert [url for _, url, _, _ in requested] == urls(9)
    assert all(final for *_, final in requested)
    assert block_pages(frontier) is None


def test_urls_that_alone_are_blocked_end_when_they_are_so_again(db):
    """Three in a row are taken for their host's; they come again once, after a page has shown that
    it is open.
    """
    frontier = opened(db)
    add(frontier, *urls(20))

    requested = crawl(frontier, lambda url, _: BLOCK_PAGE if url in urls(20)[5:8] else OK)

    assert Counter(url for _, url, vendor, _ in requested if vendor) == dict.fromkeys(
        urls(20)[5:8], 2
    )
    assert {url for *_, url, _, final in requested if final} == set(urls(20))
    assert requested[-1][0] < HOUR
    assert len(frontier) == 0


def test_what_is_known_of_a_blocked_host_survives(db, tmp_path):
    """With the URLs that have ended before it was known."""
    frontier = opened(db)
    add(frontier, *urls(9))
    crawl(frontier, lambda url, _: BLOCK_PAGE if url > "http://a/2" else OK, until=0.5)
    assert block_pages(frontier) is None
    prepared(db)
    db.checkpoint()
    db.close()

    again = CrawlDB(tmp_path)
    frontier = opened(again)
    requested = crawl(frontier, lambda _, now: BLOCK_PAGE if now < HOUR else OK)
    again.close()

    assert {"http://a/3", "http://a/4"} <= {url for *_, url, _, final in requested if final}


def test_a_request_of_a_spider_gets_the_block_page(db):
    """It ends; the host waits all the same."""
    frontier = opened(db)
    frontier.add([Link("http://a/x", request="0.x").pack()])

    ((_, _, _, final),) = crawl(frontier, lambda *_: BLOCK_PAGE)

    assert final
    assert block_pages(frontier).answers == 1


def test_nothing_but_block_pages_is_a_crawl_at_rest(db):
    """It may end, as with hosts that are away; for whom it waits is said."""
    frontier = opened(db)
    add(frontier, *urls(3))
    link = frontier.take(0.0)
    frontier.done(link, BLOCK_PAGE, 1.0)

    assert frontier.resting()
    assert str(frontier.look.waits(1.0)) == "waits 60 s for a (blocked: anubis)"


def test_block_pages_move_with_their_host(db):
    """To another drone, with its age; a record of a drone that knows no block pages has none."""
    frontier = opened(db)
    add(frontier, *urls(3))
    crawl(frontier, lambda *_: BLOCK_PAGE, until=100.0)
    there = frontier.core.hosts.get("a")
    record = pack_host(there, 200.0)
    here = frontier.core.hosts.get("b")

    merge_host(here, record[:-3], 1000.0)
    assert here.block_pages is None
    merge_host(here, record, 1000.0)
    assert here.block_pages == there.block_pages._replace(since=there.block_pages.since + 800.0)


def test_a_host_that_is_dropped_is_behind_block_pages_no_more(db):
    """None of its URLs waits for their end: the last lines count it among the hosts that opened."""
    frontier = opened(db)
    add(frontier, *urls(5))
    crawl(frontier, lambda *_: BLOCK_PAGE, until=HOUR)

    frontier.steering.drop("a", HOUR)

    assert frontier.counters["hosts blocked"] == frontier.counters["hosts unblocked"] == 1
    assert block_pages(frontier) is None
