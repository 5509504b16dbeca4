"""The frontier: URLs go in by priority and come out politely (Mercator 3.1, Figure 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from webcrawl.frontier.back import BackEnd
from webcrawl.frontier.booking import Booking
from webcrawl.frontier.hosts import FIRST, Host, State
from webcrawl.frontier.lending import Lender, Lending
from webcrawl.frontier.overstay import R, overstaying
from webcrawl.frontier.parts import Hooks, Queues, Rules
from webcrawl.frontier.prioritizers import Informed
from webcrawl.frontier.rotation import Rotation
from webcrawl.frontier.slots import NEW, PROVEN, Slots
from webcrawl.model import Link, Outcome, Status, unpack
from webcrawl.urls.hosts import host_of

STEPS = 64  # hosts examined by one `take` before it gives up for this turn of the event loop
LOOKS = 4  # of these, hosts let in to find one that answers before an unproven host gets the slot
DROPS = 256  # URLs of one host dropped per turn
LATE = 0.05  # seconds that a proven host waits for a fetcher or the processor, before we count as busy
CALM = 0.2  # seconds after that in which no host beyond its domain's share is let in
OVERDUE = 10.0  # seconds a due host waits for a fetcher before n shrinks: there are more queues than fetchers need


class Frontier:
    """Links go in with `add`, come out with `take`, and end with `done`."""

    def __init__(self, queues: Queues, rules: Rules, hooks: Hooks, *, resumed: float = 0.0) -> None:
        self._front, self._hosts = queues.front, queues.hosts
        self._level, self._book = rules.prioritizer.level, Booking(rules.politeness, rules.limits)
        self._addresses, self._admission, self._dropped = hooks.addresses, hooks.admission, hooks.dropped
        self._budgets, self._domain = queues.budgets, rules.domain
        self.heard: Callable[[str, Sequence[str]], None] | None = None  # wants the links of each page, or nobody does
        if self._budgets.counts or isinstance(rules.prioritizer, Informed):
            self.heard = self._budgets.reputation.heard
        self._new: set[str] = set()  # URLs in flight whose answers are new
        self._slots = Slots(rules.limits.fetchers, hooks.awaited)
        self._back = BackEnd(self._slots)
        self._rotation = Rotation(queues, self._back, rules, self._enter, self._end)
        self._resumed = resumed  # requests from the last checkpoint until then are unknown: every host waits its turn
        self._calm_at = 0.0
        self.queued = 0
        self.in_flight = 0
        self.counters: Counter[str] = Counter()
        lender = Lender(queues.hosts, self._back, self._book, self.counters, hooks.addresses, hooks.admission, resumed)
        self.lending = Lending(lender)
        self._reserved = self.lending.reserved
        for host in queues.hosts.active():
            if host.ip and hooks.addresses is not None:
                hooks.addresses.learn(host.ip, host.ready_at)
            self._enter(host)

    def __len__(self) -> int:
        """The number of URLs that are not finished."""
        return self.queued + self.in_flight

    def __repr__(self) -> str:
        return f"<Frontier queued={self.queued} in_flight={self.in_flight} hosts={len(self._back)} n={self.width}>"

    @property
    def width(self) -> int:
        """The current n of Mercator: the number of host queues."""
        return self._rotation.width

    @width.setter
    def width(self, queues: int) -> None:
        self._rotation.width = queues

    @property
    def over_budget(self) -> int:
        """The number of URLs that can only wait for their domains' budgets to grow; `held` says how many wait in all.

        It is 0 as long as their budgets are not looked at, once nothing else is left to do.
        """
        return 0 if self._budgets.unsettled or self._budgets.ready else self._budgets.held

    @property
    def held(self) -> tuple[int, int]:
        """The number of URLs over their domains' budgets, and of these domains."""
        return self._budgets.held, self._budgets.domains

    @property
    def hosts(self) -> int:
        """The number of hosts in the back-end."""
        return len(self._back)

    def ready(self, now: float) -> int:
        """The number of hosts that are due."""
        return self._back.ready(now)

    # -- in

    def add(self, records: Iterable[bytes]) -> None:
        """Puts packed links into the front-end, each at the level that prioritizer and priority give it."""
        before = self.queued
        for record in records:
            link = unpack(record)
            level = self._level(link)
            if link.request:  # an ordinary Scrapy request, the only kind of link that may have a priority
                level = min(max(level - link.priority, 0), self._front.last)
            self._front.push(level, record)
            self.queued += 1
        self.counters["added"] += self.queued - before

    def expedite(self, record: bytes) -> None:
        """Puts a link that others wait for before all other links of its host."""
        link = unpack(record)
        name = host_of(link.url)
        host = self._back.active.get(name)
        held = host if host is not None else self._hosts.get(name)
        self._hosts.touch(held)
        self._put_back(held, record)
        self.counters["added"] += 1
        if host is None and held.state is State.IDLE:
            self._enter(held)
        elif host is None:
            self._hosts.put_away(held)
        elif host.ticket:
            self._back.schedule(host, host.ready_at)

    # -- out

    def take(self, now: float, *, spare: bool = True) -> Link | None:
        """A link whose host is due, or None: call again at `next_ready`.

        Without `spare`, unproven hosts and domains keep to their shares: others may have URLs that have not arrived
        here yet.
        """
        back, rotation = self._back, self._rotation
        if len(back.active) < rotation.width:
            rotation.refill()
        for step in range(STEPS):
            entry = back.pop_due(now)
            if entry is None:
                idle, opened = not back.has_spare(now), self._slots.open_to(NEW)
                beyond = idle and opened and spare and now >= self._calm_at
                if (step < LOOKS or (opened and idle)) and rotation.grow(anyone=beyond):
                    continue
                entry = back.pop_spare(now) if spare else None
                if entry is None:
                    return None
            if now - entry[0] > LATE:
                self._late(entry[2], now - entry[0], now)
            link = self._hand_out(entry[2], now)
            if link is not None:
                return link
        return None

    def _late(self, host: Host, seconds: float, now: float) -> None:
        """A due host had to wait so long."""
        if host.standing == PROVEN:
            self._calm_at = now + CALM
        if seconds > OVERDUE:
            self._rotation.shrink()

    def holds_back(self, now: float) -> bool:
        """Whether only hosts that are beyond a share can be asked: unproven ones, or those of some domains."""
        rotation = self._rotation
        return (rotation.lines_wait or self._back.has_spare(now)) and not rotation.others_wait()

    def wants_hosts(self, now: float) -> bool:
        """Whether only hosts beyond their domain's share can be asked: any new host would go before them."""
        return self._rotation.lines_wait and not self._back.has_spare(now) and not self._rotation.others_wait()

    def takes_new(self) -> bool:
        """Whether a host that was never asked would get a slot."""
        return self._slots.open_to(NEW)

    def next_ready(self) -> float | None:
        """When `take` may return a link: a time (0 is now), or None until something is added or done."""
        rotation, due = self._rotation, self._back.next_due()
        if not (rotation.can_grow() and self._slots.open_to(NEW)):
            return due
        if rotation.others_wait():
            return 0.0
        return self._calm_at if due is None else min(due, self._calm_at)

    def next_turn(self, link: Link) -> float:
        """Estimated seconds until the next request to the host of a link just taken; 0 if it has no more URLs."""
        host = self._back.active[host_of(link.url)]
        return self._book.wait(host) if host.waiting() else 0.0

    def _enter(self, host: Host) -> None:
        if self._resumed:
            host.ready_at = max(host.ready_at, self._resumed + self._book.wait(host))
        self._back.enter(host)
        self._rotation.entered(host)

    def _hand_out(self, host: Host, now: float) -> Link | None:
        if self._reserved and host.name in self._reserved:
            return None  # inline downloads go first; then it is scheduled again
        if self._addresses is not None and host.ip:
            again = self._addresses.hold(host, now)
            if again is not None:
                if again < float("inf"):
                    self._back.schedule(host, again)
                return None
        for _ in range(DROPS):
            record = _next_record(host, now)
            if record is None:
                break
            self._hosts.touch(host)
            self.queued -= 1
            link = unpack(record)
            decision = host.retired or (self._admission(link, now) if self._admission is not None else None)
            if not decision:
                return self._give(host, link, record)
            if isinstance(decision, Link):
                self._put_back(host, record)
                return self._give(host, decision, decision.pack())
            if isinstance(decision, float):
                self._put_back(host, record)
                host.ready_at = max(host.ready_at, decision)
                break
            self._drop(link, decision)
        self._settle(host, now)
        return None

    def _give(self, host: Host, link: Link, record: bytes) -> Link:
        host.given = record
        host.stay += 1
        self.in_flight += 1
        self._slots.asked[host.standing] += 1
        self.counters["taken"] += 1
        return link

    def _put_back(self, host: Host, record: bytes) -> None:
        """Makes the record the host's first again."""
        heappush(host.later, (0.0, record))
        self.queued += 1

    def _end(self, record: bytes, status: int) -> None:
        self.queued -= 1
        self._drop(unpack(record), status)

    def _drop(self, link: Link, status: int) -> None:
        if _uses_budget(link):
            self._budgets.refund(self._domain(host_of(link.url)))
        self.counters[f"dropped/{status}"] += 1
        if self._dropped is not None:
            self._dropped(link, status)

    # -- done

    def crawl_delay(self, name: str, seconds: float) -> None:
        """Sets the delay between requests that a host's robots.txt asks for."""
        host = self._back.active.get(name)
        held = host if host is not None else self._hosts.get(name)
        held.crawl_delay = seconds
        self._hosts.touch(held)
        if host is None:
            self._hosts.put_away(held)

    def new_body(self, link: Link, body: bytes = b"") -> None:
        """The answer to a link that is in flight has a body that was not seen before."""
        if self._budgets.is_new(self._domain(host_of(link.url)), body):
            self._new.add(link.url)

    def tries_again(self, link: Link, outcome: Outcome) -> bool:
        """Whether `done` would return False, i.e. the link would be retried."""
        return self._book.tries_again(self._back.active[host_of(link.url)], link, outcome)

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        """Books the outcome of a download; returns False if the link will be retried."""
        host = self._received(link)
        retired, pages = host.retired, host.pages
        again = self._book(host, link, outcome, now)
        if not pages and host.pages:
            self.counters["hosts answered"] += 1
        if outcome.status > 0:
            self._slots.answered(host, outcome.seconds)
        else:
            self._slots.judge(host)
        if again is not None:
            heappush(host.later, (again, replace(link, attempt=link.attempt + 1).pack()))
            self.queued += 1
        else:
            self._answered(host, link)
        self.counters["finished" if again is None else "tried again"] += 1
        if host.retired != retired:
            self.counters["hosts retired"] += host.retired == Status.HOST_RETIRED
        host.ip = outcome.ip or host.ip
        self._settle(host, now)
        if len(self._back.active) < self._rotation.width:
            self._rotation.refill()
        return again is None

    def unasked(self, link: Link, now: float) -> None:
        """Ends a link for which no host was asked, because a middleware had the answer: the host's record stays."""
        host = self._received(link)
        self._answered(host, link)
        self.counters["finished"] += 1
        self._settle(host, now)

    def _answered(self, host: Host, link: Link) -> None:
        """Tells the host's domain that one of its pages is done."""
        if self._budgets.counts and _uses_budget(link):
            self._budgets.answered(self._domain(host.name), new=link.url in self._new)
        self._new.discard(link.url)

    def put_back(self, link: Link, now: float, wait: float = 0.0) -> None:
        """Takes back a link that was not requested, for a lack of ours: it goes first again, all else is as before.

        `wait`: seconds for which the lack will last.
        """
        host = self._received(link)
        if wait:
            host.ready_at = max(host.ready_at, now + wait)
        self._return(host, link, "put back", now)

    def cut(self, link: Link, seconds: float, now: float) -> None:
        """Takes back a link that was in flight for so long that others get its slot: it goes first again, later."""
        host = self._received(link)
        self._book.cut(host, seconds, now)
        self._slots.judge(host)
        self._return(host, link, "cut", now)

    def overstaying(self, running: Sequence[R], *, full: bool) -> list[R]:
        """Which of these downloads may be cut, in this order, if hosts wait for their slots; `full`: none is free."""
        return overstaying(self._back, running, full=full)

    def starved(self, now: float, *, full: bool) -> int:
        """How many hosts wait for a slot."""
        waiting = self._back.starved(now, full=full)
        if full and not waiting:  # then nobody has looked whether others wait outside
            for _ in range(LOOKS):
                self._rotation.grow()
        return waiting

    def _return(self, host: Host, link: Link, why: str, now: float) -> None:
        heappush(host.later, (FIRST, link.pack()))
        self._new.discard(link.url)
        self.queued += 1
        self.counters[why] += 1
        self._settle(host, now)

    def _received(self, link: Link) -> Host:
        """The host of a link in flight, which no longer is."""
        host = self._back.active[host_of(link.url)]
        if host.given is None:
            raise ValueError(f"not handed out: {link.url}")
        host.given = None
        self.in_flight -= 1
        self._slots.asked[host.standing] -= 1
        self._hosts.touch(host)
        return host

    def _settle(self, host: Host, now: float) -> None:
        """Schedules the host again, or gives its place away."""
        if self._addresses is not None:
            woken = self._addresses.release(host, host.ready_at, now)
            if host.ip:
                self._addresses.learn(host.ip, host.ready_at)
            if woken is not None:
                self._back.schedule(woken, host.ready_at)
        if not host.waiting():
            self._rotation.leave(host, State.IDLE)
        elif self._rotation.must_yield(host, now):
            self._rotation.park(host)
        else:
            self._back.schedule(host, now if host.retired else host.due())
            return
        self._hosts.put_away(host)


def _uses_budget(link: Link) -> bool:
    """Whether the link is a page of its domain's budget: neither a user's request nor a robots.txt."""
    return not link.request and not link.path.endswith("P")


def _next_record(host: Host, now: float) -> bytes | None:
    """The host's next record: due retries, then by priority; for a retired host the order does not matter."""
    if host.later and (host.later[0][0] <= now or host.retired):
        return heappop(host.later)[1]
    ranked = host.ranked
    if ranked is not None and ranked.queues and (ranked.before() or not host.queue.count):
        return ranked.pop()
    return host.queue.pop()
