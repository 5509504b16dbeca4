"""Finds the captures of a URL or payload in an earlier crawl, and reads them from its archive."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from webcrawl.base.digest import algorithm, label, normal, sha1
from webcrawl.base.model import EarlierCapture, Exchange, header
from webcrawl.base.page_values import GONE, MOVED, Change
from webcrawl.base.url_text import visible
from webcrawl.net.header_times import Validators, validators
from webcrawl.record.archived_answers import (
    Answers,
    RecordedCapture,
    Unusable,
    is_unmodified,
    max_block_bytes,
    page_after_304,
)
from webcrawl.record.since.cdx_server import digests_of, is_comparable
from webcrawl.record.since.index import EarlierIndex
from webcrawl.record.since.sources import possible_archives
from webcrawl.record.warc.reader import NotWarc, ReadRecord, RecordReader, SkippedRange
from webcrawl.record.warc.unpacked_stream import RecordStart
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.index_line import NOT_MODIFIED, CaptureLine

logger = logging.getLogger(__name__)

MAX_ETAG_BYTES = 1024  # of an entity tag that is sent back
MAX_LOGGED_FILES = 100  # index files about which a line is logged
_VALIDATOR = re.compile(rb"\n(?:etag|last-modified)[ \t]*:", re.IGNORECASE)
_CODED = re.compile(rb"\ncontent-encoding[ \t]*:", re.IGNORECASE)
# The forms of a record's identifier and date: any program may have written the record
_ID = re.compile("<[!-~]+>")
_DATE = re.compile(r"[0-9T:.Z-]+")
NO_VALIDATORS = Validators()
GET = b"GET"


@dataclass(slots=True, weakref_slot=True, eq=False)
class LatestCapture:
    """The latest capture of a URL in the earlier crawl.

    `reference` is what revisit records may refer to. It is None if the record is damaged, or if no
    record has its payload. Without a `page` no validators may be sent, because a 304 has no body.
    """

    reference: EarlierCapture | None
    page: Exchange | None = None
    validators: Validators = NO_VALIDATORS
    # The digest of the decoded body, if the digest of a later payload may differ although the body
    # is the same: the body may be coded differently, or the known digest may include chunks
    body_digest: str = ""
    coding: bytes = b""  # of that payload

    @property
    def conditions(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of a conditional request; none if the request cannot be one."""
        return self.validators.headers if self.page is not None else []

    def complete_answer(self, answer: Exchange) -> Exchange:
        """Return the answer to a request for this URL, with what has become of the page.

        For a 304 return the earlier page with updated headers. For an answer with the same payload
        note the capture to which its revisit record refers.
        """
        if answer.status == NOT_MODIFIED and self.page is not None and self.conditions:
            # Pipelines get the status and body of the earlier page, as if it had been sent. Log,
            # index, tables and archive say 304.
            page = page_after_304(self.page, answer)
            state = page.state.but(refers=self.reference, since=Change.UNCHANGED)
            return replace(page, unmodified=True, state=state)
        if is_comparable(answer) and self.reference is not None:
            is_identical = next(self._matches(answer), None)
            if is_identical is not None:
                answer.state.refers = self.reference.where(identical=is_identical)
            else:
                answer.state.refers = None
        answer.state.since = self._change(answer)
        return answer

    def _change(self, answer: Exchange) -> Change | None:
        """Return what has become of the page, or None if the answer (a 503, say) does not tell."""
        has_moved = answer.status in MOVED and bool(answer.location)
        if answer.status in GONE or has_moved:
            return Change.GONE
        if not 200 <= answer.status < 300:
            return None
        if answer.state.refers is not None:
            return Change.UNCHANGED
        # An answer that is stored whole, because its coding differs, may have the same body as well
        has_same_body = self.page is not None and self.page.body == answer.body
        if has_same_body or any(self._matches(answer)):
            return Change.UNCHANGED
        return Change.CHANGED

    def _matches(self, answer: Exchange) -> Iterator[bool]:
        """Yield whether the payload is identical, once for each way in which the answer matches.

        Yield True if the payload is the same, and False if only its coding differs. Yield nothing
        if the answer is another one. An answer does not match a capture with another content
        coding: its revisit record would join its head with a payload that is coded differently.
        """
        if self.reference is None:
            return
        known = normal(self.reference.digest)
        for digest, is_payload in digests_of(answer, {algorithm(known)}):
            # The known digest may be that of a body: crawlers in browsers store decoded bodies
            may_match = is_payload or not self.body_digest
            if may_match and digest == known:
                yield is_payload
        if not self.body_digest or _codings_of(answer) != self.coding:
            return
        # Servers code the same body differently each time: gzip's header has a time
        if label(sha1(answer.body)) == self.body_digest:
            yield False


