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
# characters of numbers and hashes from which on they are content: a table has as many, a clock not
MIN_NUMBER_CHARS = 256
# bytes of a run: its first ten words tell it from others, and all words of a page cost a
# millisecond
RUN_BYTES = 64
TITLE_LENGTH = 256  # bytes of a page's title
# With so many runs that say more than its title, a page is no news for a new title alone.
MIN_RUNS_BEYOND_TITLE = 3
# Words of a run at most that is like a table's cell: which of them a page has tells it from others.
# Which sentences it has does not: they may be adverts.
# With longer runs, three adverts of 120 made every empty page of a calendar a new choice: 10,000
# pages.
MAX_CELL_WORDS = 3
# Kinds of parts other than runs of text: seeds of the crc, so that equal words of two kinds have
# different numbers
SOURCES, NUMBERS, WHOLE, OWN, TITLED = 1, 2, 3, 6, 7
# A tag that a run of text may come after, blanks, and the run
RUN = re.compile(rb"<(?!a[ >\n\t\r]|script|style|[!?])[^<>]*+>\s*+([^<]{1,%d})" % RUN_BYTES)
LINE = re.compile(rb"[^\r\n]*[^\r\n\s][^\r\n]*")
SOURCE = re.compile(rb"""["']?([^"'\s>?#]+)""")  # behind `src=`
TOKEN = re.compile(rb"[0-9a-z\x80-\xff]+")
TITLE = re.compile(rb"<title[^>]*>([^<]{1,%d})" % TITLE_LENGTH)
DIGITS = b"0123456789"
# DIGIT stands for any digit, as a word that has one may be made up anew for each page. BETWEEN is
# between two runs.
DIGIT, BETWEEN = b"0", b"\0"


def _in_words(code: int) -> int:
    """Return what stands for a byte in words: all but letters and digits is a space."""
    if code in DIGITS:
        return DIGIT[0]
    is_of_word = code > 0x7F or chr(code).isalpha() or code == BETWEEN[0]
    return code if is_of_word else ord(" ")


WORDS = bytes(map(_in_words, range(256)))  # a table for bytes.translate; so is ASCII
# Unicode's dashes, quotation marks, spaces: the two bytes with which they begin, and all of them
QUOTED, PUNCTUATION = b"\xe2\x80", re.compile(rb"\xe2\x80[\x80-\xbf]")
ASCII = bytes(code if chr(code).isalnum() and code < 0x80 else 0x20 for code in range(256))


def words_of(values: Iterable[str]) -> set[bytes]:
    """Return the words of a URL's values, as a page would say them."""
    return {*TOKEN.findall(" ".join(values).lower().encode())}


class Features:
    """The numbers of a page's parts: its runs of text, what it embeds, its short runs together.

    Each is a crc. A run is the text between two tags, as the set of its words.

    `parts` are the runs without a word of the page's URL, what the page embeds, and its numbers if
    they are content. `whole` is of all its short runs together.

    `title` is that of the title's words, if other runs say more: the runs that say no more, such as
    a heading that repeats it, are then no parts. It is None on a page that was not seen whole, as
    what is new may be further down.

    `echoing` has two numbers for each run with words that many URLs of the family have: with these
    words, as other pages may have the run, and without. `own` has the same for each run with words
    that only this page's URL has; without them nothing may be left, which is None.

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
        # A run of nothing but echoing words says nothing, nor does an empty one.
        said = [run for run in _words(runs) if not run <= echo]
        mine = address - echo  # the words that only this URL has
        is_whole = len(runs) < MOST and len(body) <= LOOKED_AT
        self.title: int | None = None
        if is_whole:
            said = self._beyond_title(said, _title(lower) - echo, mine, echo)

        # The crc of each word is computed once, however many runs have it.
        number = {word: crc32(word) for word in set().union(*said)}
        value = number.__getitem__
        echoing, plain = _split(said, echo)
        own, plain = _split(plain, mine)
        self.echoing = [(_sum(run, value), _sum(run - echo, value)) for run in echoing]
        self.own = [(_sum(run, value), _without_address(run - mine, value)) for run in own]
        # as in `_sum`, without its call: the same words in another order are the same run
        self.parts = [crc32(b"%d" % sum(map(value, words))) for words in plain]
        self.parts += [crc32(source, SOURCES) for source in _sources(lower)]
        numbers = _numbers(runs, address)
        if numbers is not None:
            self.parts.append(numbers)
        self.whole = _words_of_cells(said, echo, value)

    def _beyond_title(
        self, said: list[set[bytes]], title: set[bytes], mine: set[bytes], echo: set[bytes]
    ) -> list[set[bytes]]:
        """Note the title, and return the runs that say more than it.

        Return all runs, and note no title, if these are too few, or if the title has words that
        only this page's URL has: then it is new on each page.
        """
        if not title or not title.isdisjoint(mine):
            return said
        known = title | echo
        beyond = [run for run in said if not run <= known]
        if len(beyond) < MIN_RUNS_BEYOND_TITLE:
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


def _without_address(words: set[bytes], value: Callable[[bytes], int]) -> int | None:
    """Return the number of a run without the words of its page's URL; None if it has no others."""
    return _sum(words, value, OWN) if words else None


def _words_of_cells(runs: list[set[bytes]], echo: set[bytes], value: Callable[[bytes], int]) -> int:
    """Return the number of the words in all short runs, without those that echo the URL."""
    without_echo = [run - echo for run in runs] if echo else runs
    cells = [run for run in without_echo if len(run) <= MAX_CELL_WORDS]
    return _sum(set().union(*cells), value, WHOLE)


def _sum(words: Iterable[bytes], value: Callable[[bytes], int], kind: int = 0) -> int:
    """Return one number for these words, the same in any order. `value` gives a word's own.

    `kind` keeps words of different kinds of parts apart.
    """
    return crc32(b"%d" % sum(map(value, words)), kind)


def _numbers(runs: Sequence[bytes], address: set[bytes]) -> int | None:
    """Return the number of all numbers and hashes on the page; None if they are not its content.

    They are if there are many of them. Those of the page's URL (`address`) do not count.
    """
    text = b" ".join(runs)
    digits = len(text) - len(text.translate(None, DIGITS))
    # Most pages end here: too few digits, even if only each fourth character were one.
    if digits * 4 < MIN_NUMBER_CHARS:
        return None
    numbers = {word for word in text.translate(ASCII).split() if not word.isalpha()} - address
    if sum(map(len, numbers)) < MIN_NUMBER_CHARS:
        return None
    return crc32(b" ".join(sorted(numbers)), NUMBERS)


def _runs(lower: bytes) -> list[bytes]:
    """Return the texts after tags other than links', scripts' and styles', up to the next tag."""
    return [found[1] for found in islice(RUN.finditer(lower), MOST)]


def _lines(lower: bytes) -> list[bytes]:
    """Return the beginnings of a text's lines that are not blank."""
    return [line[:RUN_BYTES] for line in LINE.findall(lower)[:MOST]]


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
