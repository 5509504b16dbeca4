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
        """Adds a number; returns whether it was not in it. Without a loop: it is called a hundred times per page."""
        mixed, young = number * 0x9E3779B97F4A7C15, self.young
        one, two, three = number & MASK, mixed >> 15 & MASK, mixed >> 40 & MASK
        bit, second, third = 1 << (one & 7), 1 << (two & 7), 1 << (three & 7)
        one, two, three = one >> 3, two >> 3, three >> 3
        if young[one] & bit and young[two] & second and young[three] & third:
            return False
        old = self.old
        known = old[one] & bit and old[two] & second and old[three] & third
        if self.count >= MANY:
            self.old, self.count = bytes(young), 0
            young = self.young = bytearray(BITS >> 3)
        young[one] |= bit
        young[two] |= second
        young[three] |= third
        self.count += 1
        return not known
