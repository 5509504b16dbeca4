"""Texts of DOCX, PPTX, ODT and EPUB files, of programs and of enemies."""

import io
import zipfile

import pytest

from webcrawl.content.formats import office
from webcrawl.content.formats.office import KINDS, NotReadable, office_text

WORD, SLIDES, OPEN, BOOK = KINDS
CORE = """<c xmlns:d="http://purl.org/dc/elements/1.1/"><d:title>Lamps</d:title>
<d:creator>Ada</d:creator></c>"""
STYLES = """<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:styleId="L"><w:name w:val="List Bullet"/></w:style></w:styles>"""
MAIN = "<w:d xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>{}</w:d>"
RELATIONS = """<r><x Id="r1" Target="slides/one.xml"/><x Id="r2" Target="slides/two.xml"/></r>"""
DECK = """<p xmlns="http://schemas.openxmlformats.org/presentationml/2006/main"
xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">
<sldId r:id="r2"/><sldId r:id="r1"/></p>"""
SLIDE = """<s xmlns="http://schemas.openxmlformats.org/presentationml/2006/main"
xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><sp><ph type="title"/>
<a:p><a:t>Slide {}</a:t></a:p></sp><sp><a:p><a:t>first</a:t></a:p><a:p><a:t>second</a:t></a:p></sp></s>"""
TEXTS = """<c xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
<t:tracked-changes><t:p>deleted</t:p></t:tracked-changes><t:h t:outline-level="2">Oil</t:h>
<t:p>A <t:span>lamp</t:span></t:p><t:list><t:list-item><t:p>item</t:p></t:list-item></t:list></c>"""
CONTAINER = "<c><rootfile full-path='o/book.opf'/></c>"
OPF = f"""<p xmlns="http://www.idpf.org/2007/opf">{CORE}<item id="b" href="two.xhtml"/>
<item id="a" href="a%20one.xhtml"/><itemref idref="a"/><itemref idref="b"/></p>"""


def packed(**members):
    """A ZIP archive; two underscores of a name stand for a slash."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return data.getvalue()


def word(body, **more):
    return packed(word__document_dot_xml=MAIN.format(body), **more)


def deck(relations):
    return packed(
        ppt__presentation_dot_xml=DECK,
        ppt___rels__presentation_dot_xml_dot_rels=relations,
        ppt__slides__one_dot_xml=SLIDE.format(1),
        ppt__slides__two_dot_xml=SLIDE.format(2),
    )


def book(chapter, **more):
    members = {"META-INF/container.xml": CONTAINER, "o/book.opf": OPF, "o/two.xhtml": "<p>End"}
    return packed(**members, **{"o/a one.xhtml": chapter}, **more)


def test_word():
    """Headings, items and paragraphs in their order, tables too; not what was deleted."""
    body = """<w:p><w:pPr><w:pStyle w:val="T"/></w:pPr><w:r><w:t>On lamps</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="H2"/></w:pPr><w:r><w:t>Oil</w:t></w:r></w:p>
