"""The contract of URL filters, what else they may do, and the chain of a crawl's filters.

They are applied one after the other, with their drops counted by name. Adjacent filters that have a
`suspects` expression share one search over the batch: five searches of 6 us per page become one,
and the filters see only the few URLs that it finds (`benchmarks.urls`).
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

import re2

from webcrawl.base.errors import RulesError
from webcrawl.base.loading import load
from webcrawl.base.own_code import OwnCodeError, answer, hint, is_users, name_of, raise_own
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.urls.host_names import RegisteredDomains

Clock = Callable[[], float]
# the reason, the URLs, the page that they are on
Dropped = Callable[[str, Sequence[str], str], None]


@dataclass(slots=True, frozen=True)
class Origin:
    """The page of a batch's links: its canonical URL, empty for seeds, and the links' depth.

    `path` is their discovery path (model.Link, urls/host_names.py); it is empty if each has a path
    of its own.
    """

    url: str = ""
    depth: int = 0
    path: str = ""


class UrlFilter(Protocol):
    """One rule about canonical URLs; `name` is the counter of the URLs that it drops.

    Its class may have a class method `from_setup(setup)`, which builds it, or returns None if the
    settings leave it nothing to do.
    """

    name: str

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        """Return the URLs that pass, in order. It may return `urls` itself, but must not change it."""


@runtime_checkable
class Suspects(Protocol):
    """A filter that passes every URL that this RE2 expression (see Lines) does not match."""

    suspects: str


@runtime_checkable
class Rechecks(Protocol):
    """A filter whose rules may change while URLs are queued."""

    def reject(self, url: str) -> bool:
        """Return whether this URL must no longer be fetched."""


@runtime_checkable
class Remembers(Protocol):
    """A filter that learns from the URLs that pass, in bounded memory, and is saved in checkpoints."""

    def state(self) -> bytes:
        """Return everything that it has learnt."""

    def restore(self, state: bytes) -> None:
        """Restore what `state` returned. Raises ValueError for any other bytes."""


@runtime_checkable
class Bounds(Protocol):
    """A filter that says how far a crawl goes. Requisites of pages are fetched beyond that."""

    for_requisites: UrlFilter | None
    """The filter that holds for requisites in its place."""

    def within(self, url: str) -> bool:
        """Return whether a page fetched as a requisite is one of the crawl's all the same: its
        links are followed.
        """


@dataclass(slots=True, frozen=True)
class Setup:
    """The values from which filters are built: settings, clock, key and registered domains."""

    settings: CheckedSettings
    clock: Clock
    key: bytes
    domains: RegisteredDomains


# The error for any exception of a user's filter: what it would have kept must not be lost
FilterError = OwnCodeError


class ByFunction:
    """Keeps the URLs for which a function returns a true value; drops are counted under its name."""

    def __init__(self, keeps: Callable[[str], object], name: str) -> None:
        self.keeps = keeps
        self.name = name

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return [url for url in urls if self.keeps(url)]


def keep_of(url_filter: UrlFilter) -> Callable[[list[str], Origin], list[str]]:
    """Return the `keep` of a filter; that of a user's filter raises OwnCodeError for any error.

    An error of a filter that ships with the crawl belongs to the page that has found a bug. An
    error of the user's filter must end the crawl: what it would have kept would be lost.
    """
    if not (isinstance(url_filter, ByFunction) or is_users(url_filter)):
        return url_filter.keep
    called = name_of(url_filter.keeps if isinstance(url_filter, ByFunction) else url_filter.keep)
    name = f"{called} of the filter {url_filter.name}"

    def checked_keep(urls: list[str], origin: Origin) -> list[str]:
        """Call the filter's `keep`, and check that it returns some of the given URLs."""
        given = set(urls)

        def sound(kept: object) -> list[str]:
            if not isinstance(kept, list) or not given.issuperset(kept):
                raise TypeError
            return kept

        try:
            kept = url_filter.keep(urls, origin)
        # A panic of a library in Rust is no Exception
        except BaseException as error:  # noqa: BLE001
            raise_own("URL_FILTERS", name, error)
        return answer("URL_FILTERS", name, kept, sound, "a list of the given URLs that pass")

    return checked_keep


def named_filter(path: str, setup: Setup) -> UrlFilter | None:
    """Return the filter at this dotted path: a class is built for `setup`, a function is wrapped.

    None if the settings leave it nothing to do. Raise RulesError if it is no filter, or cannot be
    built.
    """
    loaded = load(path)
    if inspect.isfunction(loaded):
        return ByFunction(loaded, loaded.__name__)
    try:
        built: Any = loaded.from_setup(setup) if hasattr(loaded, "from_setup") else loaded()
    except RulesError:
        raise
    except Exception as error:  # anything may be wrong with a class of the user's own
        raise RulesError(f"URL_FILTERS: {path} cannot be created: {error!r}") from error
    if built is None:
        return None
    has_keep = callable(getattr(built, "keep", None))
    has_name = isinstance(getattr(built, "name", None), str)
    if not (has_keep and has_name):
        similar_name = hint(built, "name" if has_keep else "keep")
        line = "a filter must have a name and a method keep(urls, origin) (docs/policies.md#url-filter)"
        raise RulesError(f"URL_FILTERS: {path}: {line}{similar_name}")
    found: UrlFilter | None = built
    return found


# Bytes of an automaton: with 2 MiB it is slower by a tenth, with 64 no faster (`benchmarks.urls`)
MEMORY = 8 << 20


