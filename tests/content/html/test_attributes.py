"""Attributes with a syntax of their own: srcset, refresh, styles; queries in other encodings."""

import json

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from webcrawl.content.html import embedded_addresses, encodings
from webcrawl.content.html.embedded_addresses import refresh
from webcrawl.content.html.link_reader import LinkReader, with_query


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
    """Commas end a candidate after a space, at the end of a URL and outside parentheses, but not
    within a URL.
    """
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
        (
            "@import 'a.css'; @import\"b.css\" screen; @import url(c.css)",
            ["a.css", "b.css", "c.css"],
        ),
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
    """url() and @import are found, including escapes; comments, strings and other functions are
    not.
    """
    assert embedded_addresses.css_urls(style) == expected


PIECES = [
    "url(",
    "@import",
    "'",
    '"',
    "\\",
    "/*",
    "*/",
    ")",
    "(",
    "\n",
    " ",
    "a",
    "\\27 ",
    ",",
    "1x",
    "\0",
    "\ud800",
]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_attribute_raises(text):
    """Any text is allowed in these attributes."""
    embedded_addresses.css_urls(text)
    embedded_addresses.srcset_urls(text)
    refresh(text)


def test_queries_are_encoded_as_the_standard_encodes_them():
    """A query in a page of another encoding is percent-encoded in that encoding, as in the web
    platform tests.
    """
    for row in json.loads((cases("url-wpt") / "percent-encoding.json").read_text()):
        if isinstance(row, str):
            continue
        for label, expected in row["output"].items():
            # Python's tables of these two are older than the standard's.
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
    """Path and fragment are UTF-8 whatever the page's encoding; so are other schemes' URLs as a
    whole.
    """
    assert with_query(url, encoding) == expected


URL = "http://site.test/dir/sheet.css"


class TestUrls:
    @pytest.mark.parametrize(
        ("style", "expected"),
        [
            ("a{b:url(x)}", ["x"]),
            ("a{b:URL( 'x' )}", ["x"]),
            ('@import "x";', ["x"]),
            ("@IMPORT url(x) screen;", ["x"]),
            ('@import/* no: url(y) */"x";', ["x"]),
            (
                "@font-face{src:url(a.eot?#iefix) format('x'),url(a.woff2)format('y')}",
                ["a.eot?#iefix", "a.woff2"],
            ),
            ('a{b:image-set("x.png" 1x, "y.png" type("image/png") 2x)}', ["x.png", "y.png"]),
            ("a{b:-webkit-image-set(url(x) 1x, 'y' .5dppx)}", ["x", "y"]),
            (r"a{b:url(\61 b)}", ["ab"]),
            (r"a{b:url('x\'y')}", ["x'y"]),
            ("a{b:url(", []),
            ('a{b:url("x', ["x"]),
        ],
    )
    def test_what_is_loaded_is_found(self, style, expected):
        """url(), @import and image-set() name what a style sheet loads."""
        assert embedded_addresses.css_urls(style) == expected

    @pytest.mark.parametrize(
        "style",
        [
            "/* url(x) */",
            "/* @import 'x'; never closed",
            "a{content:'url(x)'}",
            'a{content:"\\"url(x)"}',
            "a{b:my-url(x)}",
            "a{b:url(x y)}",
            "@imported 'x';",
            "@namespace svg url(http://www.w3.org/2000/svg);",
            "@namespace 'a;b';",
            "a{font:'x' 12px}",
        ],
    )
    def test_what_only_looks_like_it_is_not(self, style):
        """Comments, strings, other functions, broken URLs and the names of namespaces are no links."""
        assert embedded_addresses.css_urls(style) == []

    def test_after_each_the_rest_is_read(self):
        """What is no link does not hide what follows it."""
        hidden = "/* ' */ a{b:'/*'} @namespace x url(y); @namespace 'z'; c{d:url(e f)} g{h:'\n} "
        assert embedded_addresses.css_urls(hidden + "i{j:url(k)}") == ["k"]


class TestSheets:
    @pytest.mark.parametrize(
        ("kind", "url", "is_one"),
        [
            ("text/css", URL, True),
            ("Text/CSS; charset=x", "http://site.test/", True),
            ("", URL + "?v=1", True),
            ("", "http://site.test/?a.css", False),
            ("text/plain", URL, False),
            ("text/html", URL, False),
        ],
    )
    def test_the_type_decides(self, kind, url, is_one):
        """A style sheet says that it is one; without a Content-Type its name does."""
        assert embedded_addresses.is_style_sheet(kind, url) is is_one

    @pytest.mark.parametrize(
        ("body", "kind", "encoding"),
        [
            (b"", "text/css", "utf-8"),
            (b'@charset "koi8-r";', "text/css", "koi8-r"),
            (b'@charset "koi8-r";', "text/css; charset=windows-1251", "windows-1251"),
            (b'\xef\xbb\xbf@charset "koi8-r";', "text/css; charset=windows-1251", "utf-8"),
            (b'@charset "utf-16";', "text/css", "utf-8"),
            (b"@charset 'koi8-r';", "text/css", "utf-8"),
            (b' @charset "koi8-r";', "text/css", "utf-8"),
            (b'@charset "nonsense";', "text/css; charset=nonsense", "utf-8"),
        ],
    )
    def test_its_encoding_is_its_own(self, body, kind, encoding):
        """Mark, Content-Type, @charset as CSS wants it written, UTF-8."""
        assert embedded_addresses.style_sheet_links(body, kind, URL).encoding == encoding

    def test_names_are_in_that_encoding(self):
        """A name that is not ASCII is read in the encoding of the sheet."""
        body = '@charset "koi8-r";a{b:url(картина.png)}'.encode("koi8-r")
        assert [
            url
            for _, url, _, _ in embedded_addresses.style_sheet_links(body, "text/css", URL).links
        ] == ["картина.png"]

    def test_a_reader_that_wants_styles_reads_sheets(self):
        """Links of a file of its own are of the kind `style`, relative to the file; other readers
        leave it alone.
        """
        body = b"a{b:url(x)}"

        found = LinkReader(["style"]).links(body, "text/css", URL)

        assert (found.base, found.links) == (URL, [("style", "x", "", "")])
        assert LinkReader(["a", "img"]).links(body, "text/css", URL).links == []
