"""What a page says, without what a server can make up at no cost: numbers, hashes, times, and its own address."""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

LOOKED_AT = 64 << 10  # bytes of a page
MOST = 256  # runs of text
PLENTY = 256  # characters of numbers and hashes that are content: those of a table, not of a clock
LONG = 256  # bytes of a run: how it begins tells it from others, and all words of a page would cost a millisecond
# What a tag begins with whose text is no run
NO_TEXT = (b"a ", b"a\n", b"a\t", b"a\r", b"script", b"style", b"!", b"?")
LINE = re.compile(rb"[^\r\n]*[^\r\n\s][^\r\n]*")
SOURCE = re.compile(rb"""["']?([^"'\s>?#]+)""")  # behind `src=`
TOKEN = re.compile(rb"[0-9a-z\x80-\xff]+")
WORD = re.compile(rb"(?<![0-9a-z\x80-\xff])[a-z\x80-\xff]+(?![0-9a-z\x80-\xff])")  # with a digit it may be a nonce
NUMBER = re.compile(rb"(?<![0-9a-z])(?=[a-z]{0,40}[0-9])[0-9a-z]+")


def words_of(values: Iterable[str]) -> set[bytes]:
    """The words of a URL's values, as a page would say them."""
    return {*TOKEN.findall(" ".join(values).lower().encode())}


class Features:
    """The numbers of a page's parts, each a crc: of its runs of text, of what it embeds, and of all words together.

    All tokens are found by expressions: a loop over them would take more than all else that is done for a page.
    """

    __slots__ = ("parts", "whole")

    def __init__(self, body: bytes, address: set[bytes], echo: set[bytes]) -> None:
        """`address`: words of its URL; `echo`: those that many URLs of its family have, which say nothing."""
        lower = body[:LOOKED_AT].lower()
        runs = _runs(lower) if b"<" in lower[:1024] else [line[:LONG] for line in LINE.findall(lower)[:MOST]]
        said = [words for run in runs if (words := {*WORD.findall(run)} - echo)]
        parts = [crc32(b" ".join(sorted(words))) for words in said]
        parts += [crc32(source, 1) for source in _sources(lower)]
        text = b" ".join(runs)
        digits = len(text) - len(text.translate(None, b"0123456789"))
        numbers = {*NUMBER.findall(text)} - address if digits * 4 >= PLENTY else ()
        if sum(map(len, numbers)) >= PLENTY:
            parts.append(crc32(b" ".join(sorted(numbers)), 2))
        self.parts = parts
        self.whole = crc32(b" ".join(sorted(set().union(*said))), 3)


def _runs(lower: bytes) -> list[bytes]:
    """The texts after tags other than links', scripts' and styles', up to the next tag."""
    runs = []
    for piece in lower.split(b"<")[1:]:
        tag, _, text = piece.partition(b">")
        if text and not text.isspace() and tag != b"a" and not tag.startswith(NO_TEXT):
            runs.append(text[:LONG])
            if len(runs) == MOST:
                break
    return runs


def _sources(lower: bytes) -> list[bytes]:
    """The addresses of what a page embeds."""
    found = map(SOURCE.match, lower.split(b" src=", MOST)[1:])
    return [one[1] for one in found if one is not None]
