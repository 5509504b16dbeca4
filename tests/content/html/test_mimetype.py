"""Content-Type headers, and the kind of document they indicate."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from webcrawl.content.html import encodings, mimetype
from webcrawl.content.html.trees import markup

XHTML = b'<html xmlns="http://www.w3.org/1999/xhtml"/>'


def _serialised(mime):
    if mime is None:
        return None
    text = mime.essence
    for name, value in mime.parameters.items():
        plain = re.fullmatch(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+", value)
        text += f";{name}={value}" if plain else ';{}="{}"'.format(name, re.sub(r'([\\"])', r"\\\1", value))
    return text


@pytest.mark.parametrize("name", ["wpt-mime-types", "wpt-generated-mime-types"])
def test_web_platform_tests_agree(name):
    """Every header of the web platform tests is read as they expect, including its charset."""
    for row in json.loads((cases("charset-prescan") / f"{name}.json").read_text()):
        if isinstance(row, str):
            continue
        mime = mimetype.parse(row["input"])
        assert _serialised(mime) == row["output"], row
        if row.get("encoding"):
            assert encodings.lookup(mime.parameters["charset"]) == row["encoding"].lower()


@given(st.text(alphabet='ab/;= "\\\t\x7f\xe9', max_size=30))
def test_any_header_can_be_read(header):
    """No header raises; a parsed essence consists of two tokens."""
    mime = mimetype.parse(header)
    assert mime is None or mime.essence.count("/") == 1


@pytest.mark.parametrize("filler", [";", ";a", ";a=b", "; ", ';a="\\'])
def test_a_long_header_counts_up_to_a_bound(filler):
    """The first 1,024 characters are read, however long the header, and nothing after them."""
    within, beyond = ";charset=utf-8", ";late=1"
    mime = mimetype.parse("text/html" + within + filler * 20_000 + beyond)

    assert mime.essence == "text/html"
    assert mime.parameters["charset"] == "utf-8"
    assert "late" not in mime.parameters
    assert mime == mimetype.parse(("text/html" + within + filler * 20_000)[: mimetype.LONGEST])


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html; charset=x", b"", "html"),
        ("TEXT/HTML", b"plain", "html"),
        ("text/plain", b"<html>", ""),
        ("image/png", b"<html>", ""),
        ("application/xhtml+xml", XHTML, "xml"),
        ("application/rss+xml", b"<rss/>", ""),
        ("text/xml", XHTML, "xml"),
        ("", b" \n<!DocType html>", "html"),
        ("", b"<p>", "html"),
        ("", b"<!--", "html"),
        ("", b"<paper>", ""),
        ("", b"just text", ""),
        ("nonsense", b"<html>", "html"),
        ("*/*", b"<?xml version='1.0'?>" + XHTML, "xml"),
        ("", b"%PDF-1.4 <html>", ""),
    ],
)
def test_only_html_and_xhtml_are_documents(content_type, body, expected):
    """The type decides; only a body of unknown type is sniffed, as in a browser."""
    assert markup(content_type, body) == expected
