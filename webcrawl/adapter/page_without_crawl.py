"""The page and the requests that the spider `web` makes of a response, for `scrapy parse`."""

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


def page_and_requests(
    response: Response, sources: Iterable[str], choose_links: Callable[[Page], Iterable[PageLink]]
) -> Iterator[Page | Request]:
    """Yield the page of a response, and a request for each link that a crawl would submit.

    `sources` are the kinds of links to follow. Filters and the seen store are not asked.
    """
    followed_kinds = frozenset(sources)
    page = read_page(Link(response.url), exchange_of(response), followed_kinds)
    yield page
    if not 200 <= response.status < 300:
        return
    for link in choose_links(page):
        if link.kind in followed_kinds:
            with suppress(InvalidUrl):
                yield Request(canonical(link.address, page.base))


def exchange_of(response: Response) -> Exchange:
    """Return an exchange with what a response of Scrapy's has kept of its answer."""
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
