"""Where answers lead by their heads: the targets of redirects, and the header Refresh."""

from dataclasses import replace

import pytest

from tests.crawl.test_portions import crawling
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, unpack
from webcrawl.store.jobdir.counter_words import in_words

PAGE = Link("http://a.test/", seed="http://a.test/")


def led(crawl, visitor, name, value, *, status=302, body=b""):
    """The URLs to which an answer with this header leads."""
    answer = exchange(
        PAGE.url, status=status, headers=[(b"Content-Type", b"text/html"), (name, value)], body=body
    )
    visitor.follow(visitor.visit(PAGE, answer))
    crawl.parts.seen.merge()
    return [unpack(record).url for record in crawl.parts.seen.pop_new(100)]


@pytest.mark.parametrize(
    ("location", "path"),
    [("/é".encode(), "%C3%A9"), (b"/\xe9", "%E9"), (b"/%E9\xe9", "%E9%E9")],
)
def test_bytes_beyond_ascii_are_percent_encoded(tmp_path, location, path):
    """In UTF-8 or not: the server is asked for the bytes that it has sent."""
    with crawling(tmp_path) as (crawl, visitor):
        assert led(crawl, visitor, b"Location", location) == [f"http://a.test/{path}"]


@pytest.mark.parametrize(("longest", "found"), [(2000, 0), (8000, 1)])
def test_the_longest_target_is_the_settings(tmp_path, longest, found):
    """URL_MAX_LENGTH is as long as the target of a redirect may be."""
    with crawling(tmp_path, URL_MAX_LENGTH=longest) as (crawl, visitor):
        assert len(led(crawl, visitor, b"Location", b"/" + b"x" * 3000)) == found


@pytest.mark.parametrize(
    ("location", "reason"),
    [(b"/" + b"x" * 3000, "length"), (b"http://b..test/", "host"), (b"http://[/", "syntax")],
)
def test_a_target_that_is_no_url_is_counted(tmp_path, location, reason):
    """As a link of a page would be, and skipped.log hears of it."""
    dropped = []
    with crawling(tmp_path) as (crawl, visitor):
        crawl.parts.pipeline.on_dropped = lambda why, links, page: dropped.append(
            (why, len(links), page)
        )

        assert led(crawl, visitor, b"Location", location) == []
        assert crawl.stats()[f"refused/{reason}"] == 1

    assert dropped == [(reason, 1, PAGE.url)]


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 302, "headers": [(b"Location", b"/b")]},
        {"body": b'<base href=/x/><meta http-equiv=refresh content="0; url=../b"><a href=/c>'},
    ],
    ids=["redirect", "refresh"],
)
def test_a_redirect_too_many_is_counted(tmp_path, answer):
    """The last lines say that REDIRECT_MAX_HOPS left its target out, and skipped.log hears of it."""
    dropped = []
    page = replace(PAGE, path="RR")
    with crawling(tmp_path, REDIRECT_MAX_HOPS=2) as (crawl, visitor):
        crawl.parts.pipeline.on_dropped = lambda *told: dropped.append(told)

        visitor.follow(visitor.visit(page, exchange(page.url, **answer)))

        assert in_words(crawl.stats()) == "1 link (REDIRECT_MAX_HOPS)"

    assert dropped == [("redirects", ["http://a.test/b"], page.url)]


def test_a_refresh_in_the_head(tmp_path):
    """It is followed as one in the document is, also where the head has no other links."""
    with crawling(tmp_path) as (crawl, visitor):
        assert led(crawl, visitor, b"Refresh", b"0; url=/b", status=200, body=b"<p>moved") == [
            "http://a.test/b"
        ]
