"""Lines of logs/skipped.log: one per URL that was not crawled, tab-separated UTF-8."""

from __future__ import annotations

from collections.abc import Iterable

from webcrawl.logs.link_line import field
from webcrawl.text.credentials import url_without_credentials
from webcrawl.text.dates import iso


def lines(now: float, reason: str, urls: Iterable[str], via: str) -> bytes:
    """Time, reason, URL (as written, but without credentials, if it is no URL), the page that it was found on."""
    begin, end = f"{iso(now)}\t{field(reason)}", field(via)
    return "".join([f"{begin}\t{field(url_without_credentials(url))}\t{end}\n" for url in urls]).encode()
