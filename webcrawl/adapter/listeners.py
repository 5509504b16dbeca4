"""Listeners of signals.

Looking for them is cheaper than building the arguments of a signal without a receiver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pydispatch.dispatcher import Any as Any_  # type: ignore[import-untyped]
from pydispatch.dispatcher import connections
from scrapy import signals
from scrapy.crawler import Crawler

_ANY_SENDER = id(Any_)


def has_listener(signal: object, sender: object) -> bool:
    """Return whether anything is connected to this signal now, from this sender or from any."""
    # Each page asks some seven times: two look-ups without a call
    own = connections.get(id(sender), ())
    if signal in own or Any_ in own:
        return True
    of_any = connections.get(_ANY_SENDER, ())
    return signal in of_any or Any_ in of_any


def hears_any(these: frozenset[object], sender: object) -> bool:
    """Return whether one of several signals has a listener."""
    own = connections.get(id(sender), ())
    if Any_ in own or not these.isdisjoint(own):
        return True
    of_any = connections.get(_ANY_SENDER, ())
    return Any_ in of_any or not these.isdisjoint(of_any)


def connected(signal: object, sender: object) -> tuple[Any, ...] | None:
    """Return this signal's receivers, or None if a listener hears all signals or all senders."""
    of_any = connections.get(_ANY_SENDER, ())
    if signal in of_any or Any_ in of_any:
        return None
    own = connections.get(id(sender), {})
    if Any_ in own:
        return None
    return tuple(own.get(signal, ()))


class _Opened(Protocol):
    @property
    def opened(self) -> Callable[..., Any]: ...


class _Closed(_Opened, Protocol):
    @property
    def closed(self) -> Callable[..., Any]: ...


Opening = TypeVar("Opening", bound=_Opened)
Listening = TypeVar("Listening", bound=_Closed)


def listening(crawler: Crawler, extension: Listening) -> Listening:
    """Return the extension, which hears from now on when the spider is opened and closed."""
    crawler.signals.connect(extension.closed, signals.spider_closed)
    return listening_to_opening(crawler, extension)


def listening_to_opening(crawler: Crawler, extension: Opening) -> Opening:
    """Return the extension, which hears from now on when the spider is opened.

    It connects to the other signals then, because opening may fail.
    """
    crawler.signals.connect(extension.opened, signals.spider_opened)
    return extension
