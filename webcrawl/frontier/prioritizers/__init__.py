"""Chooses the front-end queue of a link: small classes, of which FRONTIER_PRIORITIZER names one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from webcrawl.base.model import Link
from webcrawl.base.page_values import Scored
from webcrawl.frontier.popularity import Popularity


class Prioritizer(Protocol):
    """A prioritizer is constructed with FRONTIER_LEVELS."""

    def __init__(self, levels: int) -> None: ...

    def level(self, link: Link) -> int:
        """The link's level, from 0 (first) to levels - 1 (last)."""


def goes_by_way(prioritizer: Prioritizer) -> bool:
    """True if the level of a link does not depend on its URL: the class itself says so, for a subclass may differ."""
    return bool(vars(type(prioritizer)).get("by_way", False))


@runtime_checkable
class Informed(Protocol):
    """A prioritizer that wants to know how many other domains link to that of a URL: it is given a function."""

    def inform(self, links_to: Callable[[str], int], /) -> None: ...


@runtime_checkable
class Choosing(Protocol):
    """A prioritizer whose order changes while URLs wait: it is asked again when they reach the head of their queue."""

    def worth(self, url: str, /) -> float:
        """The more the sooner."""


@runtime_checkable
class Learning(Protocol):
    """A prioritizer that hears the links of every page, and keeps what it learns in a table, which is saved."""

    def learn(self, table: Popularity, /) -> None:
        """Gets the table, as the last checkpoint left it."""

    def heard(self, page: str, urls: Sequence[str], /) -> None:
        """A page that was fetched links to these distinct canonical URLs."""


@runtime_checkable
class Focused(Protocol):
    """A prioritizer that goes by what a SCORER says of pages, or by their languages."""

    def focus(self, site: Callable[[str], str], languages: Sequence[str], /) -> None:
        """`site`: the registered domain of a host; `languages`: FOCUS_LANGUAGES."""

    def scored(self, page: str, scored: Scored, /) -> None:
        """A page was fetched, and this was said of it; its links are heard next."""
