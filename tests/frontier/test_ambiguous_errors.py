"""Answers of 408, 429 and 5xx: a single one is its URL's fault, several in a row are the host's."""

from bisect import bisect
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.support.frontiers import OK, add, make, requests_of
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.health import SOONEST
from webcrawl.frontier.outcomes import DOWN
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.store.crawldb import CrawlDB

ROW = [408, 429, 500, 502, 503, 504, 520]
HOUR, DAY = 3600.0, 86_400.0


def urls(count):
    return [f"http://a/{number}" for number in range(count)]


def crawl(frontier, status, until=DAY):
    """Fetches until nothing is left; `status` gives the answer to a URL at a time: [(time, link,
    status, final)].
    """

    def outcome(url, now):
        return Outcome(status(url, now), 0.01)

    return [
        (now, link, came.status, frontier.done(link, came, now))
        for now, link, came in requests_of(frontier, outcome, until)
    ]


def ended(requested):
    return {link.url: answer for _, link, answer, final in requested if final}


def failures(frontier):
    return frontier.look.record("a")[0]


@pytest.mark.parametrize("bad", ROW)
def test_a_single_one_is_the_urls(db, bad):
    """Among good answers it uses up one of the URL's three attempts, and the host does not fail."""
    frontier = make(db, politeness=Mercator(0, 0.1, 300))
    add(frontier, *urls(200))

    requested = crawl(frontier, lambda url, _: bad if url.endswith("/7") else 200)

    assert [link.attempt for _, link, answer, _ in requested if answer == bad] == [0, 1, 2]
    assert ended(requested) == {url: bad if url.endswith("/7") else 200 for url in urls(200)}


def test_its_host_waits_longer_for_one_turn(db):
    """After it the host's next URL comes after twice the usual wait, and the one after that as
    usual.
    """
    frontier = make(db, politeness=Mercator(0, 1, 300))
    add(frontier, *urls(5))
    times = [
        at for at, *_ in crawl(frontier, lambda url, _: 503 if url.endswith("/1") else 200, until=6)
    ]

    assert [round(later - sooner) for sooner, later in pairwise(times)][:3] == [1, 2, 1]


def seconds(db, status, bad=()):
    """How long a crawl of 200 pages takes, of which these always give this status."""
    with TemporaryDirectory(dir=db.folder) as folder, closing(CrawlDB(Path(folder))) as own:
        frontier = make(own, politeness=Mercator(0, 0.1, 300))
        add(frontier, *urls(200))
        return crawl(frontier, lambda url, _: status if url in bad else 200)[-1][0]


@pytest.mark.parametrize("bad", [503, 500])
@pytest.mark.parametrize(
    "places",
    [(11, 37, 90, 137, 160), (0, 1, 60, 61, 150), (20, 40, 60, 120, 199), (5, 6, 120, 121, 199)],
)
def test_a_crawl_is_not_held_up_by_them(db, bad, places):
    """A host with a few that always give one is done within 1.3 times the time without them,
    wherever they are.
    """
    assert seconds(db, bad, {f"http://a/{number}" for number in places}) < 1.3 * seconds(db, 200)


def test_the_last_pages_of_a_large_host_are_waited_for_in_proportion(db):
    """They come again after a sixteenth of the turns that its pages took, so that it may rest for
    so long.
    """
    frontier = make(db, politeness=Mercator(0, 1, 300))
    add(frontier, *urls(320))
    requested = crawl(frontier, lambda url, _: 503 if url.endswith("/319") else 200)

    times = [at for at, _, answer, _ in requested if answer == 503]
    assert [round(at - times[0]) for at in times] == [0, 20, 20 + 40]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("first", [0.1, 1.0, 10.0])
def test_a_url_is_left_alone_twice_as_long_each_time(db, seed, first):
    """However its host does in between, and whatever its failures are thought to be."""
    frontier = make(db, limits=Limits(2, 100, retry_wait=first), politeness=Mercator(0, 0.01, 300))
    add(frontier, *urls(60))
    random = Random(seed)
    # in every second one the host is failing
    spells = sorted(random.uniform(0, 4 + 4 * first) for _ in range(20))
    requested = crawl(
        frontier, lambda url, now: 500 if url[-1] == "7" or bisect(spells, now) % 2 else 200
    )

    times = {url: [at for at, link, *_ in requested if link.url == url] for url in urls(60)}
    waits = {url: [later - sooner for sooner, later in pairwise(at)] for url, at in times.items()}
    least = min(first, SOONEST)
    assert [
        url for url, found in waits.items() if any(w < least * 2**n for n, w in enumerate(found))
    ] == []
    assert max(map(len, waits.values())) > 1  # some came more than twice


