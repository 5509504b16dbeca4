"""Finds pages whose text is new to their site, links aside: pages of many traps differ only in their addresses."""

from __future__ import annotations

import re
from array import array

LEAST = 40  # bytes of a sentence; what is shorter is a title, a number, a date
LOOKED_AT = 32 << 10  # bytes of a page
MOST = 64  # sentences of a page
# What follows a tag other than a link's, a script's or a style's, up to the next tag
RUN = re.compile(rb"<(?!a[\s>]|script|style|title)/?[a-zA-Z][^<>]*>\s*([^<>]{%d,})" % LEAST)


class Texts:
    """Remembers sentences by Python's hashes, in one array: of all sites together, as many as it has places."""

    def __init__(self, memory: int) -> None:
        places = 1 << max(4, memory // 8).bit_length() - 1
        self._places, self._mask = array("q", (0,)) * places, places - 1

    def new(self, site: str, body: bytes) -> bool:
        """True if a sentence of this page was not remembered for the site, or it has none; remembers them."""
        found = RUN.findall(body[:LOOKED_AT])[:MOST]
        places, mask, new = self._places, self._mask, not found
        for text in found:
            number = hash((site, text))
            if places[number & mask] != number:
                places[number & mask] = number
                new = True
        return new
