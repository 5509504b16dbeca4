"""Responses without content coding, and without the header that names it and misleads Scrapy.

The crawl's own clients decode. A middleware may give answers with their coding still on, those of a
cache that Scrapy itself has filled: Scrapy's HttpCompressionMiddleware, which would decode them, is
switched off.
"""

from __future__ import annotations

from typing import Any

from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from webcrawl.base.model import Exchange
from webcrawl.net.codings import UnknownCoding, decoder

HEADER = "Content-Encoding"
GZIP = b"\x1f\x8b\x08"


def headers_of_decoded(headers: Headers, exchange: Exchange) -> Headers:
    """Return the headers for this exchange's body, as they are if it could not be decoded."""
    if HEADER not in headers or exchange.payload.startswith(exchange.body):
        return headers
    kept = Headers(headers)
    del kept[HEADER]
    return kept


def with_body(response: Response, body: bytes, **more: Any) -> Response:
    """Return the response with this body, and the class and encoding that fit this body."""
    values = {name: getattr(response, name) for name in Response.attributes} | more | {"body": body}
    kind = responsetypes.from_args(headers=values["headers"], url=response.url, body=body)
    return kind(**values)


def decoded(response: Response, limit: int) -> Response:
    """Return the response with `limit` bytes of its decoded body, and no header of a coding.

    A body may be decoded already, as in caches of earlier versions, which left that header. Then it
    is not in the coding.
    """
    values = b",".join(response.headers.getlist(HEADER)).lower()
    if not values or not response.body:
        return response
    names = filter(None, map(bytes.strip, values.split(b",")))
    try:
        decoding = decoder(list(names), limit)
    except UnknownCoding:
        return response
    if decoding is None:
        return response
    decoding.feed(response.body)
    decoding.finish()
    # A body that was cut short still begins as gzip
    lacks_only_its_end = decoding.started and response.body.startswith(GZIP)
    if decoding.broken and not lacks_only_its_end:
        return response
    headers = Headers(response.headers)
    del headers[HEADER]
    flags = list(response.flags)
    if decoding.full:
        flags.append("truncated/length")
    return with_body(response, decoding.body, headers=headers, flags=flags)
