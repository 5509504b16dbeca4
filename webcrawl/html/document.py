"""Whether a body is a document with links: by its Content-Type or, without a usable one, by its first bytes."""

from __future__ import annotations

import re

from webcrawl.html import mimetype
from webcrawl.html.encoding import is_xml

_XHTML = b"http://www.w3.org/1999/xhtml"
_UNKNOWN = ("", "unknown/unknown", "application/unknown", "*/*")
# MIME Sniffing Standard 7.1: how a scriptable resource of unknown type begins.
_BEGINS_AS_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:!--|(?:!DOCTYPE HTML|html|head|script|iframe|h1|div|font|table|a|style|title"
    rb"|b|body|br|p)[ >])",
    re.IGNORECASE,
)
_BEGINS_AS_XML = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<\?xml")


def markup(content_type: str, body: bytes) -> str:
    """`html`, `xml` for XHTML served as XML, or an empty string."""
    mime = mimetype.parse(content_type) if content_type else None
    essence = mime.essence if mime else ""
    if essence == "text/html":
        return "html"
    if essence in _UNKNOWN:
        if _BEGINS_AS_HTML.match(body):
            return "html"
        essence = "text/xml" if _BEGINS_AS_XML.match(body) else ""
    # Feeds and sitemaps are XML too; only a document that names the namespace has links that a browser shows.
    return "xml" if is_xml(essence) and (_XHTML in body or b"\0" in body[:4]) else ""
