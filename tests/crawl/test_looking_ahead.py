"""Answers at hand are looked at ahead, all of them step by step; their pages are the same."""

import pytest

from tests.crawl.test_portions import crawling
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link

HTML = b"<title>A page</title><a href=/next>on</a>"


def answers(*bodies, **more):
    made = [exchange(f"http://a.test/{at}", body=body, **more) for at, body in enumerate(bodies)]
    return [(Link(one.url), one) for one in made]


@pytest.mark.parametrize("body", [HTML, b"plain", b"", b"<html><head><title>Not found</title></head>404"])
@pytest.mark.parametrize("status", [200, 301, 404])
def test_a_page_is_what_it_is_without(tmp_path, body, status):
    """Whatever the answer."""
    pages = []
    for ahead in (True, False):
        with crawling(tmp_path / str(ahead)) as (_, visitor):
            ((link, one),) = found = answers(body, status=status)
            if ahead:
                visitor.look_ahead(found)
            page = visitor.visit(link, one)
            pages.append((page.title, page.found, page.recognised, page.duplicate, one.notes, bool(page.digest)))

    assert pages[0] == pages[1]


def test_a_body_that_was_seen_is_not_read(tmp_path):
    """As without: it has no links to follow."""
    with crawling(tmp_path) as (_, visitor):
        first, second = answers(HTML + b" " * 10_000, HTML + b" " * 10_000)
        visitor.visit(*first)

        visitor.look_ahead([second])

        assert second[1].found is None
        assert visitor.visit(*second).duplicate
