"""The user's own features, which are classes named in FEATURES
(docs/features.md).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction, isgeneratorfunction
from math import inf, isfinite
from numbers import Real
from typing import Any

import msgpack

from webcrawl.base.errors import RulesError, lack
from webcrawl.base.loading import load
from webcrawl.base.model import Link, Status
from webcrawl.base.own_code import misspelt
from webcrawl.crawl.ground import Ground
from webcrawl.crawl.moments import Feature, Moments, refuse_unknown
from webcrawl.frontier.core import Decision
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

# moments of users' features, and former names; the other moments are about when the crawl acts
OWN = {
    "next_decision": "admit",
    "next_headers": "request",
    "on_page": "answered",
    "on_links": "heard",
    "on_ended": "ended",
    "next_figures": "figures",
}
# a method of these kinds does nothing until its result is awaited or read
RUN_LATER_KINDS = (iscoroutinefunction, isasyncgenfunction, isgeneratorfunction)
NAMES = {*OWN, *OWN.values(), "from_settings", "state", "restore"}
TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
UNSENDABLE = frozenset(b"\0\r\n")
PREFIX = "feature."  # before the dotted path of one that has a state, in the table meta


def open_features(ground: Ground) -> None:
    """Make the features that FEATURES names.

    Raise RulesError if one is no feature, or cannot be made; StoreError if one cannot take back its
    state.
    """
    values = ground.values
    for path in values["FEATURES"]:
        loaded = load(path)
        try:
            feature = loaded.from_settings(values) if hasattr(loaded, "from_settings") else loaded()
        except Exception as error:  # anything may be wrong with a class of the user's own
            raise RulesError(f"FEATURES: {path} cannot be created: {error!r}") from error
        refuse_unknown(type(feature), f"FEATURES: {path}", OWN)
        own = _methods_of(feature)
        if not own:
            raise RulesError(
                f"FEATURES: {path}: a feature needs a method for at least one moment: {', '.join(OWN)}"
            )
        for moment, (name, method) in own.items():
            is_later = any(kind(method) for kind in RUN_LATER_KINDS)
            # Headers are read at once, from whatever can be iterated.
            yields_headers = moment == "next_headers" and isgeneratorfunction(method)
            if is_later and not yields_headers:
                raise RulesError(
                    f"FEATURES: {path}.{name} must be a plain method, not async and not a "
                    "generator: its result is never awaited"
                )
        _join(ground.moments, path, own)
        _tell_misspelt(path, type(feature))
        if hasattr(feature, "state") != hasattr(feature, "restore"):
            raise RulesError(
                f"FEATURES: {path}: has only one of the methods state and restore; "
                "it needs both or none"
            )
        if hasattr(feature, "state"):
            SavedFeature(ground.db, path, feature)


def _methods_of(feature: object) -> dict[str, tuple[str, Callable[..., Any]]]:
    """Return, by moment, the method that a feature has for it, and the name of the method."""
    methods = {}
    for moment, former_name in OWN.items():
        for name in (former_name, moment):  # if it has both, the present name counts
            method = getattr(feature, name, None)
            # A class may be derived from Feature, whose methods do nothing.
            is_own = getattr(type(feature), name, None) is not getattr(Feature, name, None)
            if callable(method) and is_own:
                methods[moment] = name, method
    return methods


def _join(
    moments: Moments, path: str, methods: Mapping[str, tuple[str, Callable[..., Any]]]
) -> None:
    """Add each method of a user's feature to the moment it is for; its errors are caught there."""
    if "next_decision" in methods:
        moments.next_decision.append(
            _as_decision(guarded(path, *methods["next_decision"], _verdict))
        )
    if "next_headers" in methods:
        moments.next_headers.append(guarded(path, *methods["next_headers"], _headers, ()))
    if "on_page" in methods:
        moments.on_page.append(guarded(path, *methods["on_page"]))
    if "on_links" in methods:
        moments.on_links.append(guarded(path, *methods["on_links"]))
    if "on_ended" in methods:
        moments.on_ended.append(guarded(path, *methods["on_ended"]))
    if "next_figures" in methods:
        moments.next_figures.append(guarded(path, *methods["next_figures"], _numbers, {}))


def _tell_misspelt(path: str, kind: type) -> None:
    """Warn of a method whose name is nearly a moment's: it is never called."""
    for name, hook in misspelt(kind, NAMES):
        logger.warning("FEATURES: %s.%s is never called; did you mean %s?", path, name, hook)


