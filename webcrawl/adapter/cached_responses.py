"""Responses without content coding, and without the header that names the coding.

Scrapy would decode such a body once more. The crawl's own clients decode. A middleware may return
responses that are still coded, from a cache that Scrapy itself has filled, because Scrapy's
HttpCompressionMiddleware is switched off.
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
    """Return the headers that fit an exchange's body: without a Content-Encoding if it is decoded."""
    if HEADER not in headers or exchange.payload.startswith(exchange.body):
        return headers
    kept = Headers(headers)
    del kept[HEADER]
    return kept


def with_body(response: Response, body: bytes, **more: Any) -> Response:
    """Return the response with this body, as the class that fits the body.

    `more` replaces further attributes.
    """
    values = {name: getattr(response, name) for name in Response.attributes} | more | {"body": body}
    kind = responsetypes.from_args(headers=values["headers"], url=response.url, body=body)
    return kind(**values)


def decoded(response: Response, limit: int) -> Response:
    """Return the response with at most `limit` bytes of its decoded body, without Content-Encoding.

    Return it as it is if its body is not in that coding. Caches of earlier versions have decoded
    bodies beside that header.
    """
    header = b",".join(response.headers.getlist(HEADER)).lower()
    if not header or not response.body:
        return response
    codings = [coding for part in header.split(b",") if (coding := part.strip())]
    try:
        decoding = decoder(codings, limit)
    except UnknownCoding:
        return response
    if decoding is None:
        return response
    decoding.feed(response.body)
    decoding.finish()
    # A gzip body that was truncated
    lacks_only_its_end = decoding.started and response.body.startswith(GZIP)
    if decoding.broken and not lacks_only_its_end:
        return response
    headers = Headers(response.headers)
    del headers[HEADER]
    flags = list(response.flags)
    if decoding.full:
        flags.append("truncated/length")
    return with_body(response, decoding.body, headers=headers, flags=flags)
