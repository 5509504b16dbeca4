"""Where an answer redirects to."""

from __future__ import annotations

from webcrawl.model import Exchange
from webcrawl.urls.canonical import InvalidUrl, canonical


def target(exchange: Exchange) -> str:
    """The canonical URL that the answer redirects to; empty if there is none, or none that can be fetched."""
    location = exchange.location
    if location is None:
        return ""
    try:
        return canonical(location, exchange.url)
    except InvalidUrl:
        return ""
