"""The captures of a URL or payload in an earlier crawl, read from its archive if it is there."""

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
    most,
    unmodified,
)
from webcrawl.record.since.cdx_server import digests_of, is_payload
from webcrawl.record.since.index import EarlierIndex
from webcrawl.record.since.sources import archive_of
from webcrawl.record.warc.reader import NotWarc, ReadRecord, RecordReader, SkippedRange
from webcrawl.record.warc.unpacking import RecordStart
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.index_line import NOT_MODIFIED, CaptureLine

logger = logging.getLogger(__name__)

LONGEST = 1024  # bytes of an entity tag that is sent back
TOLD = 100  # index files of which the log has a line
_VALIDATOR = re.compile(rb"\n(?:etag|last-modified)[ \t]*:", re.IGNORECASE)
_CODED = re.compile(rb"\ncontent-encoding[ \t]*:", re.IGNORECASE)
# The forms of a record's identifier and date: any program may have written the record
_ID, _DATE = re.compile("<[!-~]+>"), re.compile(r"[0-9T:.Z-]+")
NONE = Validators()
GET = b"GET"


@dataclass(slots=True, weakref_slot=True, eq=False)
class LatestCapture:
    """The latest capture of a URL. Without a page no validators may be sent: a 304 has no body.

    `referred` is None if the record is there and damaged, or if nothing holds its payload: nothing
    may refer to it.
    """

    referred: EarlierCapture | None
    page: Exchange | None = None
    validators: Validators = NONE
    # The digest of the decoded body, if the payload is coded: coders differ
    body: str = ""
    coding: bytes = b""  # of that payload

    @property
    def conditions(self) -> list[tuple[bytes, bytes]]:
        """Return headers for the request; none if it cannot be a conditional one."""
        return self.validators.headers if self.page is not None else []

    def answered(self, answer: Exchange) -> Exchange:
        """Return the answer to a request with or without validators; for a 304, the page as before."""
        if answer.status == NOT_MODIFIED and self.page is not None and self.conditions:
            # Its status and body are those of the earlier page, so that every pipeline works as
            # ever; log, index, tables and archive say 304.
            page = unmodified(self.page, answer)
            state = page.state.but(refers=self.referred, since=Change.UNCHANGED)
            return replace(page, unmodified=True, state=state)
        if is_payload(answer) and self.referred is not None:
            is_identical = next(self._same(answer), None)
            if is_identical is not None:
                answer.state.refers = self.referred.where(identical=is_identical)
            else:
                answer.state.refers = None
        answer.state.since = self._change(answer)
        return answer

    def _change(self, answer: Exchange) -> Change | None:
        """Return what has become of the page, or None if the answer, such as a 503, does not tell."""
        has_moved = answer.status in MOVED and bool(answer.location)
        if answer.status in GONE or has_moved:
            return Change.GONE
        if not 200 <= answer.status < 300:
            return None
        if answer.state.refers is not None:
            return Change.UNCHANGED
        # Also of an answer that is stored whole, as in another coding than before
        has_same_body = self.page is not None and self.page.body == answer.body
        if has_same_body or any(self._same(answer)):
            return Change.UNCHANGED
        return Change.CHANGED

    def _same(self, answer: Exchange) -> Iterator[bool]:
        """Yield True if the payload is the same, and False if only its coding differs.

        Without a known digest of the body, its own may be that of the payload. An answer with
        another coding, or none, is not the same as one that is coded: its head would go with a
        payload that nobody could read by it.
        """
        if self.referred is None:
            return
        known = normal(self.referred.digest)
        for digest, is_whole in digests_of(answer, {algorithm(known)}):
            # Crawlers in browsers store bodies decoded: their payloads are bodies
            counts = is_whole or not self.body
            if counts and digest == known:
                yield is_whole
        # Servers code the same body differently each time: gzip's header has a time
        if self.body and _coding(answer) == self.coding and label(sha1(answer.body)) == self.body:
            yield False


class Damaged(Exception):  # noqa: N818 - reads as what it is
    """The archive file is there, and has not what the index says: no record may refer to that."""


