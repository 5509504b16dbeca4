"""The media type of a body by its own bytes."""

import pytest

from webcrawl.content.formats.payload_type import identified_type

XHTML = b"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><p>page</p></html>"""
WIDE = '<?xml version="1.0" encoding="utf-16"?><html xmlns="http://www.w3.org/1999/xhtml"/>'.encode("utf-16")
FEED = b'<?xml version="1.0"?><!-- made --><rss version="2.0"/>'


class TestIdentifiedType:
    @pytest.mark.parametrize(
        ("content_type", "body", "expected"),
        [
            ("text/html; charset=utf-8", b"\n<!doctype html>\n<p>page", "text/html"),
            ("text/html", b"words without a tag", "text/html"),
            ("", b"<html><p>page", "text/html"),
            ("text/html", XHTML, "application/xhtml+xml"),
            ("application/xhtml+xml", XHTML, "application/xhtml+xml"),
            ("application/xhtml+xml", XHTML.partition(b"\n")[2], "application/xhtml+xml"),
            ("text/html", WIDE, "application/xhtml+xml"),
            ("text/html", FEED, "application/rss+xml"),
            ("application/xml", b"<urlset/>", "text/xml"),
            ("text/plain", b"User-agent: *\n", "text/plain"),
            ("text/plain", "Wörter".encode("utf-16"), "text/plain"),
            ("text/html", b"%PDF-1.7", "application/pdf"),
            ("text/html", b"\x89PNG\r\n\x1a\n\0", "image/png"),
            ("application/octet-stream", b"\0\0\0\x1cftypmp42", "video/mp4"),
        ],
    )
    def test_the_bytes_decide(self, content_type, body, expected):
        """Marks in the body name its type; the header only tells HTML without a mark from plain text."""
        assert identified_type(content_type, body) == expected

    @pytest.mark.parametrize("content_type", ["image/jpeg", "text/javascript", "application/pdf"])
    def test_an_error_page_in_the_place_of_another_type(self, content_type):
        """A document under another type's name is HTML."""
        assert identified_type(content_type, b"<!DOCTYPE html><title>404</title>") == "text/html"

    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            ("text/html", b""),
            ("text/html", b"\0\1\2 no text"),
            ("image/jpeg", b"no image"),
            ("text/css", b"<!-- a {} -->"),
            ("application/xhtml+xml", b"no element"),
        ],
    )
    def test_nothing_is_copied_from_the_header(self, content_type, body):
        """A body that does not show its type has none, whatever its header says."""
        assert identified_type(content_type, body) == ""
