"""Lines of logs/requests.log: one per request sent, tab-separated ASCII."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from webcrawl.base.dates import iso, read_iso
from webcrawl.base.model import Link
from webcrawl.base.readable import url_without_credentials
from webcrawl.base.url_text import visible
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import DATE

LOG = "logs/requests.log"
SHAPE = re.compile(DATE + rb"\t[!-~]+\t[!-~]+\t([A-Z]+|-)\t\d+(\t(\d+\.\d{3}|-)\t\d+\.\d{3}\t[a-z-]+)?\n")


TAIL = 1 << 16  # bytes of a log in which its last whole line is looked for: URLs are far shorter


def line(
    now: float,
    method: str,
    url: str,
    link: Link | None,
    waited: float | None = None,
    needed: float = 0.0,
    rule: str = "",
) -> bytes:
    """Time, method, URL, discovery path, how often the URL was tried before; the wait before it, and by which rule.

    `waited`: seconds since the last answer of its host; None if nobody knows of one. `needed`: those that the rule asks
    for: new, politeness, crawl-delay, failure, retry-after, or nothing if no rule was asked.
    """
    path, tried = (link.hops, link.tried) if link is not None else ("", 0)
    sent = f"{iso(now)}\t{visible(method)}\t{visible(url_without_credentials(url))}\t{path or '-'}\t{tried}"
    since = "-" if waited is None else f"{waited:.3f}"
    return f"{sent}\t{since}\t{needed:.3f}\t{rule or '-'}\n".encode("ascii")


def last_sent(path: Path) -> float:
    """The time of the last line of a log; 0 if it has none."""
    try:
        with regular(path) as file:
            file.seek(max(file.seek(0, 2) - TAIL, 0))
            lines = file.read(TAIL).split(b"\n")
    except OSError:  # there is none, or whoever opens it to write says why not
        return 0.0
    for one in reversed(lines):
        try:
            return read_iso(one.partition(b"\t")[0].decode("ascii"))
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
    waited: float | None = None  # seconds since the host's last answer
    needed: float | None = None  # seconds, by the rule; None: an earlier version wrote this line
    rule: str = ""


def read(data: bytes) -> RequestLine | None:
    """None for what is no line of this log."""
    try:
        when, method, url, path, tries, *more = data.decode("ascii", "replace").rstrip("\n").split("\t")
        sent = (read_iso(when), method, url, "" if path == "-" else path, int(tries))
        if not more:
            return RequestLine(*sent)
        waited, needed, rule = more
        return RequestLine(*sent, None if waited == "-" else float(waited), float(needed), "" if rule == "-" else rule)
    except ValueError:
        return None