class Earlier:
    """The captures of an index.

    Its methods read from disk: call them from a thread. No record is ever an error.
    """

    def __init__(self, index: EarlierIndex, truncate: int) -> None:
        self._index = index
        self._answers = Answers(truncate)
        self._most = most(truncate)
        self._told: set[Path] = set()
        self.lost = 0  # look-ups that found something that cannot be read

    def of_url(self, url: str) -> LatestCapture | None:
        """Return the latest capture of a URL in visible form, if it was a success."""
        try:
            found = self._index.latest(url)
            if found is None:
                return None
            line, path = found
            holder = self._index.holder(line.digest) if line.is_revisit else None
        except (OSError, StoreError) as error:
            self._lose(Path(getattr(error, "filename", None) or "index"), error)
            return None
        try:
            return self._known(line, path, holder)
        except Damaged:
            # Nothing may refer to it: the page is fetched and stored as a whole
            return LatestCapture(None)

    def _known(
        self, line: CaptureLine, path: Path, holder: tuple[CaptureLine, Path] | None
    ) -> LatestCapture | None:
        if not line.is_revisit:
            return self._whole(line, path) if line.status == 200 else None
        if line.status not in (200, NOT_MODIFIED):
            return None
        if holder is None:
            return LatestCapture(None)
        return self._repeated(line, path, *holder)

    def of_answer(self, answer: Exchange) -> EarlierCapture | None:
        """Return a capture, of any URL, whose payload is this answer's payload or decoded body."""
        for digest, identical in digests_of(answer, self._index.algorithms):
            if (found := self.of_digest(digest)) is not None:
                return found.where(identical=identical)
        return None

    def of_digest(self, digest: str) -> EarlierCapture | None:
        """Return a capture with this payload, of any URL."""
        try:
            found = self._index.with_payload(digest)
        except (OSError, StoreError) as error:
            self._lose(Path(getattr(error, "filename", None) or "index"), error)
            return None
        if found is None:
            return None
        line, path = found
        # A damaged record is as good as none: the payload is stored again
        with suppress(Damaged):
            record = self._record(line, path, 0)
            # A missing file counts as moved: its index is believed
            if not line.is_revisit:
                return _referred(line, record)
            if record is not None:
                return _original_of(record, digest)
        return None

    def close(self) -> None:
        self._index.close()

    # -- records

    def _whole(self, line: CaptureLine, path: Path) -> LatestCapture:
        record, method = self._asked(line, path, self._most, looks=True)
        known = LatestCapture(_referred(line, record))
        if record is None or method != GET:
            return known
        # A page serves conditions, and comparisons of bodies that are coded
        if _VALIDATOR.search(record.block) or _CODED.search(record.block):
            _give(known, self._page(line, path, record))
        return known

    def _repeated(
        self, line: CaptureLine, path: Path, whole: CaptureLine, its_path: Path
    ) -> LatestCapture:
        """Return the capture of a revisit record: its own head, and the payload of its original."""
        original = self._record(whole, its_path, self._most)
        record = None
        method = GET
        # The original may be whole all the same, and can be referred to
        with suppress(Damaged):
            record, method = self._asked(line, path, self._most, looks=True)
        known = LatestCapture(_referred(whole, original))
        if original is None or record is None or method != GET:
            return known
        page = self._page(whole, its_path, original)
        if page is None:
            return known
        try:
            _, answer = self._answers.read(RecordedCapture(record, record.place), page)
        except Unusable as error:
            self._lose(path, error)
            return known
        if not is_unmodified(record):
            page = answer
        elif whole.url == line.url:
            page = unmodified(page, answer)
        else:
            # After a 304 the headers are the original's, which are those of another URL
            page = None
        _give(known, page)
        return known

    def _page(self, line: CaptureLine, path: Path, record: ReadRecord) -> Exchange | None:
        """Return the answer of a record; None unless all of it is there and can be read.

        Raise Damaged if it has another payload.
        """
        # Part of a page cannot stand for the page that a 304 says is unchanged
        if record.size > len(record.block) or record.fields.get("warc-truncated"):
            return None
        try:
            _, exchange = self._answers.read(RecordedCapture(record, record.place))
        except Unusable as error:
            self._lose(path, error)
            return None
        if exchange.truncated or exchange.status != line.status:
            return None
        declared = header(exchange.headers, b"content-length")
        if not exchange.payload and declared not in (None, b"0"):
            # The answer to a HEAD, in an index that does not say so
            return None
        if line.digest and not _has(exchange, line.digest):
            self._lose(
                path,
                ValueError(
                    f"the record at byte {line.offset} of {line.file} has a different payload"
                ),
            )
            raise Damaged
        return exchange

    def _record(self, line: CaptureLine, path: Path, keep: int) -> ReadRecord | None:
        """Return the record of a line; None if its file is not there any more.

        `keep`: so many bytes of its block.
        """
        return self._asked(line, path, keep)[0]

    def _asked(
        self, line: CaptureLine, path: Path, keep: int, *, looks: bool = False
    ) -> tuple[ReadRecord | None, bytes]:
        """Return a line's record and, if `looks`, the method of its request: few indexes have it."""
        damage: list[SkippedRange] = []
        is_there = False
        error: Exception = FileNotFoundError(f"{line.file}: not found")
        for file in archive_of(path, line.file):
            try:
                with RecordReader(
                    file, keep, damage.append, RecordStart(line.offset, 0)
                ) as records:
                    record = records.next()
                    failed = bool(damage)
                    method = _method(records, record) if looks and record is not None else GET
            except FileNotFoundError:
                continue
            except (OSError, NotWarc) as failure:
                error = failure
                # A file that cannot be opened may be sound
                is_there = is_there or isinstance(failure, NotWarc)
                continue
            is_at_place = record is not None and sum(record.place) == line.offset
            is_of_url = record is not None and visible(record.url) == line.url
            if is_at_place and is_of_url and not failed:
                return record, method
            error = ValueError(f"{file}: the record is not at byte {line.offset}")
            is_there = True
            break
        self._lose(path, error)
        if is_there:
            raise Damaged from error
        return None, GET

    def _lose(self, path: Path, error: Exception) -> None:
        """Count a missing record, and log the first one of each index file."""
        self.lost += 1
        if path not in self._told and len(self._told) < TOLD:
            self._told.add(path)
            logger.warning(
                "since: %s: %s; pages whose earlier records are missing are fetched in full",
                path,
                error,
            )


