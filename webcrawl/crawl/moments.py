"""The moments of a crawl at which features are called (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from webcrawl.base.errors import RulesError
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.content.html.link_kinds import FoundLink
from webcrawl.frontier.core import Admission, Decision, Heard

if TYPE_CHECKING:
    from webcrawl.content.page import Page

FoundLinks = Sequence[FoundLink]
Headers = Iterable[tuple[bytes, bytes]]
Figures = Mapping[str, int | float]


class Events:
    """What a feature can be told. A feature overrides the methods of the events that it needs."""

    def on_put_back(self, link: Link, /) -> None:
        """Take a URL that was not fetched after its turn had come, and comes again."""

    def on_known_body(self, page: Page, exchange: Exchange, /) -> None:
        """Take a page that is not read, because the links of its body were submitted before."""

    def on_body_read(self, page: Page, now: float, /) -> None:
        """Take a page whose body was read."""

    def on_page(self, page: Page, /) -> None:
        """Take a page that was made of an answer, before its links are submitted."""

    def on_links(self, page: str, urls: Sequence[str], /) -> None:
        """Take the URLs to which a page links."""

    def on_ended(self, link: Link, outcome: Outcome, exchange: Exchange | None, /) -> None:
        """Take a URL that has its line in crawl.log; there is no exchange if it was not fetched."""

    def on_feed(self, now: float, /) -> None:
        """Add URLs to the frontier: the crawl is going to look for one that is due."""

    def on_idle(self, now: float, /) -> None:
        """Do what can wait: no URL is due."""


class Questions:
    """What a feature can be asked.

    A feature overrides the methods of the questions that it has answers to.
    """

    def next_decision(self, link: Link, now: float, /) -> Decision:
        """Return None to let a due URL pass; at anything else no other feature is asked.

        These are answers of the crawl's own features. Those of FEATURES answer with False, True or
        a time, and own_features.py translates.
        """
        raise NotImplementedError

    def next_headers(self, link: Link, /) -> Headers:
        """Return headers for the request of a URL, right before it is made."""
        raise NotImplementedError

    def next_links(self, page: Page, link: Link, found: FoundLinks, /) -> FoundLinks:
        """Take links of a page out of the usual way, and return those that are left."""
        raise NotImplementedError

    def next_due(self, now: float, /) -> float | None:
        """Return when the crawl has to look for a URL again; None if this feature needs none."""
        raise NotImplementedError

    def next_work(self) -> bool:
        """Return True to keep the crawl open although nothing is queued."""
        raise NotImplementedError

    def next_figures(self) -> Figures:
        """Return figures by name, as in stats.json."""
        raise NotImplementedError


# Methods were once found by their names alone: a renamed one was silently never called again, and
# another one took part because it was called `read`.
class Feature(Events, Questions):
    """Takes part in a crawl, at the moments whose methods it overrides."""


class Moments:
    """The calls of each moment, in order: lists filled at the start, and only read later."""

    # A loop over an empty list costs a page about as much as the question whether a part is there.
    def __init__(self) -> None:
        """Begin with no hearers; the lists are called in the order in which features join."""
        self.on_put_back: list[Callable[[Link], object]] = []
        self.on_known_body: list[Callable[[Page, Exchange], object]] = []
        self.on_body_read: list[Callable[[Page, float], object]] = []
        self.on_page: list[Callable[[Page], object]] = []
        self.on_links: list[Heard] = []
        self.on_ended: list[Callable[[Link, Outcome, Exchange | None], object]] = []
        self.on_feed: list[Callable[[float], object]] = []
        self.on_idle: list[Callable[[float], object]] = []
        self.next_decision: list[Admission] = []
        self.next_headers: list[Callable[[Link], Headers]] = []
        self.next_links: list[Callable[[Page, Link, FoundLinks], FoundLinks]] = []
        self.next_due: list[Callable[[float], float | None]] = []
        self.next_work: list[Callable[[], bool]] = []
        self.next_figures: list[Callable[[], Figures]] = []

    def join(self, feature: Feature) -> None:
        """Have a feature called at each moment whose method it overrides."""
        refuse_unknown(type(feature), type(feature).__qualname__, MOMENTS)
        self._join_events(feature)
        self._join_questions(feature)

    def _join_events(self, feature: Feature) -> None:
        """Add a feature to the lists of the events whose methods its class overrides."""
        kind = type(feature)
        if kind.on_put_back is not Events.on_put_back:
            self.on_put_back.append(feature.on_put_back)
        if kind.on_known_body is not Events.on_known_body:
            self.on_known_body.append(feature.on_known_body)
        if kind.on_body_read is not Events.on_body_read:
            self.on_body_read.append(feature.on_body_read)
        if kind.on_page is not Events.on_page:
            self.on_page.append(feature.on_page)
        if kind.on_links is not Events.on_links:
            self.on_links.append(feature.on_links)
        if kind.on_ended is not Events.on_ended:
            self.on_ended.append(feature.on_ended)
        if kind.on_feed is not Events.on_feed:
            self.on_feed.append(feature.on_feed)
        if kind.on_idle is not Events.on_idle:
            self.on_idle.append(feature.on_idle)

    def _join_questions(self, feature: Feature) -> None:
        """Add a feature to the lists of the questions whose methods its class overrides."""
        kind = type(feature)
        if kind.next_decision is not Questions.next_decision:
            self.next_decision.append(feature.next_decision)
        if kind.next_headers is not Questions.next_headers:
            self.next_headers.append(feature.next_headers)
        if kind.next_links is not Questions.next_links:
            self.next_links.append(feature.next_links)
        if kind.next_due is not Questions.next_due:
            self.next_due.append(feature.next_due)
        if kind.next_work is not Questions.next_work:
            self.next_work.append(feature.next_work)
        if kind.next_figures is not Questions.next_figures:
            self.next_figures.append(feature.next_figures)


MOMENTS = tuple(vars(Moments()))
PREFIXES = "on_", "next_"


def refuse_unknown(kind: type, name: str, moments: Collection[str]) -> None:
    """Raise RulesError for a feature's method that is named like a moment's and never called."""
    for method in dir(kind):
        if method in moments or not method.startswith(PREFIXES):
            continue
        own = getattr(kind, method)
        if callable(own) and own is not getattr(Feature, method, None):
            near = get_close_matches(method, moments, 1, 0.0)[0]
            raise RulesError(
                f"{name}.{method} is never called: no moment has this name. Did you mean {near}?"
            )


def listener(listeners: Sequence[Heard]) -> Heard | None:
    """Return one function that calls all of these, or None if there are none.

    Without a listener URLs are not even collected.
    """
    if len(listeners) < 2:
        return listeners[0] if listeners else None

    def tell(page: str, urls: Sequence[str]) -> None:
        for on_links in listeners:
            on_links(page, urls)

    return tell
