"""Attributes with a syntax of their own: srcset, refresh, styles; queries in other encodings."""

import json

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from webcrawl.content.html import embedded_addresses, encodings, style_sheets
from webcrawl.content.html.embedded_addresses import refresh
from webcrawl.content.html.link_reader import with_query


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        (" , ,", []),
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png, b.png,c.png 2x", ["a.png", "b.png,c.png"]),
        ("a.png,,, b.png", ["a.png", "b.png"]),
        ("data:,a 1x, b", ["data:,a", "b"]),
        ("a (1,2) 3x, b", ["a", "b"]),
        ("a (1,2, b", ["a"]),
        ("a 1x 2w,b", ["a", "b"]),
        ("\ta\n1x\f,\rb", ["a", "b"]),
    ],
)
def test_srcset_is_split_as_the_standard_splits_it(value, expected):
    """Commas end a candidate after a space, at the end of a URL and outside parentheses, but not within a URL."""
    assert embedded_addresses.srcset_urls(value) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5", (5, "")),
        (" 0; url=x", (0, "x")),
        ("0;URL = 'a b' c", (0, "a b")),
        ('1,url="q', (1, "q")),
        ("3 x", (3, "x")),
        ("5; ur=x", (5, "ur=x")),
        ("1;url", (1, "url")),
        (".5;x", (0, "x")),
        ("1.5.5;url=z", (1, "z")),
        ("5;", (5, "")),
        ("3u", None),
        ("x", None),
        ("", None),
        (";x", None),
        ("-1;x", None),
        ("9" * 5000 + ";x", (999999999, "x")),
        ("1\u00a0x", None),
    ],
)
def test_refresh_is_read_as_the_standard_reads_it(content, expected):
    """Time, separator, optional `url=`, optional quotes: anything else is no refresh."""
    assert refresh(content) == expected


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("a{background:url(x.png)}", ["x.png"]),
        ("a{background:URL( 'x y' ), url(\"z\")}", ["x y", "z"]),
        ("@import 'a.css'; @import\"b.css\" screen; @import url(c.css)", ["a.css", "b.css", "c.css"]),
        ("/* url(a) */ url(b) /* url(c)", ["b"]),
        ('content:"url(a)"; x:url(b)', ["b"]),
        ("url(a\\)b) url('\\27 x') url(\\e9)", ["a)b", "'x", "é"]),
        ("url('a\\\nb')", ["ab"]),
        ("myurl(a) -url(b) url-x(c)", []),
        ("url(a b) url(c)", ["c"]),
        ("url(a", ["a"]),
        ("url('a", ["a"]),
        ("url()", []),
        ("url(\\0)", ["\ufffd"]),
    ],
)
def test_styles_are_read_by_their_tokens(style, expected):
    """url() and @import are found, including escapes; comments, strings and other functions are not."""
    assert style_sheets.css_urls(style) == expected


PIECES = ["url(", "@import", "'", '"', "\\", "/*", "*/", ")", "(", "\n", " ", "a", "\\27 ", ",", "1x", "\0", "\ud800"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_attribute_raises(text):
    """Any text is allowed in these attributes."""
    style_sheets.css_urls(text)
    embedded_addresses.srcset_urls(text)
    refresh(text)


def test_queries_are_encoded_as_the_standard_encodes_them():
    """A query in a page of another encoding is percent-encoded in that encoding, as in the web platform tests."""
    for row in json.loads((cases("url-wpt") / "percent-encoding.json").read_text()):
        if isinstance(row, str):
            continue
        for label, expected in row["output"].items():
            # Python's tables of these two are older than the standard's: docs/html.md.
            if label in ("iso-2022-jp", "gb18030") and not row["input"].isprintable():
                continue
            url = with_query("http://x/?" + row["input"], encodings.lookup(label))
            assert ada_url.URL(url).search.removeprefix("?") == expected, row


@pytest.mark.parametrize(
    ("url", "encoding", "expected"),
    [
        ("/a?q=é", "windows-1252", "/a?q=%E9"),
        ("/é?q=é#é", "windows-1252", "/é?q=%E9#é"),
        ("/a?q=я", "windows-1252", "/a?q=%26%231103%3B"),
        ("/a?q=é", "utf-8", "/a?q=é"),
        ("/a?q=é", "utf-16le", "/a?q=é"),
        ("/a#?é", "windows-1252", "/a#?é"),
        ("HTTP://h/?é", "windows-1252", "HTTP://h/?%E9"),
        ("mailto:x?subject=é", "windows-1252", "mailto:x?subject=é"),
    ],
)
def test_only_the_query_of_a_web_address_is_in_the_pages_encoding(url, encoding, expected):
    """Path and fragment are UTF-8 whatever the page's encoding; so are other schemes' URLs as a whole."""
    assert with_query(url, encoding) == expected
