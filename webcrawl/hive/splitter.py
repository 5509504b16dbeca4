"""Divides what pages link to: what is ours stays, and what belongs to another drone goes to it, once.

In front of the wire stands a URL cache (Broder, Najork, Wiener, section 2): a link that was sent lately is not sent
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webcrawl.hive.message import Kind
from webcrawl.hive.partition import Partition
from webcrawl.hive.slots import SlotMap
from webcrawl.seen.caches.protocol import UrlCache
from webcrawl.urls.hosts import host_of

KNOWN = 1 << 16  # authorities whose owners are remembered
Put = Callable[[int, Kind, Sequence[Any]], None]


class Splitter:
    """Knows the owner of every URL. `put` takes items for another drone."""

    def __init__(
        self, me: int, partition: Partition, slots: SlotMap, make_cache: Callable[[], UrlCache], put: Put
    ) -> None:
        self._me, self._partition, self._make_cache, self._put = me, partition, make_cache, put
        self.foreign = self.sent = 0  # links to hosts of others, and those of them that were not sent lately
        self.learn(slots)

    def __repr__(self) -> str:
        return f"<Splitter of {self._me} generation={self.slots.generation} foreign={self.foreign} sent={self.sent}>"

    def learn(self, slots: SlotMap) -> None:
        """From now on these are the owners. What was sent to others counts no more."""
        self.slots = slots
        self._owners: dict[str, int] = {}
        self._cache = self._make_cache()

    def slot(self, url: str) -> int:
        """The slot of a canonical URL."""
        return self._partition.slot(host_of(url))

    def owner(self, url: str) -> int:
        """The drone that a canonical URL belongs to."""
        authority = url.split("/", 3)[2]
        owner = self._owners.get(authority)
        if owner is None:
            if len(self._owners) >= KNOWN:
                self._owners.clear()
            owner = self._owners[authority] = self.slots.owners[self.slot(url)]
        return owner

    def is_ours(self, url: str) -> bool:
        return self.owner(url) == self._me

    def keep_ours(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Of a batch of links, given by fingerprint, URL and packed form, those that are ours; sends the others."""
        owners = [self.owner(url) for url in urls]
        if owners.count(self._me) == len(owners):
            return keys, records
        self._send(owners, keys, records)
        mine = [at for at, owner in enumerate(owners) if owner == self._me]
        return [keys[at] for at in mine], [records[at] for at in mine]

    def _send(self, owners: Sequence[int], keys: Sequence[int], records: Sequence[bytes]) -> None:
        away = [at for at, owner in enumerate(owners) if owner != self._me]
        self.foreign += len(away)
        letters: dict[int, list[bytes]] = {}
        for missed in self._cache.misses([keys[at] for at in away]):
            at = away[missed]
            letters.setdefault(owners[at], []).append(records[at])
        for drone, some in letters.items():
            self.sent += len(some)
            self._put(drone, Kind.LINKS, some)
