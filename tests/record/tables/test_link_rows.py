"""Rows of `links` are made a column at a time: they are those that would be made link by link."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.warc_crawl import NOW, exchange
from webcrawl.base.model import Link, Outcome
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.record.tables import rows as links_module
from webcrawl.record.tables.rows import (
    MAX_PAGE_CHARS,
    MAX_REL_CHARS,
    PIECE_LINKS,
    EndedUrl,
    LinkRows,
)
from webcrawl.urls.canonical import MAX_LENGTH, canonical_links

URL = "http://a.test/b/"
ADDRESSES = st.sampled_from(["x", "/y?z", "mailto:a", "#f", "http://a..b/"])
FOUND = st.tuples(
    st.sampled_from(["a", "img", "area"]),
    ADDRESSES,
    st.text(max_size=3),
    st.sampled_from(["", "n" * 300]),
)
LINKS = st.lists(FOUND, max_size=9)


def rows_of(links, followed, max_length=MAX_LENGTH):
    found = []
    page = Page.of(Link(URL), answer := exchange(URL))
    page.found, page.followed = DocumentLinks(URL, "", links), followed

    def write(urls, columns):
        texts = [url for url, times in zip(*urls, strict=True) for _ in range(times)]
        found.extend(zip(texts, *columns, strict=True))

    rows = LinkRows(write, lambda _: True, max_length)
    count = rows.add(EndedUrl(Link(URL), Outcome(200, 0.1, at=NOW, ended=1.0), answer, page, NOW))
    rows.flush()
    assert count == len(found)
    return found


def link_by_link(links, followed):
    found = []
    for link in links:
        kind, address, text, rel = link
        target = canonical_links(URL, [address], Counter())[address]
        if target is not None:
            found.append((URL, target, kind, text, rel[:MAX_REL_CHARS], link in followed))
    return found


@pytest.mark.parametrize("way", ["whole", "another length", "in pieces"])
@given(data=st.data(), links=LINKS)
def test_the_columns_say_what_the_links_say(way, data, links):
    """Whichever links were followed: of a kind, the first ones, others than the page has, or any."""
    chosen = data.draw(st.sets(st.sampled_from(["a", "img", "area"])))
    followed = data.draw(
        st.sampled_from(
            [
                links,
                [link for link in links if link[0] in chosen],
                links[:3],
                (),
                links[::-1],
                links[1::2],
            ]
        )
        | LINKS
    )
    with pytest.MonkeyPatch.context() as patch:
        if way == "in pieces":
            patch.setattr(links_module, "PIECE_LINKS", 2)
        found = rows_of(links, followed, 1000 if way == "another length" else MAX_LENGTH)

    assert found == link_by_link(links, followed)


def test_a_page_of_equal_links_below_a_long_url():
    """Of a page that names far more than it is long, the rows are bounded, and the links without
    one are counted.
    """
    url, count, left, sizes = f"http://a.test/{'x' * 1980}/", 60_000, [], []
    page = Page.of(Link(url), answer := exchange(url))
    page.found, page.followed = DocumentLinks(url, "", [("a", "y", "", "")] * count), ()

    def write(urls, columns):
        sizes.append(
            sum(len(one) * times for one, times in zip(*urls, strict=True))
            + sum(map(len, columns[0]))
        )

    rows = LinkRows(write, lambda _: True, left_out=left.append)
    added = rows.add(EndedUrl(Link(url), Outcome(200, 0.1, at=NOW, ended=1.0), answer, page, NOW))
    rows.flush()

    assert sum(sizes) <= MAX_PAGE_CHARS + PIECE_LINKS * 4100
    assert left == [count - added]
