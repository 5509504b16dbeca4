"""What a crawl remembers of one host: its turn, its delay and where that comes from, its failures, its queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack

from webcrawl.frontier.connections import Connections
from webcrawl.frontier.health import FailedRow
from webcrawl.frontier.hosts import STATES, State, saved_queues
from webcrawl.frontier.politeness import Politeness
from webcrawl.loading import load
from webcrawl.model import Packed, Status
from webcrawl.store import rowcrc
from webcrawl.text.dates import iso
from webcrawl.verify.snapshot import Snapshot
from webcrawl.why.queue_scan import count_of

PLACES = {
    State.MOVING: "moves between drones of the hive",
    State.ASIDE: "is set aside until its next turn",
    State.PARKED: "gave way to other hosts, and comes back",
    State.IDLE: "has nothing to fetch",
    State.ACTIVE: "is in turn",
}
ROW = "SELECT name, state, data, crc FROM host WHERE name = ?"


@dataclass(slots=True)
class HostRecord:
    """A row of the table `host`."""

    name: str
    state: State
    ready_at: float
    times: list[float]
    crawl_delay: float
    failures: int
    pages: int
    retired: int
    ip: str
    later: list[tuple[float, Packed]]
    failed: FailedRow | None
    aside: float
    queue: bytes | None
    ranked: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def waiting(self) -> int:
        """Its URLs, with those in flight."""
        return len(self.later) + count_of(self.queue) + sum(count_of(saved) for _, saved in self.ranked)

    def in_order(self) -> list[bytes | None]:
        """Its queues, as they are served."""
        ranked = sorted(self.ranked, key=lambda one: -one[0])
        before = [saved for priority, saved in ranked if priority > 0]
        return [*before, self.queue, *(saved for priority, saved in ranked if priority < 0)]

    @property
    def health(self) -> str:
        if self.retired == Status.HOST_BUDGET:
            return "has given all its pages: HOST_MAX_PAGES"
        if self.retired:
            return f"given up: its URLs end with {self.retired}"
        if self.failures:
            return f"failing: {self.failures} in a row"
        return "well" if self.times else "not asked yet"


def host_record(snapshot: Snapshot, name: str) -> HostRecord | None:
    """None if the crawl never queued a URL of this host."""
    for row in snapshot.rows(ROW, (name,)):
        if not rowcrc.agrees(rowcrc.host, row):
            raise snapshot.damaged(f"table host, {name}: checksum")
        try:
            ready_at, times, delay, failures, pages, retired, ip, later, failed, aside, queue, *ranked = (
                msgpack.unpackb(row[2])
            )
            return HostRecord(
                name,
                STATES[row[1]],
                ready_at,
                times,
                delay,
                failures,
                pages,
                retired,
                ip,
                sorted((at, record) for at, record in later),
                FailedRow(*failed) if failed is not None else None,
                aside or 0.0,
                queue,
                saved_queues(*ranked),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise snapshot.damaged(f"table host, {name}: {error!r}") from error
    return None


@dataclass(slots=True)
class Delay:
    """Seconds between two requests to a host that is well, and what makes them so many."""

    seconds: float
    because: str
    connections: int = 1  # requests at once, with so many seconds after each


def connections_of(name: str, crawl_delay: float, values: Mapping[str, Any]) -> int:
    """How many requests a host may have at once, as `frontier/booking.py` computes it."""
    rules = Connections.given(values["HOST_CONNECTIONS"])
    return 1 if rules is None or (crawl_delay and values["CRAWL_DELAY_MAX"]) else rules.of(name)


def delay_of(times: list[float], crawl_delay: float, values: Mapping[str, Any]) -> Delay:
    """As `frontier/booking.py` computes it."""
    policy: type[Politeness] = load(values["POLITENESS_POLICY"])
    factor, least, most = (values[f"POLITENESS_{name}"] for name in ("FACTOR", "MIN_DELAY", "MAX_DELAY"))
    wait = policy(factor, least, most).wait(times)
    asked = min(crawl_delay, values["CRAWL_DELAY_MAX"])
    if crawl_delay and asked >= wait:
        bounded = f", bounded by CRAWL_DELAY_MAX = {values['CRAWL_DELAY_MAX']:g}" if asked < crawl_delay else ""
        return Delay(asked, f"the Crawl-delay of its robots.txt is {crawl_delay:g}{bounded}")
    if wait == least:
        return Delay(wait, f"POLITENESS_MIN_DELAY = {least:g}")
    if wait == most:
        return Delay(wait, f"POLITENESS_MAX_DELAY = {most:g}")
    last = f"its last download took {times[-1]:.2f} s, POLITENESS_FACTOR = {factor:g}" if times else "it is new"
    return Delay(wait, f"{values['POLITENESS_POLICY'].rpartition('.')[2]}: {last}")


def to_json(host: HostRecord, delay: Delay, wall: float, *, paused: bool) -> dict[str, Any]:
    """`wall`: what the machine's clock is ahead of the crawl's. `paused`: by command."""
    failed = host.failed
    return {
        "name": host.name,
        "place": host.state.name.lower(),
        "health": host.health,
        "paused": paused,
        "failures": host.failures,
        "failed_at": iso(failed.at + wall) if failed is not None and host.failures else None,
        "failed_status": failed.status if failed is not None and host.failures else None,
        "next_request": iso(max(host.ready_at, host.aside) + wall) if host.ready_at or host.aside else None,
        "delay": round(delay.seconds, 3),
        "delay_because": delay.because,
        "connections": delay.connections,
        "crawl_delay": host.crawl_delay,
        "pages": host.pages,
        "queued": host.waiting,
        "given_up_with": host.retired or None,
        "ip": host.ip or None,
    }
