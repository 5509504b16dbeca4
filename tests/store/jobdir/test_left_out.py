"""What a crawl left out, by rule."""

import pytest

from webcrawl.store.jobdir.counter_words import in_words, left_out


def test_the_largest_number_comes_first():
    """Each rule has its number and words, and what its number counts: links on pages, or queued
    URLs.
    """
    figures = {
        "refused/known_path": 31_516,
        "refused/depth": 1,
        "frontier/dropped/-9998": 595,
        "links": 900_000,
    }

    assert in_words(figures) == (
        "31516 links (known_path: logins, forms, other views of the same pages), "
        "595 URLs (forbidden by robots.txt), 1 link (URL_MAX_DEPTH)"
    )


def test_what_every_crawl_leaves_out():
    """Links out of scope, and those to mailboxes, are expected: a list of all has them, the words
    have not.
    """
    figures = {"refused/scope": 5, "refused/scheme": 4, "frontier/dropped/-5000": 3}

    assert [number for number, _ in left_out(figures)] == [5, 4, 3]
    assert in_words(figures) == ""


def test_one_rule_with_several_counters():
    """Whatever is wrong with links that are no URLs is one rule."""
    assert (
        in_words({"refused/syntax": 2, "refused/host": 3, "refused/encoding": 0})
        == "5 links (not valid URLs)"
    )


@pytest.mark.parametrize(
    "counter", ["frontier/dropped/-5004", "frontier/dropped/-1", "frontier/dropped/-5005"]
)
def test_urls_without_an_answer(counter):
    """URLs that failed are no choice of the crawl's: other lines count them."""
    assert left_out({counter: 7}) == []


def test_addresses_that_are_not_allowed():
    """URLs that end with -5001 may have been excluded, or lead to a private address."""
    assert in_words({"frontier/dropped/-5001": 2}) == (
        "2 URLs (excluded after they were queued, or at addresses that are not allowed)"
    )


def test_a_filter_of_the_users_own():
    """A counter of a filter that is not known here is named all the same."""
    assert in_words({"refused/no_tuesdays": 2}) == "2 links (the filter no_tuesdays)"
