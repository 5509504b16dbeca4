"""What an earlier crawl has of a URL, or of a payload: read from its archive, as far as that is still there."""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from webcrawl.archives.answers import Answers, Unusable, most
from webcrawl.archives.captures import Capture
from webcrawl.model import Exchange, Referred
from webcrawl.since.index import Index
from webcrawl.since.lines import Line
from webcrawl.since.sources import archive_of
from webcrawl.store.errors import StoreError
from webcrawl.text.percent import visible
from webcrawl.warc.reader import Lost, NotWarc, Record, Records
from webcrawl.warc.unpacking import Place

logger = logging.getLogger(__name__)

LONGEST = 1024  # bytes of a validator that is sent back
TOLD = 100  # files of which the log has a line
# RFC 9110 8.8.3; what is no entity tag some servers compare all the same, but it cannot be sent in If-None-Match
_ETAG = re.compile(rb'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_VALIDATOR = re.compile(rb"\n(?:etag|last-modified)[ \t]*:", re.IGNORECASE)
# Of a 304 these do not replace what the earlier answer said: they are of the message, or of a body that did not come
_KEPT = re.compile(rb"content-.*|transfer-encoding|connection|keep-alive|trailer|upgrade", re.IGNORECASE)


NOT_MODIFIED = 304


@dataclass(slots=True, weakref_slot=True, eq=False)
class Known:
    """The latest capture of a URL. Without a page no validators may be sent: a 304 could not be made a page of."""

    referred: Referred
    page: Exchange | None = None
    etag: bytes = b""
    modified: bytes = b""

    @property
    def validators(self) -> list[tuple[bytes, bytes]]:
        """The headers of a conditional request; none if it cannot be one."""
        if self.page is None:
            return []
        given = [(b"If-None-Match", self.etag), (b"If-Modified-Since", self.modified)]
        return [(name, value) for name, value in given if value]

    def answered(self, answer: Exchange) -> Exchange:
        """The answer to a request with or without validators: of a 304 the page as if it had come."""
        if answer.status == NOT_MODIFIED and self.page is not None and self.validators:
            return unmodified(self.page, answer, self.referred)
        if is_payload(answer) and answer.digest == self.referred.digest:
            answer.refers = self.referred
        return answer


def is_payload(answer: Exchange) -> bool:
    """Whether this is the kind of answer whose payload may be in an earlier archive."""
    return 200 <= answer.status < 300 and bool(answer.payload and answer.head) and not answer.truncated


def unmodified(page: Exchange, answer: Exchange, referred: Referred) -> Exchange:
    """The earlier page under its own status, with the headers that a cache would have after this 304 (RFC 9111 3.2)."""
    new = [(name, value) for name, value in answer.headers if not _KEPT.fullmatch(name)]
    names = {name.lower() for name, _ in new}
    headers = [(name, value) for name, value in page.headers if name.lower() not in names] + new
    return replace(
        answer,
        status=page.status,
        headers=headers,
        wire=b"",
        payload=page.payload,
        body=page.body,
        refers=referred,
        unmodified=True,
        _digest=page.digest,
        _type=None,
    )


class Earlier:
    """The captures of an index. Its methods read from disk: call them from a thread. No record is ever an error."""

    def __init__(self, index: Index, truncate: int) -> None:
        self._index, self._answers, self._most = index, Answers(truncate), most(truncate)
        self._told: set[Path] = set()
        self.lost: Counter[str] = Counter()  # look-ups that found something that cannot be read

    def __repr__(self) -> str:
        return f"<Earlier {self._index!r}>"

    def of_url(self, url: str) -> Known | None:
        """The latest capture of a URL in visible form, if it was a success."""
        try:
            found = self._index.latest(url)
            holder = self._index.holder(found[0].digest) if found is not None and found[0].is_revisit else None
        except (OSError, StoreError) as error:
            self._lose(Path(getattr(error, "filename", None) or "index"), error)
            return None
        if found is None:
            return None
        line, path = found
        if not line.is_revisit:
            return self._whole(line, path) if line.status == 200 else None
        if line.status not in (200, NOT_MODIFIED) or holder is None:
            return None
        return self._repeated(line, path, *holder)

    def of_digest(self, digest: str) -> Referred | None:
        """A capture with this payload, of any URL."""
        try:
            found = self._index.holder(digest)
        except (OSError, StoreError) as error:
            self._lose(Path(getattr(error, "filename", None) or "index"), error)
            return None
        if found is None:
            return None
        return _referred(found[0], self._record(*found, 0))

    def close(self) -> None:
        self._index.close()

    # -- records

    def _whole(self, line: Line, path: Path) -> Known:
        record = self._record(line, path, self._most)
        known = Known(_referred(line, record))
        if record is not None and _VALIDATOR.search(record.block):
            _give(known, self._page(line, path, record))
        return known

    def _repeated(self, line: Line, path: Path, whole: Line, its_path: Path) -> Known:
        """A revisit record has a head of its own; the payload is in the record that it refers to."""
        original, record = self._record(whole, its_path, self._most), self._record(line, path, self._most)
        known = Known(_referred(whole, original))
        page = self._page(whole, its_path, original) if original is not None and record is not None else None
        if page is None or record is None:
            return known
        try:
            _, answer = self._answers.read(Capture(record, record.place), page)
        except Unusable as error:
            self._lose(path, error)
            return known
        if line.status != NOT_MODIFIED:
            page = answer
        elif whole.url == line.url:
            page = unmodified(page, answer, known.referred)
        else:
            page = None
        _give(known, page)
        return known

    def _page(self, line: Line, path: Path, record: Record) -> Exchange | None:
        """The answer of a record; None unless all of it is there, and is what the index says."""
        if record.size > len(record.block) or record.fields.get("warc-truncated"):
            return None
        try:
            _, exchange = self._answers.read(Capture(record, record.place))
        except Unusable as error:
            self._lose(path, error)
            return None
        if exchange.truncated or exchange.status != line.status:
            return None
        if line.digest and exchange.digest != line.digest:
            self._lose(path, ValueError(f"the record at byte {line.offset} of {line.file} has another payload"))
            return None
        return exchange

    def _record(self, line: Line, path: Path, keep: int) -> Record | None:
        """The record of a line; None if it is not there any more. `keep`: so many bytes of its block."""
        damage: list[Lost] = []
        error: Exception = FileNotFoundError(f"{line.file}: not found")
        for file in archive_of(path, line.file):
            try:
                with Records(file, keep, damage.append, Place(line.offset, 0)) as records:
                    record = records.next()
            except FileNotFoundError:
                continue
            except (OSError, NotWarc) as failure:
                error = failure
                continue
            right = record is not None and sum(record.place) == line.offset and visible(record.url) == line.url
            if right and not damage:
                return record
            error = ValueError(f"{file}: no such record at byte {line.offset}")
            break
        self._lose(path, error)
        return None

    def _lose(self, path: Path, error: Exception) -> None:
        """Counts it, and says so once of each index file: the pages of its archive are fetched whole."""
        self.lost["since/unreadable"] += 1
        if path not in self._told and len(self._told) < TOLD:
            self._told.add(path)
            logger.warning("since: %s: %s; without their records, pages are fetched whole", path, error)


def _referred(line: Line, record: Record | None) -> Referred:
    """How a revisit record refers to a capture: all that is known of it."""
    if record is None:
        return Referred("", line.url, line.date, line.digest)
    return Referred(record.id, line.url, record.fields.get("warc-date", line.date), line.digest)


def _give(known: Known, page: Exchange | None) -> None:
    """Validators, if the page is there and has any."""
    if page is None:
        return
    etag, modified = page.header(b"etag") or b"", page.header(b"last-modified") or b""
    known.etag = etag if len(etag) <= LONGEST and _ETAG.fullmatch(etag) else b""
    known.modified = modified if 0 < len(modified) <= 64 and modified.isascii() and modified.strip() else b""
    known.page = page if known.etag or known.modified else None
