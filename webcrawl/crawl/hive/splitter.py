"""Divides what pages link to: what is ours stays, and what belongs to another drone goes to it, once.

In front of the wire stands a URL cache (Broder, Najork, Wiener, section 2): a link that was sent lately is not sent
again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.letter import Kind
from webcrawl.frontier.seen.caches import UrlCache

KNOWN = 1 << 16  # authorities whose slots are remembered


class Owners(Protocol):
    """The owners of slots (slot_moves.py)."""

    owned: bytearray
    """By slot: 1 if it is here."""

    def owner(self, slot: int) -> int:
        """The drone whose slot it is; it may be on its way there."""

    def had(self, slot: int) -> bool:
        """True if the slot was here at any time."""

    def send(self, kind: Kind, slot: int, items: list[Any]) -> None:
        """Items of a slot that is not here."""


class Splitter:
    """Knows the slot of every URL."""

    def __init__(self, slot_of: Callable[[str], int], owners: Owners, make_cache: Callable[[], UrlCache]) -> None:
        """`slot_of` names the slot of a host."""
        self._slot_of, self._owners, self._make_cache = slot_of, owners, make_cache
        self.foreign = self.sent = 0  # links to hosts of others, and those of them that were not sent lately
        self._slots: dict[str, int] = {}
        self.forget()

    def forget(self) -> None:
        """Forgets what was sent to others: there are other owners."""
        self._cache = self._make_cache()

    def slot(self, url: str) -> int:
        """The slot of a canonical URL, or of as much of it as says whose it is."""
        authority = url.split("/", 3)[2]
        slot = self._slots.get(authority)
        if slot is None:
            if len(self._slots) >= KNOWN:
                self._slots.clear()
            slot = self._slots[authority] = self._slot_of(host_of(url))
        return slot

    def is_ours(self, url: str) -> bool:
        return bool(self._owners.owned[self.slot(url)])

    def keep_ours(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Of a batch of links, given by fingerprint, URL and packed form, those that are ours; sends the others."""
        owned, slot_of = self._owners.owned, self.slot
        slots = [slot_of(url) for url in urls]
        away = [at for at, slot in enumerate(slots) if not owned[slot]]
        if not away:
            return keys, records
        self._send(away, slots, keys, records)
        mine = [at for at, slot in enumerate(slots) if owned[slot]]
        return [keys[at] for at in mine], [records[at] for at in mine]

    def keep_seeds(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Like `keep_ours`, for seeds, which all drones read: those of slots that never were here are passed over."""
        known = [at for at, url in enumerate(urls) if self._owners.had(self.slot(url))]
        return self.keep_ours([keys[at] for at in known], [urls[at] for at in known], [records[at] for at in known])

    def _send(self, away: list[int], slots: list[int], keys: Sequence[int], records: Sequence[bytes]) -> None:
        self.foreign += len(away)
        letters: defaultdict[int, list[bytes]] = defaultdict(list)
        for missed in self._cache.misses([keys[at] for at in away]):
            at = away[missed]
            letters[slots[at]].append(records[at])
        for slot, some in letters.items():
            self.sent += len(some)
            self._owners.send(Kind.LINKS, slot, some)
