"""Texts of the elements of a document that libxml2 reads: each once, and not once per level."""

import pytest

from webcrawl.content.html import trees
from webcrawl.content.html.trees import PlainTree, TextReader, XmlTree

XML = '<html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'


def texts(html, *tags):
    return [element.text() for element in PlainTree(frozenset(tags)).elements(html.encode())]


def steps(monkeypatch, elements, per_tag, least):
    """How many elements are looked at: below one, and of a document."""
    monkeypatch.setattr(trees, "_ELEMENTS", elements)
    monkeypatch.setattr(trees, "STEPS_PER_TAG", per_tag)
    monkeypatch.setattr(trees, "LEAST_STEPS", least)


def test_an_ordinary_page_keeps_all_texts():
    """However many elements it has, and texts within texts."""
    page = "".join(f"<h2>{i} <a>x <b>{i}</b>!</a></h2><p><a>{i}</a></p>" for i in range(20_000))

    found = texts(page, "a", "h2", "b")

    assert found[:4] == ["0 x 0!", "x 0!", "0", "0"]
    assert found[-4:] == ["19999 x 19999!", "x 19999!", "19999", "19999"]


@pytest.mark.parametrize(("elements", "found"), [(4, "1234567"), (3, "12345"), (1, "1")])
def test_of_a_large_element_the_first_part(monkeypatch, elements, found):
    """Up to the first elements, with the texts between them."""
    steps(monkeypatch, elements, 0, 100)

    assert texts("<div>1<b>2</b>3<i>4</i>5<u>6</u>7</div>8", "div") == [found]


@pytest.mark.parametrize("empty", [100, 128, 400])
def test_elements_without_text_do_not_hide_the_text_behind_them(empty):
    """A text counts among the first ones of a large element only if there is any."""
    before, behind = "<b></b>" * empty, "<b></b>" * (600 - empty)

    assert texts(f"<div>{before}Label{behind}</div>", "div") == ["Label"]


def test_elements_within_elements_use_up_a_documents_steps(monkeypatch):
    """A page of headings within headings is not gone through once for each of them, even if they
    have no text.
    """
    steps(monkeypatch, 100, 1, 5)
    asked = []
    text = TextReader.text

    def counted(reader, element):
        before = reader._steps_left
        found = text(reader, element)
        asked.append(before - reader._steps_left)
        return found

    monkeypatch.setattr(TextReader, "text", counted)

    assert texts("<h1>" * 50 + "end", "h1")[-1] == ""
    assert len(asked) == 50
    assert sum(asked) == 5 + 50


def test_the_same_in_xml(monkeypatch):
    """XHTML served as XML may have links within links."""
    steps(monkeypatch, 100, 0, 6)
    document = XML.format("<a>" * 4 + "x" + "</a>" * 4)
    links = [one for one in XmlTree().elements(document.encode()) if one.tag == "a"]

    assert [link.text() for link in links] == ["x", "", "", ""]
