"""How much a page matters beside others."""

import logging
from math import inf, nan

import pytest

from webcrawl.base.model import Link
from webcrawl.crawl.revisit.policy import LEAST, MOST, Weighed, by_depth

PAGE = Link("http://a.test/")


def test_by_depth():
    """A seed counts twice as much as what it links to; a redirect is no link."""
    assert [by_depth(Link("http://a.test/", path)) for path in ("", "R", "L", "LL")] == [1, 1, 1 / 2, 1 / 3]


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

    assert caplog.messages == [f"REVISIT_POLICY: {PAGE.url} counts as 1, and so do others that fail"]
