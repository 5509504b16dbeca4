"""When a page is fetched again. Its record is in one of the buckets; which one is found by looking through them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from webcrawl.base.dates import iso
from webcrawl.crawl.revisit.buckets import seconds_of, stamped
from webcrawl.crawl.revisit.queue_entry import ASK, mark_of, record_in
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.verify.revisits import number_of_records, places

OF_ALL = 64 << 20  # bytes of records looked at: half a million pages, half a second


class Again(NamedTuple):
    """A record that waits."""

    record: PageRecord
    at: float  # seconds since 1970
    is_due: bool  # then; else the policy is asked then

    def to_json(self, ahead: float) -> dict[str, Any]:
        """`ahead`: what the machine's clock shows beyond the crawl's."""
        record = self.record
        return {
            "due": iso(self.at + ahead) if self.is_due else None,
            "fetched": iso(record.fetched + ahead),
            "visits": record.visits,
            "changes": record.changes,
        }


def among_records(
    snapshot: Snapshot, urls: Iterable[str], *, deep: bool = False
) -> tuple[dict[str, Again], tuple[int, int]]:
    """Those of these pages that wait to be fetched again; how many records were looked at, and how many there are."""
    if not snapshot.has("revisit"):
        return {}, (0, 0)
    wanted, found = {url.encode() for url in urls}, dict[str, Again]()
    looked = size = 0
    for what, records in places(snapshot, SavedQueues(snapshot, "revisit")):
        for entry in records:
            if len(found) == len(wanted) or (size > OF_ALL and not deep):
                return found, (looked, number_of_records(snapshot))
            looked += 1
            size += len(entry)
            if entry[entry.rfind(b" ") + 1 :] in wanted:
                try:
                    record = record_in(entry)
                except ValueError as error:
                    raise snapshot.damaged(f"table meta, {what}: {error}") from error
                is_due = mark_of(entry) != ASK
                found[record.url] = Again(record, seconds_of(stamped(entry)), is_due)
    return found, (looked, looked)
