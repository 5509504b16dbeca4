"""Whoever wants to know is told of every link that the filters drop, and why."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.url_settings import url_settings
from tests.support.url_strategies import bases, links
from webcrawl.urls.link_pipeline import build_pipeline

KEY = bytes(16)


def told_of(page, found, base=""):
    """What a new pipeline tells, and what it counts."""
    pipeline = build_pipeline(url_settings(), KEY, clock=lambda: 1_700_000_000)
    told = []
    pipeline.on_dropped = lambda reason, urls, via: told.extend((reason, url, via) for url in urls)
    pipeline.process(page, 1, found, base)
    return told, pipeline.filtered


def test_reason_url_and_page():
    """A URL that a filter drops in its canonical form, a link that has none as it was written; each once."""
    found = ["a.zip#x", "mailto:a@b.test", "http://a b/", "good", "a.zip", "mailto:a@b.test"]
    told, _ = told_of("http://h.test/p/", found)

    assert sorted(told) == [
        ("extension", "http://h.test/p/a.zip", "http://h.test/p/"),
        ("scheme", "mailto:a@b.test", "http://h.test/p/"),
        ("syntax", "http://a b/", "http://h.test/p/"),
    ]


@settings(max_examples=50)
@given(st.lists(links, max_size=8), bases)
def test_told_as_counted(found, base):
    """For any links, each reason is told as often as it is counted."""
    told, counted = told_of("http://h.test/", found, base)

    assert Counter(reason for reason, _, _ in told) == +counted
