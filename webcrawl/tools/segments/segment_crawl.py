"""The crawl inside a builder of segments: it canonicalises, filters and compares links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event

from webcrawl.base.model import Packed, url_of
from webcrawl.crawl.discovery import MARK_AS_SEEN
from webcrawl.crawl.rereading import Offline

RECORDS_AT_ONCE = 1 << 14
WITHOUT_PACE = float("inf")  # a time by which all links of large pages are due


class SegmentCrawl(Offline):
    """Asks no server and has no hosts: budgets and rules of hosts are for the segment's crawl."""

    def mark_as_seen(self, urls: Sequence[str]) -> None:
        """Keep these URLs out of segments: they were requested, or are going to be."""
        self.parts.seen.submit(self.parts.pipeline.keys([*urls]), [MARK_AS_SEEN] * len(urls))

    def add_seeds(self, urls: Sequence[str]) -> None:
        """Note the seeds of a crawl: with the scope `seeds` they say what is inside."""
        self.parts.pipeline.process("", 0, [*urls])

    def submit(self, records: Sequence[Packed]) -> None:
        """Submit links that have passed the filters of the crawl that found them."""
        self.parts.seen.submit(self.parts.pipeline.keys([*map(url_of, records)]), records)

    def submit_all_portions(self) -> None:
        """Submit the rest of the links of large pages."""
        while self.parts.discovery.submit_portion(WITHOUT_PACE):
            pass

    def take_new(self, ready: Event) -> Iterator[list[Packed]]:
        """Yield links that are known to be new, some at a time.

        `ready` is the event that the seen store's `on_ready` sets.
        """
        while True:
            ready.clear()
            records = self.parts.seen.pop_new(RECORDS_AT_ONCE)
            if records:
                yield [record for record in records if record]  # without MARK_AS_SEEN
            elif not ready.is_set():  # else it has only passed over many that were known
                return

    def decide_waiting(self) -> bool:
        """Have the seen store decide which waiting links are new; return whether any still waits."""
        self.parts.seen.merge()
        return self.parts.seen.pending > 0
