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

ROWS_BY_PREFIX = "SELECT name, value FROM meta WHERE name >= ? AND name < ? ORDER BY name"
PREFIX_END = "\x7f"  # sorts after every character of a host's name


def check_walk(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Check the rows of a walk, count its walkers and hosts in `found`, and yield what is damaged.

    A crawl that is not a walk has no such rows.
    """
    value = snapshot.get(META)
    if value is None:
        return
    try:
        state: dict[str, Any] = msgpack.unpackb(value)
        seeds, hosts = state["starts"]
        found["walkers"] = len(state["at"])
        flaw = _flaw_of_state(state)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        yield snapshot.damaged(f"table meta, {META}: {error!r}", value=value)
        return
    if flaw:
        yield snapshot.damaged(f"table meta, {META}: {flaw}", value=value)
    found["walked hosts"] = hosts
    yield from _damaged_starts(snapshot, SEED, seeds, _flaw_of_seed)
    yield from _damaged_starts(
        snapshot, HOST, hosts, lambda number, row: _flaw_of_pages(snapshot, number, row)
    )
    numbered = sum(1 for _ in snapshot.rows(ROWS_BY_PREFIX, (NUMBER, NUMBER + PREFIX_END)))
    if numbered != hosts:  # each host's row has its number, so that these are all
        yield snapshot.damaged(
            f"table meta, {META}: {hosts} hosts are counted, but {numbered} have a number"
        )


def _flaw_of_state(state: dict[str, Any]) -> str:
    """Return what is wrong with the saved state, or "".

    Raise ValueError, TypeError or KeyError if it is not a state at all.
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
    for place in state["at"]:
        flaw = _flaw_of_place(*place)
        if flaw:
            return flaw
    return ""


def _flaw_of_place(url: str, number: int, step: int, how: str) -> str:
    """Return what is wrong with the place of one walker, or ""."""
    is_starting = not url and how == START
    if is_starting and step:
        return f"walker {number} is at the start, though it has made steps"
    return ""


def _damaged_starts(
    snapshot: Snapshot, prefix: str, count: int, flaw: Callable[[str, bytes], str]
) -> Iterator[DamagedFile]:
    """Yield the damaged rows with a prefix: there should be `count`, numbered from 0.

    `flaw` returns what is wrong with the row of a number, or "". Nothing is kept of the rows: there
    may be millions.
    """
    rows = 0
    for name, value in snapshot.rows(ROWS_BY_PREFIX, (prefix, prefix + PREFIX_END)):
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


def _flaw_of_seed(_: str, row: bytes) -> str:
    return "" if row.decode() else "not a URL"


def _flaw_of_pages(snapshot: Snapshot, number: str, row: bytes) -> str:
    """Return what is wrong with the row of the pages of the host with this number, or ""."""
    pages = msgpack.unpackb(row)
    hosts = {host_of(url) for _, url in pages}
    if not 0 < len(pages) <= MAX_PAGES_PER_HOST or len(hosts) != 1:
        return f"{len(pages)} pages of {len(hosts)} hosts"
    host = hosts.pop()
    return "" if snapshot.get(NUMBER + host) == number.encode() else f"{host} has another number"


SEED, NUMBER, HOST = "walk/seed/", "walk/number/", "walk/host/"
# Visited pages that are kept of a host: an estimate from so few of one host has an error of 0.5 %,
# and so many cost a visit 0.2 ms
MAX_PAGES_PER_HOST = 512

META = "walk"
SEEDS, HOSTS = "seeds", "hosts"
JUMPS = (SEEDS, HOSTS)
START, LINK, REDIRECT, RESTART, DEADEND = "start", "link", "redirect", "restart", "deadend"
RESTART_SECONDS = 1.0  # until a walker whose URL got no answer goes on
MAX_RESTART_FACTOR = 60  # how many times longer that becomes while no walker gets an answer
# Walkers are stranded when so many URLs in a row got no answer
STRANDED_URLS_PER_WALKER = 10


class WalkStarts:
    """Where walks may start: the seeds, and the pages that were visited.

    All of it is in the database, with one small row per seed and two per host, so memory does not
    depend on their number. Of a host with more visited pages than MAX_PAGES_PER_HOST, those with
    the smallest hashes are kept: a random sample of the distinct ones, however often each was
    visited.
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
        """Open the starts with the numbers of seeds and hosts of the last checkpoint, `counts`.

        With `hosts`, jumps lead to visited hosts once there is one, and otherwise to seeds. `key`
        keys the hashes of pages.
        """
        self._db = db
        self._random = random
        self._key = key
        self._jumps_to_hosts = hosts
        self._seeds, self._hosts = counts

    def __bool__(self) -> bool:
        """Return whether there is a seed, so that a walk can start."""
        return self._seeds > 0

    @property
    def counts(self) -> tuple[int, int]:
        """Return the numbers of seeds and hosts, which a checkpoint saves."""
        return self._seeds, self._hosts

    def add(self, urls: Iterable[str]) -> None:
        rows = [(f"{SEED}{number}", url.encode()) for number, url in enumerate(urls, self._seeds)]
        self._db.set_all(rows)
        self._seeds += len(rows)

    def add_visit(self, url: str) -> None:
        """Add a page that was fetched, if jumps lead to hosts."""
        if not self._jumps_to_hosts:
            return
        name = host_of(url)
        number = self._db.get(NUMBER + name)
        if number is None:
            number = str(self._hosts).encode()
            self._db.set(NUMBER + name, number)
            self._hosts += 1
        row = self._db.get(HOST + number.decode())
        pages = [] if row is None else [(-value, page) for value, page in msgpack.unpackb(row)]
        if self._add_page(pages, url):
            self._db.set(
                HOST + number.decode(), msgpack.packb([(-value, page) for value, page in pages])
            )

    def _add_page(self, pages: list[tuple[int, str]], url: str) -> bool:
        """Add a page to the kept ones of its host, and return whether they have changed.

        They have not if the page is there, or its hash is larger than those of all others.
        """
        value = int.from_bytes(blake2b(url.encode(), key=self._key, digest_size=8).digest(), "big")
        if (-value, url) in pages:
            return False
        heapify(pages)  # hashes are negative, so the largest one is on top
        if len(pages) < MAX_PAGES_PER_HOST:
            heappush(pages, (-value, url))
            return True
        return heappushpop(pages, (-value, url)) != (-value, url)

    def draw(self) -> str:
        """Return a random visited page of a random visited host, or a random seed."""
        if self._jumps_to_hosts and self._hosts:
            row = self._db.get(f"{HOST}{self._random.randrange(self._hosts)}")
            return str(self._random.choice(msgpack.unpackb(row))[1])
        seed = self._db.get(f"{SEED}{self._random.randrange(self._seeds)}")
        return seed.decode() if seed is not None else ""


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The rules of a walk. All but `steps` must stay the same in its JOBDIR."""

    walkers: int = 100
    restart: float = 1 / 7  # chance after each visit: a walk has seven pages on average
    jump: str = HOSTS
    steps: int = 0  # visits of all walkers together; 0: no end

    def share(self, walker: int) -> float:
        """Return the number of visits that the walker with this number makes.

        All make equally many, give or take one, or those at slow hosts would make fewer.
        """
        if not self.steps:
            return inf
        each, rest = divmod(self.steps, self.walkers)
        return each + (walker < rest)

    def __str__(self) -> str:
        return f"walkers={self.walkers} restart={self.restart:.6g} jump={self.jump}"


@dataclass(slots=True)
class Walker:
    """One random walker."""

    number: int
    step: int = 0
    how: str = START  # how it came to where it is, or will come to where it goes next
    visits: int = 0
    onward: Link | None = None  # where it goes when it is placed again; None: a jump


class LinkChoice(NamedTuple):
    """What the links of a page mean for the walker there."""

    degree: int = 0  # the number of links among which one was chosen
    link: Link | None = None  # the chosen one; None: a dead end
    redirect: bool = False  # the link is a redirect, so following it is no visit


DEAD_END = LinkChoice()


class Walkers(Part):
    """All walkers of a crawl: where each is, and where it goes next.

    The checkpoint has their places and the state of the random numbers. Walkers at one URL are
    interchangeable: whichever of its downloads ends, the first one goes on.
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
        """Restore the walkers of the last checkpoint, or put all at the start.

        `write` writes lines to the log of the walk. `key` keys the hashes of pages.
        """
        self._db = db
        self.rules = rules
        self._random = random
        self._write = write
        self._clock = clock
        data = db.get(META)
        saved: dict[str, Any] = msgpack.unpackb(data) if data is not None else {}
        counts = tuple(saved.get("starts", (0, 0)))
        self.starts = WalkStarts(db, random, key, hosts=rules.jump == HOSTS, counts=counts)
        self.visits: int = saved.get("visits", 0)
        self._walkers_at: dict[str, deque[Walker]] = {}
        # what was chosen on pages whose links were read, and that are not finished yet
        self._choices: dict[str, LinkChoice] = {}
        # walkers that are nowhere: a heap by the time from which on each may be placed
        self._waiting: list[tuple[float, int, Walker]] = []
        self._finished: list[Walker] = []  # walkers that have made their share of the visits
        self._unanswered = 0  # URLs in a row, of all walkers, without an answer
        self._restore(saved)
        db.join(self)

    def _restore(self, saved: dict[str, Any]) -> None:
        """Put the walkers where the saved state has them, or at the start if it is empty."""
        walkers = self.rules.walkers
        at = saved.get("at", [("", number, 0, START) for number in range(walkers)])
        # A state that does not say how many visits each has made: all have made equally many
        each, more = divmod(self.visits, walkers)
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
                self._walkers_at.setdefault(url, deque()).append(walker)
            else:
                self._set_aside(walker, 0.0)
        if saved:
            version, words, gauss = saved["random"]
            self._random.setstate((version, tuple(words), gauss))

    def _set_aside(self, walker: Walker, until: float) -> None:
        """Let a walker wait until it is placed again, or finish it if it has made its share."""
        if walker.visits >= self.rules.share(walker.number):
            self._finished.append(walker)
        else:
            heappush(self._waiting, (until, walker.number, walker))

    @property
    def idle(self) -> int:
        """Return the number of walkers that are nowhere, and wait to be placed.

        Once the walk has ended, those that have made their share wait as well, for more steps.
        """
        if not self.starts:  # no walker can be placed anywhere
            return 0
        ended = len(self._finished) if self.has_ended() else 0
        return len(self._waiting) + ended

    @property
    def next_start(self) -> float | None:
        """Return the time from which on the first waiting walker may be placed; None without one."""
        return self._waiting[0][0] if self._waiting and self.starts else None

    def figures(self) -> dict[str, int | float]:
        """Return the numbers of visits that have been made, and that are to be made; 0: no end."""
        return {"walk/visits": self.visits, "walk/steps": self.rules.steps}

    def has_ended(self, in_flight: int = 0) -> bool:
        """Return whether all visits are made, or will be once `in_flight` more downloads have ended."""
        return 0 < self.rules.steps <= self.visits + in_flight

    @property
    def stranded(self) -> bool:
        """Return whether no walker has got an answer for a long time, wherever it started."""
        return self._unanswered >= STRANDED_URLS_PER_WALKER * self.rules.walkers

    def place_waiting(self, now: float) -> Iterator[Link]:
        """Place the waiting walkers whose time has come, and yield the links to fetch."""
        while self.starts and self._waiting and self._waiting[0][0] <= now:
            walker = heappop(self._waiting)[2]
            link = walker.onward
            walker.onward = None
            if link is None:
                url = self.starts.draw()
                link = Link(url, seed=url)
            yield self._place_at(walker, link)

    def _place_at(self, walker: Walker, link: Link) -> Link:
        self._walkers_at.setdefault(link.url, deque()).append(walker)
        return link

    def choose_link(self, page: Link, records: Sequence[Packed], *, redirect: bool) -> None:
        """Choose one of the links of a page; its walker follows it when the page is finished."""
        if page.url in self._walkers_at and records:
            self._choices[page.url] = LinkChoice(
                len(records), unpack(self._random.choice(records)), redirect
            )

    def leave(self, link: Link, status: int, *, requested: bool = True) -> Link | None:
        """Move a walker on from a finished URL, and return the link that it follows.

        Return None if the walker has to be placed anew, has made its share, or there is none. The
        step counts as a visit if the URL was `requested`, and not dropped by a filter or a rule.
        """
        choice = self._choices.pop(link.url, DEAD_END)
        here = self._walkers_at.get(link.url)
        if here is None:  # a failure that was taken back after the walker had gone on
            return None
        walker = here.popleft()
        if not here:
            del self._walkers_at[link.url]
        now = self._clock()
        self._log(now, walker, link.url, choice.degree, status)
        walker.step += 1
        self._unanswered = 0 if status > 0 else self._unanswered + 1
        if 200 <= status < 300:
            self.starts.add_visit(link.url)
        if choice.redirect and choice.link is not None:
            walker.how = REDIRECT
            return self._place_at(walker, choice.link)
        self.visits += requested
        walker.visits += requested
        # Drawn at dead ends too, so that the lengths of walks are geometric
        restarts = self._random.random() < self.rules.restart
        if restarts or choice.link is None:
            walker.how = RESTART if restarts else DEADEND
            self._set_aside(walker, now + self._restart_seconds() if self._unanswered else 0.0)
            return None
        walker.how = LINK
        following = replace(choice.link, path=choice.link.path[-1:])  # a walk has no depth
        if walker.visits < self.rules.share(walker.number):
            return self._place_at(walker, following)
        walker.onward = following
        self._finished.append(walker)
        return None

    def _restart_seconds(self) -> float:
        """Return the seconds until a walker that got no answer starts again.

        They grow while all starts are refused, or the log would fill.
        """
        return RESTART_SECONDS * min(1 + self._unanswered // self.rules.walkers, MAX_RESTART_FACTOR)

    def _log(self, now: float, walker: Walker, url: str, degree: int, status: int) -> None:
        line = (
            f"{now:.3f}\t{walker.number}\t{walker.step}\t{url}\t{walker.how}\t{degree}\t{status}\n"
        )
        self._write(line.encode())

    # -- the checkpoint

    def save(self) -> None:
        """Write the state of all walkers to the database, as part of a checkpoint."""
        in_order = sorted(self._waiting, key=lambda entry: entry[:2])  # walkers have no order
        nowhere = [*(walker for _, _, walker in in_order), *self._finished]
        places = [(url, walker) for url, here in self._walkers_at.items() for walker in here]
        places += [("", walker) for walker in nowhere]
        state = {
            "rules": [self.rules.walkers, self.rules.restart, self.rules.jump],
            "starts": self.starts.counts,
            "visits": self.visits,
            "at": [(url, walker.number, walker.step, walker.how) for url, walker in places],
            "each": [
                walker.visits for _, walker in sorted(places, key=lambda place: place[1].number)
            ],
            "onward": [
                (walker.number, walker.onward.pack())
                for walker in nowhere
                if walker.onward is not None
            ],
            "random": self._random.getstate(),
        }
        self._db.set(META, msgpack.packb(state))
