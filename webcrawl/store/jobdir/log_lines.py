"""Lines of the logs beside crawl.log: written, read and checked (docs/logs.md).

links.log has LARM's five fields for each link, skipped.log a line for each URL that was not
crawled; both are tab-separated UTF-8. requests.log has a line for each request sent, tab-separated
ASCII; url.trace has binary words.
"""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from sys import byteorder
from typing import BinaryIO, NamedTuple, Self

import msgpack
import numpy as np

from webcrawl.base.dates import iso, read_iso
from webcrawl.base.model import Link
from webcrawl.base.numbers import FEW, fitting
from webcrawl.base.readable import STRANGE, spelled, url_without_credentials
from webcrawl.base.url_text import visible
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import crawl_line, history_line
from webcrawl.store.jobdir.crawl_line import DATE
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import LONGEST_LINE, lines_of
from webcrawl.store.output import Output

LINKS_LOG = "logs/links.log"
MOST_CHARACTERS = 8 << 20  # characters of the lines of one page, or what FEW of them have
LEFT_OUT = "cut"  # in links.log, the kind in the line that says how many more links the page has
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_STRANGE = re.compile(rf"\\|{STRANGE}")


def link_lines(page_url: str, links: Iterable[tuple[str, str, str | None, str]]) -> bytes:
    """Return lines of page URL, link as written but without credentials, its canonical form or
    nothing, kind of link, anchor text.
    """
    rows = list(links)
    if not rows:
        return b""
    kinds, addresses, targets, texts = zip(*rows, strict=True)
    return page_lines(page_url, kinds, addresses, [target or "" for target in targets], texts)


def page_lines(
    page_url: str,
    kinds: Sequence[str],
    addresses: Sequence[str],
    targets: Sequence[str],
    texts: Sequence[str],
) -> bytes:
    """Return the lines of a page's links, given as columns; a last line counts those without room.

    Nearly always this takes one `join`, and one look for what needs escapes. A call for each field
    would cost more than all else: a page has 40 lines.
    """
    without_room = 0  # links, the last ones of the page
    if len(kinds) > FEW:
        without_room = unlogged(page_url, kinds, addresses, targets, texts)
    if not without_room:
        return _escaped_lines(page_url, kinds, addresses, targets, texts)
    fitting_columns = [column[:-without_room] for column in (kinds, addresses, targets, texts)]
    last_line = _escaped_lines(page_url, (LEFT_OUT,), ("",), ("",), (str(without_room),))
    return _escaped_lines(page_url, *fitting_columns) + last_line


def unlogged(page_url: str, *columns: Sequence[str]) -> int:
    """Return the number of a page's links, the last ones, that have no lines because there is no
    room for all.
    """
    return len(columns[0]) - fitting(columns, len(page_url), MOST_CHARACTERS)


def _escaped_lines(
    page_url: str,
    kinds: Sequence[str],
    addresses: Sequence[str],
    targets: Sequence[str],
    texts: Sequence[str],
) -> bytes:
    """Return a line for each link, with escapes where a field has a character that needs one.

    The lines are first joined without, and then looked at as a whole: nearly none needs escapes.
    """
    page = field(page_url)
    raws = [url_without_credentials(raw) if "@" in raw else raw for raw in addresses]
    text = _joined(page, raws, targets, kinds, texts)
    if text.isascii() or _are_printable(raws, targets, kinds, texts):
        data = text.encode()
        # Each line has four tabs and an end of line, which are no characters of fields
        if _is_plain_ascii(data, 5 * len(raws)):
            return data
    escaped = [list(map(field, column)) for column in (raws, targets, kinds, texts)]
    return _joined(page, *escaped).encode()


def _joined(
    page: str, raws: Sequence[str], urls: Sequence[str], kinds: Sequence[str], texts: Sequence[str]
) -> str:
    """Return the lines of a page's links: page, link as written, canonical URL, kind, text."""
    # Nine pieces for each line, of which every other is a field of one link
    pieces = [f"{page}\t", "", "\t", "", "\t", "", "\t", "", "\n"] * len(raws)
    pieces[1::9], pieces[3::9], pieces[5::9], pieces[7::9] = raws, urls, kinds, texts
    return "".join(pieces)


def _are_printable(*columns: Sequence[str]) -> bool:
    """Return whether no character beyond ASCII needs escapes."""
    return "".join(
        [text for column in columns for text in column if not text.isascii()]
    ).isprintable()


def _is_plain_ascii(data: bytes, separators: int) -> bool:
    """Return whether no ASCII character of the lines needs escapes.

    `separators`: the control characters that the lines have between and behind their fields.
    `isprintable` takes 7 times as long.
    """
    controls = np.count_nonzero(np.frombuffer(data, np.uint8) < 0x20)
    return controls == separators and b"\x7f" not in data and b"\\" not in data


def field(text: str) -> str:
    """Return the text as one field of a line."""
    return text if _is_plain(text) else _STRANGE.sub(_escape, text)


