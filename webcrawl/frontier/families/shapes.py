"""The families that a URL belongs to: by its path with the varying positions masked, and by its parameters' names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import compress
from typing import NamedTuple
from zlib import crc32

VARIES = re.compile(r"[0-9%=,;:@]|^.{25}|(?:-[^-]*){3}")  # a segment that is one of many, as far as one can see
ENDING = re.compile(r"\.[A-Za-z]{1,5}$")  # of a file's name
DIGITS = re.compile(r"[0-9]+")
NUMBERED = re.compile(r"(?:[^0-9]*[-_])?[0-9]{1,8}(?:[-_.].*)?")
MATRIX = re.compile(r";(?=[A-Za-z_][\w.-]*=)")
LISTED = re.compile(r"[+,;|~!:]|%2[0BC]|%7C|%3B")  # between the parts of a value that is a list
BETWEEN = re.compile(r"[^0-9A-Za-z\x80-\U0010ffff]+")  # between those of any other
MASK = "*"
LEVELS = 4
CLOSE, WIDE = range(2)  # of them: the closest, and all that has the same first segment

Families = tuple[int, int, int, int]


class Folder(NamedTuple):
    """What comes before the last segment of a path. It is the same for many URLs."""

    host: str
    segments: tuple[str, ...]
    masked: tuple[str, ...]  # the same with masks
    values: tuple[str, ...]  # those that are masked


class UrlShape(NamedTuple):
    """Families, from the closest to the widest, each as a number, and what varies in the closest.

    The closest has the URL's host, its path with masks, and its parameters' names; the next all that has the same
    first segment, the third all of the same depth, the widest the whole domain.
    """

    families: Families
    values: tuple[str, ...]
    folder: Folder
    last: tuple[str, ...]  # segments: the last one, and an empty one if a slash follows it
    tail: str  # the same with masks
    asked: tuple[str, ...]  # of the values, those of parameters
    form: str  # the ending and the parameters' names, that the closest has as well

    @property
    def name(self) -> str:
        """The host's name, without the last two labels."""
        name = ".".join(self.folder.host.split(".")[:-2])
        return "" if name == "www" else name

    @property
    def all(self) -> tuple[str, ...]:
        """The values, and what does not vary."""
        return (*filter(None, (self.name,)), *self.folder.segments, *self.last, *self.asked)

    @property
    def is_numbered(self) -> bool:
        """Whether small numbers tell its URLs apart: then they are as many as the numbers, and not without end."""
        return all(NUMBERED.fullmatch(value) for value in self.values or filter(None, (self.name,)))

    def masked(self, varying: Collection[str]) -> int:
        """Return the closest family if these segments vary, too."""
        segments = [*self.folder.masked, *self.tail.split("/")]
        return _close(self.folder.host, [MASK if segment in varying else segment for segment in segments], self.form)


def parts_of(value: str) -> tuple[list[str], bool]:
    """The parts of a value that has several, such as `red+wide` or `12-45-77`, and whether it is a list of them."""
    listed = LISTED.search(value) is not None
    parts = [part for part in (LISTED if listed else BETWEEN).split(value) if part]
    return (parts, listed) if len(parts) > 1 else ([], False)


@lru_cache(maxsize=1024)  # a URL is looked at as a link, when its turn has come, and when it is answered
def shape_of(url: str) -> UrlShape:
    """The families of a canonical URL; those but the closest are of all hosts of its domain."""
    head, _, query = url.partition("?")
    parameters = query.split("&") if query else []
    if ";" in head:  # `/list;colour=red;size=3`: parameters in the path (RFC 3986 3.3) choose as a query's do
        head, matrix = _without_matrix(head)
        parameters += matrix
    start, _, name = head.removesuffix("/").rpartition("/")
    if start.count("/") < 2:  # the path is only a slash
        start, last, tail, ending, varies = head.removesuffix("/"), [""], "", "", False
    else:
        found = ENDING.search(name)
        ending = found[0] if found is not None else ""
        varies = not parameters or VARIES.search(name) is not None
        last, tail = [name], MASK if varies else name
        if head.endswith("/"):
            last, tail = [name, ""], f"{tail}/"
    names, asked = [], []
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        names.append(DIGITS.sub("0", name))
        asked.append(value or name)
    form = f"{ending}?{'&'.join(sorted({*names}))}"
    folder = _folder(start)
    families = _families(folder.host, folder.masked, tail, form, asks=bool(parameters))
    values = (*folder.values, last[0], *asked) if varies else (*folder.values, *asked)
    return UrlShape(families, values, folder, (*last,), tail, (*asked,), form)


def _without_matrix(head: str) -> tuple[str, list[str]]:
    """A URL without the parameters in its path, and these."""
    *host, path = head.split("/", 3)
    segments = []
    parameters: list[str] = []
    for segment in path.split("/"):
        kept, *matrix = MATRIX.split(segment)
        segments.append(kept)
        parameters += matrix
    return "/".join([*host, *segments]), parameters


@lru_cache(maxsize=1024)
def _folder(start: str) -> Folder:
    _, _, host, *segments = start.split("/")
    varying = [VARIES.search(segment) is not None for segment in segments]
    masked = [MASK if varies else segment for segment, varies in zip(segments, varying, strict=True)]
    return Folder(host, (*segments,), (*masked,), (*compress(segments, varying),))


@lru_cache(maxsize=1024)
def _families(host: str, folder: tuple[str, ...], tail: str, form: str, *, asks: bool) -> Families:
    masked = [*folder, *tail.split("/")]
    is_deep = len(masked) - (not masked[-1]) > 1
    close = _close(host, masked, form)
    wide = crc32(f"{masked[0] if is_deep or asks else MASK}/{'?' if asks else ''}".encode())
    deep = crc32(f"{len(masked)}{MASK if masked[-1] else '/'}{form}".encode(), 1)
    return close, wide, deep, 0


def _close(host: str, masked: Sequence[str], form: str) -> int:
    return crc32(f"{host}/{'/'.join(masked)}{form}".encode())
