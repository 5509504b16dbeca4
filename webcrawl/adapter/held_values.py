"""Values of requests that cannot be kept on disk: memory has them until the requests are done.

A run that ends before loses them, and with them the requests, as Scrapy loses what is in its queues
in memory: the next run counts these requests among those that cannot be made.
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

# requests; beyond, the oldest are given up: most of them were known, and never came to their turn
MOST = 100_000
FIELDS = ("meta", "cb_kwargs")
Values = dict[str, dict[str, Any]]  # by field, and key


@dataclass(slots=True)
class _Entry:
    values: Values
    has_errback: bool
    is_out: bool = False  # its request was made: the code that hears of its end has it


class HeldValues:
    """Holds values by the words of the requests, which are made unique.

    `hearers`: who is told that a URL has ended.
    """

    def __init__(self, hearers: list[Hearer]) -> None:
        self._hearers = hearers
        self._entries: dict[str, _Entry] = {}
        self._run = os.urandom(8)
        self._number = 0
        self._told: set[tuple[str, str, type]] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def place(
        self, field: str, key: str, kind: type, within: type, request: Request
    ) -> msgpack.ExtType:
        """Return what stands for a value of this type; `within` it is what cannot be kept."""
        if (field, key, within) not in self._told:
            self._told.add((field, key, within))
            line = (
                "%s: its %s %r has a %s, which cannot be kept on disk. It stays in memory until "
                "the request is done; "
                "if the crawl stops before that, the request is lost. Further ones of this kind are not logged"
            )
            logger.warning(line, request, field, key, within.__qualname__)
        # The run is part of it: a later run must not take its own values for these
        self._number += 1
        return msgpack.ExtType(
            IN_MEMORY, msgpack.packb([self._run, self._number, kind.__qualname__])
        )

    def hold(self, word: str, values: Values, *, has_errback: bool) -> None:
        """Keep the values of the request that has this word."""
        # A crawl without such values pays nothing
        if self.ended not in self._hearers:
            self._hearers.append(self.ended)
        self._entries[word] = _Entry(values, has_errback)
        if len(self._entries) > MOST:
            del self._entries[next(iter(self._entries))]

    def of(self, word: str) -> Mapping[str, dict[str, Any]]:
        """Return the values of a request that is made now; empty if they are gone."""
        entry = self._entries.get(word)
        if entry is None:
            return {}
        entry.is_out = True
        return entry.values

    def release(self, word: str) -> None:
        """Drop the values of a request that does not come again."""
        self._entries.pop(word, None)

    def ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Note that a URL has ended. If no request was made, an errback may need its values."""
        del outcome, exchange
        entry = self._entries.get(link.request) if link.request else None
        if entry is None:
            return
        if entry.is_out or not entry.has_errback:
            del self._entries[link.request]
