"""Settings of single domains and hosts, and hosts that are paused, as the last checkpoint has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgpack

from webcrawl.control.paused import META as PAUSED
from webcrawl.control.sheets import META, PerHost, names_for, without_conflict
from webcrawl.verify.snapshot import Snapshot
from webcrawl.why import meta


class SavedSheets:
    """What was ordered for some hosts only."""

    def __init__(self, sheets: Mapping[str, Mapping[str, Any]], paused: frozenset[str] = frozenset()) -> None:
        self._sheets, self.paused = sheets, paused

    @classmethod
    def read(cls, snapshot: Snapshot) -> SavedSheets:
        sheets = meta.value(snapshot, META, _sheets, dict[str, Any]())
        return cls(sheets, meta.value(snapshot, PAUSED, _names, frozenset[str]()))

    def __repr__(self) -> str:
        return f"<SavedSheets {len(self._sheets)} paused={len(self.paused)}>"

    def of(self, host: str) -> Mapping[str, Any]:
        """What holds for this host alone; of several sheets the most specific one counts."""
        found: dict[str, Any] = {}
        for name in reversed(tuple(names_for(host)) if self._sheets else ()):
            found |= self._sheets.get(name, {})
        return found

    def values(self, values: Mapping[str, Any], host: str) -> Mapping[str, Any]:
        """All settings, as they hold for this host."""
        own = self.of(host)
        return without_conflict({**values, **own}) if own else values

    def per_host(self, setting: str) -> PerHost[Any] | None:
        """One setting by host, as a filter takes it; None if no sheet has it."""
        if not any(setting in sheet for sheet in self._sheets.values()):
            return None
        return PerHost(lambda host: self.of(host).get(setting))


def _sheets(data: bytes) -> dict[str, Any]:
    return {str(name): dict(sheet) for name, sheet in msgpack.unpackb(data).items()}


def _names(data: bytes) -> frozenset[str]:
    return frozenset(map(str, msgpack.unpackb(data)))
