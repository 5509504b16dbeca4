"""The encoding of a document, by the HTML Standard's encoding sniffing algorithm."""

from __future__ import annotations

import codecs

from webcrawl.html import encodings, mimetype
from webcrawl.html.guess import guess
from webcrawl.html.prescan import LENGTH, declared, xml_declared

LATE = 16384  # browsers restart parsing when they meet a declaration beyond the prescan's 1024 bytes
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))


def encoding_of(body: bytes, content_type: str = "", url: str = "") -> str:
    """Byte order mark, then Content-Type, then the document's declaration, then a guess, for which `url` is a hint."""
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return encoding
    mime = mimetype.parse(content_type) if content_type else None
    transport = encodings.lookup(mime.parameters["charset"]) if mime and "charset" in mime.parameters else None
    if transport:
        return transport
    if mime and is_xml(mime.essence):  # XML 1.0, appendix F: declaration or UTF-8, never a guess
        return xml_declared(body[:1024]) or encodings.UTF_8
    return declared(body) or _late(body) or guess(body, _host(url))


def _late(body: bytes) -> str | None:
    """A declaration beyond the prescan. Scanning 16 KiB costs as much as a page's links, so look for the word first."""
    return declared(body, LATE) if b"charset" in body[LENGTH:LATE].lower() else None


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0]


def is_xml(essence: str) -> bool:
    return essence in ("text/xml", "application/xml") or essence.endswith("+xml")
