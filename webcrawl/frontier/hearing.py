"""Who hears the links of every page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Heard = Callable[[str, Sequence[str]], None]
"""Gets a page, and the distinct canonical URLs that it links to."""


def both(first: Heard | None, second: Heard | None) -> Heard | None:
    """Both of them hear, or the one that there is."""
    if first is None or second is None:
        return first or second

    def heard(page: str, links: Sequence[str]) -> None:
        first(page, links)
        second(page, links)

    return heard