class Lines:
    """Finds the URLs of a batch that an expression matches.

    One linear search over the 3 KB of a page takes 6 us, where 40 matches take 26. `^` and `$`
    match the ends of a URL, and no match crosses them. Case is ignored.
    """

    def __init__(self, expression: str) -> None:
        options = quiet()
        # Not even a negated class may match beyond the line of its URL
        options.never_nl = True
        self._search = re2.compile(f"(?im)(?:{expression})", options).search

    def among(self, urls: list[str]) -> list[str]:
        """Return the URLs that the expression matches, in their order: one search in all of them."""
        text = "\n".join(urls).encode()
        # A canonical URL has no line end, so a batch is a text of lines
        search, found = self._search, []
        match = search(text)
        # cut out the line and continue after it: half the cost of `^.*(…).*$`
        while match is not None:
            end = text.find(b"\n", match.end())
            if end < 0:
                end = len(text)
            found.append(text[text.rfind(b"\n", 0, match.start()) + 1 : end].decode())
            match = search(text, end + 1) if end < len(text) else None
        return found

    def without(self, urls: list[str]) -> list[str]:
        """Return the URLs that the expression does not match, in their order."""
        return leave_out(urls, set(self.among(urls)))


def leave_out(urls: list[str], some: set[str]) -> list[str]:
    """Return the URLs except `some`; the list itself if `some` is empty."""
    return [url for url in urls if url not in some] if some else urls


def quiet(memory: int = MEMORY) -> re2.Options:
    """Return RE2 options that log no errors, which are raised anyway, and limit an automaton."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    return options


Keep = Callable[[list[str], Origin], list[str]]


def _refuse_equal_names(names: list[str]) -> None:
    """Raise RulesError if two filters have one name: links are counted by these names."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise RulesError(
            f"URL_FILTERS: more than one filter is named {', '.join(dict.fromkeys(twice))}"
        )


def _stages(filters: Sequence[UrlFilter]) -> list[tuple[Lines | None, list[tuple[str, Keep]]]]:
    """Return the chain split into runs of neighbours that share one search, and runs of the others.

    Each has the search (None for the others), and the name and the `keep` of each of its filters.
    """
    stages: list[tuple[Lines | None, list[tuple[str, Keep]]]] = []
    # With all default filters a page of 40 links takes 42 us, and 67 if each filter searches
    for is_screened, neighbours in groupby(filters, lambda one: isinstance(one, Suspects)):
        filters_of_run = [*neighbours]
        # A filter without an expression, between two that have one, costs a second search
        search = _joint_search(filters_of_run) if is_screened else None
        stages.append((search, [(one.name, keep_of(one)) for one in filters_of_run]))
    return stages


class Chain:
    """Passes a batch through the filters in order; a filter never sees what an earlier one dropped."""

    def __init__(self, filters: Sequence[UrlFilter]) -> None:
        _refuse_equal_names([one.name for one in filters])
        self.filters = tuple(filters)
        self._stages = _stages(filters)
        self._rejects = [one.reject for one in filters if isinstance(one, Rechecks)]
        # A checkpoint has the state of a filter under its name, wherever the filter stands
        self._remembers = {one.name: one for one in filters if isinstance(one, Remembers)}

    def keep(
        self,
        urls: list[str],
        origin: Origin,
        filtered: Counter[str],
        dropped: Dropped | None = None,
    ) -> list[str]:
        """Return the URLs that pass all filters, in order.

        `filtered` counts the others by filter, and `dropped`, if given, is told of them. Filters
        with a joint search see only the URLs that this finds.
        """
        for search, filters in self._stages:
            if search is None:
                urls = _keep_in_turn(filters, urls, origin, filtered, dropped)
            else:
                suspects = search.among(urls)
                # On most pages nothing is found, and the run of filters has cost one search
                if suspects:
                    kept = _keep_in_turn(filters, suspects, origin, filtered, dropped)
                    urls = leave_out(urls, set(suspects).difference(kept))
            if not urls:
                return urls
        return urls

    def for_requisites(self) -> Chain:
        """Return the chain for a page's requisites: without the filters that bound the crawl."""
        others = [one.for_requisites if isinstance(one, Bounds) else one for one in self.filters]
        return Chain([one for one in others if one is not None])

    def learning(self) -> Chain:
        """Return the chain of the filters that learn from passing URLs, for each host by itself."""
        # Those of Bounds learn from the seeds, which all drones read
        learns = [one for one in self.filters if isinstance(one, Remembers)]
        return Chain([one for one in learns if not isinstance(one, Bounds)])

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
        """Return the filters' states by name, for the checkpoint."""
        return {name: one.state() for name, one in self._remembers.items()}

    def restore(self, states: Mapping[str, bytes]) -> None:
        """Restore the states of a checkpoint; a filter that is not in it starts empty."""
        for name, one in self._remembers.items():
            if name in states:
                one.restore(states[name])


def _joint_search(filters: Sequence[UrlFilter]) -> Lines:
    return Lines("|".join(f"(?:{one.suspects})" for one in filters if isinstance(one, Suspects)))


def _keep_in_turn(
    filters: Sequence[tuple[str, Keep]],
    urls: list[str],
    origin: Origin,
    filtered: Counter[str],
    dropped: Dropped | None,
) -> list[str]:
    """Return the URLs that pass these filters one after the other, and count the others by filter.

    `dropped`, if given, gets the filter's name, the URLs that it dropped, and their page.
    """
    for name, keep in filters:
        kept = keep(urls, origin)
        if len(kept) < len(urls):
            filtered[name] += len(urls) - len(kept)
            if dropped is not None:
                # A filter must not change the list that it got, so the rest can still be told
                dropped(name, leave_out(urls, set(kept)), origin.url)
            if not kept:
                return kept
        urls = kept
    return urls