@pytest.mark.parametrize("bad", ROW)
def test_three_urls_in_a_row_are_the_hosts(db, bad):
    """The third different URL makes the host fail, and those that began the row get their attempts
    back.
    """
    frontier = make(db)
    add(frontier, *urls(20))
    crawl(frontier, lambda *_: 200, until=10)

    requested = crawl(frontier, lambda *_: bad, until=70)

    assert failures(frontier) == 1
    assert len(requested) == 3
    assert all(link.attempt == 0 for _, link in frontier.look.first("a", 100, 70.0))


def test_a_host_that_never_answered_well(db):
    """The first three answers of a host, to different URLs, are its own fault, too."""
    frontier = make(db)
    add(frontier, *urls(5))

    crawl(frontier, lambda *_: 502, until=50)

    assert failures(frontier) == 1
    assert all(link.attempt == 0 for _, link in frontier.look.first("a", 100, 50.0))


@pytest.mark.parametrize("bad", ROW)
@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_minutes_of_them_in_the_middle_cost_nothing(db, bad, kinds):
    """A host that gives them to everything for five minutes, in the middle of its crawl, loses no
    URL.
    """
    frontier = make(db)
    every = [f"http://a/{number % kinds * 'k'}/{number}" for number in range(200)]
    add(frontier, *every)

    requested = crawl(frontier, lambda _, now: bad if 60 < now < 360 else 200)

    assert ended(requested) == dict.fromkeys(every, 200)
    assert sum(answer == bad for _, _, answer, _ in requested) <= 6


@pytest.mark.parametrize(("before", "count"), [(0, 40), (50, 8), (50, 300), (150, 40)])
def test_a_kind_of_page_that_always_fails_keeps_no_other_waiting(db, before, count):
    """Whatever one program of a server makes fails, one link after the other: the rest is fetched
    in its time.
    """
    frontier = make(db, politeness=Mercator(0, 0.1, 300))
    good, bad = urls(200), [f"http://a/report?format=sql&id={number}" for number in range(count)]
    add(frontier, *good[:before], *bad, *good[before:])

    requested = crawl(frontier, lambda url, _: 500 if "report" in url else 200)

    assert ended(requested) == {**dict.fromkeys(good, 200), **dict.fromkeys(bad, 500)}
    assert max(at for at, link, *_ in requested if link.url in good) < 120


def test_what_would_follow_counts_against_no_kind(db):
    """Whoever asks whether an answer would be tried again changes nothing that is known of its
    host.
    """
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/report?id=1", "http://a/2", "http://a/3")
    for now, status in enumerate((200, 500)):
        frontier.done(frontier.take(5 * now), Outcome(status, 0.1), 5 * now)
    link, short = frontier.take(10), Outcome(200, 0.1, short="disconnect")

    assert [frontier.will_retry(link, short, 10) for _ in range(5)] == [True] * 5
    assert frontier.core.back.active["a"].bad == {}
    frontier.done(link, short, 10)
    assert [*frontier.core.back.active["a"].bad.values()] == [1]


def test_retry_after_is_the_hosts(db):
    """A single 503 that says how long to wait makes the host fail, and costs no attempt."""
    frontier = make(db)
    add(frontier, *urls(3))
    frontier.done(frontier.take(0), OK, 0)

    link = frontier.take(10)
    frontier.done(link, Outcome(503, 0.1, wait=100.0), 10)

    assert failures(frontier) == 1
    assert frontier.next_ready() == 110


@pytest.mark.parametrize("bad", ROW)
@pytest.mark.parametrize("count", [1, 2])
def test_nothing_but_failing_urls_is_known(db, bad, count):
    """A host that has never answered well is waited for, and loses no URL, however few of it are
    known.
    """
    frontier = make(db)
    add(frontier, *urls(count))

    requested = crawl(frontier, lambda _, now: bad if now < HOUR else 200)

    assert ended(requested) == dict.fromkeys(urls(count), 200)
    assert len(requested) <= 2 * count + 7


@pytest.mark.parametrize("lost", [Status.CONNECTION_LOST, Status.TIMEOUT])
@pytest.mark.parametrize("pages", [3, 20, 200])
def test_two_last_urls_that_fail_in_two_ways_end(db, lost, pages):
    """The host answers the one between two failures of the other: both are their URLs' own, and end
    in minutes.
    """
    frontier = make(db, politeness=Mercator(0, 1, 300))
    add(frontier, *urls(pages))
    crawl(frontier, lambda *_: 200)
    add(frontier, "http://a/bad", "http://a/lost")

    requested = crawl(frontier, lambda url, _: 500 if url == "http://a/bad" else lost)

    assert ended(requested) == {"http://a/bad": 500, "http://a/lost": lost}
    assert requested[-1][0] - requested[0][0] < 10 * 60
    assert len(requested) <= 8


