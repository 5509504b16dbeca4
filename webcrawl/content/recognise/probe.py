"""The page of a host for a URL that cannot exist, by which its soft 404s are recognised."""

from __future__ import annotations

import struct
from typing import NamedTuple, Self
from urllib.parse import unquote
from zlib import crc32

from webcrawl.content.near_duplicates import fingerprint

# Bits in which near-duplicates differ at most. Pages of one template with little text of their own
# differ in as few: their titles tell them apart
NEAR = 3
NAME = 4  # characters, at least, of a word of the URL that is taken out of the text
# 15 bytes in the record of a host
FORM = struct.Struct(">?IQBB")
# Pages that are compared before anything follows. If most look like the probe, the host has one
# page for everything
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
        """Return the probe of a page by what a browser without scripts shows."""
        words = _words_of(url)
        title, text = _without(words, title), _without(words, text)
        found = fingerprint(text)
        return cls(found is not None, _sum(title), _sum(text) if found is None else found)

    def is_like(self, other: Self) -> bool:
        """Return whether both have the same title, and texts that are near-duplicates.

        Short texts must be the same.
        """
        if self.title != other.title or self.long != other.long:
            return False
        if not self.long:
            return self.text == other.text
        return (self.text ^ other.text).bit_count() <= NEAR

    @property
    def is_tried(self) -> bool:
        return self.compared >= TRIAL

    @property
    def is_believed(self) -> bool:
        """Return whether the probe tells errors from pages: not if most pages look like it."""
        return self.alike * 2 <= self.compared

    def after(self, *, alike: bool) -> Self:
        """Return the probe after one more page was compared with it."""
        return self._replace(compared=self.compared + 1, alike=self.alike + alike)

    def pack(self) -> bytes:
        return FORM.pack(*self)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Return the probe that was packed. Raise ValueError for other bytes."""
        try:
            return cls(*FORM.unpack(data))
        except struct.error as error:
            raise ValueError(str(error)) from error


def _words_of(url: str) -> list[str]:
    """Return the parts of its URL that a page may repeat, the longest first."""
    path = url[url.find("/", url.find("//") + 2) :]
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    written = {url, path, last, last.partition(".")[0]}
    words = [word for word in written | set(map(unquote, written)) if len(word) > NAME]
    return sorted(words, key=len, reverse=True)


def _without(words: list[str], text: str) -> str:
    for word in words:
        text = text.replace(word, " ")
    return text


def _sum(text: str) -> int:
    return crc32(" ".join(text.split()).encode(errors="replace"))
