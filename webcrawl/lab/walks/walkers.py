"""Random walkers: where each of them is, where it goes next, and where it begins again.

After Henzinger and others, 1999 and 2000. Walks begin at the seeds, and again at these or at hosts
visited so far.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import heapify, heappop, heappush, heappushpop
from math import inf
from random import Random
from typing import Any, NamedTuple

import msgpack

from webcrawl.base.model import Link, Packed, unpack
from webcrawl.base.url_text import host_of
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot

ROWS = "SELECT name, value FROM meta WHERE name >= ? AND name < ? ORDER BY name"
END = "\x7f"  # after every character of a host's name


def check_walk(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Count walkers, and the hosts to which they may jump. A crawl that is not a walk has neither."""
    value = snapshot.get(META)
    if value is None:
        return
    try:
        state: dict[str, Any] = msgpack.unpackb(value)
        seeds, hosts = state["starts"]
        found["walkers"] = len(state["at"])
        flaw = _flaw(state)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        yield snapshot.damaged(f"table meta, {META}: {error!r}", value=value)
        return
    if flaw:
        yield snapshot.damaged(f"table meta, {META}: {flaw}", value=value)
    found["walked hosts"] = hosts
    yield from _starts(snapshot, SEED, seeds, _seed)
    yield from _starts(snapshot, HOST, hosts, lambda number, row: _pages(snapshot, number, row))
    numbered = sum(1 for _ in snapshot.rows(ROWS, (NUMBER, NUMBER + END)))
    if numbered != hosts:  # each host's row has its number, so that these are all
        yield snapshot.damaged(
            f"table meta, {META}: {hosts} hosts are counted, but {numbered} have a number"
        )


def _flaw(state: dict[str, Any]) -> str:
    """Return what is wrong with the saved state, or an empty text.

    Raise ValueError or TypeError if it is no state.
    """
    walkers, restart, jump = state["rules"]
    version, words, gauss = state["random"]
    Random().setstate((version, tuple(words), gauss))  # raises if this is no state of a generator
    numbers = sorted(number for _, number, _, _ in state["at"])
    if numbers != [*range(walkers)]:
        return f"the walkers must be numbered from 0 to {walkers - 1}, each in one place"
    has_rules = 0 <= restart <= 1 and isinstance(jump, str)
    if not has_rules or state["visits"] < 0:
        return "must be rules and a number of visits"
    return next(filter(None, (_place_flaw(*place) for place in state["at"])), "")


def _place_flaw(url: str, number: int, step: int, how: str) -> str:
    """Return what is wrong with the place of one walker, or an empty text."""
    is_starting = not url and how == START
    return (
        f"walker {number} is at the start, though it has made steps" if is_starting and step else ""
    )


def _starts(
    snapshot: Snapshot, prefix: str, count: int, flaw: Callable[[str, bytes], str]
) -> Iterator[DamagedFile]:
    """The rows are numbered from 0. Nothing is kept of them: there may be millions."""
    rows = 0
    for name, value in snapshot.rows(ROWS, (prefix, prefix + END)):
        number = name[len(prefix) :]
        try:
            is_counted = number == str(int(number)) and int(number) < count
            why = flaw(number, value) if is_counted else "not counted"
        except (ValueError, TypeError) as error:
            why = repr(error)
        if why:
            yield snapshot.damaged(f"table meta, {name}: {why}", value=value)
        rows += 1
    if rows != count:
        yield snapshot.damaged(
            f"table meta, {META}: there should be {count} rows {prefix}N, but there are {rows}"
        )


def _seed(_: str, row: bytes) -> str:
    return "" if row.decode() else "not a URL"


def _pages(snapshot: Snapshot, number: str, row: bytes) -> str:
    """Of one host, which has this number."""
    pages = msgpack.unpackb(row)
    hosts = {host_of(url) for _, url in pages}
    if not 0 < len(pages) <= KEPT or len(hosts) != 1:
        return f"{len(pages)} pages of {len(hosts)} hosts"
    host = hosts.pop()
    return "" if snapshot.get(NUMBER + host) == number.encode() else f"{host} has another number"


SEED, NUMBER, HOST = "walk/seed/", "walk/number/", "walk/host/"
# pages per host: as few are an error of an estimate from one host of 0.5 %, and cost a visit 0.2 ms
KEPT = 512

META = "walk"
SEEDS, HOSTS = "seeds", "hosts"
JUMPS = (SEEDS, HOSTS)
START, LINK, REDIRECT, RESTART, DEADEND = "start", "link", "redirect", "restart", "deadend"
# Seconds until a walker whose URL got no answer goes on, and how many times longer that becomes
# while nobody gets any.
REST, LONGEST_REST = 1.0, 60
STRANDED = 10  # URLs per walker, in a row, of which none got an answer


