"""WET and WAT files of archives, in Common Crawl's form: texts of pages, and what they say and link to.

Each archive file gives one file. A WET file has a `conversion` record for each page with text, a WAT
file a `metadata` record in JSON for each answer. Revisit records have neither: their text is that of
the answer that they refer to.
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
from webcrawl.record.archives import LOSS_PREFIX, ArchivedAnswer, Archives, from_the_beginning
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

TEXT, JSON = "Content-Type: text/plain\r\n", "Content-Type: application/json\r\n"
LARGEST = 1 << 26  # bytes of a body that are read
PART = ".part"
LINK_NAMES = {"a": "A@/href", "area": "AREA@/href", "img": "IMG@/src", "script": "SCRIPT@/src"}
LINK_NAMES |= {"frame": "FRAME@/src", "iframe": "IFRAME@/src", "link": "LINK@/href"}
LINK_NAMES |= {"form": "FORM@/action"}
OTHER_LINK = "*@/href"
IN_HEAD = "link"  # the kind of links that Common Crawl lists with the document's head


class Derived:
    """The derived files of some archives. `lost` counts records that could not be read."""

    def __init__(
        self, kind: str, files: Sequence[Path], folder: Path, forgotten: Forgotten
    ) -> None:
        """`kind`: wet or wat. `forgotten`: whose pages are left out.

        Raise ValueError if two files would have the same name.
        """
        self._kind = kind
        self._folder = folder
        self._forgotten = forgotten
        self._make: Callable[[ArchivedAnswer, Exchange, Page], NewRecord | None] = MAKERS[kind]
        self._ids = identifiers(SystemRandom())
        self.lost = 0
        names = Counter(path.name for path in files)
        self.targets = {path: self._target(path, names[path.name] > 1) for path in files}
        made = Counter(self.targets.values())
        for path, target in self.targets.items():
            if made[target] > 1:
                raise ValueError(
                    f"{path}: another archive file has this name: export it separately"
                )

    def _target(self, path: Path, is_one_of_several: bool) -> Path:  # noqa: FBT001 - a fact about its name
        """Return the file that is made of an archive file.

        Files of drones may have one name: then that of the drone's folder stands before it.
        """
        stem = path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".warc")
        crawl = f"{path.resolve().parent.parent.name}-" if is_one_of_several else ""
        return self._folder / f"{crawl}{stem}.warc.{self._kind}.gz"

    def write(self, path: Path) -> int:
        """Write the file of an archive file, which appears when it is whole; return its records."""
        target, written = self.targets[path], 0
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
        """Yield the answers of a file to requests for pages, without what is forgotten."""
        for answer in Archives([path], from_the_beginning, None, LARGEST):
            self.lost += sum(reason.startswith(LOSS_PREFIX) for reason in answer.counters)
            if answer.download is None or answer.download[0].is_own:
                continue
            link, exchange = answer.download
            if not self._forgotten.has(link.url, exchange.started):
                yield answer, exchange, read_page(link, exchange, KINDS)

    def _head(self, target: Path, source: Path) -> bytes:
        about = {
            "software": f"webcrawl {__version__}",
            "description": f"{self._kind.upper()} of {source.name}",
            "format": "WARC File Format 1.1",
        }
        head = {"WARC-Date": iso(source.stat().st_mtime), "WARC-Filename": target.name}
        return self._packed(
            NewRecord("warcinfo", fields(head).decode(), WARC_FIELDS, fields(about))
        )

    def _packed(self, record: NewRecord) -> bytes:
        record.common = field_line("WARC-Record-ID", next(self._ids))
        return compressed_record(record, label(sha1(record.block)))


def _text_record(answer: ArchivedAnswer, _: Exchange, page: Page) -> NewRecord | None:
    """Return the record of a page's title and visible text; None without any, or of a failure."""
    text = page.visible_text
    if page.title and not text.startswith(page.title):
        text = f"{page.title}\n{text}"
    if page.status != 200 or not text.strip():
        return None
    return NewRecord("conversion", _about(answer, page), TEXT, text.encode("utf-8", "replace"))


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
        payload["HTTP-Response-Metadata"]["HTML-Metadata"] = _document(page)
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
    return NewRecord("metadata", _about(answer, page), JSON, data)


def _document(page: Page) -> dict[str, Any]:
    metas = []
    if page.description:
        metas.append({"name": "description", "content": page.description})
    metas += [{"property": name, "content": content} for name, content in page.open_graph]
    links: list[dict[str, str]] = []
    in_head: list[dict[str, str]] = []
    for one in page.links:
        place = in_head if one.kind == IN_HEAD else links
        place.append(_link_entry(one))
    head = {"Title": page.title, "Metas": metas, "Link": in_head}
    return {"Head": {name: value for name, value in head.items() if value}, "Links": links}


def _link_entry(link: PageLink) -> dict[str, str]:
    entry = {"path": LINK_NAMES.get(link.kind, OTHER_LINK), "url": link.address}
    if link.text:
        entry["text"] = link.text
    if link.rel:
        entry["rel"] = link.rel
    return entry


def _about(answer: ArchivedAnswer, page: Page) -> str:
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