def _method(records: RecordReader, answer: ReadRecord) -> bytes:
    """Return the method of the request that follows this answer; GET if none of its own does.

    An index rarely has methods, and would make pages of the answers to POST. wget and Heritrix write
    requests before answers, so theirs count as pages.
    """
    record = records.next()
    if record is None or record.kind != "request":
        return GET
    if not record.names(answer.id, "warc-concurrent-to"):
        return GET
    return record.block.partition(b" ")[0]


def _referred(line: CaptureLine, record: ReadRecord | None) -> EarlierCapture:
    """Return the reference of a revisit record to a capture: all that is known of it.

    The digest stays as it is written there: programs that replay compare it as a text.
    """
    identifier = ""
    date = line.date
    digest = line.written
    if record is not None:
        identifier = _checked_id(record.id)
        # It has the fraction of a second, and an index has not
        own_date = record.fields.get("warc-date", "")
        if _DATE.fullmatch(own_date):
            date = own_date
        own_digest = record.fields.get("warc-payload-digest", "")
        if line.digest and normal(own_digest) == line.digest:
            digest = own_digest
    return EarlierCapture(identifier, line.url, date, digest)


def _checked_id(identifier: str) -> str:
    """Return the identifier; empty if it could not stand in a record."""
    return identifier if _ID.fullmatch(identifier) else ""


def _original_of(repeat: ReadRecord, digest: str) -> EarlierCapture | None:
    """Return the capture to which the revisit record of this payload refers, or None.

    A reference to the revisit record itself would be of no use: pywb looks for a record that has a
    payload, and follows no chain.
    """
    fields = repeat.fields
    identifier, url, date = (
        fields.get(f"warc-refers-to{name}", "") for name in ("", "-target-uri", "-date")
    )
    written = fields.get("warc-payload-digest", "")
    if repeat.kind != "revisit" or is_unmodified(repeat) or normal(written) != digest:
        return None
    if not url or not _DATE.fullmatch(date):
        return None
    return EarlierCapture(_checked_id(identifier), visible(url.strip("<>")), date, written)


def _has(page: Exchange, digest: str) -> bool:
    """Return True if the payload has this digest, with its transfer coding or without.

    The standard's is without (6.3.2); that of wget and warcio is of the chunks as well.
    """
    return _is_payload(page, digest) or _is_payload(
        replace(page, payload=page.wire, _digest=""), digest
    )


def _is_payload(page: Exchange, digest: str) -> bool:
    return next(digests_of(page, {algorithm(digest)}), None) == (digest, True)


def _give(known: LatestCapture, page: Exchange | None) -> None:
    """Give the capture its page, if the page is there and has validators."""
    if page is None or known.referred is None:
        return
    digest = normal(known.referred.digest)
    is_coded = page.body is not page.payload
    # wget and warcio digest the chunks, too: no later payload has such a digest
    if is_coded or (digest and not _is_payload(page, digest)):
        known.body = label(sha1(page.body))
        known.coding = _coding(page)
    known.validators = validators(page.headers, page.started, longest=LONGEST)
    if any(known.validators):
        known.page = page


def _coding(answer: Exchange) -> bytes:
    """Return the names of its content codings, as a head says them."""
    if answer.body is answer.payload:
        return b""
    values = [value for name, value in answer.headers if name.lower() == b"content-encoding"]
    return b"".join(b",".join(values).lower().split())
