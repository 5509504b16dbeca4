"""Makes WET and WAT files of archive files, in Common Crawl's form: the texts of pages, and metadata.

Each archive file gives one file. A WET file has a `conversion` record for each page with text. A WAT
file has a `metadata` record in JSON for each answer: its headers, title and links. A revisit record
gives neither, because its page is that of the answer to which it refers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any

from webcrawl import __version__
from webcrawl.base.dates import iso
from webcrawl.base.digest import label, sha1
from webcrawl.base.model import Exchange
from webcrawl.content.html.link_kinds import KINDS, PageLink
from webcrawl.content.page import Page
from webcrawl.crawl.page_reading import read_page
from webcrawl.record.archives import ArchivedAnswer, Archives, from_the_beginning
from webcrawl.record.warc.archive_files import NoArchive, archive_files
from webcrawl.record.warc.warc_record import (
    WARC_FIELDS,
    NewRecord,
    compressed_record,
    field_line,
    fields,
)
from webcrawl.record.warc.warc_writer import identifiers
from webcrawl.store.errors import StoreError
from webcrawl.urls.exclusion_rules import Forgotten

TEXT_TYPE = "Content-Type: text/plain\r\n"
JSON_TYPE = "Content-Type: application/json\r\n"
MAX_BODY_BYTES = 1 << 26
PART = ".part"  # ends the name of a file that is being written
# Common Crawl's names of links, by our kinds.
LINK_NAMES = {
    "a": "A@/href",
    "area": "AREA@/href",
    "img": "IMG@/src",
    "script": "SCRIPT@/src",
    "frame": "FRAME@/src",
    "iframe": "IFRAME@/src",
    "link": "LINK@/href",
    "form": "FORM@/action",
}
OTHER_LINK = "*@/href"
KIND_IN_HEAD = "link"  # Common Crawl lists these links with the document's head


class Derived:
    """Writes the WET or WAT files of archive files.

    `targets` are the files to write, by archive file. `lost` counts the records that could not be
    read.
    """

    def __init__(
        self, kind: str, files: Sequence[Path], folder: Path, forgotten: Forgotten
    ) -> None:
        """Choose the names of the files. `kind` is wet or wat; pages of `forgotten` are left out.

        Raise ValueError if two files would have the same name.
        """
        self._kind = kind
        self._folder = folder
        self._forgotten = forgotten
        self._make: Callable[[ArchivedAnswer, Exchange, Page], NewRecord | None] = MAKERS[kind]
        self._ids = identifiers(SystemRandom())
        self.lost = 0
        names = Counter(path.name for path in files)
        self.targets = {
            path: self._target(path, is_name_shared=names[path.name] > 1) for path in files
        }
        uses = Counter(self.targets.values())
        for path, target in self.targets.items():
            if uses[target] > 1:
                raise ValueError(
                    f"{path}: another archive file has this name: export it separately"
                )

    def _target(self, path: Path, *, is_name_shared: bool) -> Path:
        """Return the file that is made of an archive file.

        If another archive file has the same name, as those of drones may have, the name of the
        drone's folder is put before it.
        """
        stem = path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".warc")
        prefix = f"{path.resolve().parent.parent.name}-" if is_name_shared else ""
        return self._folder / f"{prefix}{stem}.warc.{self._kind}.gz"

    def write(self, path: Path) -> int:
        """Write the file of an archive file, and return the number of its records.

        The file is renamed to its place once it is complete.
        """
        target = self.targets[path]
        written = 0
        part = target.with_name(target.name + PART)
        with part.open("wb") as file:
            file.write(self._head(target, path))
            for answer, exchange, page in self._answers(path):
                record = self._make(answer, exchange, page)
                if record is not None:
                    file.write(self._packed(record))
                    written += 1
        part.replace(target)
        return written

    def _answers(self, path: Path) -> Iterator[tuple[ArchivedAnswer, Exchange, Page]]:
        """Yield the answers to requests for pages, without pages that owners had deleted.

        Answers to the crawl's own requests, such as those for robots.txt, are left out.
        """
        for answer in Archives([path], from_the_beginning, None, MAX_BODY_BYTES):
            self.lost += answer.losses
            if answer.download is None:
                continue
            link, exchange = answer.download
            if link.is_own:
                continue
            if not self._forgotten.has(link.url, exchange.started):
                yield answer, exchange, read_page(link, exchange, KINDS)

    def _head(self, target: Path, source: Path) -> bytes:
        """Return the warcinfo record, which is the first of a file."""
        content = {
            "software": f"webcrawl {__version__}",
            "description": f"{self._kind.upper()} of {source.name}",
            "format": "WARC File Format 1.1",
        }
        head = {"WARC-Date": iso(source.stat().st_mtime), "WARC-Filename": target.name}
        return self._packed(
            NewRecord("warcinfo", fields(head).decode(), WARC_FIELDS, fields(content))
        )

    def _packed(self, record: NewRecord) -> bytes:
        """Return a record with an id of its own, as a gzip member."""
        record.common = field_line("WARC-Record-ID", next(self._ids))
        return compressed_record(record, label(sha1(record.block)))


def _text_record(answer: ArchivedAnswer, _: Exchange, page: Page) -> NewRecord | None:
    """Return the record of a page's title and visible text.

    Return None for a page without text, and for an answer of another status than 200.
    """
    text = page.visible_text
    if page.title and not text.startswith(page.title):
        text = f"{page.title}\n{text}"
    if page.status != 200 or not text.strip():
        return None
    data = text.encode("utf-8", "replace")
    return NewRecord("conversion", _record_head(answer, page), TEXT_TYPE, data)


def _json_record(answer: ArchivedAnswer, exchange: Exchange, page: Page) -> NewRecord:
    """Return the record of an answer's headers, title, meta elements and links."""
    payload: dict[str, Any] = {
        "Actual-Content-Type": "application/http; msgtype=response",
        "HTTP-Response-Metadata": {
            "Response-Message": _status_line(exchange),
            "Headers-Length": str(len(exchange.head)),
            "Headers": {name.decode("latin-1"): _text(value) for name, value in exchange.headers},
            "Entity-Length": str(exchange.size),
            "Entity-Digest": label(sha1(exchange.payload)),
        },
    }
    if page.title or page.links:
        payload["HTTP-Response-Metadata"]["HTML-Metadata"] = _html_metadata(page)
    offset = answer.start.offset if answer.start is not None else 0
    value = {
        "Container": {
            "Filename": Path(answer.name).name,
            "Compressed": answer.name.endswith(("gz", "zst")),
            "Offset": str(offset),
        },
        "Envelope": {
            "Format": "WARC",
            "WARC-Header-Metadata": {
                "WARC-Type": "response",
                "WARC-Record-ID": answer.record,
                "WARC-Target-URI": page.url,
                "WARC-Date": iso(page.fetched_at),
                "WARC-IP-Address": page.ip,
            },
            "Payload-Metadata": payload,
        },
    }
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return NewRecord("metadata", _record_head(answer, page), JSON_TYPE, data)


