"""Kinds of values that name or are code: dotted paths, expressions."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import re2

from webcrawl.checks.kinds import Whole, text, words
from webcrawl.loading import load
from webcrawl.urls.filters.lines import quiet

_EXTENSION = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*")
_ORDER = Whole(0, 1000)


@dataclass(frozen=True, slots=True)
class Dotted:
    """A class or function by the path that imports it."""

    allowed: str = "the dotted path of a class or function that can be imported"

    def read(self, value: Any, /) -> str:
        path = text(value)
        if not callable(load(path)):
            raise TypeError(f"{path} is no class or function")
        return path


@dataclass(frozen=True, slots=True)
class DottedList:
    """Several of them."""

    allowed: str = "dotted paths of classes or functions that can be imported, with commas between, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        return tuple(Dotted().read(word) for word in words(value))


@dataclass(frozen=True, slots=True)
class DottedOrders:
    """Several of them with the order in which they are used, as in Scrapy's ITEM_PIPELINES."""

    allowed: str = (
        "a dict, or a JSON object, of dotted paths that can be imported: a whole number from 0 to 1000 or None"
    )

    def read(self, value: Any, /) -> dict[str, int | None]:
        return {text(path): self._order(path, order) for path, order in _mapping(value).items()}

    def _order(self, path: str, order: Any) -> int | None:
        if order is None:  # left out, and not imported either: it may be what cannot be
            return None
        Dotted().read(path)
        return _ORDER.read(order)


@dataclass(frozen=True, slots=True)
class Components:
    """Scrapy's components: dotted paths with their orders, or classes themselves.

    They are looked for but not imported: importing one may install a reactor, and which one is Scrapy's choice, later.
    """

    allowed: str = "a dict, or a JSON object, of dotted paths that can be found: a number or None"

    def read(self, value: Any, /) -> dict[Any, int | float | None]:
        found = _mapping(value)
        return {_found(path) if order is not None else path: _order(order) for path, order in found.items()}


@dataclass(frozen=True, slots=True)
class Component:
    """One of them."""

    allowed: str = "the dotted path of a class that can be found"

    def read(self, value: Any, /) -> Any:
        return _found(value)


def _mapping(value: Any) -> Mapping[Any, Any]:
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, Mapping):
        raise TypeError
    return found


def _found(path: Any) -> Any:
    if isinstance(path, type):
        return path
    module, _, _ = text(path).rpartition(".")
    try:
        missing = not module or (module not in sys.modules and find_spec(module) is None)
    except Exception as error:  # of the package that it is in, which has to be imported
        raise ValueError(f"{path}: {error}") from error
    if missing:
        raise ValueError(f"{path}: there is no such module")
    return path


def _order(order: Any) -> int | float | None:
    if order is None or (isinstance(order, int | float) and not isinstance(order, bool)):
        return order
    raise TypeError


@dataclass(frozen=True, slots=True)
class Expressions:
    """Regular expressions of the kind that runs in linear time."""

    allowed: str = "a list, or a JSON array, of RE2 expressions, or a single one"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = _written(value)
        for expression in found:
            try:
                re2.compile(expression, quiet())
            except re2.error as error:
                why = error.args[0]
                raise ValueError(why.decode() if isinstance(why, bytes) else why) from error
        return tuple(found)


def _written(value: Any) -> list[str]:
    """The expressions; commas and spaces may be part of one, so that JSON has to say where several end."""
    if isinstance(value, list | tuple):
        return [text(one) for one in value]
    if value == "":
        return []
    one = text(value)
    try:
        several = json.loads(one)
    except ValueError:
        return [one]
    is_array = isinstance(several, list) and all(isinstance(each, str) for each in several)
    return [text(each) for each in several] if is_array else [one]  # [0-9] is an array too


@dataclass(frozen=True, slots=True)
class Extensions:
    """Endings of file names."""

    allowed: str = "endings of file names with commas between, as in zip,tar.gz, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = [word.lower().removeprefix(".") for word in words(value)]
        if wrong := [word for word in found if not _EXTENSION.fullmatch(word)]:
            raise ValueError(f"{wrong[0]!r} is no ending")
        return tuple(found)
