"""Ordinary requests as links, and back."""

import pytest
from scrapy import Request

from tests.support.refusal_spiders import Asking
from webcrawl.adapter.requests import has_errback, to_link, to_request
from webcrawl.adapter.trip import Trip
from webcrawl.model import is_urgent, unpack


@pytest.fixture(name="spider")
def _spider():
    return Asking("", "[]", "/dev/null")


@pytest.mark.parametrize("priority", [0, 1, 10, -1, -10, 10**15])
@pytest.mark.parametrize("more", [{}, {"method": "POST", "body": b"\xff.-1.", "cb_kwargs": {"n": "a.b"}}])
def test_a_priority_comes_back(spider, priority, more):
    """What a request has, its priority among it, is there again after its link was packed."""
    request = Request("http://a.test/", spider.page, priority=priority, **more)
    link = to_link(request, spider)
    record = link.pack()
    again = to_request(unpack(record), spider, Trip())

    assert link.priority == priority
    assert is_urgent(record) is (priority > 0)
    assert again.to_dict(spider=spider) | {"meta": {}} == request.to_dict(spider=spider) | {"meta": {}}


def test_who_wants_to_hear_of_a_failure(spider):
    """A request with an errback, of whatever priority, and none without."""
    for priority in (0, 5):
        heard = Request("http://a.test/", errback=spider.failed, priority=priority)
        unheard = Request("http://a.test/", spider.page, priority=priority)

        assert has_errback(to_link(heard, spider))
        assert not has_errback(to_link(unheard, spider))


def test_a_plain_request_is_a_page_link(spider):
    """A request that has nothing but its URL is kept as no more than that."""
    link = to_link(Request("http://a.test/"), spider)

    assert (link.request, link.priority, is_urgent(link.pack())) == ("", 0, False)