class DamagedCapture(Exception):  # noqa: N818 - reads as what it is
    """The archive file does not have the record that its index says: nothing may refer to it."""


class EarlierCaptures:
    """The captures of an earlier crawl, found by its index.

    The methods read from disk: call them in a thread. They raise nothing for a record or an index
    that cannot be read: they log it, count it in `lost`, and return None.
    """

    def __init__(self, index: EarlierIndex, truncate: int) -> None:
        self._index = index
        self._answers = Answers(truncate)
        self._max_block_bytes = max_block_bytes(truncate)
        self._logged_files: set[Path] = set()
        self.lost = 0  # look-ups whose record or index could not be read

    def of_url(self, url: str) -> LatestCapture | None:
        """Return the latest capture of a URL, given in visible form; None unless it was a success."""
        try:
            entry = self._index.latest_of_url(url)
            if entry is None:
                return None
            line, path = entry
            original = self._index.holder(line.digest) if line.is_revisit else None
        except (OSError, StoreError) as error:
            self._note_loss(Path(getattr(error, "filename", None) or "index"), error)
            return None
        try:
            return self._capture_of_line(line, path, original)
        except DamagedCapture:
            # Nothing may refer to it: the page is fetched and stored as a whole
            return LatestCapture(None)

    def _capture_of_line(
        self, line: CaptureLine, path: Path, original: tuple[CaptureLine, Path] | None
    ) -> LatestCapture | None:
        """Return the capture of an index line, or None if it was no success.

        `original` is the line that has the payload of a revisit record, and its index file. Raise
        DamagedCapture if a record is damaged.
        """
        if not line.is_revisit:
            return self._capture_with_payload(line, path) if line.status == 200 else None
        if line.status not in (200, NOT_MODIFIED):
            return None
        if original is None:
            return LatestCapture(None)
        return self._capture_of_revisit(line, path, *original)

    def of_answer(self, answer: Exchange) -> EarlierCapture | None:
        """Return a capture, of any URL, whose payload is this answer's payload or decoded body."""
        for digest, identical in digests_of(answer, self._index.algorithms):
            capture = self.of_digest(digest)
            if capture is not None:
                return capture.where(identical=identical)
        return None

    def of_digest(self, digest: str) -> EarlierCapture | None:
        """Return a capture with this payload, of any URL."""
        try:
            entry = self._index.with_payload(digest)
        except (OSError, StoreError) as error:
            self._note_loss(Path(getattr(error, "filename", None) or "index"), error)
            return None
        if entry is None:
            return None
        line, path = entry
        # If the record is damaged, there is no such capture: the payload is stored again
        with suppress(DamagedCapture):
            record = self._record(line, path, 0)
            # A missing archive file was moved elsewhere: what its index says counts
            if not line.is_revisit:
                return _reference_to(line, record)
            if record is not None:
                return _original_of(record, digest)
        return None

    def close(self) -> None:
        self._index.close()

    # -- records

    def _capture_with_payload(self, line: CaptureLine, path: Path) -> LatestCapture:
        """Return the capture of a line whose own record has the payload. Raise DamagedCapture."""
        record, method = self._record_and_method(line, path, self._max_block_bytes)
        capture = LatestCapture(_reference_to(line, record))
        if record is None or method != GET:
            return capture
        # Only validators and coded bodies need the page
        if _VALIDATOR.search(record.block) or _CODED.search(record.block):
            _add_page(capture, self._page(line, path, record))
        return capture

    def _capture_of_revisit(
        self, line: CaptureLine, path: Path, original_line: CaptureLine, original_path: Path
    ) -> LatestCapture:
        """Return the capture of a revisit record, with its own head and the original's payload.

        Raise DamagedCapture if the original is damaged.
        """
        original = self._record(original_line, original_path, self._max_block_bytes)
        record = None
        method = GET
        # If only the revisit record is damaged, its original can still be referred to
        with suppress(DamagedCapture):
            record, method = self._record_and_method(line, path, self._max_block_bytes)
        capture = LatestCapture(_reference_to(original_line, original))
        if original is None or record is None or method != GET:
            return capture
        page = self._page(original_line, original_path, original)
        if page is None:
            return capture
        try:
            _, answer = self._answers.read(RecordedCapture(record, record.place), page)
        except Unusable as error:
            self._note_loss(path, error)
            return capture
        if not is_unmodified(record):
            page = answer
        elif original_line.url == line.url:
            page = page_after_304(page, answer)
        else:
            # After a 304 the headers would be those of the original, which has another URL
            page = None
        _add_page(capture, page)
        return capture

    def _page(self, line: CaptureLine, path: Path, record: ReadRecord) -> Exchange | None:
        """Return the answer of a record, or None if it cannot be read or is incomplete.

        Raise DamagedCapture if the record has another payload than its index says.
        """
        # After a 304 the whole page is needed, and not part of it
        if record.size > len(record.block) or record.fields.get("warc-truncated"):
            return None
        try:
            _, exchange = self._answers.read(RecordedCapture(record, record.place))
        except Unusable as error:
            self._note_loss(path, error)
            return None
        if exchange.truncated or exchange.status != line.status:
            return None
        declared = header(exchange.headers, b"content-length")
        if not exchange.payload and declared not in (None, b"0"):
            # This is the answer to a HEAD, although the index does not say so
            return None
        if line.digest and not _has_digest(exchange, line.digest):
            self._note_loss(
                path,
                ValueError(
                    f"the record at byte {line.offset} of {line.file} has a different payload"
                ),
            )
            raise DamagedCapture
        return exchange

    def _record(self, line: CaptureLine, path: Path, keep_bytes: int) -> ReadRecord | None:
        """Return the record of an index line, with the first bytes of its block.

        Return None if the archive file is missing or cannot be opened. Raise DamagedCapture if it
        does not have the record.
        """
        return self._record_and_method(line, path, keep_bytes, reads_method=False)[0]

    def _record_and_method(
        self, line: CaptureLine, path: Path, keep_bytes: int, *, reads_method: bool = True
    ) -> tuple[ReadRecord | None, bytes]:
        """Return what `_record` does, and the method of the request for it.

        Without `reads_method` the method is GET, and the record that follows is not read.
        """
        damage: list[SkippedRange] = []
        is_damaged = False
        error: Exception = FileNotFoundError(f"{line.file}: not found")
        for file in possible_archives(path, line.file):
            try:
                with RecordReader(
                    file, keep_bytes, damage.append, RecordStart(line.offset, 0)
                ) as records:
                    record = records.next()
                    has_skipped = bool(damage)
                    method = GET
                    if reads_method and record is not None:
                        method = _request_method(records, record)
            except FileNotFoundError:
                continue
            except (OSError, NotWarc) as failure:
                error = failure
                # A file that cannot be opened may be sound
                is_damaged = is_damaged or isinstance(failure, NotWarc)
                continue
            is_at_place = record is not None and sum(record.place) == line.offset
            is_of_url = record is not None and visible(record.url) == line.url
            if is_at_place and is_of_url and not has_skipped:
                return record, method
            error = ValueError(f"{file}: the record is not at byte {line.offset}")
            is_damaged = True
            break
        self._note_loss(path, error)
        if is_damaged:
            raise DamagedCapture from error
        return None, GET

    def _note_loss(self, path: Path, error: Exception) -> None:
        """Count a record that is missing, and log the first one of each index file."""
        self.lost += 1
        if path not in self._logged_files and len(self._logged_files) < MAX_LOGGED_FILES:
            self._logged_files.add(path)
            logger.warning(
                "since: %s: %s; pages whose earlier records are missing are fetched in full",
                path,
                error,
            )