class SavedFeature(Part):
    """A feature with `state` and `restore`: what it knows is part of every checkpoint."""

    def __init__(self, db: CrawlDB, path: str, feature: Any) -> None:
        """Have the feature take back its state of the last checkpoint.

        Raise StoreError if it cannot: the crawl would go on with another one.
        """
        self._db = db
        self._path = path
        self._feature = feature
        data = db.get(PREFIX + path)
        if data is not None:
            try:
                feature.restore(msgpack.unpackb(data, strict_map_key=False))
            except Exception as error:
                raise self._failed("restore", error) from error
        db.join(self)

    def save(self) -> None:
        """Save the feature's state; raise StoreError if it cannot be had: the checkpoint fails."""
        try:
            data = msgpack.packb(self._feature.state())
        except Exception as error:
            raise self._failed("state", error) from error
        self._db.set(PREFIX + self._path, data)

    def _failed(self, method: str, error: Exception) -> StoreError:
        logger.error("%s.%s failed", self._path, method, exc_info=error)
        return StoreError(f"{self._path}.{method} failed: {error!r}")


def _check_is_not_awaitable(result: Any) -> None:
    """Raise TypeError for an awaitable, as the result of a method that is only notified."""
    if isawaitable(result):
        raise TypeError(
            f"it returned {result!r}, which is never awaited: the method must not be async"
        )


def guarded(
    path: str,
    name: str,
    call: Callable[..., Any],
    sound: Callable[[Any], Any] = _check_is_not_awaitable,
    nothing: object = None,
) -> Callable[..., Any]:
    """Return the user's function `call`, changed so that its errors cost the crawl nothing.

    `path` and `name`: its class and its name, for the log. `sound` checks its result, and makes of
    it what the crawl takes; it raises for a wrong one. `nothing` is returned in place of None, and
    after an error.

    An error of the user's own, also one of `sound`, is logged, and counts for ERROR_BREAKER. Lacks
    of the machine, StoreError and the end of the process are raised.
    """

    def call_guarded(*arguments: Any) -> Any:
        try:
            result = call(*arguments)
            return nothing if result is None else sound(result)
        except BaseException as error:  # a panic of a library in Rust is no Exception
            if isinstance(error, StoreError | KeyboardInterrupt | SystemExit) or lack(error):
                raise
            logger.exception("%s.%s", path, name)
            return nothing

    return call_guarded


def _verdict(result: Any) -> bool | float:
    """Return the result of `next_decision` as the crawl takes it: True, False, or a time.

    Numpy's numbers are numbers too, and to wait for ever is to be refused. Raise TypeError for
    anything else.
    """
    result = _plain(result)
    if isinstance(result, bool):
        return result
    if result == inf:
        return False
    if isinstance(result, Real) and isfinite(result):
        return float(result)
    raise TypeError(f"it returned {result!r}, but must return True, False or a time in seconds")


def _plain(value: Any) -> Any:
    """Return a number of numpy's as one of Python's, which JSON has."""
    return value.item() if hasattr(value, "item") else value


def _headers(result: Any) -> list[tuple[bytes, bytes]]:
    """Return the result of `next_headers` as the crawl takes it.

    Raise TypeError if it is not pairs of bytes, ValueError for what no header may have.
    """
    pairs = [(name, value) for name, value in result]
    for name, value in pairs:
        if not (isinstance(name, bytes) and isinstance(value, bytes)):
            raise TypeError(f"it returned {pairs!r}, but headers must be pairs of bytes")
    for name, value in pairs:
        # A line break in a value would begin another header, or another request.
        if not TOKEN.fullmatch(name) or UNSENDABLE.intersection(value):
            raise ValueError(
                f"it returned {pairs!r}, which has an invalid header name, or a value with a line break"
            )
    return pairs


def _numbers(result: Any) -> dict[str, int | float]:
    """Return the result of `next_figures`; raise TypeError unless it is finite numbers by name."""
    figures = {name: _plain(value) for name, value in dict(result).items()}
    for name, value in figures.items():
        # JSON, and so stats.json, has neither NaN nor infinity.
        is_number = isinstance(value, int | float) and isfinite(value)
        if not is_number or not isinstance(name, str):
            raise TypeError(
                f"it returned {figures!r}, but figures must be a dict of numbers by name"
            )
    return figures


def _as_decision(next_decision: Callable[[Link, float], Any]) -> Callable[[Link, float], Decision]:
    """Return a function that makes of the answer of a user's feature a Decision of the crawl's.

    False ends a URL, a time has it wait until then, and anything else lets it pass. The feature is
    not asked about a robots.txt or a probe, which the crawl needs for other URLs.
    """

    def decide(link: Link, now: float) -> Decision:
        if link.is_prerequisite or link.is_probe:
            return None
        answer = next_decision(link, now)
        if answer is False:
            return Status.REFUSED
        if not isinstance(answer, float):
            return None
        # A time that is past would have the URL asked about again at once, and again.
        return max(answer, now + 1.0)

    return decide
