"""The header Link, as RFC 8288 has it, and Refresh."""

import pytest

from webcrawl.content.formats import link_header


def links(*values):
    return [(kind, address, rel) for kind, address, _, rel in link_header.links([(b"LINK", one) for one in values])]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'<http://a.test/2>; rel="next"', [("header", "http://a.test/2", "next")]),
        (b"</a>;rel=prev, </b> ; rel=next", [("header", "/a", "prev"), ("header", "/b", "next")]),
        (b'</a,b;c>; title="x, <no>; y\\"z"; rel="a b"', [("header", "/a,b;c", "a b")]),
        (b"<c>; rel=Canonical", [("canonical", "c", "Canonical")]),
        (b'<c>; rel=canonical; anchor="#x"', [("header", "c", "canonical")]),
        (b"<h>; rel=hub", [("hub", "h", "hub")]),
        (b"<a>; rel=one; rel=two", [("header", "a", "one")]),
        (b"<a>;;; rel=x;", [("header", "a", "x")]),
        (b", ,<a>", [("header", "a", "")]),
        (b"<a> rubbish, <b>; rel=x", [("header", "a", ""), ("header", "b", "x")]),
        (b'<a>; rel="unfinished, <b>', [("header", "a", "unfinished, <b>")]),
        (b"no", []),
        (b"<unfinished", []),
        (b"<\xc3\xa4>", [("header", "ä", "")]),
        (b"<\xe4>", [("header", "%E4", "")]),
    ],
)
def test_one_header(value, expected):
    """Quoted strings may hold anything; what is broken ends at the next comma."""
    assert links(value) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([b"0;url=/next"], ["/next"]),
        ([b"5; URL='http://b.test/'"], ["http://b.test/"]),
        ([b"0, next"], ["next"]),
        ([b"30"], []),
        ([b"soon; url=/next"], []),
        ([b"0; url=/first", b"0; url=/second"], ["/first"]),
    ],
)
def test_a_refresh(values, expected):
    """It leads where that of a document would, and the first one counts."""
    links_ = link_header.links([*((b"Refresh", value) for value in values), (b"expires", b"0; url=/no")])

    assert [(kind, address) for kind, address, _, _ in links_] == [("refresh", one) for one in expected]


def test_a_refresh_beside_links():
    """Both are read."""
    found = link_header.links([(b"link", b"<a>"), (b"refresh", b"0; url=b"), (b"link", b"<c>")])

    assert sorted(one[:2] for one in found) == [("header", "a"), ("header", "c"), ("refresh", "b")]


def test_several_headers():
    """They count as one, in their order; other headers do not count."""
    assert [one[1] for one in links(b"<a>", b"<b>, <c>")] == ["a", "b", "c"]
    assert link_header.links([(b"links", b"<a>"), (b"x-link", b"<a>")]) == []


def test_bounds():
    """A thousand links, and so many characters."""
    assert len(links(b"<a>," * 5000)) == link_header.MOST
    assert links(b";" * 1_000_000) == []
    assert len(links(b"<a>" + b";" * 1_000_000)) == 1