def test_a_host_that_goes_away_after_an_error_loses_neither_url(db):
    """Nothing answers in between: it is waited for."""
    frontier = make(db, politeness=Mercator(0, 1, 300))
    add(frontier, *urls(20))
    crawl(frontier, lambda *_: 200)
    add(frontier, "http://a/x", "http://a/y")

    first = iter([500])
    requested = crawl(
        frontier, lambda _, now: next(first, Status.CONNECTION_LOST) if now < HOUR else 200
    )

    assert ended(requested) == {"http://a/x": 200, "http://a/y": 200}


def test_what_failed_in_other_ways_before(db):
    """A URL that has used up its other attempts does not end by an error of a host that has never
    answered well.
    """
    frontier = make(db)
    add(frontier, "http://a/")

    requested = crawl(
        frontier, lambda _, now: Status.TIMEOUT if now < 100 else 502 if now < HOUR else 200
    )

    assert [answer for *_, answer, _ in requested].count(Status.TIMEOUT) == 2
    assert ended(requested) == {"http://a/": 200}


def test_a_robots_txt_says_nothing_of_pages(db):
    """A host of which only robots.txt is to be had fails on, so that it is given up in the end."""
    robots = []
    frontier = make(db, admission=lambda *_: robots.pop() if robots else None)
    add(frontier, "http://a/")
    requested = crawl(frontier, lambda *_: 502, until=HOUR)
    before = failures(frontier)
    robots.append(Link("http://a/robots.txt", "P"))
    requested = crawl(frontier, lambda url, _: 200 if url.endswith("txt") else 502, until=2 * HOUR)

    assert [answer for *_, answer, _ in requested] == [200, 502]
    assert failures(frontier) == before + 1 > 1


FEW = [
    (503, 9, False),
    (429, 9, False),
    (503, 20, True),
    (502, 9, True),
    (520, 9, True),
    (524, 9, True),
]


@pytest.mark.parametrize(("bad", "pages", "ends"), FEW + [(status, 9, False) for status in DOWN])
def test_the_only_url_that_is_left(db, bad, pages, ends):
    """If few pages of the host are known, 503, 429 and those of a CDN that finds it down are the
    host's fault.
    """
    frontier = make(db)
    add(frontier, *urls(pages + 1))

    requested = crawl(
        frontier, lambda url, _: bad if url.endswith(f"/{pages}") else 200, until=HOUR
    )

    assert (bad in ended(requested).values()) is ends
    assert (failures(frontier) > 1) is not ends


def test_a_url_that_failed_before_says_nothing_of_its_host(db):
    """URLs that were charged while the host was well end by themselves, even if only they are left."""
    frontier = make(db, politeness=Mercator(0, 0.1, 300))
    add(frontier, *urls(100))
    bad = {f"http://a/{number}" for number in (10, 20, 30, 40, 50)}

    requested = crawl(frontier, lambda url, _: 503 if url in bad else 200)

    assert {url for url, answer in ended(requested).items() if answer == 503} == bad
    assert len(requested) == 95 + 3 * len(bad)


def test_a_url_in_the_row_that_failed_before_gets_its_attempt_back(db):
    """When the host turns out to be failing, a URL whose second attempt was one of the row has that
    again.
    """
    frontier = make(db, politeness=Mercator(0, 0.1, 300))
    add(frontier, *urls(100))
    crawl(frontier, lambda url, _: 500 if url.endswith("/2") else 200, until=1.1)

    requested = crawl(frontier, lambda *_: 502, until=30)

    assert [link.attempt for _, link, *_ in requested].count(1) == 1
    attempts = [link.attempt for _, link in frontier.look.first("a", 100, 30.0)]
    assert sorted(attempts)[-2:] == [0, 1]


@pytest.mark.parametrize("status", [501, 505])
def test_what_is_wrong_with_the_request(db, status):
    """501 and 505 are the URL's, however many come in a row."""
    frontier = make(db)
    add(frontier, *urls(5))

    assert ended(crawl(frontier, lambda *_: status)) == dict.fromkeys(urls(5), status)


def test_a_lent_host(db):
    """Downloads that somebody awaits count as well: the second 503 in a row is the host's."""
    frontier = make(db)
    add(frontier, *urls(2))
    link = Link("http://a/x", "E")
    for now in (0.0, 10.0):
        assert frontier.lending.lend(link, now, lambda _: None) is None
        frontier.lending.give_back("a", Outcome(503, 0.1), now)

    assert failures(frontier) == 1
