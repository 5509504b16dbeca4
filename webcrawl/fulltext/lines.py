"""A page as one line of JSON: what text/*.jsonl.gz holds (docs/outputs.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webcrawl.items import Page
from webcrawl.model import Archived
from webcrawl.revisit.change import Change
from webcrawl.text.dates import iso

LONGEST = 1 << 20  # characters of text: the rest is left out, and the line says so
LANGUAGE = 100  # characters of what a page may declare
# What no reader wants in a text, and some (DuckDB, terminals) do not bear: control characters but tab and line feed.
PROGRAMS = frozenset(("text/css", "text/ecmascript", "text/javascript", "text/x-javascript"))  # no page's text
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(slots=True)
class Placed:
    """A line that says where the archive has its page. Ask for its bytes late: the archive may not have it yet."""

    begin: bytes  # of a line without that, up to its last brace
    place: Archived

    def __len__(self) -> int:
        return len(self.begin)

    def __bytes__(self) -> bytes:
        file, offset, length = self.place
        return self.begin + b', "warc": ' + _encode({"file": file, "offset": offset, "length": length})[:-1] + b"}\n"


def line(page: Page, ordinal: int) -> bytes | Placed:
    """The line of a page, which has the number `ordinal`; empty for a new page that shows no text.

    One that was fetched again and shows none any more has a line without text: what was said of it before is over.
    """
    if page.change is Change.GONE:
        return blank(page, ordinal)
    again = page.change is not Change.NEW
    if page.content_type in PROGRAMS:
        return blank(page, ordinal) if again else b""
    page.look_through()
    text = page.visible_text
    if not text or text.isspace():
        return blank(page, ordinal) if again else b""
    return _line(page, ordinal, text)


def blank(page: Page, ordinal: int) -> bytes:
    """The line of a page that is no longer what lines before it say, and of which no other text is kept."""
    return _encode(_about(page, ordinal) | {"headings": [], "text": ""})


def _line(page: Page, ordinal: int, text: str) -> bytes | Placed:
    exchange = page.exchange
    value = _about(page, ordinal)
    value["title"], value["language"] = page.title, page.language[:LANGUAGE]
    value["headings"] = [heading for _, heading in page.headings]
    value["text"] = _clean(text[:LONGEST])
    if forbidden := page.preferences.forbidden:
        value["forbidden"] = forbidden
    if page.truncated or len(text) > LONGEST:
        value["truncated"] = page.truncated or "length"
    if exchange is not None and exchange.archived is not None:
        return Placed(_encode(value)[:-2], exchange.archived)
    return _encode(value)


def _about(page: Page, ordinal: int) -> dict[str, Any]:
    exchange = page.exchange
    value: dict[str, Any] = {
        "ordinal": ordinal,
        "url": page.url,
        "title": "",  # here for its place in the line
        "language": "",
        "fetched_at": iso(page.fetched_at),
        "type": page.content_type,
        "digest": exchange.digest if exchange is not None else "",
    }
    if page.change is not Change.NEW:
        value["change"] = page.change.value
    return value


def _clean(text: str) -> str:
    if "\r" in text:  # of a plain text: a document's lines are ours
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("\ufffd", text)


def _encode(value: Mapping[str, Any]) -> bytes:
    # a lone surrogate is no text: it has no bytes in UTF-8
    return json.dumps(value, ensure_ascii=False).encode(errors="replace") + b"\n"
