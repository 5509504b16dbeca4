"""Documents are made in a process that may die, of pages of any kind."""

import sys

import pytest

from tests.support.lamp_site import ARTICLE
from webcrawl.content.documents.document_process import BROKEN, DocumentProcess

HEAD = {"url": "http://a.test/", "encoding": "UTF-8", "is_markup": True, "fetched": "2026-11-22"}
DEEP = b"<div>" * 100_000 + b"deep"
WIDE = b"<p " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b">wide"

ODD = [b"", b"\0" * 99, b"<!--", b"<?xml", b"<title>x", bytes(range(256)) * 9, DEEP, WIDE]


def fake(code):
    """A worker that says it is ready, and then does something else."""
    start = "import socket, struct, os; wire = socket.socket(fileno=0); wire.sendall(b'R'); wire.recv(8); "
    return DocumentProcess((sys.executable, "-c", start + code))


@pytest.mark.parametrize("code", ["os.abort()", "os._exit(0)", "wire.sendall(struct.pack('<Q', 4) + b'none')"])
def test_a_page_that_brings_it_down(code):
    """It has no text; its row says why."""
    reader = fake(code)

    assert reader.document(HEAD, b"<p>") == BROKEN
    reader.close()


def test_nothing_is_begun_after_the_end():
    """Pages that still wait when the crawl ends start no process."""
    reader = fake("os._exit(0)")
    reader.kill()

    with pytest.raises(OSError, match="closed"):
        reader.document(HEAD, b"<p>")


@pytest.fixture(name="reader", scope="module")
def _reader():
    pytest.importorskip("trafilatura", reason="needs trafilatura")
    pytest.importorskip("resiliparse", reason="needs resiliparse")
    reader = DocumentProcess()
    yield reader
    reader.close()


class TestReal:
    """With the libraries."""

    @pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
    def test_odd_pages(self, reader, body):
        """There is an answer, and the next page is read."""
        found = reader.document(HEAD, body)

        assert isinstance(found.get("text", ""), str)
        assert "How lamps work" in reader.document(HEAD, ARTICLE.encode())["text"]

    def test_a_text_that_swells(self, reader):
        """Short links to long addresses are cut with the text, which is bounded."""
        body = b"<body><article><p>%b</p></article></body>" % (b"word <a href=x>link</a> " * 700)
        found = reader.document({**HEAD, "url": f"http://a.test/{'y' * 1900}/"}, body)

        assert (len(found["text"]), found["cut"]) == (1 << 20, True)

    @pytest.mark.parametrize(
        ("base", "found"), [("", "http://a.test/folder/x"), ("<base href=//b.test/y/>", "http://b.test/y/x")]
    )
    def test_links(self, reader, base, found):
        """They are absolute, as a browser has them."""
        body = f"<head>{base}</head><body><article><p>{'word ' * 60}<a href=x>link</a></p></article></body>".encode()

        assert f"[link]({found})" in reader.document({**HEAD, "url": "http://a.test/folder/page"}, body)["text"]

    def test_an_error_of_a_library(self, reader):
        """It is named."""
        assert reader.document({**HEAD, "no such": "field"}, b"<p>") == {"flaw": "TypeError"}

    def test_lines_of_the_markup_are_no_lines_of_the_text(self, reader):
        """Text that is broken and indented in the markup is one line; code stays as it is."""
        text = b"<body><article><p>%b\n            more</p><pre>a\n        b</pre></article></body>" % (b"word " * 60)
        found = reader.document(HEAD, text)["text"]

        assert "word more" in found
        assert "a\n        b" in found

    def test_a_plain_text(self, reader):
        """It is its own main text, without control characters."""
        found = reader.document({**HEAD, "is_markup": False}, b"a <b>\x00\r\n\r\n\r\n\r\nc  ")

        assert found["text"] == "a <b>\ufffd\n\nc"
