"""What a document says of itself."""

import pytest

from webcrawl.content.html import self_description
from webcrawl.content.html.self_description import About, AboutReader

PAGE = """<!DOCTYPE html><html lang=" de-AT "><head><title>t</title>
<meta name=Description content=" What  it
is "><meta name=description content=second>
<link rel="alternate canonical" href=" /here "><link rel=canonical href=/there>
<meta property=og:title content="A title"><meta property=OG:image content=1.png><meta property=og:image content=2.png>
<meta name=og:type content=article><meta property=article:tag content=no>
</head><body><h2>Two <b>words</b></h2><h1></h1><h6>six</h6></body></html>"""


def read(html, kind="html"):
    return AboutReader().about(html.encode(), kind)


class TestAbout:
    def test_it_is_in_the_head_and_the_headings(self):
        """The first language, canonical URL and description count; headings and properties keep their order."""
        assert read(PAGE) == About(
            language="de-AT",
            canonical="/here",
            description="What it is",
            headings=[(2, "Two words"), (6, "six")],
            open_graph=[("og:title", "A title"), ("og:image", "1.png"), ("og:image", "2.png"), ("og:type", "article")],
        )

    @pytest.mark.parametrize(
        ("html", "language"),
        [
            ("<html lang=en>", "en"),
            ("<html xml:lang=fr>", "fr"),
            ("<meta http-equiv=Content-Language content=it>", "it"),
            ("<html lang=''><meta http-equiv=content-language content=it>", "it"),
            ("<body lang=nl>", ""),
        ],
    )
    def test_the_language(self, html, language):
        """It is that of the root element, else that of a meta element."""
        assert read(html).language == language

    def test_xhtml(self):
        """An XML document names its language with a prefix."""
        html = '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="sv"><body><h3>a</h3></body></html>'
        assert read(html, "xml") == About(language="sv", headings=[(3, "a")])

    def test_a_page_of_headings_fills_no_memory(self, monkeypatch):
        """A page that consists of headings and properties fills no memory."""
        monkeypatch.setattr(self_description, "MOST", 3)
        monkeypatch.setattr(self_description, "LONGEST", 5)
        found = read("<meta property=og:a content=123456789>" * 9 + "<h1>123456789</h1>" * 9)
        assert found.open_graph == [("og:a", "12345")] * 3
        assert found.headings == [(1, "12345")] * 3

    def test_nothing(self):
        """A document may say nothing."""
        assert read("") == About()
