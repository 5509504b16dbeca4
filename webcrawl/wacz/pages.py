"""The pages of an archive file, for the lists from which a reader chooses: documents, but none that others show."""

from __future__ import annotations

import json
from base64 import b32encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha1
from itertools import islice
from typing import BinaryIO

from webcrawl.model import requisite_hops
from webcrawl.verify.index import INDEXED
from webcrawl.verify.members import Torn
from webcrawl.wacz.records import records, values

DOCUMENTS = frozenset(("text/html", "application/xhtml+xml"))
REVISIT = "warc/revisit"
FOLLOWING = 4  # records of one exchange


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page as the lists have it."""

    url: str
    stamp: str  # 14 digits
    title: str
    is_seed: bool

    @property
    def date(self) -> str:
        """The time by ISO 8601."""
        at = self.stamp
        return f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:14]}Z"

    def line(self) -> bytes:
        """Its line of a list, as JSON."""
        name = b32encode(sha1(f"{self.stamp} {self.url}".encode(), usedforsecurity=False).digest()).decode().lower()
        about = {"id": name, "url": self.url, "ts": self.date}
        if self.title:
            about["title"] = self.title
        return json.dumps(about, ensure_ascii=False).encode() + b"\n"


def header(name: str, title: str) -> bytes:
    """The first line of a list."""
    return json.dumps({"format": "json-pages-1.0", "id": name, "title": title}).encode() + b"\n"


def pages(index: Iterable[bytes], archive: BinaryIO, end: int) -> Iterator[PageEntry]:
    """The pages that an archive file of this length has, by its index."""
    for line in index:
        if b'"status": "200"' not in line:
            continue
        _, stamp, text = line.split(b" ", 2)
        says = json.loads(text)
        kind = says.get("mime", "").lower()
        if kind not in DOCUMENTS and kind != REVISIT:
            continue
        page = _page(says, stamp.decode(), archive, end)
        if page is not None:
            yield page


def _page(says: dict[str, str], stamp: str, archive: BinaryIO, end: int) -> PageEntry | None:
    """What the metadata record says of an answer; None if a page shows it, or if it was no document after all."""
    at, about = int(says["offset"]), dict[str, str]()
    if at + int(says["length"]) > end:
        raise Torn("the file ends early")
    if says["mime"].lower() == REVISIT and next(records(archive, at, end)).media_type.lower() not in DOCUMENTS:
        return None
    at += int(says["length"])
    for record in islice(records(archive, at, end), FOLLOWING):
        if record.kind == "metadata":
            about = values(record)
            break
        if record.kind in INDEXED:
            break
    path = about.get("hopsFromSeed", "")
    if requisite_hops(path) or path.endswith("P"):
        return None
    return PageEntry(says["url"], stamp, about.get("title", ""), not path.strip("R"))
