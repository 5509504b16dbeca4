"""Keeps hosts out that belong to another crawl of the same hive: they are not asked, and their URLs are turned away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from webcrawl.model import Packed


@dataclass(slots=True)
class Gate:
    """The frontier has none as long as all hosts are its own, so that a crawl without a hive pays one test for it."""

    foreign: Callable[[str], bool]  # whether a host is not ours: it leaves, has left, or is yet to come
    turn_away: Callable[[Packed, bool], None]  # a queued URL of such a host; whether its domain was charged for it
    pass_on: Callable[[Packed], None]  # a URL of such a host that was not queued
    asked: set[str] = field(default_factory=set)  # such hosts with a request in flight

    def __repr__(self) -> str:
        return f"<Gate asked={len(self.asked)}>"
