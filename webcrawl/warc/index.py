"""The index of an archive file, CDXJ: one line per record that can be replayed, in their order until it is sorted.

`com,example)/a 20260102030405 {"url": ..., "mime": ..., "status": ..., "digest": ..., "length": ..., "offset": ...,
"filename": ...}`, as cdxj-indexer writes and pywb and OutbackCDX read it (docs/warc.md).
"""

from __future__ import annotations

import re
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted

from webcrawl.model import Exchange
from webcrawl.store.output import Output
from webcrawl.text.surt import surt
from webcrawl.warc.capture import Capture

ARCHIVE, INDEX = ".warc.gz", ".cdxj"
_END = re.compile(r"[;\s]")  # of a media type


class Index:
    """Lines for the records of one archive file, appended to an output of the crawl."""

    def __init__(self, output: Output, archive: str) -> None:
        self._output, self._archive = output, archive

    def __repr__(self) -> str:
        return f"<Index {self._output!r}>"

    def add(self, capture: Capture, at: int) -> None:
        """The records of one exchange, the first of them at byte `at` of the archive."""
        start, answer = capture.line
        end = f'"filename": "{self._archive}"}}\n'
        lines = f"{start}{answer}{_place(capture.digest, capture.size, at)}{end}"
        if capture.document:
            at += len(capture.data) - capture.last_size
            lines += f'{start}"mime": "text/html", {_place(capture.document, capture.last_size, at)}{end}'
        self._output.write(lines.encode())

    def finish(self) -> None:
        """The archive is finished: its index gets its name, and is sorted, with the checkpoint that says so."""
        self._output.finish()


def line_of(capture: Capture, exchange: Exchange) -> tuple[str, str]:
    """The line's beginning, and what it says of the answer."""
    address = capture.address
    start = f'{surt(address)} {stamp(capture.date)} {{"url": {quoted(address)}, '
    return start, _answer(capture, exchange)


def index_of(archive: str) -> str:
    """The path of an archive file's index, beside it; both may end in `.open`."""
    return INDEX.join(archive.rsplit(ARCHIVE, 1))


def stamp(date: str) -> str:
    """14 digits of a date as WARC fields have it."""
    return date[:4] + date[5:7] + date[8:10] + date[11:13] + date[14:16] + date[17:19]


def _answer(capture: Capture, exchange: Exchange) -> str:
    """Media type and status, if the record has them."""
    if not exchange.head:
        mime = "text/html" if exchange.rendered else exchange.content_type or "application/octet-stream"
        return _mime(mime) if exchange.payload else ""
    mime = exchange.content_type if capture.is_original else "warc/revisit"
    status = 304 if exchange.unmodified else exchange.status  # that of the record's own head
    method = "" if exchange.request.startswith(b"GET ") else _method(exchange.request)
    return f'{_mime(mime)}"status": "{status}", {method}'


def _method(request: bytes) -> str:
    """Of another request than GET, as pywb names it: its answer is not the page of the URL."""
    word = request.partition(b" ")[0]
    return f'"method": {quoted(word.decode("latin-1"))}, ' if word else ""


@lru_cache(256)  # few are common
def _mime(written: str) -> str:
    kind = _END.split(written, maxsplit=1)[0]
    return f'"mime": {quoted(kind)}, ' if kind else ""


def _place(digest: str, length: int, offset: int) -> str:
    return f'"digest": "{digest}", "length": "{length}", "offset": "{offset}", '