<w:p><w:r><w:t>of </w:t></w:r><w:r><w:t>clay</w:t><w:tab/><w:t>burns</w:t></w:r></w:p>
<w:p><w:del><w:r><w:t>never</w:t></w:r></w:del></w:p>
<w:p><w:pPr><w:pStyle w:val="L"/></w:pPr><w:r><w:t>one</w:t></w:r></w:p>
<w:tbl><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tbl>"""
    data = word(body, word__styles_dot_xml=STYLES, docProps__core_dot_xml=CORE)

    assert office_text(data, WORD) == {
        "title": "Lamps",
        "author": "Ada",
        "text": "# On lamps\n\n## Oil\n\nof clay burns\n\n- one\n\ncell",
    }


def test_a_box_within_a_paragraph():
    """Its text is there once, though programs write it twice for those of old."""
    box = "<w:p><w:r><w:t>boxed</w:t></w:r></w:p>"
    both = (
        "<m:A xmlns:m='http://schemas.openxmlformats.org/markup-compatibility/2006'>"
        f"<m:Choice>{box}</m:Choice><m:Fallback>{box}</m:Fallback></m:A>"
    )
    data = word(f"<w:p><w:r><w:t>around</w:t>{both}</w:r></w:p>")

    assert office_text(data, WORD)["text"] == "around\n\nboxed"


def test_slides():
    """They come in the order of the presentation, each with its title as a heading."""
    assert office_text(deck(RELATIONS), SLIDES)["text"] == (
        "# Slide 2\n\nfirst\nsecond\n\n# Slide 1\n\nfirst\nsecond"
    )


def test_open_document():
    """Headings, items and paragraphs; not what was deleted."""
    data = packed(content_dot_xml=TEXTS, meta_dot_xml=CORE)

    assert office_text(data, OPEN) == {
        "title": "Lamps",
        "author": "Ada",
        "text": "## Oil\n\nA lamp\n\n- item",
    }


def test_book():
    """Chapters come in the order of reading; a block begins a line, and an inline element none."""
    chapter = """<html><head><title>No</title></head><body><h1>One</h1><p>Some <b>bold</b> text</p>
<ul><li>outer<ul><li>inner</li></ul>rest</li></ul><div>in<p>para</p>tail</div><script>x</script>"""

    assert office_text(book(chapter), BOOK) == {
        "title": "Lamps",
        "author": "Ada",
        "text": "# One\n\nSome bold text\n\n- outer\n\n- inner\n\n- rest\n\nin\n\npara\n\ntail\n\nEnd",
    }


def test_encrypted_chapters():
    """A book whose text is encrypted has none; one with encrypted fonts is read."""
    locked = "<e><CipherReference URI='{}'/></e>"

    with pytest.raises(NotReadable, match="encrypted"):
        office_text(book("x", **{"META-INF/encryption.xml": locked.format("o/two.xhtml")}), BOOK)
    font = book("<p>x", **{"META-INF/encryption.xml": locked.format("o/font.otf")})
    assert office_text(font, BOOK)["text"] == "x\n\nEnd"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "data", [b"", b"<html>", packed(), word("<w:p/>")[:-30], b"PK\x03\x04" * 9]
)
def test_what_is_no_such_file(kind, data):
    """It is not readable, whatever its type says."""
    with pytest.raises(NotReadable):
        office_text(data, kind)


def test_a_bomb(monkeypatch):
    """Of all members together only so many bytes are unpacked."""
    monkeypatch.setattr(office, "UNPACKED", 1 << 20)

    with pytest.raises(NotReadable, match="more than 1048576 bytes"):
        office_text(word(" " * (2 << 20)), WORD)
    with pytest.raises(NotReadable, match="more than 1048576 bytes"):
        office_text(book(" " * (1 << 20)), BOOK)


def test_entities(tmp_path):
    """Neither one that grows nor one that names a file is replaced."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    grows = "".join(f"<!ENTITY e{n + 1} '{f'&e{n};' * 10}'>" for n in range(9))
    body = MAIN.format("<w:p><w:r><w:t>a&e9;&file;</w:t></w:r></w:p>")
    for declared in (f"<!ENTITY e0 'x'>{grows}", f"<!ENTITY file SYSTEM '{secret}'>"):
        text = f"<!DOCTYPE d [{declared}]>{body}"
        try:
            found = office_text(packed(word__document_dot_xml=text), WORD)["text"]
        except NotReadable:
            continue
        assert found in ("", "a")


def test_a_long_text():
    """No more of it is kept than documents have, and one character by which they know of the rest."""
    body = "".join(f"<w:p><w:r><w:t>{'x' * 1000}</w:t></w:r></w:p>" for _ in range(1200))

    assert (1 << 20) < len(office_text(word(body), WORD)["text"]) < (1 << 20) + 10_000


def test_blanks_of_open_document():
    """Runs of spaces, tabs and line breaks, which are elements there, part words."""
    text = TEXTS.replace("A <t:span>", "A<t:s t:c='2'/>clay<t:tab/>oil<t:line-break/><t:span>")

    assert "\n\nA clay oil lamp\n\n" in office_text(packed(content_dot_xml=text), OPEN)["text"]


