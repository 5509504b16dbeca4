"""A host is given up for the origin that failed: its http may be down for good, and its https up."""

import pytest

from tests.support.frontiers import OK, add, drain, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.booking import Limits

DAY = 86_400.0
REFUSED = Outcome(Status.CONNECT_FAILED, 0.1)


@pytest.fixture(name="dropped")
def _dropped():
    return []


@pytest.fixture(name="frontier")
def _frontier(db, dropped):
    return make(
        db,
        Limits(queues=10, max_queues=100, patience=DAY),
        dropped=lambda link, status: dropped.append(link.url),
    )


def fail(frontier, until, *, origin="http://a/", now=0.0):
    """Fails whatever is of this origin, and answers the rest; returns what was answered, and the
    time.
    """
    answered = []
    while now < until:
        link = frontier.take(now)
        if link is None:
            ready = frontier.next_ready()
            if ready is None:
                break
            now = max(now, ready)
        elif link.url.startswith(origin):
            frontier.done(link, REFUSED, now)
        else:
            answered.append(link.url)
            frontier.done(link, OK, now)
    return answered, now


def test_urls_of_the_failed_origin_end(frontier, dropped):
    """When patience is over, all URLs of the only origin that was requested end."""
    add(frontier, *(f"http://a/{number}" for number in range(5)))
    fail(frontier, 5 * DAY)

    assert len(frontier) == 0
    assert len(dropped) == 4  # and the one that was tried last


def test_a_url_of_another_origin_is_spared(frontier):
    """A URL by https that comes when the host was given up for its http is fetched."""
    add(frontier, *(f"http://a/{number}" for number in range(5)))
    _, now = fail(frontier, 5 * DAY)
    add(frontier, "https://a/new", "http://a/new")

    assert next(link.url for _, link in drain(frontier, now + 1)) == "https://a/new"


def test_another_one_of_the_same_origin_is_not(frontier, dropped):
    """A URL of the origin that failed ends at once, until a day has passed."""
    add(frontier, *(f"http://a/{number}" for number in range(5)))
    fail(frontier, 5 * DAY)
    dropped.clear()
    add(frontier, "http://a/new")
    frontier.take(0)

    assert dropped == ["http://a/new"]


def test_a_third_origin_is_spared_where_two_failed(frontier, dropped):
    """If http and https were given up, a URL of another port is fetched, and theirs end."""
    add(frontier, "http://a/1", "https://a/1", "http://a/2", "https://a/2")
    _, now = fail(frontier, 5 * DAY, origin="http")
    dropped.clear()
    add(frontier, "https://a:8443/new", "http://a/new", "https://a/new")

    assert [link.url for _, link in drain(frontier, now + 1)] == ["https://a:8443/new"]
    assert sorted(dropped) == ["http://a/new", "https://a/new"]


def test_it_is_spared_again(frontier):
    """A host that came back after a day, and was given up a second time for its http alone, still
    has its https.
    """
    add(frontier, *(f"http://a/{number}" for number in range(5)))
    _, now = fail(frontier, 5 * DAY)
    add(frontier, "http://a/later")
    _, now = fail(frontier, now + 7 * DAY, now=now + 2 * DAY)
    add(frontier, "https://a/new")

    assert [link.url for _, link in drain(frontier, now + 1)] == ["https://a/new"]


def test_a_server_of_http2_alone_spares_the_others(frontier, dropped):
    """An https that speaks only HTTP/2, where the crawl does not, is given up after two tries; http
    is fetched.
    """
    add(frontier, *(f"https://a/{number}" for number in range(5)))
    now = 0.0
    for _ in range(2):
        robots = Link("https://a/robots.txt", "P", history="https://a")
        frontier.expedite(robots.pack())
        now = max(now, frontier.next_ready())
        link = frontier.take(now)
        assert link.is_prerequisite
        frontier.done(link, Outcome(Status.UNSUPPORTED, 0.1, permanent=True), now)
    now += 60
    assert frontier.take(now) is None
    assert (len(frontier), len(dropped)) == (0, 5)
    add(frontier, "http://a/new")

    assert [link.url for _, link in drain(frontier, now + 1)] == ["http://a/new"]


def test_a_name_that_does_not_exist_spares_nobody(frontier, dropped):
    """NXDOMAIN concerns all origins of a host."""
    add(frontier, "http://a/1", "http://a/2")
    now = 0.0
    for _ in range(2):
        now = max(now, frontier.next_ready())
        frontier.done(frontier.take(now), Outcome(Status.DNS_FAILED, 0.1, permanent=True), now)
    dropped.clear()
    add(frontier, "https://a/new")
    frontier.take(now + DAY)

    assert "https://a/new" in dropped
