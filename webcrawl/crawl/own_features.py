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
# nothing is said until it is awaited or read
RUN_LATER_KINDS = (iscoroutinefunction, isasyncgenfunction, isgeneratorfunction)
NAMES = {*OWN, *OWN.values(), "from_settings", "state", "restore"}
TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
UNSENDABLE = frozenset(b"\0\r\n")
PREFIX = "feature."  # before the dotted path of one that has a state, in the table meta


def open_features(ground: Ground) -> None:
    """Make the features that FEATURES names.

    Raise RulesError if one is no feature, or cannot be made.
    """
    values = ground.values
    for path in values["FEATURES"]:
        named = load(path)
        try:
            feature = named.from_settings(values) if hasattr(named, "from_settings") else named()
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
    """Return the name and the method that a feature has for each moment."""
    found = {}
    for moment, former in OWN.items():
        for name in (former, moment):
            method = getattr(feature, name, None)
            # A class may be derived from Feature, whose methods do nothing.
            is_own = getattr(type(feature), name, None) is not getattr(Feature, name, None)
            if callable(method) and is_own:
                found[moment] = name, method
    return found


def _join(
    moments: Moments, path: str, methods: Mapping[str, tuple[str, Callable[..., Any]]]
) -> None:
    """Add each method of a user's feature to the moment it is for; its errors are caught there."""
    if "next_decision" in methods:
        moments.next_decision.append(_asked(guarded(path, *methods["next_decision"], _verdict)))
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
        """StoreError if it cannot take back its state: the crawl would go on with another one."""
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
        try:
            data = msgpack.packb(self._feature.state())
        except Exception as error:
            raise self._failed("state", error) from error
        self._db.set(PREFIX + self._path, data)

    def _failed(self, method: str, error: Exception) -> StoreError:
        logger.error("%s.%s failed", self._path, method, exc_info=error)
        return StoreError(f"{self._path}.{method} failed: {error!r}")


def _heeded(found: Any) -> None:
    """Refuse an awaitable as the result of a method that is only notified."""
    if isawaitable(found):
        raise TypeError(
            f"it returned {found!r}, which is never awaited: the method must not be async"
        )


def guarded(
    path: str,
    name: str,
    call: Callable[..., Any],
    sound: Callable[[Any], Any] = _heeded,
    nothing: object = None,
) -> Callable[..., Any]:
    """Return the call, with `sound` applied to its result, and `nothing` for None or errors.

    An error of the user's own, also one of `sound`, is logged, counts for ERROR_BREAKER, and costs
    nothing else.
    """

    def told(*what: Any) -> Any:
        try:
            found = call(*what)
            return nothing if found is None else sound(found)
        except BaseException as error:  # a panic of a library in Rust is no Exception
            if isinstance(error, StoreError | KeyboardInterrupt | SystemExit) or lack(error):
                raise
            logger.exception("%s.%s", path, name)
            return nothing

    return told


def _verdict(found: Any) -> bool | float:
    """Return the result of `next_decision` as the crawl takes it.

    Numpy's numbers are numbers too, and a wait for ever is refused.
    """
    found = _plain(found)
    if isinstance(found, bool):
        return found
    if found == inf:
        return False
    if isinstance(found, Real) and isfinite(found):
        return float(found)
    raise TypeError(f"it returned {found!r}, but must return True, False or a time in seconds")


def _plain(found: Any) -> Any:
    """Return a number of numpy's as one of Python's, which JSON has."""
    return found.item() if hasattr(found, "item") else found


def _headers(found: Any) -> list[tuple[bytes, bytes]]:
    """Return the result of `next_headers` as the crawl takes it."""
    pairs = [(name, value) for name, value in found]
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


def _numbers(found: Any) -> dict[str, int | float]:
    """Return the result of `next_figures`: stats.json has no other values."""
    figures = {name: _plain(one) for name, one in dict(found).items()}
    for name, one in figures.items():
        # JSON has neither NaN nor infinity.
        is_number = isinstance(one, int | float) and isfinite(one)
        if not is_number or not isinstance(name, str):
            raise TypeError(
                f"it returned {figures!r}, but figures must be a dict of numbers by name"
            )
    return figures


def _asked(next_decision: Callable[[Link, float], Any]) -> Callable[[Link, float], Decision]:
    """Return the call for URLs alone, not for what the crawl needs for them.

    False ends a URL, a time has it wait until then.
    """

    def decide(link: Link, now: float) -> Decision:
        """Return what the feature's answer means: refuse, wait until, or None to allow."""
        if link.is_prerequisite or link.is_probe:
            return None
        found = next_decision(link, now)
        if found is False:
            return Status.REFUSED
        if not isinstance(found, float):
            return None
        # A time that is past would have the URL asked about again at once, and again.
        return max(found, now + 1.0)

    return decide
