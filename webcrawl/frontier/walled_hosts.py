"""Hosts behind a wall: how often they are asked, which of their URLs come again, and when the wall is open.

A wall is no failure of its host. Its URLs stay in the queue and are asked for in turn, one at a time, at intervals that
grow to a day: each is a probe of the wall. There is no I/O here, and no clock.
"""

from __future__ import annotations

from dataclasses import replace

from webcrawl.base.model import Link, Outcome, Packed
from webcrawl.frontier.health import DAY
from webcrawl.frontier.hosts import Host
from webcrawl.store.jobdir.host_row import WallRow, behind_wall

WALLED = -1  # of Link.struck: the URL has met the wall before
THERE_OR_NOT = frozenset((*range(200, 400), 404, 410))  # a wall denies with others


def met(host: Host, link: Link, vendor: str, now: float) -> Link | None:
    """Books an answer of a wall; returns the link if it comes again.

    As long as it may be this URL's alone it does not: if the host turns out to be behind the wall, `brought_back` has
    it. It ends if it has met the wall before, and its host has given pages since: then it alone is walled. Who made a
    request of their own gets the answer, and a page that is fetched again has its next time already.
    """
    before, known = host.wall or WallRow(vendor, now, 0), behind_wall(host)
    host.wall = WallRow(vendor, before.since, before.answers + 1, before.walled)
    if link.request or link.history or link.is_own or not link.url:
        return None
    if not known and host.pages and link.struck == WALLED:
        return None
    link = replace(link, struck=WALLED)
    if behind_wall(host):
        return link
    host.wall = WallRow(vendor, before.since, before.answers + 1, (*before.walled, link.pack()))
    return None


def brought_back(host: Host) -> tuple[Packed, ...]:
    """The links that were walled before the host was known to be behind a wall: they are asked for again."""
    row = host.wall
    if row is None or not row.walled or not behind_wall(host):
        return ()
    host.wall = WallRow(row.vendor, row.since, row.answers)
    return row.walled


def gap(row: WallRow, first: float) -> float:
    """Seconds until the wall is tried again."""
    return min(first * 2.0 ** min(row.answers - 1, 60), DAY)


def opens(link: Link, outcome: Outcome) -> bool:
    """True if this answer, which is no wall's, shows that there is none. A robots.txt is often let through."""
    return outcome.status in THERE_OR_NOT and bool(link.url) and not link.is_own
