"""A request's headers, without an object for those that it does not have."""

from __future__ import annotations

from scrapy import Request


def headers_of(request: Request) -> list[tuple[bytes, bytes]]:
    """One pair for each value. Scrapy makes an empty `headers` when asked for it: 1 us, and most requests have none."""
    if request._headers is None:  # noqa: SLF001
        return []
    return [(name, value) for name, values in request.headers.items() for value in values]
