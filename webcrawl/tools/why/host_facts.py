"""The record of one host and of its domain, in words: turn, delay, failures, queues, budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from siphashc import siphash

from webcrawl.base.dates import iso
from webcrawl.crawl.control.sheets import OF_HOST
from webcrawl.crawl.rendering.deciding import Need
from webcrawl.crawl.rules import allowance_of, limits_of, own_of, politeness_of
from webcrawl.frontier.booking import Booking
from webcrawl.store import rowcrc
from webcrawl.store.jobdir.domain_row import DomainRow, domain_row, links_to
from webcrawl.store.jobdir.host_row import HostRow, OriginRow, State, behind_wall
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why.saved_settings import SavedSheets

SLOWED = 1.001  # times the usual wait; what is below it is a difference of rounding
FAILED = ("failure", "retry-after", "wall")  # rules by which a host is left alone that is not well


def booking_of(values: Mapping[str, Any], sheets: SavedSheets) -> Booking:
    """The object that the crawl asks how long hosts are left alone; it has heard of none that is under strain."""
    book = Booking(politeness_of(values), limits_of(values))
    book.own = sheets.own(OF_HOST, own_of, values)
    return book


@dataclass(slots=True)
class Delay:
    """Seconds between two requests to a host that is well, and what makes them so many."""

    seconds: float
    because: str
    connections: int = 1  # requests at once, with so many seconds after each


def delay_of(
    book: Booking, host: HostRow | None, name: str, values: Mapping[str, Any], live: Mapping[str, Any] | None = None
) -> Delay:
    """As the crawl computes it. `live`: what it says itself, if it runs: it alone knows which hosts it slows down."""
    asked = host if host is not None else new_host(name)
    wait, connections = book.wait(asked), book.connections(asked)
    now = float((live or {}).get("wait", 0.0)) if (live or {}).get("rule") not in FAILED else 0.0
    if now > SLOWED * wait:
        because = "slowed down: it answers later than it did"
        return Delay(now, because, connections)
    return Delay(wait, _because(asked, wait, values), connections)


RENDERING = "SELECT host, data, crc FROM rendering WHERE host = ?"


def rendering_of(snapshot: Snapshot, host: str) -> str:
    """What rendering has shown of this host, in words; nothing if it has sent no shell, or nothing was rendered."""
    for row in snapshot.rows(RENDERING, (host,)) if snapshot.has("rendering") else ():
        if not rowcrc.agrees(rowcrc.of_host, row):
            raise snapshot.damaged(f"table rendering, {host}: checksum")
        return Need.unpack(row[1]).in_words()
    return ""


def new_host(name: str) -> HostRow:
    """A host of which nothing is known."""
    return HostRow(name, State.IDLE, 0.0, [], 0.0, 0, 0, 0, "", [], None, 0.0, None, [])


def _because(host: HostRow, wait: float, values: Mapping[str, Any]) -> str:
    factor, least, most = (values[f"POLITENESS_{name}"] for name in ("FACTOR", "MIN_DELAY", "MAX_DELAY"))
    asked = min(host.crawl_delay, values["CRAWL_DELAY_MAX"])
    if host.crawl_delay and asked >= wait:
        bounded = f", bounded by CRAWL_DELAY_MAX = {values['CRAWL_DELAY_MAX']:g}" if asked < host.crawl_delay else ""
        return f"the Crawl-delay of its robots.txt is {host.crawl_delay:g}{bounded}"
    if wait == least:
        return f"POLITENESS_MIN_DELAY = {least:g}"
    if wait == most:
        return f"POLITENESS_MAX_DELAY = {most:g}"
    times = host.times
    last = f"its last download took {times[-1]:.2f} s, POLITENESS_FACTOR = {factor:g}" if times else "it is new"
    return f"{values['POLITENESS_POLICY'].rpartition('.')[2]}: {last}"


def to_json(host: HostRow, delay: Delay, wall: float, *, paused: bool, most: int) -> dict[str, Any]:
    """`wall`: what the machine's clock is ahead of the crawl's. `paused`: by command. `most`: HOST_MAX_FAILURES."""
    failed = host.failed if host.failures else None
    return {
        "name": host.name,
        "place": host.state.name.lower(),
        "health": host.told(most),
        "paused": paused,
        "failures": host.failures,
        "failed_at": iso(failed.at + wall) if failed is not None else None,
        "failed_status": failed.status if failed is not None else None,
        "wall": _wall(host, wall),
        "next_request": iso(host.due + wall) if host.due else None,
        "delay": round(delay.seconds, 3),
        "delay_because": delay.because,
        "connections": delay.connections,
        "crawl_delay": host.crawl_delay,
        "pages": host.pages,
        "queued": host.waiting,
        "given_up_with": host.retired or None,
        "ip": host.ip or None,
        "http2_only": host.http2,
        "origins": [_origin(one, wall, most) for one in host.origins],
    }


def _origin(one: OriginRow, ahead: float, most: int) -> dict[str, Any]:
    return {
        "origin": one.origin or "other ports",
        "health": one.told(most),
        "failed_status": one.failed.status if one.failed is not None and one.failures else None,
        "queued": one.waiting,
        "next_request": iso(one.ready_at + ahead) if one.waiting and not one.retired else None,
    }


def _wall(host: HostRow, ahead: float) -> dict[str, Any] | None:
    row = host.wall
    if row is None or not behind_wall(host):
        return None
    return {"vendor": row.vendor, "since": iso(row.since + ahead), "answers": row.answers}


class DomainBudget(NamedTuple):
    """`most` is None where there is no limit."""

    domain: str
    pages: int  # let in so far
    most: int | None
    links: int  # other domains that link to it; no more than 64 are counted
    seed: bool
    waiting: int  # URLs over the budget
    debt: int = 0  # pages that are not answered, or had nothing new and are not paid for
    lead: float = math.inf  # how many these may be

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.domain,
            "pages": self.pages,
            "budget": self.most,
            "linking_domains": self.links,
            "seed": self.seed,
            "over_budget": self.waiting,
            "debt": self.debt,
            "lead": None if math.isinf(self.lead) else int(self.lead),
        }


def budget_of(snapshot: Snapshot, domain: str, key: bytes, values: Mapping[str, Any]) -> DomainBudget:
    """As of the last checkpoint, by the policy that the crawl asks."""
    row = domain_row(snapshot, domain) or DomainRow(domain, 0, 0, False, 0, 0, 0, None)
    links = links_to(snapshot, int(siphash(key, domain)) - 2**63)
    policy = allowance_of(values)
    most = policy.most(links, seed=row.seed)
    return DomainBudget(
        domain, row.used, None if math.isinf(most) else int(most), links, row.seed, row.waiting, row.debt, policy.lead
    )
