"""How much a page matters beside others."""

import logging
from math import inf, nan

import pytest

from webcrawl.base.loading import load
from webcrawl.base.model import Link
from webcrawl.crawl.revisit.importance import IMPORTANCES, LEAST, MOST, ByReputation, Weighed, by_depth

PAGE = Link("http://a.test/")


@pytest.mark.parametrize("name", IMPORTANCES)
def test_each_gives_a_number_above_0(name):
    """What is shipped takes any link."""
    found = load(IMPORTANCES[name])
    importance = found(lambda _: 3) if isinstance(found, type) else found
    for path in ("", "L", "LRLE", "P", "l" * 50):
        assert 0 < importance(Link("http://a.test/", path)) < MOST


def test_by_depth():
    """A seed counts twice as much as what it links to; a redirect is no link."""
    assert [by_depth(Link("http://a.test/", path)) for path in ("", "R", "L", "LL")] == [1, 1, 1 / 2, 1 / 3]


def test_by_reputation():
    """One more each time that there are twice as many."""
    assert [ByReputation(lambda _, n=n: n)(PAGE) for n in (0, 1, 3, 7)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("said", "weight"), [(2, 2.0), (0, LEAST), (-1, LEAST), (1e99, MOST), (inf, 1.0), (nan, 1.0), ("3", 3.0)]
)
def test_a_weight_is_a_number_above_0(said, weight):
    """Whatever somebody's function says."""
    assert Weighed(lambda _: said)(PAGE) == weight


def test_a_function_that_fails(caplog):
    """Its pages count as 1, and the log has its error once."""
    with caplog.at_level(logging.ERROR):
        weighed = Weighed(lambda _: {}["missing"])
        assert [weighed(PAGE), weighed(PAGE)] == [1.0, 1.0]

    assert caplog.messages == [f"REVISIT_IMPORTANCE: {PAGE.url} counts as 1, and so do others that fail"]
