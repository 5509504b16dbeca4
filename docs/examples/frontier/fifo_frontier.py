"""A plain frontier: hosts in turns, the URLs of each in the order in which they came.

`FifoFrontier` is a queue. `Bare` answers for all that the crawl may ask of a frontier beyond a
queue.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random
from typing import Any

import msgpack

from webcrawl.base.model import Link, Outcome, Packed, Status, unpack, url_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import TRUNCATED_PAGES, Heard, Hooks, Rules, Shape
from webcrawl.frontier.demand import R
from webcrawl.frontier.host_rows import RetryAfterJournal
from webcrawl.frontier.outcomes import attempts, has_failed, is_kept_short
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.protocol import DiscoverySink, InFlight, Looks, Outages
from webcrawl.frontier.wait_words import Waits
from webcrawl.store.crawldb import CrawlDB

NEVER = float("inf")


class NoLending:
    """Downloads that pages or pipelines await are refused."""

    def lend(self, _link: Link, _now: float, _in_flight: InFlight) -> int:
        return Status.OUT_OF_SCOPE

    def give_back(self, name: str, outcome: Outcome | None, now: float) -> None: ...

    def release(self, name: str, now: float) -> None: ...

    def ready_at(self, _name: str) -> float:
        return NEVER

    def wait(self, _name: str) -> float:
        return 0.0

    def is_retired(self, _name: str) -> bool:
        return True

    def again(self, _link: Link, _outcome: Outcome) -> bool:
        return False


class NoLook:
    """Every host counts as one that answers."""

    def __init__(self, frontier: Bare) -> None:
        self._frontier = frontier

    def figures(self) -> dict[str, int | float]:
        none = (
            "over_budget",
            "over_budget/domains",
            "over_budget/folded",
            "hosts",
            "deferred",
            "hosts_deferred",
            "hosts_paused",
            "deferred_due",
        )
        return {
            "queued": self._frontier.queued,
            "in_flight": self._frontier.in_flight,
            **dict.fromkeys(none, 0),
        }

    def levels(self) -> list[int]:
        return [self._frontier.queued]

    def ready(self, _now: float) -> int:
        return 0

    def record(self, _name: str) -> tuple[int, bool, str]:
        return 0, True, ""

    def reached(self) -> list[str]:
        return []

    def pause(self, _name: str) -> tuple[float, str]:
        return 0.0, "politeness"

    def next_turn(self, _link: Link) -> float | None:
        return None

    def waits(self, _now: float) -> Waits:
        return Waits()

    def in_flight(self, _url: str) -> bool:
        return False


class NoDemand:
    """It has no shares of the slots, and no download is cancelled for others."""

    def holds_back(self, _now: float) -> bool:
        return False

    def wants_hosts(self, _now: float) -> bool:
        return False

    def takes_new(self) -> bool:
        return True

    def paused_until(self, now: float) -> None: ...

    def set_slots(self, slots: int) -> None: ...

    def overstaying(self, _running: Sequence[R], *, full: bool) -> list[R]:
        return []

    def starved(self, _now: float, *, full: bool) -> int:
        return 0


class NoOutage:
    """It does not know who answers, and a pardon takes back nothing."""

    def __init__(self, take: Callable[[float], Link | None]) -> None:
        self._take = take

    def probe(self, now: float, *, anyone: bool) -> Link | None:
        return self._take(now)

    def pardon(self, _since: float) -> int:
        return 0


class NoNotes:
    """Nothing is kept of hosts but what their waits need."""

    def when_grown(self, pages: int, tell: Callable[[Link], None]) -> None: ...

    def missing(self, _name: str, _shown: bytes | None = None) -> bytes:
        return b""

    def http2(self, _name: str, *, learned: bool = False, by_page: bool = False) -> bool:
        return learned or by_page

    def take_listed(self, _url: str, urls: int) -> int:
        return urls


class NoDomains:
    """No budgets."""

    heard: Heard | None = None

    def vote(self, source: str, url: str) -> None: ...

    def new_body(self, link: Link, body: bytes = b"") -> None: ...


class Bare:
    """To be inherited by a frontier that has the methods of `protocol.Queue`.

    No shares, budgets or levels.
    """

    queued = in_flight = over_budget = 0
    take: Callable[..., Link | None]
    found: DiscoverySink | None = None
    lending, demand, notes, domains = NoLending(), NoDemand(), NoNotes(), NoDomains()

    @property
    def look(self) -> Looks:
        return NoLook(self)

    @property
    def outage(self) -> Outages:
        return NoOutage(self.take)

    def may_recover(self) -> bool:
        return False

    def resting(self) -> bool:
        return False


META, URL, END = "fifo", "fifo/", "fifo0"  # END follows all names that begin with URL
LONGEST = 86_400.0  # seconds between two tries of a host that fails
STEPS, TURN = 4, 64  # hosts that one `take` looks at, and URLs of one host that may end then


@dataclass(slots=True, eq=False)
class Host:
    """`first` goes before `urls`, which are numbers of rows; a request of robots.txt has none."""

    name: str
    ready_at: float = 0.0
    times: list[float] = field(default_factory=list)
    delay: float = 0.0
    failures: int = 0
    urls: deque[int] = field(default_factory=deque)
    first: deque[Link] = field(default_factory=deque)
    out: tuple[Link, int | None] | None = None  # what is in flight, and the number of its row
    retired: int = 0  # if not 0, the Status with which all its URLs end
    scheduled: bool = False

    def __bool__(self) -> bool:
        return bool(self.urls or self.first)


Entry = tuple[float, int, Host]  # when a host is due, and a number that no other has


class FifoLook(NoLook):
    """The heap has an entry for each host that may be requested, when its time has come."""

    def __init__(
        self,
        frontier: FifoFrontier,
        heap: list[Entry],
        hosts: dict[str, Host],
        wait: Callable[[Host], float],
    ) -> None:
        super().__init__(frontier)
        self._heap, self._hosts, self._wait = heap, hosts, wait

    def figures(self) -> dict[str, int | float]:
        return {**super().figures(), "hosts": len(self._heap)}

    def ready(self, now: float) -> int:
        return sum(entry[0] <= now for entry in self._heap)

    def next_turn(self, link: Link) -> float | None:
        host = self._hosts[host_of(link.url)]
        return self._wait(host) if host else None


class FifoFrontier(Bare):
    """One request to a host at a time, its wait, Crawl-delay, Retry-After and retries; and a row
    per URL on disk.

    Its memory grows by some hundred bytes for each URL and host. What is a host's fault uses up its
    URLs' attempts, and a host that fails HOST_MAX_FAILURES times in a row is given up for good. It
    lacks all that `Bare` lacks.
    """

    def __init__(
        self,
        db: CrawlDB,
        _shape: Shape,
        rules: Rules,
        hooks: Hooks,
        *,
        random: Random,
        now: float = 0.0,
    ) -> None:  # `random` is a part of the interface
        del random
        self._db, self._politeness, self._limits = db, rules.politeness, rules.limits
        self._admission, self._dropped = hooks.admission, hooks.dropped
        self.counters: Counter[str] = Counter()
        self.queued = self.in_flight = self._ticket = 0
        self._hosts: dict[str, Host] = {}
        self._heap: list[Entry] = []
        self._told = RetryAfterJournal(db)
        self._restore(now)
        db.join(self)

    def __len__(self) -> int:
        return self.queued + self.in_flight

    def _restore(self, now: float) -> None:
        data = self._db.get(META)
        saved: dict[str, Any] = msgpack.unpackb(data) if data is not None else {}
        self._number: int = saved.get("number", 0)
        self.counters.update(saved.get("counters", {}))
        for name, ready_at, times, delay, failures, retired in saved.get("hosts", ()):
            host = self._hosts[name] = Host(name, ready_at, times, delay, failures, retired=retired)
            if now:  # it may have been requested since
                host.ready_at = max(ready_at, now + self._wait(host))
        for name, until in self._told.until.items():
            self._host(name).ready_at = max(self._host(name).ready_at, until)
        for name, record in self._db.between(URL, END):
            self._host(host_of(url_of(record))).urls.append(int(name.removeprefix(URL)))
            self.queued += 1
        for host in self._hosts.values():
            self._schedule(host)

    def _host(self, name: str) -> Host:
        return self._hosts.setdefault(name, Host(name))

    def _schedule(self, host: Host) -> None:
        if host and host.out is None and not host.scheduled:
            self._ticket += 1
            host.scheduled = True
            heappush(self._heap, (host.ready_at, self._ticket, host))

    # -- in

    def add(self, records: Iterable[Packed]) -> None:
        for record in records:
            host = self._host(host_of(url_of(record)))
            host.urls.append(self._keep(self._number, record))
            self._number += 1
            self.queued += 1
            self.counters["added"] += 1
            self._schedule(host)

    def _keep(self, number: int, record: Packed) -> int:
        self._db.set(f"{URL}{number:012}", record)
        return number

    def expedite(self, record: Packed) -> None:
        link = unpack(record)
        host = self._host(host_of(link.url))
        host.first.append(link)
        self.queued += 1
        self.counters["added"] += 1
        self._schedule(host)

    # -- out

    def take(self, now: float, *, spare: bool = True) -> Link | None:
        for _ in range(STEPS):
            if not self._heap or self._heap[0][0] > now:
                break
            host = heappop(self._heap)[2]
            host.scheduled = False
            link = self._first_allowed(host, now)
            if link is not None:
                return link
            self._schedule(host)
        return None

    def _first_allowed(self, host: Host, now: float) -> Link | None:
        for _ in range(TURN):
            if not host:
                break
            number = None if host.first else host.urls[0]
            link = host.first[0] if number is None else unpack(self._record(number))
            decision = host.retired or (
                self._admission(link, now) if self._admission is not None else None
            )
            if isinstance(decision, float):
                host.ready_at = max(host.ready_at, decision)
                break
            if isinstance(decision, Link):  # robots.txt goes first, and the URL keeps its place
                return self._give(host, decision, None)
            (host.first if number is None else host.urls).popleft()
            self.queued -= 1
            if not decision:
                return self._give(host, link, number)
            self._forget(number)
            self.counters[f"dropped/{decision}"] += 1
            if self._dropped is not None:
                self._dropped(link, decision)
        return None

    def _record(self, number: int) -> Packed:
        ((_, record),) = self._db.between(f"{URL}{number:012}", f"{URL}{number + 1:012}")
        return record

    def _forget(self, number: int | None) -> None:
        if number is not None:
            self._db.delete(f"{URL}{number:012}", f"{URL}{number + 1:012}")

    def _give(self, host: Host, link: Link, number: int | None) -> Link:
        host.out = link, number
        self.in_flight += 1
        self.counters["taken"] += 1
        return link

    def next_ready(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    # -- done

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        host, number = self._received(link)
        again = self.will_retry(link, outcome, now)
        self.counters["hosts answered"] += outcome.status > 0 and not host.times
        host.times = [*host.times[-4:], outcome.seconds]
        wait = max(self._wait(host), min(outcome.wait, self._limits.retry_after_max))
        host.failures = host.failures + 1 if has_failed(link, outcome) else 0
        if host.failures:
            wait = max(
                wait, min(self._limits.retry_wait * 2.0 ** min(host.failures - 1, 60), LONGEST)
            )
        host.ready_at = max(host.ready_at, now + wait)
        if outcome.wait:
            self._told.note(host.name, host.ready_at)
        if host.failures >= self._limits.host_failures:
            host.retired, host.ready_at = self._why(link, outcome), now
        if again and number is not None:
            host.urls.append(self._keep(number, replace(link, attempt=link.attempt + 1).pack()))
            self.queued += 1
        else:
            self._forget(number)
            if outcome.short:
                self.counters[TRUNCATED_PAGES] += is_kept_short(link, outcome)
        self.counters["tried again" if again else "finished"] += 1
        self._schedule(host)
        return not again

    def _why(self, link: Link, outcome: Outcome) -> int:
        if link.is_prerequisite:
            return Status.ROBOTS_UNREACHABLE
        return outcome.status if outcome.status < 0 else Status.HOST_RETIRED

    def will_retry(self, link: Link, outcome: Outcome, now: float) -> bool:
        most = attempts(outcome, self._limits.attempts, self._limits.retry_codes)
        return not link.is_prerequisite and link.attempt + 1 < most

    def end_without_request(self, link: Link, now: float) -> None:
        host, number = self._received(link)
        self._forget(number)
        self.counters["finished"] += 1
        self._schedule(host)

    def put_back(self, link: Link, now: float, wait: float = 0.0) -> None:
        self._return(link, now + wait, "put back")

    def cancelled(self, link: Link, seconds: float, now: float) -> None:
        self._return(
            link, now + max(self._politeness.wait([seconds]), self._limits.retry_wait), "cut"
        )

    def _return(self, link: Link, ready_at: float, why: str) -> None:
        host, number = self._received(link)
        host.ready_at = max(host.ready_at, ready_at)
        if number is None:
            host.first.appendleft(link)
        else:
            host.urls.appendleft(number)
        self.queued += 1
        self.counters[why] += 1
        self._schedule(host)

    def _received(self, link: Link) -> tuple[Host, int | None]:
        host = self._hosts[host_of(link.url)]
        if host.out is None:
            raise ValueError(f"not handed out: {link.url}")
        number, host.out = host.out[1], None
        self.in_flight -= 1
        return host, number

    def _wait(self, host: Host) -> float:
        return max(self._politeness.wait(host.times), min(host.delay, self._limits.crawl_delay_max))

    def crawl_delay(self, name: str, seconds: float) -> None:
        self._host(name).delay = seconds

    # -- as it is

    def change(self, politeness: Politeness, limits: Limits) -> None:
        self._politeness, self._limits = politeness, limits

    @property
    def look(self) -> FifoLook:
        return FifoLook(self, self._heap, self._hosts, self._wait)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        hosts = [
            (one.name, one.ready_at, one.times, one.delay, one.failures, one.retired)
            for one in self._hosts.values()
        ]
        self._db.set(
            META, msgpack.packb({"number": self._number, "counters": self.counters, "hosts": hosts})
        )
