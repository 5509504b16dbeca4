"""Many small bounded sets, in bounded memory."""

from __future__ import annotations

import struct
from collections import OrderedDict

from siphashc import siphash

_HEAD = struct.Struct("<QI")
_TAG = 4


class BoundedSets:
    """Maps each name to the first `size` members that were offered to it.

    A member is stored as 4 bytes of its keyed hash: a full set of 500 wrongly admits about one in 9 million others. All
    sets together hold at most `total` members (4 MB, and some 150 bytes per set); beyond that, the least recently used
    set is dropped and starts empty.
    """

    def __init__(self, size: int, key: bytes, total: int = 2**20) -> None:
        if size < 1:
            raise ValueError(f"TRAP_MAX_PAGES: {size} is not at least 1")
        self._size = size
        self._key = key
        self._total = total
        self._held = 0
        self._sets: OrderedDict[int, bytearray] = OrderedDict()

    def __len__(self) -> int:
        return self._held

    def admit(self, name: str, member: str) -> bool:
        """Return whether the member is in the set of this name, or could still be added."""
        number = siphash(self._key, name)
        tags = self._sets.get(number)
        if tags is None:
            tags = self._sets[number] = bytearray()
        else:
            self._sets.move_to_end(number)
        tag = (siphash(self._key, member) & 0xFFFFFFFF).to_bytes(_TAG, "little")
        if holds(tags, tag):
            return True
        if len(tags) >= self._size * _TAG:
            return False
        tags += tag
        self._held += 1
        while self._held > self._total:
            self._held -= len(self._sets.popitem(last=False)[1]) // _TAG
        return True

    def state(self) -> bytes:
        """Every set, least recently used first: the hash of its name, the number of members, the members."""
        return b"".join(_HEAD.pack(number, len(tags) // _TAG) + tags for number, tags in self._sets.items())

    def restore(self, state: bytes) -> None:
        """Restore what `state` returned under the same key."""
        sets: OrderedDict[int, bytearray] = OrderedDict()
        held = place = 0
        while place < len(state):
            if place + _HEAD.size > len(state):
                raise ValueError(f"bounded sets: cut off at byte {place}")
            number, count = _HEAD.unpack_from(state, place)
            place += _HEAD.size
            tags = state[place : place + count * _TAG]
            if len(tags) < count * _TAG:
                raise ValueError(f"bounded sets: cut off at byte {place}")
            sets[number] = bytearray(tags)
            held += count
            place += len(tags)
        self._sets, self._held = sets, held


def holds(tags: bytearray, tag: bytes) -> bool:
    """Return whether the tag is in `tags` at a multiple of its length; a match across two neighbours does not count."""
    place = tags.find(tag)
    while place % _TAG > 0 and place >= 0:
        place = tags.find(tag, place + 1)
    return place >= 0
