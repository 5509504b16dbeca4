"""Lines of logs/requests.log: one per request sent, tab-separated ASCII."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.model import Link
from webcrawl.text.credentials import url_without_credentials
from webcrawl.text.dates import iso
from webcrawl.text.percent import visible


@dataclass(frozen=True, slots=True)
class Pause:
    """For how long a host was left alone before a request, and why."""

    waited: float | None = None  # seconds since its last answer; None: nobody knows of one
    needed: float = 0.0  # seconds, by this rule
    rule: str = ""  # new, politeness, crawl-delay, failure, retry-after; nothing if no rule was asked


def line(now: float, method: str, url: str, link: Link | None, pause: Pause = Pause()) -> bytes:
    """Time, method, URL, discovery path, how often the URL was tried before; the wait before it, and by which rule."""
    path, tried = (link.hops, link.attempt + link.struck) if link is not None else ("", 0)
    shown = visible(url_without_credentials(url))
    waited = "-" if pause.waited is None else f"{pause.waited:.3f}"
    wait = f"{waited}\t{pause.needed:.3f}\t{pause.rule or '-'}"
    return f"{iso(now)}\t{visible(method)}\t{shown}\t{path or '-'}\t{tried}\t{wait}\n".encode("ascii")
