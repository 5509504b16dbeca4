"""The families of a URL: by its path with varying positions masked, and by parameters' names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

# a segment that is one of many, as far as its form shows: it has a digit or such a sign, is long, or
# has three hyphens, as titles do
VARIES = re.compile(r"[0-9%=,;:@]|^.{25}|(?:-[^-]*){3}")
ENDING = re.compile(r"\.[A-Za-z]{1,5}$")  # of a file's name
DIGITS = re.compile(r"[0-9]+")
NUMBERED = re.compile(r"(?:[^0-9]*[-_])?[0-9]{1,8}(?:[-_.].*)?")
MATRIX = re.compile(r";(?=[A-Za-z_][\w.-]*=)")
LISTED = re.compile(r"[+,;|~!:]|%2[0BC]|%7C|%3B")  # between the parts of a value that is a list
BETWEEN = re.compile(r"[^0-9A-Za-z\x80-\U0010ffff]+")  # between those of any other
MASK = "*"
# Of the families of a URL: the closest, and all that has the same first segment
CLOSE, WIDE = range(2)

FamilyNumbers = tuple[int, int, int, int]  # of a URL's families, from the closest to the widest


class UrlShape(NamedTuple):
    """Families, from the closest to the widest, each as a number, and what varies in the closest.

    The closest has the URL's host, its path with masks, and its parameters' names; the next all
    that has the same first segment, the third all of the same depth, the widest the whole domain.
    """

    families: FamilyNumbers
    values: tuple[str, ...]  # what is masked in the path, and the parameters' values
    all: tuple[str, ...]  # the name, all segments, masked or not, and the parameters' values
    name: str  # the host's, without the last two labels
    path: tuple[str, ...]  # the host, and the segments with masks
    form: str  # the file's ending and the parameters' names: a part of the closest family

    @property
    def is_numbered(self) -> bool:
        """Return whether small numbers tell its URLs apart.

        Then they are as many as the numbers, and not without end.
        """
        return all(NUMBERED.fullmatch(value) for value in self.values or filter(None, (self.name,)))

    def masked(self, varying: Collection[str]) -> int:
        """Return the closest family if these segments vary, too."""
        host, *segments = self.path
        return _closest_family(
            host, [MASK if segment in varying else segment for segment in segments], self.form
        )


def parts_of(value: str) -> tuple[list[str], bool]:
    """Return the parts of a value that has several, such as `red+wide` or `12-45-77`, and whether
    it is a list of them.
    """
    listed = LISTED.search(value) is not None
    parts = [part for part in (LISTED if listed else BETWEEN).split(value) if part]
    return (parts, listed) if len(parts) > 1 else ([], False)


# a URL is looked at as a link, when its turn has come, and when it is answered
@lru_cache(maxsize=1024)
def shape_of(url: str) -> UrlShape:
    """Return the families of a canonical URL.

    All but the closest are those of all hosts of its domain. The last file or folder of a path
    varies, unless there are parameters, and any other segment that looks like one of many.
    """
    head, _, query = url.partition("?")
    _, _, host, *segments = head.split("/")
    values: list[str] = []
    parameters = query.split("&") if query else []
    # `/list;colour=red;size=3`: parameters in the path (RFC 3986 3.3) choose as a query's do
    if ";" in head:
        for at, segment in enumerate(segments):
            segments[at], *matrix = MATRIX.split(segment)
            parameters += matrix
    segments = segments or [""]
    # The last segment with a name: behind a folder's slash is an empty one. -1: there is only that.
    last = len(segments) - 1 - (not segments[-1])
    ending = ENDING.search(segments[last]) if last >= 0 else None
    masked = []
    for at, segment in enumerate(segments):
        if (at == last and not parameters) or VARIES.search(segment):
            values.append(segment)
            masked.append(MASK)
        else:
            masked.append(segment)
    names = []
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        names.append(DIGITS.sub("0", name))  # `item[1]` and `item[2]` are the same parameter
        values.append(value or name)
    sorted_names = "&".join(sorted({*names}))
    extension = ending[0] if ending is not None else ""
    form = f"{extension}?{sorted_names}"
    close = _closest_family(host, masked, form)
    folder = masked[0] if last > 0 or parameters else MASK
    query_mark = "?" if parameters else ""
    wide = crc32(f"{folder}/{query_mark}".encode())
    end = MASK if segments[-1] else "/"
    deep = crc32(f"{len(segments)}{end}{form}".encode(), 1)  # 1: a crc apart from the others
    name = ".".join(host.split(".")[:-2])
    name = "" if name == "www" else name
    values_of_parameters = values[len(values) - len(names) :]
    path = (host, *masked)
    return UrlShape(
        (close, wide, deep, 0),  # 0: the whole domain
        tuple(values),
        (*filter(None, (name,)), *segments, *values_of_parameters),
        name,
        path,
        form,
    )


def _closest_family(host: str, masked: Sequence[str], form: str) -> int:
    """Return the number of the family of these segments with masks, and of this form."""
    return crc32(f"{host}/{'/'.join(masked)}{form}".encode())