def _request_method(records: RecordReader, answer: ReadRecord) -> bytes:
    """Return the method of the request that follows this answer; GET if its request does not.

    Few indexes have methods: an answer to POST would count as a page. Programs that write requests
    before answers, as wget and Heritrix, are taken to have used GET.
    """
    record = records.next()
    if record is None or record.kind != "request":
        return GET
    if not record.names(answer.id, "warc-concurrent-to"):
        return GET
    return record.block.partition(b" ")[0]


def _reference_to(line: CaptureLine, record: ReadRecord | None) -> EarlierCapture:
    """Return what a revisit record writes to refer to a capture.

    The digest is as the capture's record has it, because programs that replay compare it as text.
    """
    identifier = ""
    date = line.date
    digest = line.written
    if record is not None:
        identifier = _checked_id(record.id)
        # The record has the fraction of a second, which the index lacks
        own_date = record.fields.get("warc-date", "")
        if _DATE.fullmatch(own_date):
            date = own_date
        own_digest = record.fields.get("warc-payload-digest", "")
        if line.digest and normal(own_digest) == line.digest:
            digest = own_digest
    return EarlierCapture(identifier, line.url, date, digest)


def _checked_id(identifier: str) -> str:
    """Return the identifier of a record, or an empty string if it is malformed."""
    return identifier if _ID.fullmatch(identifier) else ""


