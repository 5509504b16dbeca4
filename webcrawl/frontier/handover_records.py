"""Hosts' records and registered domains on their way to another crawl, as plain values.

A host has what is left of each wait in place of a time. A domain has its budget, who links to it,
and the URLs that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from webcrawl.base.model import Packed
from webcrawl.frontier.budgets import Budgets, domain_of
from webcrawl.frontier.domain_table import TOP
from webcrawl.frontier.host_queues import SitemapQuota
from webcrawl.frontier.hosts import Host
from webcrawl.store.jobdir.host_row import BlockPageRow, stored_block_pages, stored_row

SLICE = 64  # rows looked at in one slice
ORIGINS = 13  # the place of its origins in a host's record
# The values of block_pages, missing, http2 and listed in a record of an older drone, which left out
# the last of them
ABSENT: tuple[Any, ...] = (None, b"", False, None)

Later = list[Any]
"""For each URL whether it waits for a time; how long, or else its place before others (hosts.FIRST, 0); and itself."""


class DomainMoves:
    """Gives domains away, and takes those of others."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._table = budgets.table
        self._reputation = budgets.reputation

    def exported(
        self, leaves: Callable[[str], bool], size: int, pieces: int
    ) -> Iterator[tuple[list[list[Any]], int]]:
        """Yield the domains that leave, each as pieces of so many bytes of URLs and then its record.

        With each slice comes the number of URLs in it; they are gone, and so is a domain with its
        record.
        """
        # Names are read from the tables, so what has changed is written first.
        for part in (self._reputation, self._table):
            for _ in part.prepare():
                yield [], 0
        after = ""
        while names := self._table.names(after, SLICE):
            after = names[-1]
            slice_: list[list[Any]] = []
            count = 0
            for name in names:
                if not leaves(domain_of(name)):
                    continue
                for parts, urls in self._parts(name, size, pieces):
                    slice_ += parts
                    count += urls
                    if len(slice_) >= pieces:
                        yield slice_, count
                        slice_ = []
                        count = 0
            yield slice_, count

    def _parts(self, name: str, size: int, pieces: int) -> Iterator[tuple[list[list[Any]], int]]:
        """Yield the pieces of one domain, `pieces` at a time, and the number of URLs in these.

        `name` is that of the domain's record, or of the record of its folded URLs. `size`: bytes of
        a piece. The domain is gone with the last ones.
        """
        # Elsewhere nothing is known of its families, so all its URLs may go on there.
        domain = domain_of(name)
        whole = False  # all its URLs are out
        while not whole:
            released = (self._release(name, size) for _ in range(pieces))
            found = [urls for urls in released if urls]
            whole = self._table.get(name).queue is None
            parts = [["held", domain, urls] for urls in found]
            # The record of folded URLs says nothing to another crawl.
            if whole and name == domain:
                parts.append(["domain", name, self._taken(name)])
            elif whole:
                self._table.forget(self._table.get(name))
            yield parts, sum(map(len, found))

    def _taken(self, name: str) -> list[Any]:
        """Remove and return a domain's record, as `merge` takes it."""
        domain = self._table.get(name)
        self._table.forget(domain)
        return [
            domain.seed,
            domain.used,
            domain.debt,
            domain.old,
            self._reputation.pop_linkers(name),
        ]

    def merge(self, name: str, value: list[Any]) -> None:
        """Add another crawl's record of a domain (`_taken`) to ours, after its URLs."""
        seed, used, debt, old, sources = value
        self._reputation.merge(name, sources)
        budgets = self._budgets
        domain = budgets.get(name)
        domain.seed = domain.seed or seed
        domain.used += used
        domain.debt += debt
        domain.old += old
        self._table.touch(domain)
        budgets.rate(domain)
        budgets.has_moved = True

    def queue_urls(self, name: str, records: Sequence[Packed]) -> None:
        """Let URLs of a domain wait for its budget."""
        domain = self._budgets.get(name)
        for record in records:
            self._table.queue_url(domain, record)

    def _release(self, name: str, size: int) -> list[Packed]:
        """Remove and return URLs of a domain that wait, whatever its budget.

        As many as make `size` bytes, but one at least.
        """
        domain = self._budgets.get(name)
        records = list[Packed]()
        while size > 0 and (record := self._table.release(domain)) is not None:
            records.append(record)
            size -= len(record)
        return records

    def released(self, most: int) -> Iterator[Packed]:
        """Yield at most so many of the URLs that wait, whatever the budgets.

        This is for a crawl that has no hosts any more.
        """
        if not self._table.held:
            return
        for _ in self._table.prepare():
            pass
        for _, name in self._table.next(TOP, SLICE):
            while most > 0 and (records := self._release(name, 1)):
                yield from records
                most -= len(records)


