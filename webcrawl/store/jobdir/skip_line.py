"""Lines of logs/skipped.log: one per URL that was not crawled, tab-separated UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webcrawl.base.dates import iso
from webcrawl.base.readable import url_without_credentials
from webcrawl.store.jobdir.crawl_line import DATE
from webcrawl.store.jobdir.link_line import field

LOG = "logs/skipped.log"
SHAPE = re.compile(DATE + rb"\t[^\t\n]+\t[^\t\n]*\t[^\t\n]*\n")


def lines(now: float, reason: str, urls: Iterable[str], via: str) -> bytes:
    """Time, reason, URL (as written, but without credentials, if it is no URL), the page that it was found on."""
    begin, end = f"{iso(now)}\t{field(reason)}", field(via)
    return "".join([f"{begin}\t{field(url_without_credentials(url))}\t{end}\n" for url in urls]).encode()


def read(data: bytes) -> tuple[str, str, str]:
    """Time, reason and page; of a damaged line what it has."""
    moment, reason, _, via, *_ = [*data.decode("utf-8", "replace").rstrip("\n").split("\t"), "", "", ""]
    return moment, reason, via
