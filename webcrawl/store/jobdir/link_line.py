"""Lines of logs/links.log: one per link, LARM's five fields, tab-separated UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from webcrawl.base.readable import STRANGE, spelled, url_without_credentials
from webcrawl.base.row_bound import FEW, fitting

LOG = "logs/links.log"
SHAPE = re.compile(rb"([^\t\n]*\t){4}[^\t\n]*\n")


MOST = 8 << 20  # characters of the lines of one page, or what FEW of them have
CUT = "cut"  # the kind in the line that says how many more links the page has
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_STRANGE = re.compile(rf"\\|{STRANGE}")


def lines(page_url: str, links: Iterable[tuple[str, str, str | None, str]]) -> bytes:
    """Page URL, link as written but without credentials, its canonical form or nothing, kind of link, anchor text."""
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
    """The lines of a page's links, given as columns: nearly always one `join`, and one look for what needs escapes.

    A call for each field would cost more than all else: a page has 40 lines.
    """
    if len(kinds) > FEW and (left := unlogged(page_url, kinds, addresses, targets, texts)):
        first = [column[:-left] for column in (kinds, addresses, targets, texts)]
        return _lines(page_url, *first) + _lines(page_url, (CUT,), ("",), ("",), (str(left),))
    return _lines(page_url, kinds, addresses, targets, texts)


def unlogged(page_url: str, *columns: Sequence[str]) -> int:
    """The number of a page's links, the last ones, that have no lines because there is no room for all."""
    return len(columns[0]) - fitting(columns, len(page_url), MOST)


def _lines(
    page_url: str,
    kinds: Sequence[str],
    addresses: Sequence[str],
    targets: Sequence[str],
    texts: Sequence[str],
) -> bytes:
    page = field(page_url)
    raws = [url_without_credentials(raw) if "@" in raw else raw for raw in addresses]
    text = _joined(page, raws, targets, kinds, texts)
    if text.isascii() or _are_printable(raws, targets, kinds, texts):
        data = text.encode()
        if _is_plain_ascii(data, 5 * len(raws)):
            return data
    return _joined(page, *(list(map(field, column)) for column in (raws, targets, kinds, texts))).encode()


def _joined(page: str, raws: Sequence[str], urls: Sequence[str], kinds: Sequence[str], texts: Sequence[str]) -> str:
    pieces = [f"{page}\t", "", "\t", "", "\t", "", "\t", "", "\n"] * len(raws)
    pieces[1::9], pieces[3::9], pieces[5::9], pieces[7::9] = raws, urls, kinds, texts
    return "".join(pieces)


def _are_printable(*columns: Sequence[str]) -> bool:
    """True if no character beyond ASCII needs escapes."""
    return "".join([text for column in columns for text in column if not text.isascii()]).isprintable()


def _is_plain_ascii(data: bytes, separators: int) -> bool:
    """True if no ASCII character needs escapes, in lines with so many separators; isprintable takes 7 times as long."""
    controls = np.count_nonzero(np.frombuffer(data, np.uint8) < 0x20)
    return controls == separators and b"\x7f" not in data and b"\\" not in data


def field(text: str) -> str:
    """The text as one field of a line."""
    return text if _is_plain(text) else _STRANGE.sub(_escape, text)


def _is_plain(text: str) -> bool:
    """True if it needs no escapes: nearly always; isprintable costs 0.05 us, the expression 1 us."""
    return text.isprintable() and "\\" not in text


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or spelled(match)


def read(data: bytes) -> tuple[str, str, str, str, str] | None:
    """Page, link as written, its canonical form or nothing, kind, text; None for what is no line of this log."""
    found = data.decode("utf-8", "replace").rstrip("\n").split("\t")
    if len(found) != 5:
        return None
    page, raw, url, kind, text = found
    return page, raw, url, kind, text
