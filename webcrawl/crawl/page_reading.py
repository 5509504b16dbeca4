"""A page as the crawl reads it, of an answer that no crawl has under way: its title, and its links."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from webcrawl.base.model import Exchange, Link
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.page import Page
from webcrawl.crawl.page_links import LISTINGS


def read_page(link: Link, exchange: Exchange, sources: Iterable[str]) -> Page:
    """Return the page of an answer. `sources`: the kinds of links that are read of it."""
    page = Page.of(link, exchange)
    reader = DocumentReader(frozenset(sources), anchor_text=True)
    read = LISTINGS.get(page.content_type, partial(reader.links, headers=page.headers))
    found = read(page.body, page.header("content-type"), page.url)
    reader.add_headers(found, page.headers, page.url)
    page.base = found.base
    page.encoding = found.encoding
    page.found = found
    page.title = found.title
    page.meta_robots = found.meta_robots
    return page
