"""A line of an archive's index, CDXJ: one per record that can be replayed.

It is written by this crawler or another program:

`com,example)/a 20260102030405 {"url": ..., "mime": ..., "status": ..., "digest": ..., "length":
..., "offset": ..., "filename": ...}`, as cdxj-indexer writes and pywb and OutbackCDX read it
(docs/archive.md). A later crawl reads CDX as well, which is older.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from pathlib import PurePath
from typing import Any, NamedTuple

from siphashc import siphash

from webcrawl.base.digest import labelled, normal
from webcrawl.base.surt import surt
from webcrawl.base.url_text import visible

ARCHIVE, INDEX = ".warc.gz", ".cdxj"
INDEX_ENDINGS = (INDEX, ".cdx", f"{INDEX}.gz", ".cdx.gz")  # of indexes, whoever has made them
INDEXED = frozenset(("response", "revisit", "resource", "conversion"))  # records that have a line
SHAPE = re.compile(rb"([!-~]+) (\d{14}) (\{[ -~]*\})\n")
NAMES = ("url", "digest", "length", "offset", "filename")
_END = re.compile(r"[;\s]")  # of a media type
MOST = 1 << 62  # bytes of a file: beyond it no offset is one
DIGITS = 3  # of a status
REVISIT = "warc/revisit"
NOT_MODIFIED = 304
_LINE = re.compile(rb"([^ ]+) (\d{14})\d{0,3} (\{.*\})\s*", re.DOTALL)
# Of CDX, in columns: key, stamp, URL, type, status, digest; of 9 and 10 the last two are offset and
# file, of 11 and more the tenth and eleventh. Servers' answers may have fewer.
_CDX = re.compile(rb"(\S+) (\d{14})\d{0,3} ([^\s{]\S*(?: \S+){3,11})\s*")
OTHER_COLUMNS = re.compile(rb" ?CDX (?!N b a m s k\b)")  # the first line of a file with others
# The keys of SipHash: its result need not be secret, because what it leads to is compared with what
# was looked for.
_OF_URL, _OF_DIGEST = b"since webcrawl u", b"since webcrawl d"


class BadLine(ValueError):  # noqa: N818 - reads as what it is
    """Bytes that are no line of such a file."""


# -- writing


def begin(address: str, date: str) -> str:
    """Return the beginning of a line; `date` as WARC fields have it."""
    return f'{surt(address)} {stamp(date)} {{"url": {quoted(address)}, '


def stamp(date: str) -> str:
    """Return the 14 digits of a date as WARC fields have it."""
    return date[:4] + date[5:7] + date[8:10] + date[11:13] + date[14:16] + date[17:19]


def date_of(stamp: str) -> str:
    """Return the date as WARC fields have it, of 14 digits."""
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[8:10]}:{stamp[10:12]}:{stamp[12:14]}Z"


def method(request: bytes) -> str:
    """Return the method of another request than GET, as pywb names it.

    Its answer is not the page of the URL.
    """
    word = request.partition(b" ")[0]
    return f'"method": {quoted(word.decode("latin-1"))}, ' if word else ""


RECOGNISED = '"recognised": '


def recognised(what: str) -> str:
    """Return the field for the kind of an answer that is not the page of the URL."""
    return f"{RECOGNISED}{quoted(what)}, "


TRUNCATED = '"truncated": "'


def truncated(why: str) -> str:
    """Return the field for the reason why a body is truncated, in WARC's words."""
    return f'{TRUNCATED}{why}", '


@lru_cache(256)  # few are common
def mime(written: str) -> str:
    """Return the field for a media type as a server has written it; empty if it names none."""
    kind = _END.split(written, maxsplit=1)[0]
    return f'"mime": {quoted(kind)}, ' if kind else ""


def place(digest: str, length: int, offset: int) -> str:
    """Return the fields for a record's digest, and its bytes and offset in the archive file."""
    return f'"digest": "{digest}", "length": "{length}", "offset": "{offset}", '


def end(archive: str) -> str:
    """Return the end of a line, with the name of its archive file."""
    return f'"filename": "{archive}"}}\n'


def index_of(archive: str) -> str:
    """Return the path of an archive file's index, beside it; both may end in `.open`."""
    return INDEX.join(archive.rsplit(ARCHIVE, 1))


def archive_of(index: str) -> str:
    """Return the name of the archive file that has this index."""
    return ARCHIVE.join(index.rsplit(INDEX, 1))


# -- reading


class IndexLine(NamedTuple):
    """One record, and where it lies."""

    key: str
    url: str
    stamp: str  # 14 digits: when the download began
    status: int  # 0 if the record has none
    mime: str
    digest: str
    file: str  # the name of the archive file
    offset: int
    length: int

    @property
    def date(self) -> str:
        """Return the stamp as WARC-Date has it."""
        return date_of(self.stamp)

    def in_file(self, name: str) -> IndexLine:
        """Return a copy for an archive file that has another name now."""
        return self._replace(file=name)

    @property
    def is_revisit(self) -> bool:
        """Return whether its record refers to another one for its payload."""
        return self.mime.lower() == REVISIT


def read(data: bytes) -> IndexLine:
    """Return the fields of a line of CDXJ, of this crawler or another. Raise BadLine for anything
    else.
    """
    key, when, values = _parsed(data)
    try:
        status = str(values.get("status", ""))
        url = values["url"]
        name = PurePath(values["filename"]).name
        offset = int(values["offset"])
        length = int(values["length"])
        code = int(status) if status.isdecimal() else 0
        is_named = isinstance(url, str) and bool(url.encode()) and _is_file_name(name)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise BadLine(f"not a line of an index: {data[:60]!r}") from error
    if not is_named or not 0 <= offset < MOST or not 0 <= length < MOST:
        raise BadLine(f"not a line of an index: {data[:60]!r}")
    mime, digest = str(values.get("mime", "")), str(values.get("digest", ""))
    return IndexLine(key, url, when, code, mime, digest, name, offset, length)


