"""The encoding of a document, found as the HTML Standard's encoding sniffing algorithm finds it."""

from __future__ import annotations

import codecs

from webcrawl.html import encodings, mimetype
from webcrawl.html.guess import guess
from webcrawl.html.prescan import LENGTH, declared, xml_declared

LATE = 16384  # a declaration beyond the prescan's 1024 bytes still makes a browser start again, while it parses
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))


def encoding_of(body: bytes, content_type: str = "", url: str = "") -> str:
    """Byte order mark, then Content-Type, then the document's own declaration, then a guess that `url` may help."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return encoding
    mime = mimetype.parse(content_type) if content_type else None
    transport = encodings.lookup(mime.parameters["charset"]) if mime and "charset" in mime.parameters else None
    if transport:
        return transport
    if mime and is_xml(mime.essence):  # XML 1.0, appendix F: its declaration or UTF-8, never a guess
        return xml_declared(body[:1024]) or encodings.UTF_8
    return declared(body) or _late(body) or guess(body, _host(url))


def _late(body: bytes) -> str | None:
    """Looked for only where there may be one: reading 16 KiB of tags costs as much as the links of a page."""
    return declared(body, LATE) if b"charset" in body[LENGTH:LATE].lower() else None


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0]


def is_xml(essence: str) -> bool:
    return essence in ("text/xml", "application/xml") or essence.endswith("+xml")