def pack_host(host: Host, now: float) -> list[Any]:
    """Return all that is known of a host but its URLs and lanes, as `merge_host` takes it."""
    # Each crawl has a clock of its own, so what is left of a wait travels, and no time.
    row = host.failed
    return [
        host.name,
        max(host.ready_at - now, 0.0),
        host.times,
        host.crawl_delay,
        host.failures,
        None if row is None else [max(now - row.at, 0.0), *row[1:]],
        host.pages,
        host.retired,
        host.ip,
        _packed_block_pages(host.block_pages, now),
        host.missing,
        host.http2,
        *_more(host, now),
    ]


def _packed_block_pages(row: BlockPageRow | None, now: float) -> list[Any] | None:
    if row is None:
        return None
    return [row.vendor, now - row.since, *row[2:]]


def _more(host: Host, now: float) -> list[Any]:
    """Return the last fields of a host's record, of which an older drone knows nothing.

    What its sitemaps have brought, and the origins that fail or wait alone: as many as needed.
    """
    listed = host.listed.save() if host.listed is not None else None
    if host.origins is None:
        return [] if listed is None else [listed]
    return [listed, [_pack_origin(key, one, now) for key, one in host.origins.items()]]


def _pack_origin(key: int, one: Host, now: float) -> list[Any]:
    row = one.failed
    failed = None if row is None else [max(now - row.at, 0.0), *row[1:]]
    return [key, one.origin, max(one.ready_at - now, 0.0), one.failures, one.retired, failed]


def merge_host(host: Host, value: list[Any], now: float) -> None:
    """Merge a record that `pack_host` returned into a host's own, which may know something too.

    What makes the host wait longer counts. Origins, behind the other fields, are left to
    `merge_origins`.
    """
    _, wait, times, crawl_delay, failures, failed, pages, retired, ip, *more = value
    block_pages, missing, http2, listed, *_ = (*more, *ABSENT[len(more) :])
    host.ready_at = max(host.ready_at, now + wait)
    host.times = times or host.times
    host.crawl_delay = max(host.crawl_delay, crawl_delay)
    _merge_failures(host, failures, failed, now)
    host.pages += pages
    host.retired = host.retired or retired
    host.ip = ip or host.ip
    host.missing = host.missing or missing
    host.http2 = host.http2 or http2
    if block_pages is not None and host.block_pages is None:
        vendor, ago, *others = block_pages
        host.block_pages = stored_block_pages((vendor, now - ago, *others))
    if listed is not None and host.listed is None:
        host.listed = SitemapQuota(*listed)


def _merge_failures(host: Host, failures: int, failed: list[Any] | None, now: float) -> None:
    """Take over the failures in a row, unless the record has more of its own."""
    if failed is None or failures < host.failures:
        return
    ago, *others = failed
    host.failures = failures
    host.failed = stored_row((now - ago, *others))


def merge_origins(
    host: Host, value: list[Any], now: float, new_origin: Callable[[Host, int, str], Host]
) -> None:
    """Merge the origins of a record that `pack_host` returned into those of a host.

    `new_origin` gives the host a record of one that it does not have.
    """
    origins = value[ORIGINS] if len(value) > ORIGINS else ()
    for key, origin, wait, failures, retired, failed in origins:
        one = (host.origins or {}).get(key) or new_origin(host, key, origin)
        one.ready_at = max(one.ready_at, now + wait)
        one.retired = one.retired or retired
        _merge_failures(one, failures, failed, now)


def pack_later(later: Iterable[tuple[float, Packed]], now: float) -> Later:
    """Return URLs that wait for a time of their own, or go first, as plain values."""
    return [[at > 0.0, at - now if at > 0.0 else at, record] for at, record in later]


def unpack_later(later: Later, now: float) -> list[tuple[float, Packed]]:
    return [(now + wait if waits else wait, record) for waits, wait, record in later]
