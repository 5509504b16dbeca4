"""A bounded memory of what a domain's pages have had: two Bloom filters, an older and a younger."""

from __future__ import annotations

from typing import Any, Self

import msgpack

# A shop's texts were forgotten in 16 KiB, came as news again, and cost 8,800 fetches in place of
# 2,183.
FIRST, LARGEST = 1 << 14, 1 << 16  # bytes of a filter: each has twice the room of the one before
ENTRY = 2  # bytes for an entry: then a further one is taken for known once in two hundred times


class Memory:
    """Remembers the last numbers of 32 bits that were added: at least as many as one of its filters
    has room for.
    """

    __slots__ = ("count", "old", "unsaved", "young")

    def __init__(self) -> None:
        self.young = bytearray(FIRST)  # the Bloom filter that is filled; each number sets 3 bits
        self.old = bytes(FIRST)  # the full one before it, which is only asked
        self.count = 0  # entries of the younger
        self.unsaved = 0  # entries that no saved copy has

    def pack(self) -> bytes:
        packed: bytes = msgpack.packb((bytes(self.young), self.old, self.count))
        self.unsaved = 0
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Return the memory of the bytes that `pack` gave. Raise ValueError or TypeError for others."""
        found: Any = msgpack.unpackb(data)
        young, old, count = found
        is_power_of_two = (len(young) & -len(young)) == len(young)
        is_in_order = FIRST <= len(old) <= len(young) <= LARGEST
        if not is_power_of_two or not is_in_order:
            raise ValueError("the saved memory of URL families has an impossible size")
        memory = cls()
        memory.young = bytearray(young)
        memory.old = old
        memory.count = count
        return memory

    @property
    def room(self) -> int:
        """Entries of the younger filter, at most."""
        return len(self.young) // ENTRY

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.young) + len(self.old)

    def add(self, number: int) -> bool:
        """Add a number, and return whether neither filter had it.

        A number that the younger filter lacks is added there, even if the older one has it. Without
        a loop: it is called a hundred times per page.
        """
        # The places of the three bits are a few bits of the number, and of a multiple of it that
        # mixes them; the sizes are powers of two, so a mask reduces a place to the size.
        mixed, young = number * 0x9E3779B97F4A7C15, self.young
        mask = len(young) - 1
        bit, second, third = 1 << (number & 7), 1 << (mixed & 7), 1 << (mixed >> 3 & 7)
        one, two, three = number >> 3 & mask, mixed >> 18 & mask, mixed >> 40 & mask
        if young[one] & bit and young[two] & second and young[three] & third:
            return False
        old = self.old
        known = (
            old[one & (before := len(old) - 1)] & bit
            and old[two & before] & second
            and old[three & before] & third
        )
        if self.count * ENTRY > mask:
            return self._grow().add(number) and not known
        young[one] |= bit
        young[two] |= second
        young[three] |= third
        self.count += 1
        self.unsaved += 1
        return not known

    def _grow(self) -> Self:
        """Let the full younger filter replace the older one, and begin one of up to LARGEST. Return self."""
        self.old = bytes(self.young)
        self.count = 0
        self.young = bytearray(min(2 * len(self.young), LARGEST))
        return self

    def has(self, number: int) -> bool:
        """Return whether one of the filters has a number, by the same bits as `add`."""
        mixed = number * 0x9E3779B97F4A7C15
        bit, second, third = 1 << (number & 7), 1 << (mixed & 7), 1 << (mixed >> 3 & 7)
        one, two, three = number >> 3, mixed >> 18, mixed >> 40
        for bits in (self.young, self.old):
            mask = len(bits) - 1
            if bits[one & mask] & bit and bits[two & mask] & second and bits[three & mask] & third:
                return True
        return False
