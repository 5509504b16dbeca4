"""The format of a body: by its media type, and by how it begins where servers are known to say something else."""

from __future__ import annotations

import zlib

from webcrawl.content.formats import plain_listings, xml_stream
from webcrawl.content.html import mimetype
from webcrawl.content.html.encoding_sniffing import is_xml

MOST = 50 << 20  # bytes: sitemaps.org's limit
GZIP = b"\x1f\x8b\x08"
GZIPPED = zlib.MAX_WBITS | 16  # zlib's number for it
MEMBERS = 10_000  # of a body that are read: an empty one takes only 20 bytes


def unpacked(body: bytes) -> bytes:
    """The contents of a gzip body, as far as it can be read and they are not larger than MOST.

    It may have several members, one after the other (RFC 1952 2.2), as of a server that packs piece by piece.
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
ANYTHING = ("", "text/plain", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "*/*")
PACKED = ("application/gzip", "application/x-gzip", "application/x-gunzip", *ANYTHING)
# How XML that is served as HTML may begin; real HTML begins with a document type, or with <html.
_AS_HTML = (b"<?xml", b"<rss", b"<feed", b"<urlset", b"<sitemapindex", b"<rdf:RDF", b"\xef\xbb\xbf<?xml", b"%PDF-")
_ROOTS = {
    **dict.fromkeys(("urlset", "sitemapindex"), "sitemap"),
    **dict.fromkeys(("rss", "feed", "RDF", "channel", "Channel", "CHANNEL"), "feed"),
    "html": "html",
    "svg": "xlink",
}


def form_of(content_type: str, body: bytes) -> str:
    """`sitemap`, `text` (a sitemap too), `feed`, `json` (a feed too), `xlink` or `pdf`; `html` for all the rest."""
    essence = _essence(content_type)
    if essence in HTML and not body.startswith(_AS_HTML):
        return "html"
    if is_pdf(content_type, body):
        return "pdf"
    if essence in JSON:
        return "json" if essence == JSON[0] or plain_listings.is_feed(body) else "html"
    if essence in HTML or essence in PACKED or essence in FEEDS or is_xml(essence):
        return _of_text(essence, body)
    return "html"


def _of_text(essence: str, body: bytes) -> str:
    found = _ROOTS.get(xml_stream.root_of(body), "")
    if found == "feed" and essence == "application/rdf+xml" and b"purl.org/rss" not in body[: xml_stream.HEAD]:
        return "xlink"  # RDF that is no RSS 1.0
    if not found and (essence in FEEDS or is_xml(essence)):
        return "feed" if essence in FEEDS else "xlink"
    if not found and essence not in HTML and plain_listings.is_list(body):
        return "text"
    return found or "html"


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
