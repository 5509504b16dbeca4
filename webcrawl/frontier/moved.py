"""A host's record on its way to another crawl: plain values, with what is left of each wait in place of a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from webcrawl.frontier.health import FailedRow
from webcrawl.frontier.hosts import Host
from webcrawl.model import Packed

Later = list[Any]
"""For each URL whether it waits for a time; how long, or else its place before others (hosts.FIRST, 0); and itself."""


def pack_host(host: Host, now: float) -> list[Any]:
    """Everything but its URLs."""
    row = host.row
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
    ]


def merge_host(host: Host, value: list[Any], now: float) -> None:
    """Puts such a record into a host's, which may know something too: what makes it wait longer counts."""
    _, wait, times, crawl_delay, failures, row, pages, retired, ip = value
    host.ready_at = max(host.ready_at, now + wait)
    host.times = times or host.times
    host.crawl_delay = max(host.crawl_delay, crawl_delay)
    if row is not None and failures >= host.failures:
        ago, *others = row
        host.failures, host.row = failures, FailedRow(now - ago, *others)
    host.pages += pages
    host.retired = host.retired or retired
    host.ip = ip or host.ip


def pack_later(later: Iterable[tuple[float, Packed]], now: float) -> Later:
    """URLs that wait for a time of their own, or go first."""
    return [[at > 0.0, at - now if at > 0.0 else at, record] for at, record in later]


def unpack_later(later: Later, now: float) -> list[tuple[float, Packed]]:
    return [(now + wait if waits else wait, record) for waits, wait, record in later]
