"""Encodings and markup designed to cost time or memory, or to hide content from browsers."""

import pytest
import webencodings

from tests.support.examples import in_campaign
from tests.support.hostile import peak, reset_peak
from webcrawl.content.html import encodings
from webcrawl.content.html.link_reader import LinkReader

SIZE = 2 * 2**20
KIB = 48 * 1024  # for 2 MiB of bytes: two copies of the text, its UTF-8, and the tree
ODD = [
    b"\x81",
    b"\x1b$B",
    b"\x8e\xa1",
    b"\x84\x31\x95",
    b"\xed\xa0\x80",
    b"\xd8\x00",
    b"~{",
    b"\xff\xfe",
]
LINKS = b'<a href="/one">1</a>'
SHIFTED = b'+ADw-a href="/seven"+AD4-7+ADw-/a+AD4-'  # a link, for readers that believe in UTF-7


def read(body, media="text/html"):
    return LinkReader(["a", "img"], anchor_text=True).links(body, media, "http://site.test/")


def targets(body, media="text/html"):
    return [link[1] for link in read(body, media).links]


ENCODINGS = sorted(set(webencodings.LABELS.values()))
DAILY = ENCODINGS[::4]  # in every run; the others in the campaign


@pytest.mark.parametrize(
    "encoding", [*DAILY, *in_campaign(*(name for name in ENCODINGS if name not in DAILY))]
)
def test_a_body_of_nothing_but_mistakes(encoding):
    """2 MiB of undecodable bytes become at most as many replacement characters, within bounds."""
    before = reset_peak()

    for piece in ODD:
        text = encodings.decode(piece * (SIZE // len(piece)), encoding)
        assert len(text) <= SIZE
        text.encode()

    assert peak() - before < KIB


@pytest.mark.parametrize(
    "encoding",
    sorted(
        name
        for name in set(webencodings.LABELS.values())
        if name.startswith(("windows-", "iso-8859-"))
    ),
)
def test_every_byte_is_one_character(encoding):
    """In single-byte encodings each byte is one character; a hole is a control in windows' tables,
    else U+FFFD.
    """
    text = encodings.decode(bytes(range(256)), encoding)

    assert text[:128] == bytes(range(128)).decode()
    assert len(text) == 256
    for byte, char in enumerate(text):
        known = bytes((byte,)).decode(encodings.codec(encoding), "replace")
        hole = chr(byte) if encoding.startswith("windows-") and 0x80 <= byte < 0xA0 else "\ufffd"
        assert char == (hole if known == "\ufffd" else known)


class TestOtherUnicodes:
    @pytest.mark.parametrize(
        "media", ["text/html; charset=utf-7", "application/xhtml+xml; charset=utf-7"]
    )
    def test_utf_7_is_no_encoding(self, media):
        """UTF-7, in which markup hides from filters, is never used, whatever declares it."""
        for head in (
            b"",
            b'<?xml version="1.0" encoding="utf-7"?>',
            b"<meta charset=utf-7>",
            b"+/v8-",
        ):
            page = (
                head
                + b'<html xmlns="http://www.w3.org/1999/xhtml"><body>'
                + SHIFTED
                + LINKS
                + b"</body></html>"
            )
            assert "/seven" not in targets(page, media)
            assert set(targets(page, "text/html")) == {"/one"}

    @pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
    def test_utf_16_is_known_by_itself(self, codec):
        """With a mark or a label it is read; without, it is guessed, which no browser does."""
        page = (LINKS.decode() * 50).encode(codec)

        assert set(targets(page, f"text/html; charset={codec[:6]}{codec[7:]}")) == {"/one"}
        assert set(targets("\ufeff".encode(codec) + page)) == {"/one"}
        assert set(targets(page)) == {"/one"}

    @pytest.mark.parametrize("codec", ["utf-32-le", "utf-32-be"])
    @pytest.mark.parametrize("media", ["text/html", "text/html; charset=utf-32"])
    def test_utf_32_is_guessed(self, codec, media):
        """No browser supports UTF-32, and no label names it; a page in it is read all the same."""
        assert set(targets((LINKS.decode() * 50).encode(codec), media)) == {"/one"}

    def test_utf_32_with_a_mark_is_garbage(self):
        """Its mark begins with that of UTF-16, which is believed."""
        assert "/one" not in targets((LINKS.decode() * 50).encode("utf-32"))


LONG = {
    "label": b"<meta charset=" + b"x" * SIZE + b">",
    "quoted label": b"<meta charset='" + b"utf-8 " * (SIZE // 6) + b"'>",
    "content": b"<meta http-equiv=content-type content='text/html"
    + b";charset" * (SIZE // 8)
    + b"'>",
    "many": b"<meta charset=nonsense>" * (SIZE // 23),
    "late": b" " * 1100 + b"charset" * (SIZE // 7),
    "declaration": b"<?xml " + b"encoding " * (SIZE // 9) + b"?>",
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_declaration(name):
    """However long it is, a declaration that names no encoding is ignored, and the page is read."""
    before = reset_peak()

    assert read(LONG[name]).encoding == "windows-1252"
    assert targets(LINKS + LONG[name])[:1] == ["/one"]

    assert peak() - before < 2 * KIB


@pytest.mark.parametrize(
    "parameter", ["; charset=" + "x" * 60_000, ";charset" * 8000, "; charset=" + '"' * 60_000]
)
def test_a_long_header(parameter):
    """A header of the longest possible length that names no encoding is ignored."""
    assert read(LINKS, "text/html" + parameter).encoding == "windows-1252"
    assert targets(LINKS, "text/html" + parameter) == ["/one"]


BRACKETS = [
    b"<",
    b"</",
    b"<!",
    b"<!--",
    b"<?",
    b"<![CDATA[",
    b"<!DOCTYPE ",
    b"&",
    b"&#x",
    b"<a ",
    b"<a href='",
]


@pytest.mark.campaign
@pytest.mark.parametrize("piece", BRACKETS, ids=ascii)
@pytest.mark.parametrize("media", ["text/html", "application/xhtml+xml"])
def test_a_mebibyte_of_brackets(piece, media):
    """Markup that only ever begins is read within bounds, and the link before it is found."""
    head = b'<html xmlns="http://www.w3.org/1999/xhtml"><body>' + LINKS
    before = reset_peak()

    assert targets(head + piece * (2**20 // len(piece)), media)[:1] == ["/one"]

    assert peak() - before < 8 * KIB
