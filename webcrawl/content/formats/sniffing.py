"""The format of a body: by its media type, and by how it begins.

For reading (`form_of`), the type counts but where servers are known to say something else.

For WARC-Identified-Payload-Type (`identified_type`; WARC 1.1, 5.19) the bytes decide: the standard
forbids copying the server's Content-Type into that field "without direct analysis of the payload".
There the server's word only chooses between types that begin alike: HTML without any mark, and
plain text.
"""

from __future__ import annotations

import re
import zlib

from webcrawl.content.formats import listings, xml_stream
from webcrawl.content.html import mimetype
from webcrawl.content.html.encodings import is_xml
from webcrawl.content.html.trees import UNKNOWN

MOST = 50 << 20  # bytes: sitemaps.org's limit
GZIP = b"\x1f\x8b\x08"
GZIPPED = zlib.MAX_WBITS | 16  # zlib's number for it
MEMBERS = 10_000  # of a body that are read: an empty one takes only 20 bytes


def unpacked(body: bytes) -> bytes:
    """The contents of a gzip body, as far as it can be read and they are not larger than MOST.

    It may have several members, one after the other (RFC 1952 2.2), as of a server that packs piece
    by piece.
    """
    inflate = zlib.decompressobj(GZIPPED)
    try:
        first = inflate.decompress(body, MOST)
    except zlib.error:
        return _salvaged(body, MOST)
    rest = inflate.unused_data
    return first + _salvaged(rest, MOST - len(first)) if rest.startswith(GZIP) else first


def _salvaged(body: bytes, most: int) -> bytes:
    """Return what comes before any damage, of so many bytes."""
    inflate, members = zlib.decompressobj(GZIPPED), 1
    found, size, at = [], 0, 0
    while at < len(body) and size < most:
        fed = body[at : at + 512]
        try:
            piece = inflate.decompress(fed, most - size)
        except zlib.error:
            break
        found.append(piece)
        size += len(piece)
        at += len(fed) - len(inflate.unused_data)
        if inflate.eof:
            if members == MEMBERS or not body.startswith(GZIP, at):
                break
            inflate, members = zlib.decompressobj(GZIPPED), members + 1
    return b"".join(found)


HTML = ("text/html", "application/xhtml+xml")
FEEDS = ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/x-cdf")
JSON = ("application/feed+json", "application/json")
ANYTHING = (
    "",
    "text/plain",
    "application/octet-stream",
    "binary/octet-stream",
    "unknown/unknown",
    "*/*",
)
PACKED = ("application/gzip", "application/x-gzip", "application/x-gunzip", *ANYTHING)
# How XML that is served as HTML may begin; real HTML begins with a document type, or with <html.
_AS_HTML = (
    b"<?xml",
    b"<rss",
    b"<feed",
    b"<urlset",
    b"<sitemapindex",
    b"<rdf:RDF",
    b"\xef\xbb\xbf<?xml",
    b"%PDF-",
)
_ROOTS = {
    **dict.fromkeys(("urlset", "sitemapindex"), "sitemap"),
    **dict.fromkeys(("rss", "feed", "RDF", "channel", "Channel", "CHANNEL"), "feed"),
    "html": "html",
    "svg": "xlink",
}


def form_of(content_type: str, body: bytes) -> str:
    """Return `sitemap`, `text` (a sitemap too), `feed`, `json` (a feed too), `xlink`, `pdf`, or
    `html` for others.
    """
    essence = _essence(content_type)
    is_html = essence in HTML
    if is_html and not body.startswith(_AS_HTML):
        return "html"
    if is_pdf(content_type, body):
        return "pdf"
    if essence in JSON:
        return "json" if essence == JSON[0] or listings.is_feed(body) else "html"
    may_be_listing = is_html or essence in PACKED or essence in FEEDS or is_xml(essence)
    return _of_text(essence, body) if may_be_listing else "html"


def _of_text(essence: str, body: bytes) -> str:
    """Return the form by the root element, else by the media type, else by the lines."""
    found = _ROOTS.get(xml_stream.root_of(body), "")
    if (
        found == "feed"
        and essence == "application/rdf+xml"
        and b"purl.org/rss" not in body[: xml_stream.HEAD]
    ):
        return "xlink"  # RDF that is no RSS 1.0
    if found:
        return found
    if essence in FEEDS:
        return "feed"
    if is_xml(essence):
        return "xlink"
    return "text" if essence not in HTML and listings.is_list(body) else "html"


def is_pdf(content_type: str, body: bytes) -> bool:
    """Return whether its type or its first bytes say so."""
    return body.startswith(b"%PDF-") or _essence(content_type) == "application/pdf"


def is_packed(content_type: str, body: bytes) -> bool:
    """Return whether it is a gzip file that may be a sitemap or a feed."""
    if body[:2] != b"\x1f\x8b":
        return False
    essence = _essence(content_type)
    return essence in PACKED or is_xml(essence)


def _essence(content_type: str) -> str:
    mime = mimetype.parse(content_type) if content_type else None
    return mime.essence if mime else ""


OF_HTML, XHTML, TEXT, XML = "text/html", "application/xhtml+xml", "text/plain", "text/xml"
UNNAMED = "unknown type"  # of a body that shows none, in counters and summaries
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
_IS_DOCUMENT = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:!DOCTYPE HTML|html)[ \t\n\f\r>]", re.IGNORECASE
)
_BEGINS_AS_XML = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\t\n\r \0]*+<\0?\?\0?x\0?m\0?l", re.IGNORECASE
)
HEAD = 1445  # bytes that the standard looks at
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16, which has zero bytes


def identified_type(content_type: str, body: bytes) -> str:
    """Return the media type that the bytes of a decoded body show, or an empty string if they do
    not show any.
    """
    essence = _essence(content_type)
    if (essence == OF_HTML or essence in UNKNOWN) and _BEGINS_AS_HTML.match(body):
        return OF_HTML
    for signature, identified in SIGNATURES:
        if signature.match(body):
            return identified
    if _BEGINS_AS_XML.match(body) or is_xml(essence):
        return _of_xml(body)
    if _IS_DOCUMENT.match(body):  # an error page in the place of an image or a script
        return OF_HTML
    return essence if essence in (OF_HTML, TEXT) and _is_text(body) else ""


def _of_xml(body: bytes) -> str:
    root = xml_stream.root_of(body)
    return ROOTS.get(root, XML) if root else ""


def _is_text(body: bytes) -> bool:
    return body.startswith(_WIDE) or (bool(body) and _BINARY.search(body, 0, HEAD) is None)
