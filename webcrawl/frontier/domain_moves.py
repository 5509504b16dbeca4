"""Registered domains on their way from one crawl to another: budgets, who links to them, and the URLs that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from webcrawl.frontier.budgets import Budgets
from webcrawl.frontier.domain_table import TOP
from webcrawl.model import Packed

SLICE = 64  # rows looked at in one slice


class DomainMoves:
    """Gives domains away, and takes those of others."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets, self._table, self._reputation = budgets, budgets.table, budgets.reputation

    def __repr__(self) -> str:
        return f"<DomainMoves {self._budgets!r}>"

    def exported(self, leaves: Callable[[str], bool], size: int, pieces: int) -> Iterator[tuple[list[list[Any]], int]]:
        """The domains that leave, in pieces of so many bytes, so many at once: first their URLs, then the record.

        With each slice comes the number of URLs in it; they are gone, and so is a domain with its record.
        """
        for part in (self._reputation, self._table):
            for _ in part.prepare():
                yield [], 0
        after = ""
        while names := self._table.names(after, SLICE):
            after = names[-1]
            slice_: list[list[Any]] = []
            count = 0
            for name in filter(leaves, names):
                whole = False
                while not whole:
                    found = [urls for _ in range(pieces) if (urls := self._budgets.release(name, size))]
                    whole = self._table.get(name).queue is None
                    slice_ += [["held", name, urls] for urls in found]
                    slice_ += [["domain", name, self._taken(name)]] if whole else []
                    count += sum(map(len, found))
                    if len(slice_) >= pieces:
                        yield slice_, count
                        slice_, count = [], 0
            yield slice_, count

    def _taken(self, name: str) -> list[Any]:
        domain = self._table.get(name)
        self._table.forget(domain)
        return [domain.seed, domain.used, domain.debt, domain.old, self._reputation.take(name)]

    def merge(self, name: str, value: list[Any]) -> None:
        """A domain's record, after its URLs."""
        seed, used, debt, old, sources = value
        self._reputation.merge(name, sources)
        self._budgets.merge(name, used, debt, old, seed=seed)

    def released(self, most: int) -> Iterator[Packed]:
        """At most so many of the URLs that wait, whatever the budgets: for a crawl that has no hosts any more."""
        if not self._budgets.held:
            return
        for _ in self._table.prepare():
            pass
        for _, name in self._table.next(TOP, SLICE):
            while most > 0 and (records := self._budgets.release(name, 1)):
                yield from records
                most -= len(records)
