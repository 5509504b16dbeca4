"""Answers that a middleware gives with their content coding still on: those of a cache that Scrapy itself has filled.

Scrapy's HttpCompressionMiddleware would decode them. It is switched off, since the crawl's own clients decode.
"""

from __future__ import annotations

from scrapy.http import Headers, Response, TextResponse
from scrapy.responsetypes import responsetypes

from webcrawl.net.decoding import UnknownCoding, decoder

HEADER = "Content-Encoding"
GZIP = b"\x1f\x8b\x08"


def decoded(response: Response, limit: int) -> Response:
    """The response with at most `limit` bytes of its decoded body, and without the header that says how it was coded.

    The crawl's own clients leave that header, so a body may be decoded already. Then it is not in the coding.
    """
    values = b",".join(response.headers.getlist(HEADER)).lower()
    if not values or not response.body:
        return response
    try:
        decoding = decoder([name for one in values.split(b",") if (name := one.strip())], limit)
    except UnknownCoding:
        return response
    if decoding is None:
        return response
    decoding.feed(response.body)
    decoding.finish()
    if decoding.broken and not (decoding.started and response.body.startswith(GZIP)):  # its end may be missing
        return response
    body, headers = decoding.body, Headers(response.headers)
    del headers[HEADER]
    kind = responsetypes.from_args(headers=headers, url=response.url, body=body)
    flags = [*response.flags, *(["truncated/length"] if decoding.full else [])]
    more = {"encoding": None} if issubclass(kind, TextResponse) else {}
    return response.replace(body=body, headers=headers, flags=flags, cls=kind, **more)
