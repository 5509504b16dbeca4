"""The filters of a crawl, applied one after the other, with their drops counted by name.

Adjacent filters that have a `suspects` expression share one search over the batch: five searches of 6 us per page
become one, and the filters see only the few URLs that it finds (`benchmarks.urls`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from webcrawl.urls.filters.filter_protocol import (
    Bounds,
    Dropped,
    Lines,
    Origin,
    Rechecks,
    Remembers,
    Suspects,
    UrlFilter,
    keep_of,
    leave_out,
)
from webcrawl.urls.optout import RulesError

Keep = Callable[[list[str], Origin], list[str]]


class Chain:
    """Passes a batch through the filters in order; a filter never sees what an earlier one dropped."""

    def __init__(self, filters: Sequence[UrlFilter]) -> None:
        names = [one.name for one in filters]
        if twice := [name for name in names if names.count(name) > 1]:
            raise RulesError(f"URL_FILTERS: two filters have the same name: {', '.join(twice)}")
        self.filters = tuple(filters)
        self._stages = [
            (_screen(group) if screened else None, [(one.name, keep_of(one)) for one in group])
            for screened, found in groupby(filters, lambda one: isinstance(one, Suspects))
            if (group := list(found))
        ]
        self._rejects = [one.reject for one in filters if isinstance(one, Rechecks)]
        self._remembers = {one.name: one for one in filters if isinstance(one, Remembers)}

    def keep(
        self, urls: list[str], origin: Origin, filtered: Counter[str], dropped: Dropped | None = None
    ) -> list[str]:
        """The URLs that pass all filters, in their order; the others are counted under the name of their filter.

        `dropped` is told of the others, where somebody wants to know them.
        """
        for screen, filters in self._stages:
            if screen is None:
                urls = _apply(filters, urls, origin, filtered, dropped)
            elif found := screen.among(urls):
                kept = _apply(filters, found, origin, filtered, dropped)
                urls = leave_out(urls, set(found).difference(kept))
            if not urls:
                break
        return urls

    def for_requisites(self) -> Chain:
        """Return the chain for what a page needs to be shown: the same filters, without those that bound the crawl."""
        others = [one.for_requisites if isinstance(one, Bounds) else one for one in self.filters]
        return Chain([one for one in others if one is not None])

    def learning(self) -> Chain:
        """Those of the filters that learn from what passes, and hold for each host by itself."""
        return Chain([one for one in self.filters if isinstance(one, Remembers) and not isinstance(one, Bounds)])

    def within(self, url: str) -> bool:
        """Return whether a page is one of the crawl's, however it was found."""
        return all(one.within(url) for one in self.filters if isinstance(one, Bounds))

    def reject(self, url: str) -> bool:
        """Return whether a URL that passed before must not be fetched any more."""
        for reject in self._rejects:  # noqa: SIM110 - for each URL that is due: half the cost of `any`
            if reject(url):
                return True
        return False

    def state(self) -> dict[str, bytes]:
        """The filters' states by name, for the checkpoint."""
        return {name: one.state() for name, one in self._remembers.items()}

    def restore(self, states: Mapping[str, bytes]) -> None:
        """Restore the states of a checkpoint; a filter that is not in it starts empty."""
        for name, one in self._remembers.items():
            if name in states:
                one.restore(states[name])


def _screen(filters: Sequence[UrlFilter]) -> Lines:
    return Lines("|".join(f"(?:{one.suspects})" for one in filters if isinstance(one, Suspects)))


def _apply(
    filters: Sequence[tuple[str, Keep]],
    urls: list[str],
    origin: Origin,
    filtered: Counter[str],
    dropped: Dropped | None,
) -> list[str]:
    for name, keep in filters:
        kept = keep(urls, origin)
        if len(kept) < len(urls):
            filtered[name] += len(urls) - len(kept)
            if dropped is not None:
                dropped(name, leave_out(urls, set(kept)), origin.url)
            if not kept:
                return kept
        urls = kept
    return urls
