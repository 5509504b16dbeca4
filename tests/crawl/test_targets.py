"""The canonical forms of a page's links, for outputs: those of links that are followed are not
found twice.
"""

from collections import Counter
from itertools import compress
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.crawl.moments import Moments
from webcrawl.crawl.page_links import LinkRules, PageLinks
from webcrawl.urls.canonical import MAX_LENGTH, canonical_links
from webcrawl.urls.filters.filter_protocol import Chain
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.url_fingerprint import Fingerprints

URL, BASE = "http://a.test/b/", "http://base.test/c/"
KINDS_READ = ("a", "img", "refresh", "script")
KINDS = st.sampled_from(KINDS_READ)
RULES = {"redirects": 5, "obey_nofollow": False}
ADDRESSES = st.sampled_from(
    ["x", "../x", "/y?z", "mailto:a", "http://h.test", "#f", "http://a..b/", "x" * 1990]
)
LINKS = st.lists(
    st.tuples(KINDS, ADDRESSES | st.text(), st.just(""), st.sampled_from(["", "NoFollow me"]))
)


def followed(found, max_length=MAX_LENGTH, more=(), *, reads_more=True, **rules):
    """A page whose links were followed, and a pipeline that knows what was asked of it."""
    pipeline = LinkPipeline(Chain([]), None, Fingerprints(bytes(16)), max_length)
    rules = LinkRules(frozenset(("a", "refresh")), skip_seen=True, **{**RULES, **rules})

    def discover(link, addresses, hops, *, base, needed, targets):
        if targets is not None and pipeline.is_usual:
            targets.update(pipeline.process(link.url, 1, addresses, base).found)

    discovery = SimpleNamespace(
        discover=discover,
        count_truncated_links=lambda links: None,
        redirected_too_often=lambda *redirect: None,
    )
    page_links = PageLinks(
        discovery, rules, frozenset(KINDS_READ if reads_more else rules.followed), Moments()
    )
    page = Page.of(Link(URL), exchange(URL))
    page.found, page.base = found, found.base
    page_links.follow(page)
    for links in more:
        page_links.follow(page, links)
    return page


def targets(page):
    return {
        one: target or None
        for one, target in zip(page.columns.addresses, page.columns.targets, strict=True)
    }


@given(links=LINKS, nofollow=st.booleans(), max_length=st.sampled_from([MAX_LENGTH, 10]))
@example([("a", "/longer-than-ten", "", ""), ("img", "/longer-than-ten", "", "")], False, 10)
def test_are_those_of_the_address_and_the_base_alone(links, nofollow, max_length):
    """Whichever links are followed, and whatever URL_MAX_LENGTH says of these."""
    page = followed(DocumentLinks(BASE, "", links), max_length, obey_nofollow=nofollow)

    assert targets(page) == canonical_links(BASE, [link[1] for link in links], Counter())


def test_of_followed_links_are_not_found_again():
    """A link log and a table take those that the seen store got."""
    found = DocumentLinks(BASE, "", [("a", "x", "", ""), ("img", "y.png", "", "")])
    page = followed(found)

    assert found.targets == {"x": f"{BASE}x"}
    assert targets(page) == {"x": f"{BASE}x", "y.png": f"{BASE}y.png"}


def test_are_not_kept_where_nobody_asks_for_them():
    """Links of all kinds are read only for outputs, links that are followed for all crawls."""
    found = DocumentLinks(BASE, "", [("a", "x", "", "")], whole=False)
    followed(found)

    assert found.targets == {}


@given(links=LINKS, nofollow=st.booleans(), at_end=st.booleans())
def test_followed_are_links_of_kinds_that_are_wanted(links, nofollow, at_end):
    """No `refresh` behind as many redirects as are allowed, and none that the page says not to
    follow.
    """
    page = followed(
        DocumentLinks(BASE, "", links), obey_nofollow=nofollow, redirects=0 if at_end else 5
    )

    assert list(page.followed) == [
        link
        for link in links
        if link[0] in ("a", "refresh")
        and not (at_end and link[0] == "refresh")
        and not (nofollow and link[3])
    ]


@given(links=LINKS, nofollow=st.booleans(), at_end=st.booleans())
def test_what_is_known_of_each_link_is_what_was_followed(links, nofollow, at_end):
    """The table of links need not compare them once more."""
    page = followed(
        DocumentLinks(BASE, "", links), obey_nofollow=nofollow, redirects=0 if at_end else 5
    )

    assert page.flags is None if not links else list(compress(links, page.flags)) == page.followed


@pytest.mark.parametrize(
    ("rules", "more"),
    [({"most": 1}, ()), ({}, ([("a", "x", "", "")],)), ({"reads_more": False}, ())],
)
def test_it_is_not_known(rules, more):
    """Where links were truncated, where a spider follows others than the page has, and where all
    are followed.
    """
    page = followed(
        DocumentLinks(BASE, "", [("a", "x", "", ""), ("img", "y", "", ""), ("a", "z", "", "")]),
        more=more,
        **rules,
    )

    assert page.flags is None
