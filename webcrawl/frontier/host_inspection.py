"""The frontier's knowledge of single hosts, for whoever watches the crawl. Nothing changes by being looked at."""

from __future__ import annotations

from typing import Any

from webcrawl.base.model import Link, Status, unpack, url_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.core import Core
from webcrawl.frontier.health import LONGER, gap
from webcrawl.frontier.host_origins import OF_HOST, text_of, url_at
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.wait_words import ASIDE, CRAWL_DELAY, FAILURE, RETRY_AFTER, WALL, WHY, Waits
from webcrawl.store.jobdir.host_row import PLACES, Health, State, behind_wall, given_up

MOST = 1000  # URLs that are shown of one host
FEW, ROWS = 4, 256  # hosts that are named as reached, and rows that are read to find them: 5 ms
ROBOTS = "Crawl-delay of robots.txt"


class Look:
    """`host` and `first` open one record, `in_memory` gives all that are objects."""

    def __init__(self, core: Core) -> None:
        self._core, self._hosts, self._budgets = core, core.hosts, core.queues.budgets
        self._back, self._book, self._aside = core.back, core.book, core.aside

    # -- all of it

    def figures(self) -> dict[str, int | float]:
        """The numbers of URLs and hosts that wait, by what they wait for."""
        return {
            "queued": self._core.queued,
            "in_flight": self._core.in_flight,
            "in_flight/more": self._more(),
            "over_budget": self._budgets.table.held,
            "over_budget/domains": self._budgets.table.over.domains,
            "over_budget/folded": self._budgets.table.folded.urls,
            "hosts": len(self._back),
            "aside": self._aside.urls,
            "hosts_aside": self._aside.hosts,
            "hosts_paused": len(self._aside.held),
            "aside_due": self._aside.next_return() or 0.0,
        }

    def _more(self) -> int:
        """The requests in flight beyond the first one of each host: it takes 2 ms with 30,000 hosts."""
        if not self._book.varies_connections:
            return 0
        return sum(max(len(host.flights()) - 1, 0) for host in self._back.active.values() if host.lanes is not None)

    def levels(self) -> list[int]:
        """The number of URLs in each queue of the front-end."""
        return [*map(len, self._core.queues.front.queues)]

    def ready(self, now: float) -> int:
        """The number of hosts that are due."""
        return self._back.ready(now)

    # -- single hosts

    def host(self, name: str, now: float) -> dict[str, Any]:
        """The record of a host; `known` is False if there is none. Times are the crawl's own."""
        place = "in use" if name in self._back.active else self._hosts.place(name)
        with self._core.opened(name) as host:
            found: dict[str, Any] = {"host": name, "known": bool(place), "record": place or "none"}
            found |= {
                "state": self._state(host),
                "queued": host.waiting(),
                "retries": len(host.later),
                "in_flight": unpack(host.given).url if host.given is not None else None,
                "next_turn": self._next_turn(host, now),
                "delay": self._delay(host),
                "health": self._book.health.health(host).value,
                "failures": host.failures,
                "pages": host.pages,
                "downloads": [round(seconds, 3) for seconds in host.times],
                "address": host.ip,
            }
            if (connections := self._book.connections(host)) > 1:
                found["connections"] = {"at_once": connections, "in_flight": len(host.flights())}
            if host.http2:
                found["protocol"] = "HTTP/2 only"
            if host.retired:
                found["ends_with"] = f"{host.retired} {Status(host.retired).name.lower().replace('_', ' ')}"
            if host.wall is not None and behind_wall(host):
                found["wall"] = {"vendor": host.wall.vendor, "since": host.wall.since, "answers": host.wall.answers}
            if host.origins is not None:
                found["origins"] = [self._origin(one, host, now) for one in host.origins.values()]
            if host.row is not None and host.failures:
                row = host.row
                last = {"at": row.at, "status": row.status, "away": round(row.away), "asked": row.asked}
                found["last_failure"] = last
            return found

    def _origin(self, one: Host, host: Host, now: float) -> dict[str, Any]:
        """The record of one origin that fails or waits while others of its host are asked."""
        return {
            "origin": one.origin or "other ports",
            "health": self._book.health.health(one).value,
            "failures": one.failures,
            "queued": one.waiting(),
            "next_turn": max(one.due(), host.ready_at, now) if one.waiting() else None,
        }

    def record(self, name: str) -> tuple[int, bool, str]:
        """The number of a host's failures in a row, True if it was ever asked, and its address if that is known.

        If an origin with a record of its own is being asked, its failures count.
        """
        with self._core.opened(name) as host:
            asked = (one.failures for one in (host.origins or {}).values() if one.given is not None)
            return max(host.failures, *asked, 0), bool(host.times), host.ip

    def reached(self) -> list[str]:
        """The names of a few hosts that have been reached, as of the last checkpoint."""
        return [name for name in self._hosts.names("", ROWS) if self.record(name)[1]][:FEW]

    def pause(self, name: str) -> tuple[float, str]:
        """Seconds for which the host was to be left alone before the request that is made now, and by which rule."""
        host = self._back.active.get(name)
        if host is not None:  # nearly always, and each line of requests.log asks
            return self._pause(host)
        with self._core.opened(name) as opened:
            return self._pause(opened)

    def next_turn(self, link: Link) -> float | None:
        """Estimated seconds until the next request to the host of a link just taken; None if its queue is empty."""
        host = self._back.active[host_of(link.url)]
        return self._book.wait(host) if host.waiting() else None

    def _pause(self, host: Host) -> tuple[float, str]:
        seconds = self._book.wait(host)
        if host.wall is not None and behind_wall(host):
            return max(gap(host.wall, self._book.of(host.name)[1].retry_wait), seconds), WALL
        if host.row is not None and host.row.unwell and not host.failures:
            return LONGER * seconds, FAILURE
        if host.row is not None:
            asked = self._book.asked(host)
            failed = self._book.health.wait(host.failures, gone=host.row.gone) if host.failures else 0.0
            if asked and asked >= max(failed, seconds):
                return asked, RETRY_AFTER
            if failed > seconds:
                return failed, FAILURE
        if not (host.times or host.failures):
            return seconds, "new"
        return seconds, CRAWL_DELAY if self._is_robots(host, seconds) else "politeness"

    def waits(self, now: float) -> Waits:
        """The hosts that are waited for. It takes as long as `ready` of the back-end."""
        found, first, due = Waits(), None, float("inf")
        for host in self._back.active.values():
            if host.ticket and not host.retired and (at := host.due()) > now:
                found.rules[self._rule(_waited_for(host), at)] += 1
                if at < due:
                    first, due = host, at
        if first is not None:
            record = _waited_for(first)
            _name(found, first, record, self._rule(record, due))
        elif (aside := self._aside.first()) is not None:
            due, found.host = aside
            with self._core.opened(found.host) as host:
                record = _waited_for(host)
                failed = host.failing() or host.wall is not None
                rule = self._rule(record, due) if failed else self._pause(record)[1]
                _name(found, host, record, rule if rule in WHY else ASIDE)
        found.seconds = max(due - now, 0.0) if found.host else 0.0
        return found

    def _rule(self, host: Host, at: float) -> str:
        """Why a host is left alone until then: only URLs that failed are left of it, or the rule of its wait."""
        if host.left[0] == host.ready_at == at:
            return host.left[1]
        if host.row is None and host.wall is None and at <= host.rested_at() and not host.crawl_delay:
            return "politeness"
        return self._pause(host)[1] if host.failures or host.wall is not None or at <= host.rested_at() else FAILURE

    def _is_robots(self, host: Host, seconds: float) -> bool:
        """True if these seconds between two requests are what its robots.txt asks for."""
        if not host.crawl_delay:
            return False
        return 0 < min(host.crawl_delay, self._book.of(host.name)[1].crawl_delay_max) >= seconds

    def in_flight(self, url: str) -> bool:
        """True if this URL was handed out and is not done."""
        host = self._back.active.get(host_of(url))
        return host is not None and url in map(url_of, host.flights())

    def _state(self, host: Host) -> str:
        if host.given is not None:
            return "in flight"
        if host.name in self._aside.held:
            return "paused"
        if given_up(host):
            return Health.GIVEN_UP.value
        if host.retired:
            return Health.SPENT.value
        return PLACES[host.state]

    def _next_turn(self, host: Host, now: float) -> float | None:
        """The time at which it may be asked next, if it has something to ask for and that is known."""
        if host.given is not None or not host.waiting() or host.retired or host.name in self._aside.held:
            return None
        return max(host.aside if host.state is State.ASIDE else host.due(), now)

    def _delay(self, host: Host) -> dict[str, Any]:
        """The seconds between two requests, and whose wish they are."""
        seconds = self._book.wait(host)
        return {
            "seconds": round(seconds, 3),
            "source": ROBOTS if self._is_robots(host, seconds) else type(self._book.of(host.name)[0]).__name__,
            "crawl_delay": host.crawl_delay,
        }

    def wait(self, host: Host) -> float:
        """Seconds between two requests to it."""
        return self._book.wait(host)

    def first(self, name: str, most: int, now: float) -> list[tuple[float, Link]]:
        """The next URLs of a host, in their order: when each is due, if it waits for a time of its own, else 0."""
        most = min(most, MOST)
        with self._core.opened(name) as host:
            later = sorted(host.later)
            found = [(0.0, record) for at, record in later if at <= now]
            queues = [(0, host.queue), *(host.ranked.queues if host.ranked is not None else ())]
            for _, queue in sorted(queues, key=lambda one: -one[0]):
                if len(found) < most:
                    found += [(0.0, record) for record in queue.first(most - len(found))]
            found += [(at, record) for at, record in later if at > now]
            return [(at, unpack(record)) for at, record in found[:most]]

    def in_memory(self) -> list[Host]:
        """All hosts that are objects."""
        return [*self._back.active.values(), *self._hosts.idle()]

    def domain(self, name: str) -> dict[str, Any]:
        """The pages that a registered domain has had of its budget, and the number of URLs that wait beyond it."""
        if not self._budgets.is_limited:
            return {"domain": name, "budget": None}
        domain = self._budgets.get(name)
        return {
            "domain": name,
            "budget": domain.most,
            "used": domain.used,
            "linked_from": domain.rank,
            "seed": domain.seed,
            "over_budget": domain.queue.count if domain.queue is not None else 0,
        }


def _waited_for(host: Host) -> Host:
    """The record whose wait is over first: the host's, or that of one of its origins."""
    if host.origins is None or host.has_due_always():
        return host
    waiting = [one for one in host.origins.values() if one.waiting() and one.given is None]
    first = min(waiting, key=Host.due, default=host)
    return host if first is host or (host.later and host.later[0][0] <= first.due()) else first


def _name(found: Waits, host: Host, record: Host, rule: str) -> None:
    """Names the host that is next; and its origin, if only that one has failed."""
    found.host, found.rule, found.said, found.of_robots = host.name, rule, record.said, record.of_robots
    found.wall = host.wall.vendor if host.wall is not None else ""
    if record is not host:
        found.origin = record.origin
    elif rule == FAILURE and host.said not in OF_HOST and host.row is not None:
        found.origin = text_of(url_at(host, host.row.origin))