def _is_plain(text: str) -> bool:
    """Return whether the text needs no escapes: nearly always.

    `isprintable` costs 0.05 us, the expression 1 us.
    """
    return text.isprintable() and "\\" not in text


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or spelled(match)


def read_link(data: bytes) -> tuple[str, str, str, str, str] | None:
    """Return page, link as written, its canonical form or nothing, kind and text.

    None for what is no line of this log.
    """
    found = data.decode("utf-8", "replace").rstrip("\n").split("\t")
    if len(found) != 5:
        return None
    page, raw, url, kind, text = found
    return page, raw, url, kind, text


SKIPPED_LOG = "logs/skipped.log"


def skipped_lines(now: float, reason: str, urls: Iterable[str], via: str) -> bytes:
    """Return lines of time, reason, URL (as written, but without credentials, if it is no URL), and
    the page that it was found on.
    """
    begin, end = f"{iso(now)}\t{field(reason)}", field(via)
    return "".join(
        [f"{begin}\t{field(url_without_credentials(url))}\t{end}\n" for url in urls]
    ).encode()


def read_skipped(data: bytes) -> tuple[str, str, str]:
    """Return time, reason and page; of a damaged line what it has."""
    fields = data.decode("utf-8", "replace").rstrip("\n").split("\t")
    moment, reason, _, via, *_ = (*fields, "", "", "")
    return moment, reason, via


REQUESTS_LOG = "logs/requests.log"
# bytes of a log in which its last whole line is looked for: URLs are far shorter
TAIL_BYTES = 1 << 16


def request_line(
    now: float,
    method: str,
    url: str,
    link: Link | None,
    waited: float | None = None,
    needed: float = 0.0,
    rule: str = "",
) -> bytes:
    """Return a line of time, method, URL, discovery path, earlier tries, seconds waited and needed,
    and rule.

    `waited`: seconds since the last answer of its host; None if none is known. `needed`: the
    seconds that the `rule` asks for, which is new, politeness, crawl-delay, failure or retry-after;
    empty if no rule was asked.
    """
    path = link.hops if link is not None else ""
    tried = link.tried if link is not None else 0
    sent = f"{iso(now)}\t{visible(method)}\t{visible(url_without_credentials(url))}\t{path or '-'}\t{tried}"
    since = "-" if waited is None else f"{waited:.3f}"
    return f"{sent}\t{since}\t{needed:.3f}\t{rule or '-'}\n".encode("ascii")


def last_sent(path: Path) -> float:
    """Return the time in the last whole line of this requests.log; 0 if it has none or cannot be
    read.
    """
    try:
        with regular(path) as file:
            file.seek(max(file.seek(0, 2) - TAIL_BYTES, 0))
            lines = file.read(TAIL_BYTES).split(b"\n")
    except OSError:  # there is none, or the crawl says why not when it opens the log to write
        return 0.0
    for line in reversed(lines):
        try:
            return read_iso(line.partition(b"\t")[0].decode("ascii"))
        except ValueError:  # torn, or empty
            continue
    return 0.0


class RequestLine(NamedTuple):
    """A request that was sent."""

    at: float
    method: str
    url: str
    path: str
    tries: int  # for this URL, before
    waited: float | None  # seconds since the host's last answer, if that is known
    needed: float  # seconds, by the rule
    rule: str


def read_request_line(data: bytes) -> RequestLine | None:
    """Return the fields of a line; None if it is no line of this log."""
    try:
        found = data.decode("ascii", "replace").rstrip("\n").split("\t")
        when, method, url, path, tries, waited, needed, rule = (
            "" if text == "-" else text for text in found
        )
        since = float(waited) if waited else None
        return RequestLine(
            read_iso(when), method, url, path, int(tries), since, float(needed), rule
        )
    except ValueError:
        return None


# -- checking

SHAPES = {
    crawl_line.LOG: crawl_line.SHAPE,
    history_line.PATH: history_line.SHAPE,
    LINKS_LOG: re.compile(rb"([^\t\n]*\t){4}[^\t\n]*\n"),
    SKIPPED_LOG: re.compile(DATE + rb"\t[^\t\n]+\t[^\t\n]*\t[^\t\n]*\n"),
    REQUESTS_LOG: re.compile(
        DATE + rb"\t[!-~]+\t[!-~]+\t([A-Z]+|-)\t\d+\t(\d+\.\d{3}|-)\t\d+\.\d{3}\t[a-z-]+\n"
    ),
    # record/pagefiles.py
    "logs/store.log": re.compile(rb"([^\t\n]*\t){4}-?\d+\t[^\t\n]*\t\d+\t[^\t\n]*\t\d+\t\d+\n"),
    "logs/neardup.log": re.compile(rb"([0-9a-f]{16}|-)\t[!-~]+\n"),  # the next two: their pipelines
    "logs/images.log": re.compile(rb"[!-~]+\t([a-z]+\t\d+\t\d+|-\t\t)\t\d+\n"),
}


