"""What is read from a body only when somebody asks for it: visible text, resolved links, what it says of itself."""

from __future__ import annotations

from functools import cache

import ada_url

from webcrawl.html.about import About, AboutReader
from webcrawl.html.elements import document
from webcrawl.html.found import Found, PageLink
from webcrawl.html.shown import ShownReader
from webcrawl.html.visible import visible_text

_about_reader = cache(AboutReader)
_shown_reader = cache(ShownReader)


def page_links(found: Found) -> list[PageLink]:
    """A document's links as a pipeline sees them."""
    return [PageLink(*link, resolved(link[1], found.base)) for link in found.links]


def resolved(address: str, base: str) -> str:
    """The URL that an address means, by the URL Standard; empty if it means none."""
    try:
        return str(ada_url.join_url(base, address))
    except ValueError:
        return ""


def visible(body: bytes, content_type: str, encoding: str) -> str | None:
    """What a browser would show of a document; None for what is none."""
    html, kind = document(body, content_type, encoding)
    return visible_text(html, kind) if kind else None


def about(body: bytes, content_type: str, encoding: str) -> About:
    """What a document says of itself; what is no document says nothing."""
    html, kind = document(body, content_type, encoding)
    return _about_reader().about(html, kind) if kind else About()


def shown(body: bytes, content_type: str, encoding: str) -> tuple[About, str] | None:
    """What a document says of itself, and what a browser would show of it; None for what is none."""
    html, kind = document(body, content_type, encoding)
    return _shown_reader().shown(html, kind) if kind else None
