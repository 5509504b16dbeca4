"""The page and the requests that `web` makes of an answer, for `scrapy parse`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from scrapy import Request
from scrapy.http import Response

from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.html.link_kinds import PageLink
from webcrawl.content.page import Page
from webcrawl.crawl.page_reading import read_page
from webcrawl.urls.canonical import InvalidUrl, canonical


def looked_at(
    response: Response, sources: Iterable[str], choose: Callable[[Page], Iterable[PageLink]]
) -> Iterator[Page | Request]:
    """Yield the page, and a request for each link to follow, before filters and seen store."""
    followed = frozenset(sources)
    page = read_page(Link(response.url), exchange_of(response), followed)
    yield page
    if not 200 <= response.status < 300:
        return
    for link in choose(page):
        if link.kind in followed:
            with suppress(InvalidUrl):
                yield Request(canonical(link.address, page.base))


def exchange_of(response: Response) -> Exchange:
    """Return an exchange with all that a response of Scrapy's knows of its answer."""
    headers = [(name, value) for name, values in response.headers.items() for value in values]
    body = response.body
    ip = str(response.ip_address or "")
    return Exchange(
        response.url,
        b"",
        response.status,
        b"",
        headers,
        body,
        body,
        body,
        ip,
        time.time(),
        Timings(),
    )
