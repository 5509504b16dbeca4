"""The crawl's own request for a robots.txt."""

import pytest

from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.crawl.admission import RobotsAdmission
from webcrawl.crawl.trip import Trip
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.net.header_times import Validators
from webcrawl.net.robots_book import RobotsBook
from webcrawl.net.robots_entry import RobotsHead
from webcrawl.store.crawldb import CrawlDB

A = "http://a.test"


@pytest.fixture(name="requests")
def _requests(tmp_path):
    """With rules for one origin at hand, which had an ETag."""
    db = CrawlDB(tmp_path)
    admission = RobotsAdmission(RobotsBook(RobotsRows(db), "webcrawl"))
    admission.book.record_answer(
        A, 200, b"User-agent: *\nDisallow: /x", 0.0, RobotsHead(Validators(b'"1"', b"then"))
    )

    class Visitor:
        robots_conditions = staticmethod(admission.conditions)

    yield RobotsRequests(Visitor(), print, pages=True)
    db.close()


def sent(requests, link):
    return requests.request(link.url, Trip(link)).headers.to_unicode_dict()


def test_it_asks_whether_the_rules_at_hand_are_right(requests):
    """With what the server sent beside them."""
    assert sent(requests, Link(f"{A}/robots.txt", "P", history=A)) == {
        "If-None-Match": '"1"',
        "If-Modified-Since": "then",
    }


@pytest.mark.parametrize(
    "link",
    [
        Link("http://b.test/robots.txt", "P", history="http://b.test"),
        Link("http://b.test/moved.txt", "P", history=A),
    ],
    ids=["without rules", "redirected"],
)
def test_of_another_url_nothing_is_known(requests, link):
    """Rules that nobody has, or a file elsewhere, are requested without a condition."""
    assert sent(requests, link) == {}


@pytest.mark.parametrize(
    ("trip", "said"),
    [
        (Trip(outcome=Outcome(Status.TIMEOUT)), [Status.TIMEOUT]),
        (Trip(outcome=Outcome(200)), [Status.UNEXPECTED]),  # a body that nobody here has seen
        (Trip(), [Status.UNEXPECTED]),  # it was never requested
        (Trip(outcome=Outcome(Status.UNEXPECTED), abandoned=True), []),
        (Trip(outcome=Outcome(Status.UNTRIED), comes_again=True), []),
        (Trip(outcome=Outcome(Status.TIMEOUT), visited=True), []),
    ],
)
def test_one_that_had_no_answer(trip, said):
    """It is unreachable, unless it was heard already, is requested again, or was cancelled by the
    end of the crawl.
    """
    heard = []

    class Visitor:
        robots_said = staticmethod(lambda link, status, body=b"": heard.append(status))

    trip.link = Link(f"{A}/robots.txt", "P", history=A)
    RobotsRequests(Visitor(), print, pages=True).end(trip)

    assert heard == said
