"""The page and the requests that the spider `web` makes of an answer without a crawl, for `scrapy parse`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from scrapy import Request
from scrapy.http import Response

from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.html.link_kinds import PageLink
from webcrawl.content.page import Page
from webcrawl.crawl.page_links import LISTINGS
from webcrawl.urls.canonical import InvalidUrl, canonical


def looked_at(
    response: Response, sources: Iterable[str], choose: Callable[[Page], Iterable[PageLink]]
) -> Iterator[Page | Request]:
    """The page, and a request for each link to follow: before filters and seen store, which only a crawl has."""
    followed = frozenset(sources)
    page = Page.of(Link(response.url), exchange_of(response))
    reader = DocumentReader(followed, anchor_text=True)
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    read = LISTINGS.get(page.content_type, partial(reader.links, headers=page.headers))
    found = read(response.body, content_type, response.url)
    reader.add_headers(found, page.headers, response.url)
    page.base, page.encoding, page.found = found.base, found.encoding, found
    page.title, page.meta_robots = found.title, found.meta_robots
    yield page
    for link in choose(page) if 200 <= response.status < 300 else ():
        if link.kind in followed:
            with suppress(InvalidUrl):
                yield Request(canonical(link.address, page.base))


def exchange_of(response: Response) -> Exchange:
    """The exchange of an answer of which there is a response alone."""
    headers = [(name, value) for name, values in response.headers.items() for value in values]
    body, ip = response.body, str(response.ip_address or "")
    return Exchange(response.url, b"", response.status, b"", headers, body, body, body, ip, time.time(), Timings())
