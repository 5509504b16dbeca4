"""What a page says, without what a server can make up at no cost: numbers, hashes, times, and its own address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from zlib import crc32

LOOKED_AT = 64 << 10  # bytes of a page
MOST = 256  # runs of text
PLENTY = 256  # characters of numbers and hashes that are content: those of a table, not of a clock
# Text after a tag other than a link's, a script's or a style's, up to the next tag
RUN = re.compile(rb"<(?!a[\s>]|script|style)/?[a-zA-Z][^<>]*>([^<>]*[^<>\s][^<>]*)")
LINE = re.compile(rb"[^\r\n]*[^\r\n\s][^\r\n]*")
SOURCE = re.compile(rb"""\ssrc\s*=\s*["']?([^"'\s>?#]+)""", re.IGNORECASE)
TOKEN = re.compile(rb"[0-9A-Za-z\x80-\xff]+")
NUMBER = re.compile(rb"[0-9]|^[a-f]{6,}$|[a-z][A-Z]")  # what a token has that is a number, a hash, or a nonce
WORD = re.compile(rb"[^\W\d_]+|[\x80-\xff]+", re.IGNORECASE)


def words_of(values: Iterable[str]) -> set[bytes]:
    """The words of a URL's values, as a page would say them."""
    return {word.lower() for word in TOKEN.findall(" ".join(values).encode())}


class Features:
    """The numbers of a page's parts, each a crc: of its runs of text, of what it embeds, and of all words together."""

    __slots__ = ("parts", "whole")

    def __init__(self, body: bytes, address: set[bytes], echo: set[bytes]) -> None:
        """`address`: words of its URL; `echo`: those that many URLs of its family have, which say nothing."""
        body = body[:LOOKED_AT]
        runs: Sequence[bytes] = RUN.findall(body) if b"<" in body[:1024] else LINE.findall(body)
        parts, numbers, all_words = [], set[bytes](), set[bytes]()
        for run in runs[:MOST]:
            words = set()
            for token in TOKEN.findall(run):
                lower = token.lower()
                if NUMBER.search(token):
                    if lower not in address:
                        numbers.add(token)
                elif lower not in echo:
                    words.add(lower)
            if words:
                all_words |= words
                parts.append(crc32(b" ".join(sorted(words))))
        parts += [crc32(source, 1) for source in SOURCE.findall(body)[:MOST]]
        if sum(map(len, numbers)) >= PLENTY:
            parts.append(crc32(b" ".join(sorted(numbers)), 2))
        self.parts = parts
        self.whole = crc32(b" ".join(sorted(all_words)), 3)
