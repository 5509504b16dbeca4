"""Tells whether a signal of Scrapy has listeners, and connects extensions to signals.

The look-up is cheaper than building the arguments of a signal that has no listener.
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
    """Return whether a listener is connected to this signal, for this sender or for any."""
    # Called some seven times per page: an empty set in place of None would take 25 ns more
    listeners = connections.get(id(sender))
    if listeners is not None and (signal in listeners or Any_ in listeners):
        return True
    listeners = connections.get(_ANY_SENDER)
    return listeners is not None and (signal in listeners or Any_ in listeners)


def has_any_listener(wanted_signals: frozenset[object], sender: object) -> bool:
    """Return whether at least one of these signals has a listener, for this sender or for any."""
    listeners = connections.get(id(sender))
    if listeners and (Any_ in listeners or not wanted_signals.isdisjoint(listeners)):
        return True
    listeners = connections.get(_ANY_SENDER)
    return bool(listeners) and (Any_ in listeners or not wanted_signals.isdisjoint(listeners))


def receivers_of(signal: object, sender: object) -> tuple[Any, ...] | None:
    """Return this signal's receivers, or None if a receiver listens to all signals or all senders."""
    listeners = connections.get(_ANY_SENDER)
    if listeners is not None and (signal in listeners or Any_ in listeners):
        return None
    listeners = connections.get(id(sender))
    if listeners is None:
        return ()
    return None if Any_ in listeners else tuple(listeners.get(signal, ()))


class _HasOpened(Protocol):
    @property
    def opened(self) -> Callable[..., Any]: ...


class _HasOpenedAndClosed(_HasOpened, Protocol):
    @property
    def closed(self) -> Callable[..., Any]: ...


OpeningT = TypeVar("OpeningT", bound=_HasOpened)
ExtensionT = TypeVar("ExtensionT", bound=_HasOpenedAndClosed)


def connect_extension(crawler: Crawler, extension: ExtensionT) -> ExtensionT:
    """Connect an extension's `opened` and `closed` to the signals of the spider, and return it."""
    crawler.signals.connect(extension.closed, signals.spider_closed)
    return connect_opening(crawler, extension)


def connect_opening(crawler: Crawler, extension: OpeningT) -> OpeningT:
    """Connect an extension's `opened` to the signal of the spider, and return the extension.

    For extensions that connect to other signals in `opened`: opening may fail, and those signals
    would then reach an extension that was never opened.
    """
    crawler.signals.connect(extension.opened, signals.spider_opened)
    return extension
