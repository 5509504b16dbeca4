"""Links of documents in Markdown, and of the listings of sites."""

import pytest

from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.formats.markdown import is_markdown

URL = "http://a.test/llms.txt"


def read(text, url=URL, content_type="text/plain"):
    return DocumentReader({"markdown"}).links(text.encode(), content_type, url)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("- [Lamps](lamps.md): of clay", [("lamps.md", "Lamps")]),
        ("[two\nlines](a.md 'title')", [("a.md", "two lines")]),
        ("[a](<with blank.md>) [b](c_(d).md)", [("with blank.md", "a"), ("c_(d).md", "b")]),
        ("![image](i.png)", []),
        ("[![image](i.png)](page.md)", [("page.md", "")]),
        ("see <https://b.test/x> and <b>", [("https://b.test/x", "")]),
        ("  [one]: /one.md\n[two]: </two.md> 'x'", [("/one.md", ""), ("/two.md", "")]),
        ("~~~\n[code](no.md)\n```\n~~~\n[text](yes.md)", [("yes.md", "text")]),
        ("```\n[code that never ends](no.md)", []),
        ("[empty]() [x] (no.md)", []),
    ],
)
def test_links(text, links):
    """Inline links, addresses in angle brackets and references; no images, and nothing in code."""
    assert [(link[1], link[2]) for link in read(text).links] == links


def test_the_title():
    """It is the first heading of the first level."""
    assert read("intro\n\n## no\n# Lamps of clay \n# no").title == "Lamps of clay"


@pytest.mark.parametrize(
    "brackets", ["[", "](", "![", "[a](", "[a](b(", "<https://", "[x]:", "```\n"]
)
def test_text_of_an_enemy(brackets):
    """Any number of beginnings without an end is read, and is no link."""
    assert read(brackets * 50_000 + "<").links == []


@pytest.mark.parametrize(
    ("content_type", "url", "reads"),
    [
        ("text/markdown; charset=utf-8", "http://a.test/a", True),
        ("text/plain", URL, True),
        ("text/plain", "http://a.test/docs/llms.txt?v=1", True),
        ("text/html", URL, False),  # a page that says that there is none
        ("text/plain", "http://a.test/readme.txt", False),
    ],
)
def test_what_is_markdown(content_type, url, reads):
    """What is served as such, and a listing by its name, unless it is served as something else."""
    assert is_markdown(content_type, url) == reads


@pytest.mark.parametrize("wanted", [{"markdown", "link", "header"}, {"link", "header"}])
def test_the_address_of_the_same_in_markdown(wanted):
    """A page names it in its head, or in a header; to a crawl that does not ask it is as any link."""
    page = b"<link rel='x alternate' type='text/Markdown' href=p.md><link rel=alternate href=q>"
    reader = DocumentReader(wanted)
    found = reader.links(page, "text/html", "http://a.test/")
    reader.add_headers(
        found, [(b"Link", b'</h.md>; rel=alternate; type="text/markdown"')], "http://a.test/"
    )

    asks = "markdown" in wanted
    assert [link[:2] for link in found.links] == [
        ("markdown" if asks else "link", "p.md"),
        ("link", "q"),
        ("markdown" if asks else "header", "http://a.test/h.md"),
    ]
    assert found.markdown == ("p.md" if asks else "")
