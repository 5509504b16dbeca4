"""A filter as URL_FILTERS names it: a class with or without `from_setup`, or a function of one URL."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from webcrawl.base.loading import load
from webcrawl.urls.filters.filter_protocol import Origin, Setup, UrlFilter
from webcrawl.urls.rules_error import RulesError


class ByFunction:
    """Keeps the URLs for which a function returns a true value; drops are counted under its name."""

    def __init__(self, keeps: Callable[[str], object], name: str) -> None:
        self._keeps, self.name = keeps, name

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return [url for url in urls if self._keeps(url)]


def named_filter(path: str, setup: Setup) -> UrlFilter | None:
    """Builds one filter; None if the settings leave it nothing to do. RulesError if it is no filter."""
    named = load(path)
    if inspect.isfunction(named):
        return ByFunction(named, named.__name__)
    try:
        made: Any = named.from_setup(setup) if hasattr(named, "from_setup") else named()
    except RulesError:
        raise
    except Exception as error:  # anything may be wrong with a class of the user's own
        raise RulesError(f"URL_FILTERS: {path} cannot be made: {error!r}") from error
    is_filter = callable(getattr(made, "keep", None)) and isinstance(getattr(made, "name", None), str)
    if made is not None and not is_filter:
        raise RulesError(f"URL_FILTERS: {path}: a filter has a name and a method keep(urls, origin) (docs/urls.md)")
    found: UrlFilter | None = made
    return found
