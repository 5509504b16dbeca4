"""Features of the user's own: classes named in FEATURES (docs/extending.md#a-feature-of-your-own)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgpack

from webcrawl.base.errors import lack
from webcrawl.base.loading import load
from webcrawl.base.model import Link, Status
from webcrawl.crawl.moments import Moments
from webcrawl.frontier.arguments import Decision
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.urls.optout import RulesError

logger = logging.getLogger(__name__)

OWN = ("admit", "request", "answered", "heard", "ended", "figures")  # the others are about when the crawl acts
PREFIX = "feature."  # before the dotted path of one that has a state, in the table meta
NOTHING: dict[str, Any] = {"request": (), "figures": {}}  # what counts as said by one that raises; else None


def open_features(paths: Sequence[str], values: Mapping[str, Any], db: CrawlDB, moments: Moments) -> None:
    """Makes them, in their order. RulesError if one is no feature, or cannot be made."""
    for path in paths:
        named = load(path)
        try:
            feature = named.from_settings(values) if hasattr(named, "from_settings") else named()
        except Exception as error:  # anything may be wrong with a class of the user's own
            raise RulesError(f"FEATURES: {path} cannot be made: {error!r}") from error
        own = {moment: call for moment in OWN if callable(call := getattr(feature, moment, None))}
        if not own:
            raise RulesError(f"FEATURES: {path}: a feature has a method for a moment: {', '.join(OWN)}")
        for moment, call in own.items():
            safe = _guarded(path, moment, call)
            getattr(moments, moment).append(_asked(safe) if moment == "admit" else safe)
        if hasattr(feature, "state"):
            SavedFeature(db, path, feature)


class SavedFeature(Part):
    """A feature with `state` and `restore`: what it knows is part of every checkpoint."""

    def __init__(self, db: CrawlDB, path: str, feature: Any) -> None:
        """StoreError if it cannot take back its state: the crawl would go on with another one."""
        self._db, self._path, self._feature = db, path, feature
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
        return StoreError(f"{self._path}.{method}: {error!r}")


def _guarded(path: str, moment: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """An error of the user's own is logged, counts for ERROR_BREAKER, and costs nothing else."""
    nothing = NOTHING.get(moment)

    def told(*what: Any) -> Any:
        try:
            found = call(*what)
        except Exception as error:
            if isinstance(error, StoreError) or lack(error):
                raise
            logger.exception("%s.%s", path, moment)
            return nothing
        return nothing if found is None else found

    return told


def _asked(admit: Callable[[Link, float], Any]) -> Callable[[Link, float], Decision]:
    """Asked of URLs, and not of what the crawl needs for them: False ends a URL, a time has it wait until then."""

    def decide(link: Link, now: float) -> Decision:
        if link.is_prerequisite or link.is_probe:
            return None
        found = admit(link, now)
        if found is False:
            return Status.REFUSED
        return max(found, now + 1.0) if isinstance(found, float) else None

    return decide
