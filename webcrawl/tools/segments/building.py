"""The crawl without a frontier and without a fetcher: its seen store is the index of all segments.

Links enter as in any crawl, so that they are canonicalised, filtered and compared by the same code; what is new comes
out again, and waits for a segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event

from webcrawl.base.model import Packed, url_of
from webcrawl.crawl.discovery import KNOWN
from webcrawl.crawl.rereading import Offline

AT_ONCE = 1 << 14  # records
NEVER = float("inf")


class Building(Offline):
    """Asks nobody, and has no hosts: budgets and rules of hosts are the business of whoever crawls a segment."""

    def know(self, urls: Sequence[str]) -> None:
        """These were asked for, or are going to be: they are in no segment."""
        self.parts.seen.submit(self.parts.pipeline.keys([*urls]), [KNOWN] * len(urls))

    def start_from(self, urls: Sequence[str]) -> None:
        """These were the seeds of a crawl: with the scope `seeds` they say what is inside."""
        self.parts.pipeline.process("", 0, [*urls])

    def found(self, records: Sequence[Packed]) -> None:
        """Links that have passed the filters."""
        self.parts.seen.submit(self.parts.pipeline.keys([*map(url_of, records)]), records)

    def read_seeds(self, most: int) -> bool:
        """Takes the next seeds of the lists; False when there are no more."""
        return self.parts.seeding.read(most)

    def submit_all_portions(self) -> None:
        """The rest of the links of large pages."""
        while self.parts.discovery.submit_portion(NEVER):
            pass

    def take_new(self, ready: Event) -> Iterator[list[Packed]]:
        """Records known to be new, some at a time. `ready` is set by the seen store's `on_ready`."""
        while True:
            ready.clear()
            if records := self.parts.seen.take(AT_ONCE):
                yield [record for record in records if record]
            elif not ready.is_set():  # else it has only passed over many that were known
                return

    def decide(self) -> bool:
        """Has the seen store decide about what waits there; whether something still does."""
        self.parts.seen.merge()
        return self.parts.seen.pending > 0
