"""Lines of logs/links.log: one per link, LARM's five fields, tab-separated UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webcrawl.logs.readable import STRANGE, spelled
from webcrawl.text.credentials import url_without_credentials

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_STRANGE = re.compile(rf"\\|{STRANGE}")


def lines(page_url: str, links: Iterable[tuple[str, str, str | None, str]]) -> bytes:
    """Page URL, link as written but without credentials, its canonical form or nothing, kind of link, anchor text."""
    page = field(page_url)
    rows = [(url_without_credentials(raw), url or "", kind, anchor) for kind, raw, url, anchor in links]
    if not _is_plain("".join(map("".join, rows))):
        rows = [(field(raw), field(url), field(kind), field(anchor)) for raw, url, kind, anchor in rows]
    return "".join([f"{page}\t{raw}\t{url}\t{kind}\t{anchor}\n" for raw, url, kind, anchor in rows]).encode()


def field(text: str) -> str:
    """The text as one field of a line."""
    return text if _is_plain(text) else _STRANGE.sub(_escape, text)


def _is_plain(text: str) -> bool:
    """Whether it needs no escapes: nearly always; isprintable costs 0.05 us, the expression 1 us."""
    return text.isprintable() and "\\" not in text


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or spelled(match)