class Starts:
    """All of it lies in the database, one small row per seed and two per host, so memory does not
    depend on the number.

    Of a host with more visited pages than KEPT those with the smallest hashes are kept: a random
    sample of the distinct ones, however often each was visited.
    """

    def __init__(
        self,
        db: CrawlDB,
        random: Random,
        key: bytes,
        *,
        hosts: bool,
        counts: tuple[int, int] = (0, 0),
    ) -> None:
        """`hosts`: jumps lead to visited hosts, once there is one.

        `counts`: as of the last checkpoint.
        """
        self._db = db
        self._random = random
        self._key = key
        self._by_host = hosts
        self._seeds, self._hosts = counts

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return self._seeds > 0

    @property
    def counts(self) -> tuple[int, int]:
        """The part of a checkpoint: the numbers of seeds and hosts."""
        return self._seeds, self._hosts

    def add(self, urls: Iterable[str]) -> None:
        """Take seeds."""
        rows = [(f"{SEED}{number}", url.encode()) for number, url in enumerate(urls, self._seeds)]
        self._db.set_all(rows)
        self._seeds += len(rows)

    def visited(self, url: str) -> None:
        """Take note of a page that was fetched."""
        if not self._by_host:
            return
        name = host_of(url)
        number = self._db.get(NUMBER + name)
        if number is None:
            number = str(self._hosts).encode()
            self._db.set(NUMBER + name, number)
            self._hosts += 1
        row = self._db.get(HOST + number.decode())
        pages = [] if row is None else [(-value, page) for value, page in msgpack.unpackb(row)]
        if self._keep(pages, url):
            self._db.set(
                HOST + number.decode(), msgpack.packb([(-value, page) for value, page in pages])
            )

    def _keep(self, pages: list[tuple[int, str]], url: str) -> bool:
        """Add a page to those of its host, unless it is there or its hash is too large."""
        value = int.from_bytes(blake2b(url.encode(), key=self._key, digest_size=8).digest(), "big")
        if (-value, url) in pages:
            return False
        heapify(pages)  # the largest hash is first
        if len(pages) < KEPT:
            heappush(pages, (-value, url))
            return True
        return heappushpop(pages, (-value, url)) != (-value, url)

    def draw(self) -> str:
        """Return a random visited page of a random visited host, or a random seed."""
        if self._by_host and self._hosts:
            row = self._db.get(f"{HOST}{self._random.randrange(self._hosts)}")
            return str(self._random.choice(msgpack.unpackb(row))[1])
        seed = self._db.get(f"{SEED}{self._random.randrange(self._seeds)}")
        return seed.decode() if seed is not None else ""


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The settings of a walk; all but `steps` belongs to its JOBDIR."""

    walkers: int = 100
    restart: float = 1 / 7  # a life of seven pages on average
    jump: str = HOSTS
    steps: int = 0  # visits of all walkers together; 0: no end

    def share(self, walker: int) -> float:
        """Return the number of visits that a walker makes.

        All make the same, or those at slow hosts would make fewer.
        """
        return (
            self.steps // self.walkers + (walker < self.steps % self.walkers) if self.steps else inf
        )

    def __str__(self) -> str:
        return f"walkers={self.walkers} restart={self.restart:.6g} jump={self.jump}"


@dataclass(slots=True)
class Walker:
    """`how` says how it came to where it is, or is about to come."""

    number: int
    step: int = 0
    how: str = START
    visits: int = 0
    onward: Link | None = None  # where it goes when it is placed; None: a jump


class LinkChoice(NamedTuple):
    """The next step of a walker, by its page."""

    degree: int = 0  # links among which it was chosen
    link: Link | None = None
    redirect: bool = False  # there is nothing to choose, and it is no step


DEAD_END = LinkChoice()


class Walkers(Part):
    """A part of the checkpoint: all places, and the state of the random numbers.

    Walkers at one URL are interchangeable: whichever of its downloads ends, the first one goes on.
    """

    def __init__(
        self,
        db: CrawlDB,
        rules: WalkRules,
        random: Random,
        key: bytes,
        write: Callable[[bytes], None],
        clock: Callable[[], float],
    ) -> None:
        """`write` gets the lines of the log, `key` keys the hashes of pages."""
        self._db = db
        self.rules = rules
        self._random = random
        self._write = write
        self._clock = clock
        data = db.get(META)
        saved: dict[str, Any] = msgpack.unpackb(data) if data is not None else {}
        counts = tuple(saved.get("starts", (0, 0)))
        self.starts = Starts(db, random, key, hosts=rules.jump == HOSTS, counts=counts)
        self.visits: int = saved.get("visits", 0)
        self._at: dict[str, deque[Walker]] = {}
        # of pages whose links were read, and that are not finished
        self._next: dict[str, LinkChoice] = {}
        self._idle: list[tuple[float, int, Walker]] = []  # a heap: from when on each may be placed
        self._done: list[Walker] = []  # those that have made their share of the visits
        self._unanswered = 0  # URLs in a row, of all walkers
        self._restore(saved)
        db.join(self)

    def _restore(self, saved: dict[str, Any]) -> None:
        walkers = self.rules.walkers
        at = saved.get("at", [("", number, 0, START) for number in range(walkers)])
        each, more = divmod(self.visits, walkers)  # as good as any, if they were not counted
        visits = saved.get("each", [each + (number < more) for number in range(walkers)])
        onward = dict(saved.get("onward", ()))
        for url, number, step, how in at:
            walker = Walker(
                number,
                step,
                how,
                visits[number],
                unpack(onward[number]) if number in onward else None,
            )
            if url:
                self._at.setdefault(url, deque()).append(walker)
            else:
                self._put_aside(walker, 0.0)
        if saved:
            version, words, gauss = saved["random"]
            self._random.setstate((version, tuple(words), gauss))

    def _put_aside(self, walker: Walker, until: float) -> None:
        """Until then, or for good if it has made its share."""
        if walker.visits >= self.rules.share(walker.number):
            self._done.append(walker)
        else:
            heappush(self._idle, (until, walker.number, walker))

    @property
    def idle(self) -> int:
        """Return the number of walkers that are nowhere, and wait to be placed.

        When all have ended, they wait for more steps.
        """
        if not self.starts:  # they can be placed nowhere
            return 0
        ended = len(self._done) if self.has_ended() else 0
        return len(self._idle) + ended

    @property
    def next_start(self) -> float | None:
        """Return the time at which the first of them may be placed."""
        return self._idle[0][0] if self._idle and self.starts else None

    def figures(self) -> dict[str, int | float]:
        """Return the numbers of visits that have been made, and are to be made; 0: no end."""
        return {"walk/visits": self.visits, "walk/steps": self.rules.steps}

    def has_ended(self, in_flight: int = 0) -> bool:
        """Return whether all visits are made, or will be when so many downloads have ended."""
        return 0 < self.rules.steps <= self.visits + in_flight

    @property
    def stranded(self) -> bool:
        """Return whether no walker gets an answer any more, wherever it starts."""
        return self._unanswered >= STRANDED * self.rules.walkers

    def start(self, now: float) -> Iterator[Link]:
        """Place the walkers that are nowhere. Return the links to fetch."""
        while self.starts and self._idle and self._idle[0][0] <= now:
            walker = heappop(self._idle)[2]
            link, walker.onward = walker.onward, None
            if link is None:
                url = self.starts.draw()
                link = Link(url, seed=url)
            yield self._go(walker, link)

    def _go(self, walker: Walker, link: Link) -> Link:
        self._at.setdefault(link.url, deque()).append(walker)
        return link

    def found(self, page: Link, records: Sequence[Packed], *, redirect: bool) -> None:
        """Choose one of the links of a page, to be followed when the page is finished."""
        if page.url in self._at and records:
            self._next[page.url] = LinkChoice(
                len(records), unpack(self._random.choice(records)), redirect
            )

    def ended(self, link: Link, status: int, *, asked: bool = True) -> Link | None:
        """Return what the walker of a finished URL goes on to, unless it has to be placed anew.

        Return what its walker goes on to, unless that has to be placed anew.
        """
        choice, here = self._next.pop(link.url, DEAD_END), self._at.get(link.url)
        if here is None:  # a failure that was taken back after the walker had gone on
            return None
        walker = here.popleft()
        if not here:
            del self._at[link.url]
        now = self._clock()
        self._log(now, walker, link.url, choice.degree, status)
        walker.step += 1
        self._unanswered = 0 if status > 0 else self._unanswered + 1
        if 200 <= status < 300:
            self.starts.visited(link.url)
        if choice.redirect and choice.link is not None:
            walker.how = REDIRECT
            return self._go(walker, choice.link)
        self.visits += asked
        walker.visits += asked
        # at dead ends too: so lives are geometric
        restarts = self._random.random() < self.rules.restart
        if restarts or choice.link is None:
            walker.how = RESTART if restarts else DEADEND
            self._put_aside(walker, now + self._rest() if self._unanswered else 0.0)
            return None
        walker.how = LINK
        following = replace(choice.link, path=choice.link.path[-1:])  # a walk has no depth
        if walker.visits < self.rules.share(walker.number):
            return self._go(walker, following)
        walker.onward = following
        self._done.append(walker)
        return None

    def _rest(self) -> float:
        """Return the seconds until a walker starts again.

        Where every start is refused they grow, or the log would fill.
        """
        return REST * min(1 + self._unanswered // self.rules.walkers, LONGEST_REST)

    def _log(self, now: float, walker: Walker, url: str, degree: int, status: int) -> None:
        line = (
            f"{now:.3f}\t{walker.number}\t{walker.step}\t{url}\t{walker.how}\t{degree}\t{status}\n"
        )
        self._write(line.encode())

    # -- the checkpoint

    def save(self) -> None:
        nowhere = [
            *(entry[2] for entry in sorted(self._idle, key=lambda entry: entry[:2])),
            *self._done,
        ]
        places = [(url, one) for url, some in self._at.items() for one in some] + [
            ("", one) for one in nowhere
        ]
        state = {
            "rules": [self.rules.walkers, self.rules.restart, self.rules.jump],
            "starts": self.starts.counts,
            "visits": self.visits,
            "at": [(url, one.number, one.step, one.how) for url, one in places],
            "each": [one.visits for _, one in sorted(places, key=lambda place: place[1].number)],
            "onward": [
                (one.number, one.onward.pack()) for one in nowhere if one.onward is not None
            ],
            "random": self._random.getstate(),
        }
        self._db.set(META, msgpack.packb(state))
