"""Values of requests that cannot be kept on disk stay in memory until the requests are done.

A run that ends before that loses them, and with them the requests, as Scrapy loses its queues in
memory. The next run counts such requests among those that cannot be made.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack
from scrapy import Request

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.crawl_log import Hearer
from webcrawl.crawl.request_word import IN_MEMORY

logger = logging.getLogger(__name__)

# Above this the oldest are dropped: most of those were duplicates, whose turn never comes
MAX_REQUESTS = 100_000
VALUE_FIELDS = ("meta", "cb_kwargs")
Values = dict[str, dict[str, Any]]  # by field, then by key


@dataclass(slots=True)
class _Entry:
    values: Values
    has_errback: bool
    is_made: bool = False  # the request was made, so its callback or errback has the values


class HeldValues:
    """Holds the values of requests by their words, which a placeholder makes unique."""

    def __init__(self, hearers: list[Hearer]) -> None:
        """`hearers` are called at the end of each URL; this object adds itself when it has values."""
        self._hearers = hearers
        self._entries: dict[str, _Entry] = {}
        self._run_id = os.urandom(8)
        self._number = 0
        self._warned: set[tuple[str, str, type]] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def placeholder(
        self, field: str, key: str, kind: type, unpackable: type, request: Request
    ) -> msgpack.ExtType:
        """Return the packed placeholder for a value of type `kind`, and warn once for each key and type.

        `unpackable` is the type within the value, or the value's own, that cannot be kept on disk.
        """
        if (field, key, unpackable) not in self._warned:
            self._warned.add((field, key, unpackable))
            line = (
                "%s: its %s %r has a %s, which cannot be kept on disk. It stays in memory until "
                "the request is done; "
                "if the crawl stops before that, the request is lost. Further ones of this kind are not logged"
            )
            logger.warning(line, request, field, key, unpackable.__qualname__)
        # With the run's id, so that a later run does not take its own values for these
        self._number += 1
        return msgpack.ExtType(
            IN_MEMORY, msgpack.packb([self._run_id, self._number, kind.__qualname__])
        )

    def store_values(self, word: str, values: Values, *, has_errback: bool) -> None:
        """Keep the values of the request that has this word."""
        # Not before, so that a crawl without such values pays nothing
        if self.ended not in self._hearers:
            self._hearers.append(self.ended)
        self._entries[word] = _Entry(values, has_errback)
        if len(self._entries) > MAX_REQUESTS:
            del self._entries[next(iter(self._entries))]

    def of(self, word: str) -> Mapping[str, dict[str, Any]]:
        """Return the values of a request that is being made, empty if they are gone.

        The entry is then dropped as soon as the URL has ended.
        """
        entry = self._entries.get(word)
        if entry is None:
            return {}
        entry.is_made = True
        return entry.values

    def release(self, word: str) -> None:
        """Drop the values of a request that will not be made again."""
        self._entries.pop(word, None)

    def ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Drop the values of a URL that has ended.

        If its request was refused before it was made, its errback still needs them.
        """
        del outcome, exchange
        entry = self._entries.get(link.request) if link.request else None
        if entry is None:
            return
        if entry.is_made or not entry.has_errback:
            del self._entries[link.request]
