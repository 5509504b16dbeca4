"""logs/crawl.log: one line per finished URL, in Heritrix's format (docs/logs.md)."""

from __future__ import annotations

import time
from collections.abc import Callable

from webcrawl.logs.crawl_line import line
from webcrawl.model import Exchange, Link, Outcome, Status
from webcrawl.store.output import Output

# A URL that ends so without a request was given up with its host.
AWAY = frozenset(
    (
        *(Status.DNS_FAILED, Status.CONNECT_FAILED, Status.CONNECTION_LOST, Status.TIMEOUT),
        *(Status.DROPPED, Status.HOST_RETIRED),
    )
)

Hearer = Callable[[Link, Outcome, Exchange | None], None]


class CrawlLog:
    """Records the end of every URL."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.hearers: list[Hearer] = []  # are told the same, in the same turn of the event loop

    @property
    def length(self) -> int:
        """Bytes of the log so far."""
        return self._output.tell()

    def finished(self, link: Link, outcome: Outcome, exchange: Exchange | None, annotations: list[str]) -> None:
        """A URL that was fetched, or that failed."""
        if link.attempt:
            annotations.append(f"{link.attempt + 1}t")
        self._output.write(line(outcome.at or time.time(), link, outcome, exchange, annotations))
        for hear in self.hearers:
            hear(link, outcome, exchange)

    def dropped(self, link: Link, status: int) -> None:
        """A URL that ended without a request."""
        notes = ["revisit"] if link.is_revisit else []
        self.finished(link, Outcome(status), None, [*notes, "given_up"] if status in AWAY else notes)
