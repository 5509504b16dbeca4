"""What a request carries through the crawl is never stored with it."""

import pytest
from scrapy import Request

from tests.support.refusal_spiders import Asking
from webcrawl.adapter.request_links import to_link, to_request
from webcrawl.adapter.request_trip import KEY, trip_of
from webcrawl.base.model import Link
from webcrawl.crawl.trip import Trip


@pytest.fixture(name="spider")
def _spider():
    return Asking("", "[]", "/dev/null")


@pytest.mark.parametrize("given", [{}, {"mine": 1}])
def test_a_stored_request_has_no_trip(spider, given):
    """A request made from the meta of another, as callbacks do, is stored without the other's trip."""
    first = to_request(Link("http://a.test/", "L"), spider, Trip(Link("http://a.test/")))
    link = to_link(Request("http://a.test/2", meta=first.meta | given), spider)
    again = to_request(link, spider, trip := Trip(link))

    assert trip_of(again) is trip
    assert again.meta == {
        KEY: trip,
        "depth": 1,
        **given,
        **({"verbatim_url": True} if not given else {}),
    }


def test_a_request_round_the_scheduler_has_none():
    """`trip_of` gives None for a request that the scheduler has not handed out."""
    assert trip_of(Request("http://a.test/")) is None


def test_an_answer_needs_an_exchange():
    """A response made by a foreign handler is an error of its own words, not a missing key."""
    with pytest.raises(ValueError, match="not made by one of webcrawl's download handlers"):
        Trip(Link("http://a.test/")).answer()


def test_a_copy_of_the_meta_has_no_trip(spider):
    """A request that copies the meta of the scheduler's, for an inline download, is none of the
    scheduler's.
    """
    first = to_request(Link("http://a.test/"), spider, trip := Trip(Link("http://a.test/")))

    assert trip_of(Request("http://a.test/2", meta=first.meta)) is None
    assert trip_of(first.replace(url="http://a.test/3")) is None
    assert trip_of(first) is trip
