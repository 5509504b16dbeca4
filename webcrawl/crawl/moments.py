"""The moments of a URL's life, and who takes part in each (docs/design.md#features-and-moments)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.content.html.link_kinds import FoundLink
from webcrawl.frontier.core import Admission, Heard

if TYPE_CHECKING:
    from webcrawl.content.page import Page

FoundLinks = Sequence[FoundLink]

MOMENTS = (
    *("admit", "request", "put_back", "known", "read", "answered", "links", "heard", "ended"),  # of a URL
    *("feed", "idle", "due_at", "expects", "figures"),  # of the crawl
)


class Moments:
    """Whom to call at each moment, in which order: lists that are made at the start, and only read later."""

    def __init__(self) -> None:
        self.admit: list[Admission] = []  # a URL's turn has come: until one ends it, has it wait, or another go first
        self.request: list[Callable[[Link], Iterable[tuple[bytes, bytes]]]] = []  # headers, right before it is made
        self.put_back: list[Callable[[Link], object]] = []  # a URL was not fetched, and comes again
        self.known: list[Callable[[Page, Exchange], object]] = []  # the links of its body were submitted before
        self.read: list[Callable[[Page, float], object]] = []  # the body of a page was read
        self.answered: list[Callable[[Page], object]] = []  # a page was made of an answer; its links come next
        self.links: list[Callable[[Page, Link, FoundLinks], FoundLinks]] = []  # of it: gives those left to others
        self.heard: list[Heard] = []  # a page links to these URLs
        self.ended: list[Callable[[Link, Outcome, Exchange | None], object]] = []  # a URL has its line in the log
        self.feed: list[Callable[[float], object]] = []  # before the crawl looks for a URL that is due
        self.idle: list[Callable[[float], object]] = []  # none is
        self.due_at: list[Callable[[float], float | None]] = []  # when one may be; None: not by itself
        self.expects: list[Callable[[], bool]] = []  # nothing is to be done now: whether there will be more
        self.figures: list[Callable[[], Mapping[str, int | float]]] = []  # somebody looks at the counters

    def join(self, feature: object) -> None:
        """Takes it into the list of each moment of which it has a method."""
        for moment in MOMENTS:
            call = getattr(feature, moment, None)
            if call is not None:
                getattr(self, moment).append(call)


def listener(heard: Sequence[Heard]) -> Heard | None:
    """One function that tells all of them; None if there is none, so that nothing is collected for nobody."""
    if len(heard) < 2:
        return heard[0] if heard else None

    def tell(page: str, urls: Sequence[str]) -> None:
        for hear in heard:
            hear(page, urls)

    return tell
