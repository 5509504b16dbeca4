"""The command `about`: what only the running crawl knows of URLs. `scrapy why` asks it (docs/why.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from webcrawl.control.errors import CommandError
from webcrawl.urls.canonical import InvalidUrl, canonical

LONGEST = 1 << 16  # characters of a URL, whatever URL_MAX_LENGTH is


class Asked(Protocol):
    """The part of a crawl that this command needs."""

    def about(self, url: str) -> Mapping[str, Any]:
        """What is known of a canonical URL."""


def about(crawl: Asked, *urls: str) -> Mapping[str, Any]:
    """By canonical URL."""
    return {url: crawl.about(url) for url in map(_canonical, urls)}


def check_about(*urls: str) -> None:
    for url in urls:
        _canonical(url)


def _canonical(url: str) -> str:
    try:
        return canonical(url, max_length=LONGEST)
    except InvalidUrl as error:
        raise CommandError(f"{url[:80]}: not a URL that a crawl could fetch ({error.reason})") from error
