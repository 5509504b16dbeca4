"""Checks for listeners: that is cheaper than building the arguments of a signal that nobody receives."""

from __future__ import annotations

from typing import Any

from pydispatch.dispatcher import Any as Any_  # type: ignore[import-untyped]
from pydispatch.dispatcher import connections

_ANY_SENDER = id(Any_)


def has_listener(signal: object, sender: object) -> bool:
    """Return whether anything is connected to this signal now, from this sender or from any."""
    listeners = connections.get(id(sender))
    if listeners is not None and (signal in listeners or Any_ in listeners):
        return True
    listeners = connections.get(_ANY_SENDER)
    return listeners is not None and (signal in listeners or Any_ in listeners)


def connected(signal: object, sender: object) -> tuple[Any, ...] | None:
    """The receivers of this signal from this sender; None if somebody hears all signals or all senders."""
    listeners = connections.get(_ANY_SENDER)
    if listeners is not None and (signal in listeners or Any_ in listeners):
        return None
    listeners = connections.get(id(sender))
    if listeners is None:
        return ()
    return None if Any_ in listeners else tuple(listeners.get(signal, ()))
