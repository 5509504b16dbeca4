"""A crawl of many hosts with a simulated clock, whose own network is out at times; the detector
hears what it hears.

`python -m tests.support.uplinks` prints how many alarms are false, and when outages are noticed.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from webcrawl.net.errors import Sign
from webcrawl.net.outage_detector import Detector, FailedDownload, HostPast

CONNECT, ANSWER = 10.0, 30.0  # seconds of the two time-outs
DELAY = 3.0  # seconds between two requests to a host


@dataclass
class Web:
    """The hosts of a seed list, and the network between them and us.

    `dead` is the share of hosts that never answer, in runs of `run` on average; `flaky` of the
    requests to living ones fail. `downs` are the times when our network is out; `loss` is the share
    of requests that fail then, `refusing` says that they fail at once. `gone` hosts, the first ones
    that live, go away at `gone_at`.
    """

    hosts: int = 2000
    pages: int = 50  # of each host
    dead: float = 0.0
    run: float = 1.0
    fixed: bool = False  # all runs have that length
    flaky: float = 0.01
    downs: tuple[tuple[float, float], ...] = ()
    loss: float = 1.0
    refusing: bool = False
    gone: int = 0
    gone_at: float = 0.0


@dataclass
class DetectorLog:
    """What the detector said: when it began to say so, and when it ended."""

    alarms: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    pages: int = 0


def crawl(web: Web, *, slots: int = 100, seconds: float = 600.0, seed: int = 1) -> DetectorLog:
    """Crawls until the time is up or everything is done."""
    crawler = Crawler(web, slots, Random(seed))
    while (now := crawler.next_time()) < seconds:
        crawler.turn(now)
    return crawler.log


class Crawler:
    """A crawl's requests to the hosts of a web.

    While the network is out, three hosts are requested every five seconds, those that answered
    before the others.
    """

    def __init__(self, web: Web, slots: int, chance: Random) -> None:
        self._web, self._chance, self._free = web, chance, slots
        self._detector, self.log = Detector(str), DetectorLog()
        self._alive = _living(web, chance)
        self._new = [*range(web.hosts - 1, -1, -1)]
        self._left = [web.pages] * web.hosts
        self._record, self._fails = [HostPast.NEW] * web.hosts, [0] * web.hosts
        self._waiting: list[tuple[float, int]] = []  # when a host may be requested again
        self._due = [0.0] * web.hosts  # its one entry that counts
        # when and since when a request ends, of whom, how
        self._events: list[tuple[float, float, int, bool]] = []
        self._charged: deque[tuple[int, HostPast, float]] = deque(maxlen=4096)
        self._now = self._probe = 0.0

    def next_time(self) -> float:
        """Return when something happens next; infinite if nothing will."""
        self._pass_over()
        out, free = self._detector.out, self._free
        upcoming = [self._events[0][0]] if self._events else []
        if free and self._waiting:
            upcoming.append(max(self._waiting[0][0], self._probe if out else 0.0))
        if free and self._new:
            upcoming.append(self._probe if out else self._now)
        return max(self._now, min(upcoming, default=float("inf")))

    def turn(self, now: float) -> None:
        """End all requests that end now, and begin all that can begin."""
        self._now = now
        while self._events and self._events[0][0] <= now:
            _, begun, host, good = heappop(self._events)
            self._free += 1
            if good:
                self._answered(host)
            else:
                self._failed(host, begun)
        while self._free and (host := self._next_host()) is not None:
            self._free -= 1
            took, good = _requested(self._web, self._chance, self._alive[host], now)
            heappush(self._events, (now + took, now, host, good))

    def _next_host(self) -> int | None:
        """Return the host to which the next request goes, or None."""
        out, now = self._detector.out, self._now
        if out and self._probe > now:
            return None
        self._probe += 5.0 / 3 if out else 0.0
        self._pass_over()
        ready = (
            [one for one in self._waiting if one[0] <= now and self._due[one[1]] == one[0]]
            if out
            else []
        )
        known = next((host for _, host in ready if self._record[host] is HostPast.KNOWN), None)
        if known is not None:
            self._due[known] = -1.0
            return known
        if self._waiting and self._waiting[0][0] <= now:
            host = heappop(self._waiting)[1]
            self._due[host] = -1.0
            return host
        return self._new.pop() if self._new else None

    def _pass_over(self) -> None:
        while self._waiting and self._due[self._waiting[0][1]] != self._waiting[0][0]:
            heappop(self._waiting)

    def _wait(self, host: int, seconds: float) -> None:
        self._due[host] = self._now + seconds
        heappush(self._waiting, (self._due[host], host))

    def _answered(self, host: int) -> None:
        """Note that a host has answered."""
        self.log.pages += 1
        self._record[host], self._fails[host] = HostPast.KNOWN, 0
        self._left[host] -= 1
        if not self._detector.stirred:
            self._detector.answers += 1
            self._detector.answered_at = self._now
        elif self._detector.record_answer(str(host), self._now):
            self.log.ends.append(self._now)
        if self._left[host]:
            self._wait(host, DELAY * self._chance.uniform(0.5, 1.5))

    def _failed(self, host: int, begun: float) -> None:
        """Note that a request has failed, and let the host wait."""
        failure = FailedDownload(str(host), "", Sign.DOUBT, self._record[host])
        if self._detector.failed(failure, begun, self._now):
            self.log.alarms.append(self._now)
            self._probe = self._now + 2.0
            self._forgive()
        if self._detector.out:
            self._wait(host, 20.0)
        else:
            self._charged.append((host, self._record[host], self._now))
            self._wait(host, 60.0 * 2 ** self._fails[host])
            self._fails[host] += 1
            self._record[host] = HostPast.FAILING

    def _forgive(self) -> None:
        for host, before, at in self._charged:
            if at >= self._detector.since and self._record[host] is HostPast.FAILING:
                self._record[host], self._fails[host] = before, 0
                self._wait(host, 0.0)
        self._charged.clear()


def _living(web: Web, chance: Random) -> list[float]:
    """Return for each host when it goes away; 0 for one that was never there."""
    alive, dead, gone = [], False, web.gone
    for host in range(web.hosts):
        if host % web.run < 1 if web.fixed else chance.random() < 1 / web.run or not alive:
            dead = chance.random() < web.dead
        alive.append(0.0 if dead else web.gone_at if gone > 0 else float("inf"))
        gone -= not dead
    return alive


def _requested(web: Web, chance: Random, until: float, now: float) -> tuple[float, bool]:
    """Return the seconds that a request takes, and whether it is answered."""
    seconds = chance.expovariate(1 / 0.3)
    if now >= until:
        return (CONNECT if chance.random() < 0.7 else seconds / 3), False
    out = any(begin < now + seconds and now < end for begin, end in web.downs)
    if out and chance.random() < web.loss:
        if web.refusing:
            return 0.001, False
        return chance.choice((CONNECT, ANSWER)), False
    if chance.random() < web.flaky:
        return chance.choice((0.2, CONNECT, ANSWER)), False
    return seconds, True


def main() -> None:
    """Print false alarms per hour, and how soon outages are noticed."""
    calm = {
        "all hosts well, 1 % of requests fail": Web(),
        "20 % dead": Web(hosts=20_000, pages=2, dead=0.2),
        "40 % dead": Web(hosts=20_000, pages=2, dead=0.4),
        "40 % dead, ten at a time": Web(hosts=20_000, pages=2, dead=0.4, run=10),
        "40 % dead, fifty at a time, one page a host": Web(
            hosts=20_000, pages=1, dead=0.4, run=50, fixed=True
        ),
        "10 % of requests fail": Web(flaky=0.1),
        "40 % of requests fail": Web(flaky=0.4),
        "8 of 12 hosts go away": Web(hosts=12, pages=1000, gone=8, gone_at=300),
        "3 hosts, all go away": Web(hosts=3, pages=1000, gone=3, gone_at=300),
        "1,000 of 2,000 hosts go away": Web(gone=1000, gone_at=30),
    }
    for slots in (4, 100, 1000):
        for name, web in calm.items():
            found = [crawl(web, slots=slots, seconds=1200, seed=seed) for seed in range(5)]
            sys.stdout.write(
                f"calm, {slots} slots, {name}: {sum(len(one.alarms) for one in found)} alarms in {5 * 1200} s\n"
            )
    outs = {
        "from the first second, 20 % dead": (
            Web(hosts=20_000, pages=2, dead=0.2, downs=((0, 300),)),
            0.0,
        ),
        "well before": (Web(hosts=5_000, downs=((200, 500),)), 200.0),
        "refused at once": (Web(hosts=5_000, downs=((200, 500),), refusing=True), 200.0),
        "40 % dead, one page a host": (
            Web(hosts=200_000, pages=1, dead=0.4, downs=((200, 500),)),
            200.0,
        ),
        "80 % of requests fail": (Web(hosts=5_000, downs=((200, 500),), loss=0.8), 200.0),
        "50 % of requests fail": (Web(hosts=5_000, downs=((200, 500),), loss=0.5), 200.0),
        "20 hosts": (Web(hosts=20, pages=1000, downs=((200, 500),)), 200.0),
        "8 hosts": (Web(hosts=8, pages=1000, downs=((200, 500),)), 200.0),
    }
    for slots in (4, 100, 1000):
        for name, (web, begin) in outs.items():
            found = [crawl(web, slots=slots, seed=seed) for seed in range(5)]
            noticed = [one.alarms[0] - begin for one in found if one.alarms]
            over = [one.ends[-1] - web.downs[0][1] for one in found if one.ends]
            said = f"noticed {len(noticed)} of 5"
            if noticed:
                said += f" after {min(noticed):.0f} to {max(noticed):.0f} s, over {max(over, default=-1):.0f} s later"
            said += f", alarms {sum(len(one.alarms) for one in found)}"
            sys.stdout.write(f"out, {slots} slots, {name}: {said}\n")


if __name__ == "__main__":
    main()
