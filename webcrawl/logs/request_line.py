"""Lines of logs/requests.log: one per request sent, tab-separated ASCII."""

from __future__ import annotations

from webcrawl.model import Link
from webcrawl.text.credentials import url_without_credentials
from webcrawl.text.dates import iso
from webcrawl.text.percent import visible


def line(now: float, method: str, url: str, link: Link | None) -> bytes:
    """Time, method, URL, discovery path, and how often the URL was tried before."""
    path, tried = (link.hops, link.attempt + link.struck) if link is not None else ("", 0)
    shown = visible(url_without_credentials(url))
    return f"{iso(now)}\t{visible(method)}\t{shown}\t{path or '-'}\t{tried}\n".encode("ascii")
