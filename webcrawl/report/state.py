"""What waits, by the rows of hosts and domains: read once, one row at a time."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from typing import NamedTuple

import msgpack

from webcrawl.frontier.health import FailedRow
from webcrawl.frontier.hosts import State as Place
from webcrawl.frontier.hosts import saved_queues
from webcrawl.model import Status
from webcrawl.store import rowcrc
from webcrawl.verify.snapshot import Snapshot

MOST = 200  # rows of each table
KNOWN = 50_000  # hosts set aside that are known by name
COUNT = struct.Struct("<xQ")  # at the beginning of a saved queue: how it is packed, and the number of its records


class Waiting(NamedTuple):
    """A host that is set aside or has many URLs."""

    name: str
    urls: int
    failures: int
    status: int  # with which its URLs would end if it were given up now; 0: none
    due: float  # when it is tried next; 0: it is in turn


@dataclass
class State:
    """`damaged` rows are left out: `scrapy verify` says which they are."""

    hosts: int = 0
    aside: list[Waiting] = field(default_factory=list)
    away: dict[str, int] = field(default_factory=dict)  # hosts that are set aside, as many as fit, and their status
    queues: list[Waiting] = field(default_factory=list)  # the longest
    given_up: list[tuple[str, int]] = field(default_factory=list)
    given_up_by: Counter[int] = field(default_factory=Counter)
    domains: list[tuple[str, int, int]] = field(default_factory=list)  # over budget: URLs that wait, and its rank
    over_budget: tuple[int, int] = (0, 0)  # domains and URLs
    damaged: int = 0


def read_state(snapshot: Snapshot) -> State:
    """Reads both tables."""
    state = State()
    aside: list[Waiting] = []
    queues: list[Waiting] = []
    for host, place in _hosts(snapshot, state):
        if host.urls:
            _keep(queues, host)
            if place == Place.ASIDE:
                _keep(aside, host)
                if len(state.away) < KNOWN:
                    state.away[host.name] = host.status
    state.queues, state.aside = longest(queues), longest(aside)
    waiting = "FROM domain WHERE waiting > 0"
    (state.over_budget,) = snapshot.rows(f"SELECT count(*), coalesce(sum(waiting), 0) {waiting}")
    state.domains = list(
        snapshot.rows(f"SELECT name, waiting, rank {waiting} ORDER BY waiting DESC, name LIMIT ?", (MOST,))
    )
    return state


def _keep(rows: list[Waiting], host: Waiting) -> None:
    rows.append(host)
    if len(rows) >= 8 * MOST:
        rows[:] = longest(rows)


def longest(rows: Iterable[Waiting]) -> list[Waiting]:
    """Those with most URLs."""
    return nlargest(MOST, rows, key=lambda host: (host.urls, host.name))


def _hosts(snapshot: Snapshot, state: State) -> Iterator[tuple[Waiting, int]]:
    for row in snapshot.rows("SELECT name, state, data, crc FROM host"):
        state.hosts += 1
        name, place, data, _ = row
        if not rowcrc.agrees(rowcrc.host, row):
            state.damaged += 1
            continue
        try:
            ready_at, _, _, failures, _, retired, _, later, failed, aside, queue, *ranked = msgpack.unpackb(data)
            saved = [queue, *(one for _, one in saved_queues(*ranked))]
            urls = len(later) + sum(COUNT.unpack_from(one)[0] for one in saved if one is not None)
            status = FailedRow(*failed).status if failed is not None else 0
        except (ValueError, TypeError, IndexError, struct.error):
            state.damaged += 1
            continue
        if retired and retired != Status.HOST_BUDGET:
            state.given_up_by[retired] += 1
            if len(state.given_up) < MOST:
                state.given_up.append((name, retired))
        yield Waiting(name, urls, failures, status, aside or ready_at), place
