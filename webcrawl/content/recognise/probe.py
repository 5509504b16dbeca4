"""What a host shows for a URL that cannot exist, as far as it takes to know that again on other
pages.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, Self
from urllib.parse import unquote
from zlib import crc32

from webcrawl.content.near_duplicates import fingerprint

NEAR = 3  # bits in which near-duplicates differ at most
NAME = 4  # characters that a word of a URL has at least if a page repeats it
FORM = struct.Struct(">?IQBB")
# pages that are compared before anything follows; if most are like it, the host has one page for
# everything
TRIAL = 16


class Probe(NamedTuple):
    """Title and text, without the words of the URL, which such pages repeat."""

    long: bool  # the text is long enough for a fingerprint
    title: int  # a checksum
    text: int  # its fingerprint, or a checksum
    compared: int = 0  # pages of the host since, TRIAL at most,
    alike: int = 0  # and those that look like it

    @classmethod
    def of(cls, url: str, title: str, text: str) -> Self:
        """The knowledge of a page by what a browser without scripts shows."""
        words = _words_of(url)
        title, text = _without(words, title), _without(words, text)
        found = fingerprint(text)
        return cls(found is not None, _sum(title), _sum(text) if found is None else found)

    def is_like(self, other: Self) -> bool:
        """True if both have one title, and texts that are near-duplicates or, if short, the same.

        Pages of one template that say little more are told apart by their titles.
        """
        if self.title != other.title or self.long != other.long:
            return False
        return (
            (self.text ^ other.text).bit_count() <= NEAR if self.long else self.text == other.text
        )

    @property
    def is_tried(self) -> bool:
        return self.compared >= TRIAL

    @property
    def is_believed(self) -> bool:
        """False if most pages look like it: then it tells nothing of any."""
        return self.alike * 2 <= self.compared

    def after(self, *, alike: bool) -> Self:
        """The same, with one more page that was compared."""
        return self._replace(compared=self.compared + 1, alike=self.alike + alike)

    def pack(self) -> bytes:
        return FORM.pack(*self)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """ValueError if these are other bytes."""
        try:
            return cls(*FORM.unpack(data))
        except struct.error as error:
            raise ValueError(str(error)) from error


def _words_of(url: str) -> list[str]:
    """What a page may repeat of its URL, the longest first."""
    path = url[url.find("/", url.find("//") + 2) :]
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    found = {url, path, last, last.partition(".")[0]}
    return sorted(
        (word for one in found | set(map(unquote, found)) if len(word := one) > NAME),
        key=len,
        reverse=True,
    )


def _without(words: list[str], text: str) -> str:
    for word in words:
        text = text.replace(word, " ")
    return text


def _sum(text: str) -> int:
    return crc32(" ".join(text.split()).encode(errors="replace"))
