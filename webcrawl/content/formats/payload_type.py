"""The media type of a body by its own bytes, for WARC-Identified-Payload-Type (WARC 1.1, 5.19).

The standard forbids copying the server's Content-Type into that field "without direct analysis of the payload". So the
bytes decide. The server's word only chooses between types that begin alike: HTML without any mark, and plain text.
"""

from __future__ import annotations

import re

from webcrawl.content.formats import xml_stream
from webcrawl.content.html import mimetype
from webcrawl.content.html.encoding_sniffing import is_xml

HTML, XHTML, TEXT, XML = "text/html", "application/xhtml+xml", "text/plain", "text/xml"
UNNAMED = "unknown type"  # of a body that shows none, in counters and summaries
UNKNOWN = ("", "unknown/unknown", "application/unknown", "*/*")
# MIME Sniffing Standard, 6 and 7.1, with PDF, and two fonts that the web has in their place
SIGNATURES = (
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBPVP", re.DOTALL), "image/webp"),
    (re.compile(rb"RIFF.{4}WAVE", re.DOTALL), "audio/wave"),
    (re.compile(rb"RIFF.{4}AVI ", re.DOTALL), "video/avi"),
    (re.compile(rb".{4}ftypavi[fs]", re.DOTALL), "image/avif"),
    (re.compile(rb".{4}ftyp(?:mp4|isom|iso\d|avc1|M4V)", re.DOTALL), "video/mp4"),
    (re.compile(rb"\x1aE\xdf\xa3"), "video/webm"),
    (re.compile(rb"OggS\0"), "application/ogg"),
    (re.compile(rb"ID3[\x02-\x04]"), "audio/mpeg"),
    (re.compile(rb"\0\0\x01\0"), "image/x-icon"),
    (re.compile(rb"wOFF"), "font/woff"),
    (re.compile(rb"wOF2"), "font/woff2"),
    (re.compile(rb"\x1f\x8b\x08"), "application/gzip"),
)
ROOTS = {
    "html": XHTML,
    "svg": "image/svg+xml",
    "rss": "application/rss+xml",
    "feed": "application/atom+xml",
    "RDF": "application/rdf+xml",
}
# MIME Sniffing Standard, 7.1: how a scriptable resource of unknown type begins
_BEGINS_AS_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:!--|(?:!DOCTYPE HTML|html|head|script|iframe|h1|div|font|table|a|style|title"
    rb"|b|body|br|p)[ \t\n\f\r>])",
    re.IGNORECASE,
)
_IS_DOCUMENT = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:!DOCTYPE HTML|html)[ \t\n\f\r>]", re.IGNORECASE)
_BEGINS_AS_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\t\n\r \0]*+<\0?\?\0?x\0?m\0?l", re.IGNORECASE)
HEAD = 1445  # bytes that the standard looks at
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16, which has zero bytes


def identified_type(content_type: str, body: bytes) -> str:
    """Return the media type that the bytes of a decoded body show, or an empty string if they do not show any."""
    mime = mimetype.parse(content_type) if content_type else None
    essence = mime.essence if mime else ""
    if (essence == HTML or essence in UNKNOWN) and _BEGINS_AS_HTML.match(body):
        return HTML
    if identified := _by_signature(body):
        return identified
    if _BEGINS_AS_XML.match(body) or is_xml(essence):
        return _of_xml(body)
    if _IS_DOCUMENT.match(body):  # an error page in the place of an image or a script
        return HTML
    return essence if essence in (HTML, TEXT) and _is_text(body) else ""


def _by_signature(body: bytes) -> str:
    return next((identified for signature, identified in SIGNATURES if signature.match(body)), "")


def _of_xml(body: bytes) -> str:
    root = xml_stream.root_of(body)
    return ROOTS.get(root, XML) if root else ""


def _is_text(body: bytes) -> bool:
    return body.startswith(_WIDE) or (bool(body) and _BINARY.search(body, 0, HEAD) is None)
