"""logs/crawl.log: a line per finished URL, in Heritrix's format (docs/logs.md)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from webcrawl.base.model import Exchange, Link, Outcome, Status
from webcrawl.base.page_values import By, Change
from webcrawl.content.formats.sniffing import UNNAMED, identified_type
from webcrawl.store.jobdir.crawl_line import LINKS_CUT, line
from webcrawl.store.output import Output

# A URL that ends so without a request of its own was given up with its host.
GIVEN_UP = frozenset(
    (
        *(Status.DNS_FAILED, Status.CONNECT_FAILED, Status.CONNECTION_LOST, Status.TIMEOUT),
        *(Status.DROPPED, Status.HOST_RETIRED),
    )
)

Hearer = Callable[[Link, Outcome, Exchange | None], object]


class CrawlLog:
    """Records the end of every URL."""

    def __init__(self, output: Output, hearers: list[Hearer] | None = None) -> None:
        self._output = output
        # are told the same, in the same turn of the event loop
        self.hearers = hearers if hearers is not None else []

    @property
    def length(self) -> int:
        """Return the bytes that the log has so far."""
        return self._output.tell()

    def finished(
        self, link: Link, outcome: Outcome, exchange: Exchange | None, annotations: list[str]
    ) -> None:
        """Write the line of a URL that was fetched, or that failed, and tell the hearers.

        `annotations` gets those that follow from the link.
        """
        if link.is_probe:
            annotations.append("probe")
        if link.attempt:
            annotations.append(f"{link.attempt + 1}t")  # tries, as Heritrix writes them
        self._output.write(line(outcome.at or time.time(), link, outcome, exchange, annotations))
        for hear in self.hearers:
            hear(link, outcome, exchange)

    def dropped(self, link: Link, status: int) -> None:
        """Write the line of a URL that ended without a request."""
        notes = ["revisit"] if link.is_revisit else []
        if status in GIVEN_UP:
            notes.append("given_up")
        self.finished(link, Outcome(status), None, notes)


def count_known(counters: Counter[str], exchange: Exchange) -> None:
    """Count an answer that the archive of an earlier crawl has: its payload is not stored again."""
    counters["since/unmodified" if exchange.unmodified else "since/identical"] += 1
    counters["since/bytes"] += len(exchange.payload)


TRUNCATED_TYPES = "cut/"  # before a media type, in a counter of stats.json and of states


def flaws_of(exchange: Exchange) -> list[str]:
    """Return the names of the counters of what is wrong with an answer.

    A server cannot make up new ones: only the types that `identified_type` knows are named.
    """
    counters = [f"flaw/{flaw}" for flaw in exchange.flaws]
    if exchange.truncated:
        counters.append(f"truncated/{exchange.truncated}")
    if exchange.truncated == "length":
        counters.append(
            f"{TRUNCATED_TYPES}{identified_type(exchange.content_type, exchange.body) or UNNAMED}"
        )
    return counters


def note_of(exchange: Exchange) -> str:
    """Return the annotation of an answer that the archive of an earlier crawl has."""
    return "since:304" if exchange.unmodified else "since:digest"


def notes_of(link: Link, exchange: Exchange | None) -> list[str]:
    """Return the annotations of a URL in crawl.log that `CrawlLog.finished` does not add itself."""
    notes = [] if exchange is None else _of_answer(exchange)
    if link.history and link.is_revisit:
        return [*_of_revisit(exchange), *notes]
    return notes


def _of_revisit(exchange: Exchange | None) -> list[str]:
    """Return the notes of a page fetched again; `same-text`: other bytes that show the same."""
    found = exchange.state.revisit if exchange is not None else None
    if found is None:
        return ["revisit"]
    notes = ["revisit", str(found.change)]
    if found.change is Change.CHANGED and found.by is By.DIGEST:
        notes.append("same-text")
    return notes


def _of_answer(exchange: Exchange) -> list[str]:
    """Return the notes on what was not read whole, processed or stored, and those of features."""
    notes = [f"truncated:{exchange.truncated}"] if exchange.truncated else []
    if exchange.state.duplicate:
        notes.append("duplicate:digest")  # Heritrix's words
    if exchange.state.followed:
        notes.append("seen:followed")
    if exchange.state.refers is not None:
        notes.append(note_of(exchange))
    notes += exchange.state.notes
    if exchange.state.truncated_links:
        # An annotation that logs of crawls have.
        notes.append(f"{LINKS_CUT}{exchange.state.truncated_links}")
    return notes
