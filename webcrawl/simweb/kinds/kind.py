"""What makes up a kind of special answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webcrawl.simweb.answers import Answer
from webcrawl.simweb.place import Place


def _first(place: Place) -> list[str]:
    return [place.url]


@dataclass(frozen=True, slots=True)
class Kind:
    """`entries` are the URLs that the page links to; a `trap` is endless; a `counted` one depends on the attempt."""

    answer: Callable[[Place], Answer]
    entries: Callable[[Place], list[str]] = _first
    trap: bool = False
    counted: bool = False