def check_lines(
    path: Path, file: BinaryIO, name: str, length: int, found: Counter[str]
) -> Iterator[DamagedFile]:
    """Yield each line of a log (`name`) that does not have its fields, or is no UTF-8; count all in
    `found`.

    Only the first `length` bytes are looked at.
    """
    fits = SHAPES[name].fullmatch
    is_longer = file.seek(0, os.SEEK_END) > length
    for offset, line in lines_of(file, length):
        found["lines"] += 1
        found[name] += 1
        if not fits(line) or not _is_text(line):
            why = "not a line of this log"
            if not line.endswith(b"\n"):
                why = "the last line is truncated"
                if is_longer:
                    why = "the last checkpoint ends within this line: lines before it have changed"
            yield DamagedFile(path, offset, f"{why}: {line[:60]!r}")


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_requests(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Check requests.log, which no checkpoint notes."""
    path = jobdir / REQUESTS_LOG
    if path.is_file():
        with regular(path) as file:
            # The last line may be on its way: the crawl writes to this log at any time
            tail_at = file.seek(max(0, path.stat().st_size - LONGEST_LINE))
            end_of_whole_lines = tail_at + file.read().rfind(b"\n") + 1
            yield from check_lines(path, file, REQUESTS_LOG, end_of_whole_lines, found)


TAGS_POSITION = "pipeline.webcrawl.pipelines.tags.TagsPipeline"
TAGS_ROW = re.compile(r"[!-~]+\t\d+\t\d+")


def check_tags(snapshot: Snapshot, path: Path) -> Iterator[DamagedFile]:
    """Yield what is wrong with tags.tsv: a row of another form, or counts not of the checkpoint.

    It may be missing: nothing reads it back, so a user may delete it.
    """
    if not path.is_file():
        return
    lines = path.read_text(errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        if not TAGS_ROW.fullmatch(line):
            yield DamagedFile(path, 0, f"line {number} is not a row of counts: {line[:60]!r}")
            return
    position = snapshot.get(TAGS_POSITION)
    # The file is written ahead of each COMMIT: after a kill it may be newer than the checkpoint
    if position is None or snapshot.get("clean") != b"1":
        return
    try:
        noted = ["\t".join(map(str, row)) for row in msgpack.unpackb(position)]
    except (ValueError, TypeError):  # reported with the other positions
        return
    if lines != noted:
        yield DamagedFile(path, 0, "the counts differ from those of the last checkpoint")


# -- the last unexpected errors, each with its traceback

ERRORS_LOG = "logs/errors.log"
ERRORS_TAIL = 128 << 10  # bytes that are read
ERROR_LINES = 30  # of one error that are given: the first one, and the last
ERROR_BEGIN = re.compile(r"(?m)^(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


def last_errors(jobdir: Path, most: int) -> list[str]:
    """Return the last `most` errors of errors.log, shortened, the latest first.

    Empty if there is no log, or it cannot be read.
    """
    try:
        with regular(jobdir / ERRORS_LOG) as file:
            size = file.seek(0, os.SEEK_END)
            start = file.seek(max(size - ERRORS_TAIL, 0))
            text = file.read(ERRORS_TAIL).decode("utf-8", "replace")
    except OSError:
        return []
    errors = [one.strip() for one in ERROR_BEGIN.split(text)]
    # The first one may be truncated
    if start and errors:
        del errors[0]
    latest_first = [*filter(None, reversed(errors))]
    return [*map(_shortened, latest_first[:most])]


def _shortened(error: str) -> str:
    lines = error.splitlines()
    if len(lines) > ERROR_LINES:
        lines = [lines[0], "  ...", *lines[-ERROR_LINES + 2 :]]
    return "\n".join(lines)


# -- logs/url.trace: the stream of discovered links, as `webcrawl lab caches` replays it
#
# After MAGIC come 64-bit words, little-endian: PAGE where the links of a page begin, then the
# fingerprint of each of its distinct links, whether it was seen before or not, and before any
# filter. They are keyed by the crawl: those of two crawls cannot be compared.

MAGIC = b"webcrawl trace 1"
Fingerprints = Callable[[Sequence[str]], Sequence[int]]
PAGE = 0  # no link's: a fingerprint of 0 is written as 1


class UrlTrace:
    """Writes the fingerprints of the links of each page."""

    def __init__(self, fingerprints: Fingerprints, write: Callable[[bytes], object]) -> None:
        self._fingerprints = fingerprints
        self._write = write

    @classmethod
    def open(cls, output: Output, fingerprints: Fingerprints) -> Self:
        """Return the trace of a crawl, which continues that of a former run."""
        if not output.tell():
            output.write(MAGIC)
        return cls(fingerprints, output.write)

    def record_links(self, page: str, links: Sequence[str]) -> None:
        """Write the links of a page. Takes 5 us for 40 of them."""
        del page
        words = array("Q", [PAGE, *self._fingerprints(links)])
        if words.count(PAGE) > 1:
            words = array("Q", [PAGE, *(word or 1 for word in words[1:])])
        if byteorder == "big":
            words.byteswap()
        self._write(words.tobytes())