def _original_of(revisit: ReadRecord, digest: str) -> EarlierCapture | None:
    """Return the capture to which a revisit record of this payload refers, or None.

    A reference to the revisit record itself would be useless: pywb looks for a record with a
    payload, and does not follow chains of references.
    """
    fields = revisit.fields
    identifier = fields.get("warc-refers-to", "")
    url = fields.get("warc-refers-to-target-uri", "")
    date = fields.get("warc-refers-to-date", "")
    written = fields.get("warc-payload-digest", "")
    if revisit.kind != "revisit" or is_unmodified(revisit) or normal(written) != digest:
        return None
    if not url or not _DATE.fullmatch(date):
        return None
    return EarlierCapture(_checked_id(identifier), visible(url.strip("<>")), date, written)


def _has_digest(page: Exchange, digest: str) -> bool:
    """Return whether the payload has this digest, with its transfer coding or without it."""
    # The digest of the standard (WARC 1.1, 6.3.2) is without. wget and warcio include the chunks.
    if _has_payload_digest(page, digest):
        return True
    return _has_payload_digest(replace(page, payload=page.wire, _digest=""), digest)


def _has_payload_digest(page: Exchange, digest: str) -> bool:
    return next(digests_of(page, {algorithm(digest)}), None) == (digest, True)


def _add_page(capture: LatestCapture, page: Exchange | None) -> None:
    """Add the digest of the page's body, if it is needed, and the page, if it has validators."""
    if page is None or capture.reference is None:
        return
    digest = normal(capture.reference.digest)
    is_coded = page.body is not page.payload
    # wget and warcio digest the chunks as well: no later payload has that digest
    is_digest_of_chunks = bool(digest) and not is_coded and not _has_payload_digest(page, digest)
    if is_coded or is_digest_of_chunks:
        capture.body_digest = label(sha1(page.body))
        capture.coding = _codings_of(page)
    capture.validators = validators(page.headers, page.started, longest=MAX_ETAG_BYTES)
    if any(capture.validators):
        capture.page = page


def _codings_of(answer: Exchange) -> bytes:
    """Return the content codings that the answer's head names; empty if its body is not coded."""
    if answer.body is answer.payload:
        return b""
    values = [value for name, value in answer.headers if name.lower() == b"content-encoding"]
    return b"".join(b",".join(values).lower().split())
