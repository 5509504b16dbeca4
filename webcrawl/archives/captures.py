"""The records of an archive that belong together: an answer, its request, what is noted about it, its document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from webcrawl.warc.reader import Record, Records
from webcrawl.warc.unpacking import Place

NOTES = 4  # metadata records of one answer that are read; programs write one
ANSWERS = frozenset(("response", "revisit", "resource", "conversion"))


@dataclass(slots=True)
class Capture:
    """What an archive has of one download; `first` holds the answer, or refers to it."""

    first: Record
    place: Place  # where the first of its records begins
    request: Record | None = None
    document: Record | None = None  # what a browser made of the answer
    notes: list[Record] = field(default_factory=list)
    next: Place | None = None  # where the record after its last one begins, once that is known
    end: Place | None = None  # where the record after its first one begins

    def takes(self, record: Record) -> bool:
        """Whether this record, which follows, belongs to it; it then has it."""
        first = self.first.id
        if record.kind == "conversion" and record.names(first, "warc-refers-to"):
            self.document = record
        elif record.kind == "request" and record.names(first, "warc-concurrent-to"):
            self.request = record
        elif record.kind == "metadata" and record.names(first, "warc-concurrent-to", "warc-refers-to"):
            if len(self.notes) < NOTES:
                self.notes.append(record)
        else:
            return False
        return True


def captures(records: Records, refuse: Callable[[Record, str], object]) -> Iterator[Capture]:
    """The captures of a file in their order.

    A request may stand before its answer, as wget and Heritrix write it. `refuse` hears of answers in segments.
    """
    current: Capture | None = None
    asked: Record | None = None
    for record in records:
        if current is not None and current.takes(record):
            continue
        if "warc-segment-number" in record.fields or record.kind == "continuation":
            refuse(record, "in segments, which are not put together")
        if current is not None:
            current.next = asked.place if asked is not None else record.place
            yield current
            current = None
        if record.kind in ANSWERS and "warc-segment-number" not in record.fields:
            current = Capture(record, record.place, end=records.place)
            if asked is not None and (current.takes(asked) or record.names(asked.id, "warc-concurrent-to")):
                current.request, current.place = asked, asked.place
            asked = None
        elif record.kind == "request":
            asked = record
    if current is not None:
        current.next = records.place
        yield current
