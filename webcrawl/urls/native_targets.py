"""The canonical URLs of a page that the native reader has read, without those that were met lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from webcrawl.urls.canonical import InvalidUrl, canonical_base, parsed
from webcrawl.urls.recent_urls import RecentUrls

FOREIGN = "scheme"  # as InvalidUrl has it


class Read(Protocol):
    """What is asked of a document: webcrawl.content.html.native_links.NativeDocument."""

    @property
    def reading(self) -> Any: ...
    @property
    def respell(self) -> Callable[[str], str] | None: ...


def resolved(
    document: Read, base: str, invalid: Counter[str], max_length: int, lately: RecentUrls, *, every: bool = False
) -> list[str]:
    """Return the URLs that `canonical_links` finds and that are not in `lately`, once each, in their order.

    Counts in `invalid` and `lately.absorbed` what these do. `every`: those in `lately` as well, which are not counted.
    """
    base = canonical_base(base, max_length)
    respell = document.respell
    known: set[str] = set()

    def parse(link: str) -> str | None:
        if respell is not None:
            link = respell(link)
        if link in known:
            return None
        known.add(link)
        try:
            return parsed(link, base, max_length)
        except InvalidUrl as error:
            invalid[error.reason] += 1
            return None

    urls, absorbed, foreign = document.reading.resolved(base, max_length, lately.native, every, parse)
    lately.absorbed += absorbed
    if foreign:
        invalid[FOREIGN] += foreign
    found: list[str] = urls
    return found
