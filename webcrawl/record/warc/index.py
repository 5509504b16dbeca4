"""The index of an archive file: a line for each record that can be replayed, in their order until it is sorted."""

from __future__ import annotations

from webcrawl.base.model import Exchange
from webcrawl.record.warc.capture import Capture
from webcrawl.store.jobdir.index_line import REVISIT, begin, end, method, mime, place
from webcrawl.store.output import Output


class Index:
    """Lines for the records of one archive file, appended to an output of the crawl."""

    def __init__(self, output: Output, archive: str) -> None:
        self._output, self._end = output, end(archive)

    def __repr__(self) -> str:
        return f"<Index {self._output!r}>"

    def add(self, capture: Capture, at: int) -> None:
        """The records of one exchange, the first of them at byte `at` of the archive."""
        start, answer = capture.line
        lines = f"{start}{answer}{place(capture.digest, capture.size, at)}{self._end}"
        if capture.document:
            at += len(capture.data) - capture.last_size
            lines += f'{start}"mime": "text/html", {place(capture.document, capture.last_size, at)}{self._end}'
        self._output.write(lines.encode())

    def finish(self) -> None:
        """The archive is finished: its index gets its name, and is sorted, with the checkpoint that says so."""
        self._output.finish()


def line_of(capture: Capture, exchange: Exchange) -> tuple[str, str]:
    """The line's beginning, and what it says of the answer."""
    return begin(capture.address, capture.date), _answer(capture, exchange)


def _answer(capture: Capture, exchange: Exchange) -> str:
    """Media type and status, if the record has them."""
    if not exchange.head:
        kind = "text/html" if exchange.rendered else exchange.content_type or "application/octet-stream"
        return mime(kind) if exchange.payload else ""
    kind = exchange.content_type if capture.is_original else REVISIT
    status = 304 if exchange.unmodified else exchange.status  # that of the record's own head
    asked = "" if exchange.request.startswith(b"GET ") else method(exchange.request)
    return f'{mime(kind)}"status": "{status}", {asked}'
