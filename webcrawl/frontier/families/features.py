"""The contents of a page by which it is new, as numbers.

What a server can make up at no cost is left out: numbers, hashes, times, and the page's address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from zlib import crc32

LOOKED_AT = 64 << 10  # bytes of a page
MOST = 256  # runs of text
PLENTY = 256  # characters of numbers and hashes that are content: those of a table, not of a clock
# bytes of a run: its first ten words tell it from others, and all words of a page cost a
# millisecond
LONG = 64
TITLE_LENGTH = 256  # bytes of a page's title
# runs with other words than the title's, with which a page is no news for a new title alone
BEYOND = 3
# words of a run whose choice tells a page from others, as a table's cells do; that of sentences is
# adverts'
# With longer runs, three adverts of 120 made every empty page of a calendar a new choice: 10,000
# pages.
CELL = 3
# Kinds of parts other than runs of text
SOURCES, NUMBERS, WHOLE, OWN, TITLED = 1, 2, 3, 6, 7
# A tag that a run of text may come after, blanks, and the run
RUN = re.compile(rb"<(?!a[ >\n\t\r]|script|style|[!?])[^<>]*+>\s*+([^<]{1,%d})" % LONG)
LINE = re.compile(rb"[^\r\n]*[^\r\n\s][^\r\n]*")
SOURCE = re.compile(rb"""["']?([^"'\s>?#]+)""")  # behind `src=`
TOKEN = re.compile(rb"[0-9a-z\x80-\xff]+")
TITLE = re.compile(rb"<title[^>]*>([^<]{1,%d})" % TITLE_LENGTH)
DIGITS = b"0123456789"
# what stands for any digit, as a word that has one may be a nonce; and between two runs
DIGIT, BETWEEN = b"0", b"\0"


def _in_words(code: int) -> int:
    """Return what stands for a byte in words: all but letters and digits is a space."""
    if code in DIGITS:
        return DIGIT[0]
    is_of_word = code > 0x7F or chr(code).isalpha() or code == BETWEEN[0]
    return code if is_of_word else ord(" ")


WORDS = bytes(map(_in_words, range(256)))
# Unicode's dashes, quotation marks, spaces
QUOTED, PUNCTUATION = b"\xe2\x80", re.compile(rb"\xe2\x80[\x80-\xbf]")
ASCII = bytes(code if chr(code).isalnum() and code < 0x80 else 0x20 for code in range(256))


def words_of(values: Iterable[str]) -> set[bytes]:
    """Return the words of a URL's values, as a page would say them."""
    return {*TOKEN.findall(" ".join(values).lower().encode())}


class Features:
    """The numbers of a page's parts: its runs of text, what it embeds, its short runs together.

    Each is a crc.

    `title` is that of the title's words, if other runs say more: the runs that say no more, such as
    a heading that repeats it, are then no parts. It is None on a page that was not seen whole, as
    what is new may be further down.

    Of a run that echoes the URL there are two, in `echoing`: with these words, as others may have
    it, and without. So there are, in `own`, of one with words of the URL that no other has; without
    them it may say nothing: None.

    No loop and no expression runs over its words: either would take more than all else that is done
    for a page.
    """

    __slots__ = ("echoing", "own", "parts", "title", "whole")

    def __init__(self, body: bytes, address: set[bytes], echo: set[bytes]) -> None:
        """`address`: words of its URL.

        `echo`: those of them that many URLs of its family have, which say nothing.
        """
        lower = body[:LOOKED_AT].lower()
        is_markup = b"<" in lower[:1024]
        runs = _runs(lower) if is_markup else _lines(lower)
        said = [run for run in _words(runs) if not run <= echo]
        mine = address - echo
        is_whole = len(runs) < MOST and len(body) <= LOOKED_AT
        self.title: int | None = None
        if is_whole:
            said = self._beyond_title(said, _title(lower) - echo, mine, echo)

        number = {word: crc32(word) for word in set().union(*said)}
        value = number.__getitem__
        echoing, plain = _split(said, echo)
        own, plain = _split(plain, mine)
        self.echoing = [(_sum(run, value), _sum(run - echo, value)) for run in echoing]
        self.own = [(_sum(run, value), _rest(run - mine, value)) for run in own]
        # words in any order
        self.parts = [crc32(b"%d" % sum(map(value, words))) for words in plain]
        self.parts += [crc32(source, SOURCES) for source in _sources(lower)]
        numbers = _numbers(runs, address)
        if numbers is not None:
            self.parts.append(numbers)
        self.whole = _choice(said, echo, value)

    def _beyond_title(
        self, said: list[set[bytes]], title: set[bytes], mine: set[bytes], echo: set[bytes]
    ) -> list[set[bytes]]:
        """Note the title, and return the runs that say more than it.

        If these are too few, return all runs, and note no title.
        """
        if not title or not title.isdisjoint(mine):
            return said
        known = title | echo
        beyond = [run for run in said if not run <= known]
        if len(beyond) < BEYOND:
            return said
        self.title = _sum(title, crc32, TITLED)
        return beyond


def _split(runs: list[set[bytes]], words: set[bytes]) -> tuple[list[set[bytes]], list[set[bytes]]]:
    """Return the runs that have one of these words, and the others."""
    if not words:
        return [], runs
    having = [run for run in runs if not run.isdisjoint(words)]
    others = [run for run in runs if run.isdisjoint(words)]
    return having, others


def _rest(words: set[bytes], value: Callable[[bytes], int]) -> int | None:
    """Return the number of a run without the words of its page's URL; None if it has no others."""
    return _sum(words, value, OWN) if words else None


def _choice(runs: list[set[bytes]], echo: set[bytes], value: Callable[[bytes], int]) -> int:
    """Return the number of the words in all short runs, without those that echo the URL."""
    without_echo = [run - echo for run in runs] if echo else runs
    cells = [run for run in without_echo if len(run) <= CELL]
    return _sum(set().union(*cells), value, WHOLE)


def _sum(words: Iterable[bytes], value: Callable[[bytes], int], kind: int = 0) -> int:
    """Return the number of some words in any order; `kind`: of what they are."""
    return crc32(b"%d" % sum(map(value, words)), kind)


def _numbers(runs: Sequence[bytes], address: set[bytes]) -> int | None:
    """Return the number of all numbers and hashes on the page; None if they are not its content.

    They are if there are many of them.
    """
    text = b" ".join(runs)
    digits = len(text) - len(text.translate(None, DIGITS))
    if digits * 4 < PLENTY:
        return None
    numbers = {word for word in text.translate(ASCII).split() if not word.isalpha()} - address
    if sum(map(len, numbers)) < PLENTY:
        return None
    return crc32(b" ".join(sorted(numbers)), NUMBERS)


def _runs(lower: bytes) -> list[bytes]:
    """Return the texts after tags other than links', scripts' and styles', up to the next tag."""
    return [found[1] for found in islice(RUN.finditer(lower), MOST)]


def _lines(lower: bytes) -> list[bytes]:
    """Return the beginnings of a text's lines that are not blank."""
    return [line[:LONG] for line in LINE.findall(lower)[:MOST]]


def _words(runs: list[bytes]) -> list[set[bytes]]:
    """Return the words of each run, without those that have a digit."""
    joined = BETWEEN.join(runs)
    if QUOTED in joined:  # they are beside words, and of no word
        joined = PUNCTUATION.sub(b" ", joined)
    texts = joined.translate(WORDS).split(BETWEEN)
    # Few runs have a digit. The words of the others are not looked at one by one.
    return [
        {word for word in text.split() if DIGIT not in word} if DIGIT in text else {*text.split()}
        for text in texts
    ]


def _title(lower: bytes) -> set[bytes]:
    """Return the words of a page's title; none if it has no title."""
    found = TITLE.search(lower)
    return _words([found[1]])[0] if found is not None else set()


def _sources(lower: bytes) -> list[bytes]:
    """Return the addresses of what a page embeds."""
    found = map(SOURCE.match, lower.split(b" src=", MOST)[1:])
    return [one[1] for one in found if one is not None]
