"""Links of style sheets."""

import pytest

from webcrawl.content.html import style_sheets
from webcrawl.content.html.link_reader import LinkReader

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
            ("@font-face{src:url(a.eot?#iefix) format('x'),url(a.woff2)format('y')}", ["a.eot?#iefix", "a.woff2"]),
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
        assert style_sheets.css_urls(style) == expected

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
        assert style_sheets.css_urls(style) == []

    def test_after_each_the_rest_is_read(self):
        """What is no link does not hide what follows it."""
        hidden = "/* ' */ a{b:'/*'} @namespace x url(y); @namespace 'z'; c{d:url(e f)} g{h:'\n} "
        assert style_sheets.css_urls(hidden + "i{j:url(k)}") == ["k"]


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
        assert style_sheets.is_style_sheet(kind, url) is is_one

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
        assert style_sheets.style_sheet_links(body, kind, URL).encoding == encoding

    def test_names_are_in_that_encoding(self):
        """A name that is not ASCII is read in the encoding of the sheet."""
        body = '@charset "koi8-r";a{b:url(картина.png)}'.encode("koi8-r")
        assert [url for _, url, _, _ in style_sheets.style_sheet_links(body, "text/css", URL).links] == ["картина.png"]

    def test_a_reader_that_wants_styles_reads_sheets(self):
        """Links of a file of its own are of the kind `style`, relative to the file; other readers leave it alone."""
        body = b"a{b:url(x)}"

        found = LinkReader(["style"]).links(body, "text/css", URL)

        assert (found.base, found.links) == (URL, [("style", "x", "", "")])
        assert LinkReader(["a", "img"]).links(body, "text/css", URL).links == []
