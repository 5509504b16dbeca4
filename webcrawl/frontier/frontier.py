"""The frontier: URLs go in by priority and come out politely (Mercator 3.1, Figure 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heappush
from itertools import groupby

from webcrawl.base.hosts import host_of
from webcrawl.base.model import Link, Outcome, Status, from_sitemap, is_sitemap, unpack, url_of, way_of
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.arguments import Gate, Heard, Hooks, Queues, Rules, both
from webcrawl.frontier.back_end import BackEnd
from webcrawl.frontier.best_first import Sift
from webcrawl.frontier.booking import Booking, Limits, Own
from webcrawl.frontier.budgets import Budgets
from webcrawl.frontier.charges import CUT_SHORT, Charges
from webcrawl.frontier.families.families import START
from webcrawl.frontier.host_handover import Moves
from webcrawl.frontier.host_inspection import Look
from webcrawl.frontier.host_steering import Steering
from webcrawl.frontier.hosts import FIRST, Host
from webcrawl.frontier.lending import NO_PAGE, Lender, Lending
from webcrawl.frontier.listed import URLS, Listed
from webcrawl.frontier.outcomes import is_cut_short
from webcrawl.frontier.overstay import Overstay
from webcrawl.frontier.parallel_hosts import Several
from webcrawl.frontier.pardon import Pardon
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.prioritizers import Choosing, Informed, Learning, goes_by_way
from webcrawl.frontier.protocol import Found
from webcrawl.frontier.retry_after_journal import is_worth_a_line
from webcrawl.frontier.rotation import Rotation
from webcrawl.frontier.slots import ANSWERED, DOUBTFUL, NEW, PROVEN, Slots
from webcrawl.frontier.unwell import give_back
from webcrawl.frontier.url_selection import Giving
from webcrawl.frontier.walls import brought_back, opens
from webcrawl.store.jobdir.host_row import WALLS, FailedRow, Health, State, WallRow, behind_wall, given_up

STEPS = 64  # hosts examined by one `take` before it gives up for this turn of the event loop
LOOKS = 4  # of these, hosts let in to find one that answers before an unproven host gets the slot
FREED = 4096  # URLs that go on when a family is freed; those of others wait again
PAUSE = 0.002  # seconds until the next URLs of a host are dropped
LATE = 0.05  # seconds that a proven host waits for a fetcher or the processor, before we count as busy
CALM = 0.2  # seconds after that in which no host beyond its domain's share is let in
BRINGS = 256  # URLs to be fetched again that are moved to their hosts in one turn
TRIED = (Health.ASIDE, Health.WALLED)
OVERDUE = 10.0  # seconds a due host waits for a fetcher before n shrinks: there are more queues than fetchers need


class Frontier:
    """Links go in with `add`, come out with `take`, and end with `done`."""

    def __init__(self, queues: Queues, rules: Rules, hooks: Hooks, *, resumed: float = 0.0) -> None:
        self._front, self._hosts, self._told = queues.front, queues.hosts, queues.told
        self._level, self._book = rules.prioritizer.level, Booking(rules.politeness, rules.limits)
        self._alike = way_of if goes_by_way(rules.prioritizer) else None  # links with the same have the same level
        self._addresses, self._dropped = hooks.addresses, hooks.dropped
        self._budgets, self._domain = queues.budgets, rules.domain
        self._families = queues.budgets.families
        self._learns: Heard | None = rules.prioritizer.heard if isinstance(rules.prioritizer, Learning) else None
        self.heard = self._learns  # wants the links of each page, or nobody does
        if self._budgets.counts or isinstance(rules.prioritizer, Informed):
            self.hear_links()
        if isinstance(rules.prioritizer, Choosing):
            worth = rules.prioritizer.worth
            queues.front.sift = Sift(lambda record: worth(url_of(record)))
        self.found: Found | None = None
        self._new: set[str] = set()  # URLs in flight whose answers are new
        self._slots = Slots(rules.limits.fetchers, hooks.awaited)
        self._back = BackEnd(self._slots)
        self._rotation = Rotation(queues, self._back, rules, self._enter, self._end)
        self._resumed = resumed  # requests from the last checkpoint until then are unknown: every host waits its turn
        self._calm_at = 0.0
        self._paused_until = 0.0
        self._charges = Charges()
        self.queued = 0
        self.in_flight = 0
        self.counters: Counter[str] = Counter()
        self._grown: dict[int, list[Callable[[Link], None]]] = {}  # are told of the page with which a host has so many
        self._young = 1  # a host with more pages is of no news
        aside = self._rotation.aside
        lender = Lender(
            queues.hosts,
            self._back,
            aside,
            queues.told,
            self._book,
            self.counters,
            hooks.addresses,
            hooks.admission,
            resumed,
            charges=self._charges,
        )
        self.lending = Lending(lender)
        self._several = Several(self._back, self._book, self._rotation, alike=hooks.addresses is None)
        folds = self._folds if self._families is not None else None
        self._giving = Giving(self, queues.front, queues.hosts, self._slots, self._several, hooks.admission, folds)
        self.pardon = Pardon(self._charges, lender, self._rotation, self._enter, self._giving.put_back)
        self.steering = Steering(lender, self._rotation, self._enter)
        self.look = Look(queues, lender)
        self.overstay = Overstay(self._back, self._rotation)
        self._reserved = self.lending.reserved
        self.gate: Gate | None = None
        self.moves = Moves(self, queues, lender, self._rotation)
        self._remember(queues.told.until)

    def _remember(self, told: dict[str, float]) -> None:
        """Hosts as of the last checkpoint, and what some of them have asked for since."""
        hosts = self._hosts
        for host in hosts.active():
            if host.name in told:
                hosts.touch(host)
                host.ready_at = max(host.ready_at, told.pop(host.name))
            if host.ip and self._addresses is not None:
                self._addresses.learn(host.ip, host.ready_at)
            self._enter(host)
            if self._rotation.aside.wants(host, host.due(), self._resumed) and self._resumed:
                self._rotation.set_aside(host, self._resumed)
                hosts.put_away(host)
        for name, until in told.items():
            host = hosts.get(name)
            host.ready_at = max(host.ready_at, until)
            hosts.touch(host)
            hosts.put_away(host)

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
        return 0 if self._budgets.unsettled or self._budgets.listed else self._budgets.held

    @property
    def held(self) -> tuple[int, int]:
        """The number of URLs over their domains' budgets, and of these domains."""
        return self._budgets.held, self._budgets.domains

    @property
    def hosts(self) -> int:
        """The number of hosts in the back-end."""
        return len(self._back)

    @property
    def levels(self) -> list[int]:
        """The number of URLs in each queue of the front-end."""
        return [*map(len, self._front.queues)]

    @property
    def aside(self) -> int:
        """The number of URLs of hosts that are set aside."""
        return self._rotation.aside.urls

    @property
    def hosts_aside(self) -> int:
        """The number of hosts that are set aside: they come back by themselves."""
        return self._rotation.aside.hosts

    def was_aside(self, urls: int, hosts: int) -> None:
        """So many were as of the last checkpoint."""
        self._rotation.aside.urls += urls
        self._rotation.aside.hosts += hosts

    def next_aside(self) -> float | None:
        """The time at which the next of them comes back, or None."""
        return self._rotation.aside.next_return()

    def resting(self) -> bool:
        """True if the URLs that are left are all of hosts set aside, or tried from there, or over budgets."""
        left = len(self) - self.aside - self.over_budget
        for host in self._back.active.values():
            if not left or self._book.health.health(host) not in TRIED:
                break
            left -= host.waiting() + len(host.flights())
        return not left

    def ready(self, now: float) -> int:
        """The number of hosts that are due."""
        return self._back.ready(now)

    def figures(self) -> dict[str, int | float]:
        """The numbers of URLs and hosts that wait, by what they wait for."""
        return {
            "queued": self.queued,
            "in_flight": self.in_flight,
            "over_budget": self._budgets.held,
            "over_budget/domains": self._budgets.domains,
            "hosts": self.hosts,
            "aside": self.aside,
            "hosts_aside": self.hosts_aside,
            "hosts_paused": len(self.steering.held),
            "aside_due": self.next_aside() or 0.0,
        }

    def change(self, politeness: Politeness, limits: Limits) -> None:
        """Books by other waits and limits from now on: those of hosts and URLs, not those of the rotation."""
        self._book.change(politeness, limits)
        self._rotation.aside.failures = limits.host_failures
        self._several.renew()

    def set_slots(self, slots: int) -> None:
        """There are so many slots from now on; 0: no limit."""
        self._slots.resize(slots)

    def set_level_bias(self, bias: float) -> None:
        """From now on each level is served so many times as often as the next one."""
        self._front.set_level_bias(bias)

    def set_domain_budget(self, policy: Allowance) -> None:
        """From now on domains have these budgets."""
        self._budgets.change(policy)

    def set_host_overrides(self, own: Mapping[str, Own | None] | None) -> None:
        """For some hosts others hold than for all; what of theirs is None holds for all."""
        self._book.own = own
        self._several.renew()

    @property
    def budgets(self) -> Budgets | None:
        """The budgets of registered domains, if they have any."""
        return self._budgets if self._budgets.counts else None

    # -- in

    def add(self, records: Iterable[bytes]) -> None:
        """Puts packed links into the front-end, each at the level that prioritizer and priority give it."""
        before = self.queued
        for _, found in groupby(records, self._alike):
            run = [*found]
            link = unpack(run[0])
            self.queued += len(run)
            if link.history and self._front.old is not None and link.is_revisit:
                for record in run:
                    self._front.push_old(record)
                continue
            level = self._level(link)
            if link.request:  # an ordinary Scrapy request, the only kind of link that may have a priority
                level = min(max(level - link.priority, 0), self._front.last)
            self._front.push(level, run)
        self.counters["added"] += self.queued - before

    def revisit(self, records: Sequence[bytes]) -> None:
        """Puts packed links of pages that are due again into the level of their own."""
        for record in records:
            self._front.push_old(record)
        self.queued += len(records)
        self.counters["due again"] += len(records)

    def bring(self, now: float) -> None:
        """Moves these to their hosts, as far as there are places."""
        old = self._front.old
        if old is not None and old.count:
            self._back.now = now
            self._rotation.bring(BRINGS)

    def set_revisit_share(self, share: float) -> None:
        """From now on this part of the turns is for what is fetched again: of the front-end, and of each host."""
        self._front.set_revisit_share(share)

    def links_to(self, url: str) -> int:
        """The number of other domains that link to that of a URL, as far as it is counted."""
        return self._budgets.reputation.remembered(self._domain(host_of(url)))

    def hear_links(self) -> None:
        """Somebody wants to know who links to whom."""
        learns = both(self._families.heard, self._learns) if self._families is not None else self._learns
        self.heard = both(self._budgets.reputation.heard, learns)

    def votes_go(self, elsewhere: Callable[[str, str], bool]) -> None:
        """Offers it who links to whom, as a domain and a URL. What it takes is not counted here."""
        self._budgets.reputation.elsewhere = elsewhere

    def vote(self, source: str, url: str) -> None:
        """A page of this registered domain, which was fetched elsewhere, links to this URL."""
        if self.heard is not None:
            self._budgets.reputation.vote(source, self._domain(host_of(url)))

    def expedite(self, record: bytes) -> None:
        """Puts a link that others wait for before all other links of its host."""
        link = unpack(record)
        name = host_of(link.url)
        if self.gate is not None and self.gate.foreign(name):
            self.gate.pass_on(record)
            return
        host = self._back.active.get(name)
        held = host if host is not None else self._hosts.get(name)
        self._hosts.touch(held)
        self._giving.put_back(held, record)
        self.counters["added"] += 1
        if host is None and held.state is State.IDLE and self._rotation.aside.keeps(held):
            self._rotation.rest(held, self._back.now)
        elif host is None and held.state is State.IDLE:
            self._enter(held)
        elif host is None:
            if held.state is State.ASIDE:
                self._rotation.aside.joined(held, self._back.now)
            self._hosts.put_away(held)
        elif host.ticket:
            self._back.schedule(host, host.due())
        elif host.lanes is not None:
            self._several.go_on(host, self._back.now)

    # -- out

    def take(self, now: float, *, spare: bool = True) -> Link | None:
        """A link whose host is due, or None: call again at `next_ready`.

        Without `spare`, unproven hosts and domains keep to their shares: others may have URLs that have not arrived
        here yet.
        """
        back, rotation = self._back, self._rotation
        back.now = now
        rotation.renew()
        if len(back.active) < rotation.width:
            rotation.refill()
        for step in range(STEPS):
            entry = back.pop_due(now)
            if entry is None:
                if rotation.can_grow() and self._grow(now, step, spare=spare):
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

    def _grow(self, now: float, step: int, *, spare: bool) -> bool:
        """Lets one more host in, if it may be asked at once or this `take` has not looked at many."""
        idle, opened = self._back.spare(now) is None, self._slots.open_to(NEW)
        beyond = idle and opened and spare and now >= self._calm_at
        return (step < LOOKS or (opened and idle)) and self._rotation.grow(anyone=beyond)

    def _late(self, host: Host, seconds: float, now: float) -> None:
        """A due host had to wait so long."""
        seconds = min(seconds, now - self._paused_until)
        if seconds <= LATE:
            return
        if host.standing == PROVEN:
            self._calm_at = now + CALM
        if seconds > OVERDUE:
            self._rotation.shrink()

    def holds_back(self, now: float) -> bool:
        """True if only hosts that are beyond a share can be asked: unproven ones, or those of some domains."""
        rotation = self._rotation
        return not rotation.others_wait() and (rotation.lines_wait or self._back.spare(now) is not None)

    def wants_hosts(self, now: float) -> bool:
        """True if only hosts beyond their domain's share can be asked: any new host would go before them."""
        rotation = self._rotation
        return rotation.lines_wait and self._back.spare(now) is None and not rotation.others_wait()

    def takes_new(self) -> bool:
        """True if a host that was never asked would get a slot."""
        return self._slots.open_to(NEW)

    def next_ready(self) -> float | None:
        """The time at which `take` may return a link (0 is now), or None until something is added or done."""
        rotation, due = self._rotation, self._back.next_due()
        aside = rotation.next_aside()
        if aside is not None and (due is None or aside < due):
            due = aside
        if not (rotation.can_grow() and self._slots.open_to(NEW)):
            return due
        if rotation.others_wait():
            return 0.0
        return self._calm_at if due is None else min(due, self._calm_at)

    def next_turn(self, link: Link) -> float | None:
        """Estimated seconds until the next request to the host of a link just taken; None if its queue is empty."""
        host = self._back.active[host_of(link.url)]
        return self._book.wait(host) if host.waiting() else None

    def _enter(self, host: Host) -> None:
        if self._resumed:
            host.ready_at = max(host.ready_at, self._resumed + self._book.wait(host))
        if self._several.on:
            self._several.enter(host)
        self._back.enter(host)
        self._rotation.entered(host)

    def _hand_out(self, host: Host, now: float) -> Link | None:
        if self._reserved and host.name in self._reserved:
            return None  # inline downloads go first; then it is scheduled again
        if host.given is not None and not self._several.may_go_on(host, now):
            return None
        if self._addresses is not None and host.ip and not self._holds(self._addresses, host, now):
            return None
        given = self._giving.first_allowed(host, now)
        if given is None:
            self._settle(host, now)
        elif host.lanes is not None:
            self._several.handed_out(host, given, now)
        return given

    def _holds(self, addresses: Addresses, host: Host, now: float) -> bool:
        """True if the host has its address for itself; otherwise it gets its turn later."""
        again = addresses.hold(host, now)
        if again is not None and again < float("inf"):
            self._back.schedule(host, again)
        return again is None

    def _end(self, record: bytes, status: int) -> None:
        self.queued -= 1
        self.drop(unpack(record), status)

    def drop(self, link: Link, status: int) -> None:
        self.refund(link)
        self.counters[f"dropped/{status}"] += 1
        if self._dropped is not None:
            self._dropped(link, status)

    def refund(self, link: Link) -> None:
        """A URL that was let in ends without a request, or is asked for by another crawl."""
        if self._budgets.is_charged(link):
            self._budgets.refund(self._domain(host_of(link.url)))

    # -- done

    def crawl_delay(self, name: str, seconds: float) -> None:
        """Sets the delay between requests that a host's robots.txt asks for; 0 withdraws it."""
        with self._held(name) as host:
            if host.crawl_delay != seconds:
                host.crawl_delay = seconds
                self._hosts.touch(host)
                if host.lanes is not None:
                    self._several.change(host)

    def when_grown(self, pages: int, tell: Callable[[Link], None]) -> None:
        """Tells of the page with which a host has given so many."""
        self._grown.setdefault(pages, []).append(tell)
        self._young = max(self._young, pages)

    def missing(self, name: str, shown: bytes | None = None) -> bytes:
        """What is kept of a host's answer for a URL that cannot exist; replaced if `shown` is given."""
        with self._held(name) as host:
            if shown is not None:
                host.missing = shown
                self._hosts.touch(host)
            return host.missing

    def http2(self, name: str, *, learned: bool = False) -> bool:
        """True if the host speaks only HTTP/2, as far as is known; from now on it is, if `learned`."""
        with self._held(name) as host:
            if learned and not host.http2:
                host.http2 = True
                self._hosts.touch(host)
            return host.http2

    def take_listed(self, url: str, urls: int) -> int:
        """Of so many URLs that a sitemap names, how many its host may have of its sitemaps; their turns begin."""
        with self._held(host_of(url)) as host:
            if host.listed is None:
                host.listed = Listed()
            self._hosts.touch(host)
            return host.listed.take(urls, URLS * max(self.links_to(url), 1))

    @contextmanager
    def _held(self, name: str) -> Iterator[Host]:
        """The record of a host, in the back-end or not; one that is not may leave memory afterwards."""
        host = self._back.active.get(name)
        if host is not None:
            yield host
            return
        host = self._hosts.get(name)
        yield host
        self._hosts.put_away(host)

    def new_body(self, link: Link, body: bytes = b"") -> None:
        """The answer to a link that is in flight has a body that was not seen before."""
        self._new.add(link.url)
        if self._families is not None:
            self._families.read(self._domain(host_of(link.url)), link.url, body)

    def tries_again(self, link: Link, outcome: Outcome, now: float) -> bool:
        """True if `done` would return False, i.e. the link would be retried."""
        host = self._back.active[host_of(link.url)]
        return self._book.tries_again(host, link, outcome, now, news=self._several.is_news(host, link))

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        """Books the outcome of a download; returns False if the link will be retried."""
        host = self._received(link)
        pages, failures, retired, row, wall = host.pages, host.failures, host.retired, host.row, host.wall
        charge = self._charges.note(host, link, now) if outcome.doubtful else None
        if outcome.wall:
            again = self._book.walled(host, link, outcome, now)
        elif host.lanes is None:
            again = self._book(host, link, outcome, now)
        else:
            again = self._several.book(host, link, outcome, now)
        if charge is not None:
            charge.booked(host, outcome, again)
        if pages < self._young or wall is not None or outcome.wall:
            self._learned(host, link, outcome, pages, wall)
        if outcome.status > 0:
            self._slots.answered(host, outcome.seconds)
        else:
            self._slots.judge(host)
        if again is not None:
            self._comes_again(host, again, outcome)
        else:
            self._final(host, link, outcome)
        self.counters["finished" if again is None else "tried again"] += 1
        if host.failures > failures:
            self._failed(host, retired, row)
        if outcome.wait and is_worth_a_line(outcome.wait, failed=host.failures > failures):
            self._told.note(host.name, host.ready_at)
        host.ip = outcome.ip or host.ip
        self._settle(host, now)
        if len(self._back.active) < self._rotation.width:
            self._rotation.refill()
        return again is None

    def _comes_again(self, host: Host, again: tuple[float, Link], outcome: Outcome) -> None:
        at, link = again
        self.queued += 1
        if outcome.wall:  # another URL is the next probe: this one alone may be walled
            record = link.pack()
            self._hosts.queue_for(host, record).push(record)
        else:
            heappush(host.later, (at, link.pack()))

    def _learned(self, host: Host, link: Link, outcome: Outcome, pages: int, wall: WallRow | None) -> None:
        """Books what an answer says of a host that had given few pages, or had a wall before, or has one now."""
        if not pages and host.pages:
            self.counters["hosts answered"] += 1
        if pages != host.pages in self._grown:
            for tell in self._grown[host.pages]:
                tell(link)
        if wall is not None or outcome.wall:
            self._wall(host, link, outcome, known=wall is not None and (wall.answers >= WALLS or not pages))

    def _wall(self, host: Host, link: Link, outcome: Outcome, *, known: bool) -> None:
        """Books what an answer says of the host's wall; `known`: that it is behind one was known before."""
        if not outcome.wall:
            if opens(link, outcome):
                host.wall = None
                self.counters["walls opened"] += known
            return
        records = brought_back(host)
        for record in records:
            self._hosts.queue_for(host, record).push(record)
        self.queued += len(records)
        self.counters["added"] += len(records)
        self.counters["hosts behind walls"] += behind_wall(host) and not known

    def _final(self, host: Host, link: Link, outcome: Outcome) -> None:
        self._answered(host, link, outcome.status)
        if outcome.short:
            self.counters[CUT_SHORT] += is_cut_short(outcome)

    def _failed(self, host: Host, retired: int, row: FailedRow | None) -> None:
        give_back(host, row)
        self.counters["hosts set aside"] += host.failures == self._book.health.failures
        self.counters["hosts given up"] += host.retired != retired and given_up(host)

    def unasked(self, link: Link, now: float) -> None:
        """Ends a link for which no host was asked, because a middleware had the answer: the host's record stays."""
        host = self._received(link)
        self._answered(host, link)
        self.counters["finished"] += 1
        self._settle(host, now)

    def _answered(self, host: Host, link: Link, status: int = 0) -> None:
        """Tells the host's domain that one of its pages is done."""
        if self._budgets.is_charged(link):
            domain = self._domain(host.name)
            done = self._budgets.answered(domain, new=link.url in self._new)
            families = self._families
            if families is not None and done >= START and families.answered(domain, link, status):
                self._budgets.unfold(domain, FREED)
        if self._families is not None:
            self._families.forget(link.url)
        if host.listed is not None and not (link.history or link.request or link.is_own or is_sitemap(link.path)):
            host.listed.learn(listed=from_sitemap(link.path.encode()), new=link.url in self._new)
        self._new.discard(link.url)

    def _folds(self, link: Link, record: bytes) -> bool:
        """Holds a URL back whose turn has come, if its family makes nothing new."""
        path = link.path
        if not path or link.attempt or path[-1] == "R" or not self._budgets.is_charged(link):
            return False
        domain = self._domain(host_of(link.url))
        families = self._families
        if families is None or self._budgets.done(domain) < START or not families.waits(domain, link.url):
            return False
        self._budgets.fold(domain, record)
        self.counters["folded"] += 1
        return True

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
        charge = self._charges.note(host, NO_PAGE, now)
        self._book.cut(host, seconds, now)
        charge.failures = host.failures
        self._slots.judge(host)
        self._return(host, link, "cut", now)

    # -- while our own network is out

    def probe(self, now: float, *, anyone: bool) -> Link | None:
        """A link of a due host: of one that answered last time, if there is one; `anyone`: rather of another."""
        rotation = self._rotation
        rotation.renew()
        if len(self._back.active) < rotation.width:
            rotation.refill()
        order = (NEW, ANSWERED, DOUBTFUL, PROVEN) if anyone else (PROVEN, ANSWERED, NEW, DOUBTFUL)
        for _ in range(STEPS):
            entry = self._back.pop_first(now, order)
            if entry is None:
                break
            link = self._hand_out(entry[2], now)
            if link is not None:
                return link
        return None

    def paused_until(self, now: float) -> None:
        """Nothing was taken until now: hosts that are late are so because of that."""
        self._paused_until = now

    def _return(self, host: Host, link: Link, why: str, now: float) -> None:
        heappush(host.later, (FIRST, link.pack()))
        self._new.discard(link.url)
        if self._families is not None:
            self._families.forget(link.url)
        self.queued += 1
        self.counters[why] += 1
        self._settle(host, now)

    def _received(self, link: Link) -> Host:
        """The host of a link in flight, which no longer is."""
        host = self._back.active[host_of(link.url)]
        if host.given is None:
            raise ValueError(f"not handed out: {link.url}")
        host.given = None
        if host.lanes is not None:
            self._several.ended(host, link)
        self.in_flight -= 1
        self._slots.asked[host.standing] -= 1
        self._hosts.touch(host)
        return host

    def _release(self, addresses: Addresses, host: Host, now: float) -> None:
        """The host's address may be asked by others, when it is ready."""
        woken = addresses.release(host, host.ready_at, now)
        if host.ip:
            addresses.learn(host.ip, host.ready_at)
        if woken is not None:
            self._back.schedule(woken, host.ready_at)

    def _settle(self, host: Host, now: float) -> None:
        """Schedules the host again, or gives its place away."""
        if host.given is not None:  # others of several are in flight
            self._several.go_on(host, now)
            return
        if self._addresses is not None:
            self._release(self._addresses, host, now)
        if self.gate is not None and self.gate.foreign(host.name):
            self.moves.stop(host)
            return
        rotation = self._rotation
        if not host.waiting():
            rotation.leave(host, State.IDLE)
        elif host.retired:
            due = now + PAUSE  # the others go on meanwhile
            if self._front.old is not None and host.retired == Status.HOST_BUDGET:
                due = max(due, host.due())  # some of its URLs are asked for all the same
            self._back.schedule(host, due)
            return
        elif rotation.aside.wants(host, due := host.due(), now):
            rotation.set_aside(host, now)
        elif rotation.must_yield(host, now):
            rotation.park(host)
        else:
            self._back.schedule(host, due)
            return
        self._hosts.put_away(host)