def _html_metadata(page: Page) -> dict[str, Any]:
    """Return the head of a document, without parts that it does not have, and its links."""
    metas = []
    if page.description:
        metas.append({"name": "description", "content": page.description})
    metas += [{"property": name, "content": content} for name, content in page.open_graph]
    links: list[dict[str, str]] = []
    in_head: list[dict[str, str]] = []
    for link in page.links:
        entries = in_head if link.kind == KIND_IN_HEAD else links
        entries.append(_link_entry(link))
    head = {"Title": page.title, "Metas": metas, "Link": in_head}
    return {"Head": {name: value for name, value in head.items() if value}, "Links": links}


def _link_entry(link: PageLink) -> dict[str, str]:
    entry = {"path": LINK_NAMES.get(link.kind, OTHER_LINK), "url": link.address}
    if link.text:
        entry["text"] = link.text
    if link.rel:
        entry["rel"] = link.rel
    return entry


def _record_head(answer: ArchivedAnswer, page: Page) -> str:
    return (
        field_line("WARC-Target-URI", page.url)
        + field_line("WARC-Date", iso(page.fetched_at))
        + field_line("WARC-Refers-To", answer.record)
    )


def _status_line(exchange: Exchange) -> dict[str, str]:
    words = exchange.head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
    return {
        "Version": words[0],
        "Status": str(exchange.status),
        "Reason": words[2] if len(words) > 2 else "",
    }


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


MAKERS = {"wet": _text_record, "wat": _json_record}


def archive_files_of(sources: Sequence[str]) -> list[Path]:
    """Return the archive files of crawls, folders and files. Raise StoreError without one."""
    try:
        return archive_files(sources)[0]
    except NoArchive as error:
        raise StoreError(str(error)) from error
