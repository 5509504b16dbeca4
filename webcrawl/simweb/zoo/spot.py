"""A place in an endless trap, and what a page there shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import shake_128
from struct import Struct

from webcrawl.simweb.words import WORDS

_DICE = Struct("<96Q")


@dataclass(frozen=True)
class Spot:
    """A request to a trap. Everything on the page follows from these values."""

    seed: int
    name: str  # of the host, as requested
    domain: str  # of the trap
    port: str  # of the host's URLs, with its colon; "" for the usual one
    path: str  # and query

    @cached_property
    def dice(self) -> tuple[int, ...]:
        """96 random 64-bit numbers that belong to this page."""
        key = f"{self.seed} {self.name} {self.path}".encode()
        return _DICE.unpack(shake_128(key).digest(_DICE.size))

    def word(self, number: int) -> str:
        """One of the usual words, chosen by the number of a die."""
        return WORDS[self.dice[number] >> 20 & 127]


@dataclass(frozen=True, slots=True)
class Show:
    """What a page of a trap shows. Pages of a trap with the same `topic` have the same text."""

    title: str
    hrefs: list[str]
    topic: str
    plain: bool = False  # a text file, without links
