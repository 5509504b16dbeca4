"""A bounded memory of what a domain's pages have had: two Bloom filters, of which the older is forgotten in time."""

from __future__ import annotations

BITS = 1 << 17  # of one filter: 16 KiB
MANY = 8192  # entries of one filter: then a further one is taken for known once in two hundred times
MASK = BITS - 1


class Memory:
    """Remembers at least the last MANY numbers of 32 bits that were added, and at most twice as many."""

    __slots__ = ("count", "old", "young")

    def __init__(self) -> None:
        self.young, self.old, self.count = bytearray(BITS >> 3), bytes(BITS >> 3), 0

    def add(self, number: int) -> bool:
        """Adds a number; returns whether it was not in it."""
        mixed = number * 0x9E3779B97F4A7C15
        places = (number & MASK, mixed >> 15 & MASK, mixed >> 40 & MASK)
        young, old = self.young, self.old
        new = known = 0
        for place in places:
            byte, bit = place >> 3, 1 << (place & 7)
            new += not young[byte] & bit
            known += old[byte] & bit > 0
        if not new:
            return False
        if self.count >= MANY:
            self.old, self.count = bytes(young), 0
            young = self.young = bytearray(BITS >> 3)
        for place in places:
            young[place >> 3] |= 1 << (place & 7)
        self.count += 1
        return known < len(places)