def check(data: bytes) -> IndexLine:
    """Return the fields of a line in this crawler's own form. Raise BadLine for another."""
    found, values = read(data), _parsed(data)[2]
    if not SHAPE.fullmatch(data) or not all(isinstance(values.get(name), str) for name in NAMES):
        raise BadLine(f"not a line of an index: {data[:60]!r}")
    return found


def _parsed(data: bytes) -> tuple[str, str, dict[str, Any]]:
    """Return key, stamp and values of a line of CDXJ. Raise BadLine for anything else."""
    match = _LINE.fullmatch(data)
    try:
        values = json.loads(match[3]) if match is not None else None
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not a line of an index: {data[:60]!r}") from error
    if match is None or not isinstance(values, dict):
        raise BadLine(f"not a line of an index: {data[:60]!r}")
    return match[1].decode("utf-8", "replace"), match[2].decode(), values


# -- for a later crawl (record/since)


class CaptureLine(NamedTuple):
    """One capture as a later crawl wants it, and where its record lies."""

    url: str
    stamp: str  # 14 digits
    status: int
    digest: str  # of its payload, in its normal form; empty if it is of neither algorithm
    is_revisit: bool
    file: str  # the name of the archive file
    offset: int
    written: str = ""  # the digest as the index has it, with its algorithm

    @property
    def date(self) -> str:
        """Return the stamp as WARC-Date has it."""
        return date_of(self.stamp)

    def with_digest(self, digest: str) -> CaptureLine:
        """Return a copy with another digest."""
        return self._replace(digest=digest)

    @property
    def has_payload(self) -> bool:
        """Return whether a revisit record may refer to this one for its payload."""
        return 200 <= self.status < 300 and not self.is_revisit and bool(self.digest)

    @property
    def repeats_payload(self) -> bool:
        """Return whether its record says that the payload came again, and refers to another for it."""
        return 200 <= self.status < 300 and self.is_revisit and bool(self.digest)


def read_line(data: bytes) -> CaptureLine | None:
    """Return the capture in a line of CDXJ or CDX; None if it is none of a page over HTTP.

    None stands for a header of the file, for what a browser made of a page, for the answer to
    another request than GET, and for a page that was found unmodified if nothing says of which
    payload (a record of the 304 alone): then the capture before it stands. Raise BadLine for what
    is no line.
    """
    is_header = data.startswith((b"!", b" CDX "))  # pywb's, and CDX's
    if is_header or not data.strip():
        return None
    when, values = _when_and_values(data)
    page = _page_of(values)
    if page is None:
        return None
    url, status, name, offset = page
    written = str(values.get("digest", ""))
    digest = normal(written)
    is_revisit = values.get("mime") == REVISIT
    names_payload = is_revisit and bool(digest)
    if status == NOT_MODIFIED and not names_payload:
        return None
    with_algorithm = labelled(written) if digest else ""
    # Most are equal, and one object for both saves memory: a server's captures are kept there
    shared = digest if with_algorithm == digest else with_algorithm
    return CaptureLine(visible(url), when, status, digest, is_revisit, name, offset, shared)


def _page_of(values: dict[str, Any]) -> tuple[str, int, str, int] | None:
    """Return URL, status, file and offset of the answer to a GET over HTTP; None of anything else.

    Raise BadLine if they cannot be those of a record.
    """
    try:
        url = values["url"]
        status = str(values.get("status", ""))
        if not status.isdecimal() or values.get("method", "GET") != "GET":
            return None
        name = values["filename"]
        offset = int(values["offset"])
        is_named = isinstance(url, str) and isinstance(name, str) and _is_file_name(name)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise BadLine from error
    if not is_named or not 0 <= offset < MOST or len(status) > DIGITS:
        raise BadLine
    return url, int(status), name, offset


def _when_and_values(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return the stamp of a line of CDX or CDXJ, and its fields by CDXJ's names."""
    columns = _CDX.fullmatch(data)
    if columns is not None:
        return columns[2].decode(), _named_columns(columns[3])
    _, when, values = _parsed(data)
    return when, values


def _is_file_name(name: str) -> bool:
    """Return whether a file can have this name. Raise ValueError if the name cannot be encoded."""
    return "\0" not in name and bool(os.fsencode(name))


def _named_columns(columns: bytes) -> dict[str, str]:
    """Return the fields of a line of CDX from its third column on, by CDXJ's names.

    If the columns name no file, that is `-`.
    """
    # Two columns of the line, key and stamp, are not among these: the tenth is words[7]
    words = columns.decode("utf-8", "replace").split(" ")
    if len(words) > 8:  # 11 columns and more
        offset, name = words[7:9]
    elif len(words) > 6:  # 9 or 10
        offset, name = words[-2:]
    else:
        offset, name = "0", "-"
    named = dict(zip(("url", "mime", "status", "digest"), words, strict=False))
    return named | {"offset": offset, "filename": name}


def url_key(url: str) -> int:
    """Return the number under which the index has the latest capture of a URL."""
    return int(siphash(_OF_URL, visible(url)))


def digest_key(digest: str) -> int:
    """Return the number under which the index has a capture with this payload."""
    return int(siphash(_OF_DIGEST, digest))
