"""The format of a body: by its media type, and by how it begins.

For reading (`form_of`) the media type counts, unless servers often send that type for another.

For WARC-Identified-Payload-Type (`identified_type`; WARC 1.1, 5.19) the bytes decide: the standard
forbids copying the server's Content-Type into that field "without direct analysis of the payload".
There the server's type only chooses between types that begin alike: HTML without any mark, and
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
GZIPPED = zlib.MAX_WBITS | 16  # zlib's number for gzip
MEMBERS = 10_000  # gzip members of a body that are read: an empty member takes only 20 bytes


def unpacked(body: bytes) -> bytes:
    """Return the contents of a gzip body up to any damage, and at most MOST bytes of them.

    The body may have several members, one after the other (RFC 1952 2.2), if the server packs piece
    by piece.
    """
    inflate = zlib.decompressobj(GZIPPED)
    # Nearly every body is sound, and unpacked at once. Damage takes along what came before it
    try:
        first = inflate.decompress(body, MOST)
    except zlib.error:
        return _unpacked_beginning(body, MOST)
    rest = inflate.unused_data
    if not rest.startswith(GZIP):
        return first
    return first + _unpacked_beginning(rest, MOST - len(first))


def _unpacked_beginning(body: bytes, most: int) -> bytes:
    """Return the contents up to any damage, and about `most` bytes of them."""
    inflate = zlib.decompressobj(GZIPPED)
    members = 1
    found = []
    size = 0
    at = 0
    while at < len(body) and size < most:
        # Damage loses what is unpacked with it, so little is unpacked at a time
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
            inflate = zlib.decompressobj(GZIPPED)
            members += 1
    return b"".join(found)


HTML = ("text/html", "application/xhtml+xml")
FEEDS = ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/x-cdf")
FEED_JSON = "application/feed+json"
JSON = (FEED_JSON, "application/json")
ANYTHING = (
    "",
    "text/plain",
    "application/octet-stream",
    "binary/octet-stream",
    "unknown/unknown",
    "*/*",
)
PACKED = ("application/gzip", "application/x-gzip", "application/x-gunzip", *ANYTHING)
# How XML and PDF begin that are served as HTML; real HTML begins with a document type or <html
_SERVED_AS_HTML = (
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
    """Return the form in which a body is read.

    `sitemap` and `text` are sitemaps, `feed` and `json` are feeds; `xlink`, `pdf`, and `html` for
    all others.
    """
    essence = essence_of(content_type)
    is_html = essence in HTML
    if is_html and not body.startswith(_SERVED_AS_HTML):  # most answers
        return "html"
    if is_pdf(content_type, body):
        return "pdf"
    if essence in JSON:
        return _form_of_json(essence, body)
    may_be_listing = is_html or essence in PACKED or essence in FEEDS or is_xml(essence)
    return _form_of_text(essence, body) if may_be_listing else "html"


def _form_of_json(essence: str, body: bytes) -> str:
    is_feed = essence == FEED_JSON or listings.is_feed(body)
    return "json" if is_feed else "html"


def _form_of_text(essence: str, body: bytes) -> str:
    """Return the form by the root element, else by the media type, else by the lines."""
    form = _ROOTS.get(xml_stream.root_of(body), "")
    if form == "feed" and _is_plain_rdf(essence, body):
        return "xlink"
    if form:
        return form
    if essence in FEEDS:
        return "feed"
    if is_xml(essence):
        return "xlink"
    # A page of one address is not a sitemap if its server says that it is a page
    may_be_list = essence not in HTML
    return "text" if may_be_list and listings.is_list(body) else "html"


def _is_plain_rdf(essence: str, body: bytes) -> bool:
    """Return whether the body is RDF, and not RSS 1.0, whose root is the same."""
    return essence == "application/rdf+xml" and b"purl.org/rss" not in body[: xml_stream.HEAD]


def is_pdf(content_type: str, body: bytes) -> bool:
    """Return whether the body is a PDF file by its first bytes or by its type."""
    return body.startswith(b"%PDF-") or essence_of(content_type) == "application/pdf"


def is_packed(content_type: str, body: bytes) -> bool:
    """Return whether the body is a gzip file that may be a sitemap or a feed."""
    if body[:2] != b"\x1f\x8b":
        return False
    essence = essence_of(content_type)
    return essence in PACKED or is_xml(essence)


def essence_of(content_type: str) -> str:
    """Return the media type of a header without its parameters; empty if it has none."""
    mime = mimetype.parse(content_type) if content_type else None
    return mime.essence if mime else ""


OF_HTML, XHTML, TEXT, XML = "text/html", "application/xhtml+xml", "text/plain", "text/xml"
UNNAMED = "unknown type"  # in counters and summaries, for a body that shows no type
# MIME Sniffing Standard, 6 and 7.1, with PDF and two fonts
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
    """Return the media type that the bytes of a decoded body show, or "" if they show none."""
    essence = essence_of(content_type)
    if _begins_as_html(essence, body):
        return OF_HTML
    by_signature = _type_by_signature(body)
    if by_signature:
        return by_signature
    if _BEGINS_AS_XML.match(body) or is_xml(essence):
        return _type_of_xml(body)
    if _IS_DOCUMENT.match(body):  # an error page in the place of an image or a script
        return OF_HTML
    # HTML without any mark begins like plain text: here the server's type decides
    may_be_unmarked = essence in (OF_HTML, TEXT)
    return essence if may_be_unmarked and _is_text(body) else ""


def _begins_as_html(essence: str, body: bytes) -> bool:
    """Return whether a body that may be HTML by its type begins with a tag of HTML."""
    may_be_html = essence == OF_HTML or essence in UNKNOWN
    return may_be_html and _BEGINS_AS_HTML.match(body) is not None


def _type_by_signature(body: bytes) -> str:
    for signature, identified in SIGNATURES:
        if signature.match(body):
            return identified
    return ""


def _type_of_xml(body: bytes) -> str:
    root = xml_stream.root_of(body)
    return ROOTS.get(root, XML) if root else ""


def _is_text(body: bytes) -> bool:
    """Return whether the beginning has no bytes of binary data (MIME Sniffing Standard, 7.2)."""
    if body.startswith(_WIDE):
        return True
    return body != b"" and _BINARY.search(body, 0, HEAD) is None