def test_a_note_of_open_document():
    """It is a paragraph of its own, and stands there once; its number and comments are left out."""
    note = "<t:note><t:note-citation>1</t:note-citation><t:p>note</t:p></t:note>"
    comment = (
        "<o:annotation xmlns:o='urn:oasis:names:tc:opendocument:xmlns:office:1.0'>"
        "<t:p>no</t:p></o:annotation>"
    )
    text = TEXTS.replace("</t:span>", f"s{note}{comment}</t:span>!")

    assert "A lamps!\n\nnote\n\n- item" in office_text(packed(content_dot_xml=text), OPEN)["text"]


def test_the_strict_form():
    """Documents and presentations in the form of ISO 29500 Strict are read as well."""
    usual, strict = "http://schemas.openxmlformats.org/", "http://purl.oclc.org/ooxml/"

    def in_strict_names(data):
        members = zipfile.ZipFile(io.BytesIO(data))
        texts = {name: members.read(name).decode() for name in members.namelist()}
        return packed(
            **{
                name: text.replace(usual, strict).replace("/2006/", "/")
                for name, text in texts.items()
            }
        )

    document = word(
        "<w:p><w:pPr><w:pStyle w:val='T'/></w:pPr><w:r><w:t>strict</w:t></w:r></w:p>",
        word__styles_dot_xml=STYLES,
    )
    slides = deck(RELATIONS)
    assert office_text(in_strict_names(document), WORD)["text"] == "# strict"
    assert office_text(in_strict_names(slides), SLIDES) == office_text(slides, SLIDES)


def test_parts_of_other_names():
    """The file's own relations name its main part, by any name; targets may be absolute."""
    named = """<r><x Type="http://x/relationships/officeDocument" Target="/doc/text.xml"/>
<x Type="http://x/metadata/core-properties" Target="about.xml"/></r>"""
    styled = """<r><x Type="http://x/relationships/styles" Target="../looks.xml"/></r>"""
    body = "<w:p><w:pPr><w:pStyle w:val='T'/></w:pPr><w:r><w:t>text</w:t></w:r></w:p>"
    members = {"_rels/.rels": named, "doc/_rels/text.xml.rels": styled}
    data = packed(
        **members, **{"doc/text.xml": MAIN.format(body), "looks.xml": STYLES, "about.xml": CORE}
    )

    assert office_text(data, WORD) == {"title": "Lamps", "author": "Ada", "text": "# text"}
    absolute = RELATIONS.replace("slides/", "/ppt/slides/")
    assert office_text(deck(absolute), SLIDES) == office_text(deck(RELATIONS), SLIDES)


def test_a_missing_chapter():
    """The others are kept, and it is told that a part is missing; without any there is no text."""
    assert office_text(deck(RELATIONS.replace("two", "three")), SLIDES) == {
        "title": None,
        "author": None,
        "text": "# Slide 1\n\nfirst\nsecond",
        "truncated": "unspecified",
    }
    with pytest.raises(NotReadable, match="slides/three"):
        office_text(deck(RELATIONS.replace("two", "three").replace("one", "four")), SLIDES)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_chapters(encoding):
    """A book may be in UTF-8 or in UTF-16."""
    chapter = "<?xml version='1.0'?><html><body><p>Öl für Lampen</p></body></html>"

    assert office_text(book(chapter.encode(encoding)), BOOK)["text"] == "Öl für Lampen\n\nEnd"


def test_hyphens_and_moved_text():
    """A hyphen that does not break a line is one; text that was moved stands where it went."""
    body = """<w:p><w:r><w:t>clay</w:t><w:noBreakHyphen/><w:t>lamp</w:t></w:r>
<w:moveFrom><w:r><w:t>old</w:t></w:r></w:moveFrom></w:p>"""

    assert office_text(word(body), WORD)["text"] == "clay-lamp"
