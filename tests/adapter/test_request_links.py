"""Ordinary requests as links, and back."""

import pytest
from scrapy import FormRequest, Request

from tests.support.refusal_spiders import Asking
from webcrawl.adapter.request_links import (
    CannotBeKept,
    CannotBeMade,
    has_errback,
    is_start,
    start_variant,
    to_link,
    to_refused_request,
    to_request,
)
from webcrawl.base.model import Link, priority_of, unpack
from webcrawl.crawl.trip import Trip


@pytest.fixture(name="spider")
def _spider():
    return Asking("", "[]", "/dev/null")


@pytest.mark.parametrize("priority", [0, 1, 10, -1, -10, 10**15])
@pytest.mark.parametrize(
    "more", [{}, {"method": "POST", "body": b"\xff.-1.", "cb_kwargs": {"n": "a.b"}}]
)
def test_a_priority_comes_back(spider, priority, more):
    """What a request has, its priority among it, is there again after its link was packed."""
    request = Request("http://a.test/", spider.page, priority=priority, **more)
    link = to_link(request, spider)
    record = link.pack()
    again = to_request(unpack(record), spider, Trip())

    assert link.priority == priority
    assert priority_of(record) == priority
    assert again.to_dict(spider=spider) | {"meta": {}} == request.to_dict(spider=spider) | {
        "meta": {}
    }


def test_a_url_may_be_as_long_as_a_setting_allows(spider):
    """How long it may be is for the filters to say."""
    url = "http://a.test/" + "x" * 8000

    assert to_link(Request(url), spider).url == url


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

    assert (link.request, link.priority, priority_of(link.pack())) == ("", 0, 0)


class TestClasses:
    FORM = FormRequest("http://a.test/", formdata={"a": "1"})

    def test_a_class_comes_back(self, spider):
        """A request of a class of its own is one again."""
        assert type(to_request(to_link(self.FORM, spider), spider, Trip())) is FormRequest

    @pytest.mark.parametrize("kept", [True, False])
    def test_in_a_hive_it_does_not(self, spider, kept):
        """Without classes it is a plain request that sends the same, whatever the word says."""
        request = to_request(
            to_link(self.FORM, spider, allow_classes=kept), spider, Trip(), allow_classes=False
        )

        assert type(request) is Request
        assert (request.method, request.body, request.headers) == (
            "POST",
            b"a=1",
            self.FORM.headers,
        )


class TestWhatCannotBeKept:
    @pytest.mark.parametrize(
        ("options", "kind"),
        [
            ({"callback": lambda _: None}, "callback"),
            ({"errback": lambda _: None}, "errback"),
            ({"callback": print}, "callback"),
            ({"cb_kwargs": {"a": object()}}, "cb_kwargs"),
            ({"flags": [object()]}, "flags"),
            ({"meta": {"depth": "deep"}}, "number"),
        ],
    )
    def test_it_is_said_what(self, spider, options, kind):
        """A request that cannot be kept says what of it, in one line."""
        with pytest.raises(CannotBeKept) as raised:
            to_link(Request("http://a.test/", **options), spider)
        assert raised.value.kind == kind
        assert "\n" not in str(raised.value)


class TestWhatIsGone:
    def test_methods(self, spider):
        """A request whose callback is gone cannot be made; its errback is called all the same if it
        fails.
        """
        link = to_link(Request("http://a.test/", spider.page, errback=spider.failed), spider)
        other = Asking("", "[]", "/dev/null")
        other.page = None

        with pytest.raises(
            CannotBeMade, match="no method page, which a request names as its callback"
        ):
            to_request(link, other, Trip())
        refused = to_refused_request(link, other, Trip())
        assert (refused.callback, refused.errback) == (None, other.failed)

        other.failed = None
        with pytest.raises(
            CannotBeMade, match="no method failed, which a request names as its errback"
        ):
            to_refused_request(link, other, Trip())

    @pytest.mark.parametrize("word", ["AAAA", "!", "kQ==", "gaZfY2xhc3OjYS5i"])
    def test_words(self, spider, word):
        """A word that nobody can read, or that names a class which is gone, is a request that
        cannot be made.
        """
        link = Link("http://a.test/", request=word)
        with pytest.raises(CannotBeMade) as raised:
            to_request(link, spider, Trip())
        assert raised.value.link is link
        assert not has_errback(link)


class TestStart:
    START = {"is_start_request": True}  # noqa: RUF012 - as Scrapy's middleware leaves it

    def test_what_is_made_of_a_start_request_is_none(self, spider):
        """Scrapy's mark of a start request counts only until the scheduler has handed it out."""
        start = Request("http://a.test/", dont_filter=True, meta={**self.START})
        out = to_request(to_link(start, spider), spider, Trip())
        made = [
            out.copy(),
            out.replace(url="http://a.test/b", dont_filter=True),
            Request("http://a.test/", meta=out.meta),
        ]

        assert is_start(start)
        assert out.meta["is_start_request"]
        assert [is_start(one) for one in (out, *made)] == [False] * 4

    @pytest.mark.parametrize(
        ("options", "same"),
        [
            ({}, True),
            ({"dont_filter": False, "meta": {"cookiejar": 1}}, True),
            ({"meta": {"cookiejar": 1}}, False),
            ({"headers": {"Accept": "text/plain"}}, False),
            ({"callback": "page"}, False),
            ({"priority": 3}, False),
        ],
    )
    def test_start_requests_with_options_are_others(self, spider, options, same):
        """With `dont_filter` start requests of one URL are told apart by their options, equal ones
        are not.
        """
        callback = getattr(spider, options.pop("callback", ""), None)
        options = {"dont_filter": True, "callback": callback, **options}
        requests = [
            Request(
                "http://a.test/", **{**options, "meta": {**options.get("meta", {}), **self.START}}
            )
            for _ in "12"
        ]
        found = [start_variant(to_link(one, spider), one) for one in requests]

        assert found[0] == found[1]
        assert (found[0] == "") is same
