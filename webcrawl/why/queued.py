"""Where URLs wait: in their hosts' queues, over their domains' budgets, in the lines, or in the front-end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgpack

from webcrawl.frontier.state import META
from webcrawl.model import Packed, unpack
from webcrawl.store import rowcrc
from webcrawl.urls.hosts import host_of
from webcrawl.verify.snapshot import Snapshot
from webcrawl.why import meta
from webcrawl.why.host import HostRecord, host_record
from webcrawl.why.queue_scan import Budget, Queues, Wanted, count_of

RETRY, HOST, BUDGET, LINE, FRONT = "retry", "host", "budget", "line", "front"
Front = tuple[list[bytes], dict[str, bytes]]  # the levels of the front-end, and the lines
NO_FRONT: Front = ([], {})
OF_HOST = 32 << 20  # bytes of links looked at in the queue of one host or domain: a quarter of a second
OF_ALL = 64 << 20  # and in the front-end and the lines together


@dataclass(slots=True)
class Place:
    """Where a URL waits: `place` URLs go before it there, as far as anybody can say."""

    where: str
    record: Packed
    place: int
    of: int
    level: int | None = None
    at: float = 0.0  # of one to be tried again: not before then
    group: str = ""  # of a line

    @property
    def has_failed(self) -> bool:
        """Whether it was tried, and is to be tried again."""
        link = unpack(self.record)
        return link.attempt + link.struck > 0

    def to_json(self) -> dict[str, Any]:
        link = unpack(self.record)
        found: dict[str, Any] = {"where": self.where, "place": self.place + 1, "of": self.of}
        if self.level is not None:
            found["level"] = self.level
        return found | {"attempt": link.attempt + link.struck + 1}


@dataclass(slots=True)
class Searched:
    """What a search in the queues found, and how far it went."""

    places: dict[str, Place] = field(default_factory=dict)
    hosts: dict[str, HostRecord | None] = field(default_factory=dict)
    cut: dict[str, tuple[int, int]] = field(default_factory=dict)  # by what was not looked through: links looked at, of

    def note(self, what: str, looked: int, of: int) -> None:
        before = self.cut.get(what, (0, 0))
        self.cut[what] = before[0] + looked, before[1] + of

    def cut_for(self, host: str, domain: str) -> list[str]:
        """What was not looked through, of the queues that may have a URL of this host."""
        names = {
            f"{HOST} {host}": f"the queue of {host}",
            f"{BUDGET} {domain}": f"the URLs over the budget of {domain}",
            LINE: "the lines of hosts that wait",
            FRONT: "the front-end",
        }
        cut = ((names[what], *self.cut[what]) for what in names if what in self.cut)
        return [f"{name}: {looked:,} of {of:,} URLs" for name, looked, of in cut]


class Search:
    """Looks for URLs in all queues of a snapshot. `deep`: however many links they have."""

    def __init__(self, snapshot: Snapshot, domain_of: Callable[[str], str], *, deep: bool = False) -> None:
        self._snapshot, self._domain_of, self._deep = snapshot, domain_of, deep
        self._queues = Queues(snapshot)

    def __repr__(self) -> str:
        return f"<Search {self._snapshot.path}>"

    def near(self, urls: Iterable[str]) -> Searched:
        """Looks in the queues of their hosts and domains."""
        searched, left = Searched(), dict.fromkeys(urls)
        by_host: dict[str, list[str]] = defaultdict(list)
        for url in left:
            by_host[host_of(url)].append(url)
        for name, some in by_host.items():
            searched.hosts[name] = host_record(self._snapshot, name)
            self._in_host(searched, name, some)
        by_domain: dict[str, list[str]] = defaultdict(list)
        for url in left:
            if url not in searched.places:
                by_domain[self._domain_of(host_of(url))].append(url)
        for domain, some in by_domain.items():
            self._in_domain(searched, domain, some)
        return searched

    def _budget(self, size: int) -> Budget:
        return Budget(-1 if self._deep else size)

    def _in_host(self, searched: Searched, name: str, urls: list[str]) -> None:
        host = searched.hosts[name]
        if host is None:
            return
        wanted, before, budget = Wanted(urls), 0, self._budget(OF_HOST)
        for number, (at, record) in enumerate(host.later):
            url = wanted.url_of(record)
            if url is not None:
                searched.places.setdefault(url, Place(RETRY, record, number, host.waiting, at=at))
        for saved in host.in_order():
            looked = self._queues.look(saved, wanted, budget)
            for url, (place, record) in looked.found.items():
                searched.places.setdefault(url, Place(HOST, record, before + place, host.waiting))
            before += looked.of
            if not looked.whole:
                searched.note(f"{HOST} {name}", looked.records, looked.of)

    def _in_domain(self, searched: Searched, domain: str, urls: list[str]) -> None:
        for row in self._snapshot.rows("SELECT name, rank, waiting, data, crc FROM domain WHERE name = ?", (domain,)):
            if not row[2] or not rowcrc.agrees(rowcrc.domain, row):
                continue
            try:
                saved = msgpack.unpackb(row[3])[-1]
            except meta.UNREADABLE as error:
                raise self._snapshot.damaged(f"table domain, {domain}: {error!r}") from error
            looked = self._queues.look(saved, Wanted(urls), self._budget(OF_HOST))
            for url, (place, record) in looked.found.items():
                searched.places[url] = Place(BUDGET, record, place, looked.of)
            if not looked.whole:
                searched.note(f"{BUDGET} {domain}", looked.records, looked.of)

    def far(self, searched: Searched, urls: Collection[str]) -> None:
        """Looks in the front-end and the lines, too."""
        if not urls:
            return
        front, lines = meta.value(self._snapshot, META, saved_front, NO_FRONT)
        wanted, budget = Wanted(urls), self._budget(OF_ALL)
        likely = {self._domain_of(host_of(url)) for url in urls}
        for group, saved in sorted(lines.items(), key=lambda line: line[0] not in likely):
            looked = self._queues.look(saved, wanted, budget)
            for url, (place, record) in looked.found.items():
                searched.places[url] = Place(LINE, record, place, looked.of, group=group)
            if not looked.whole:
                searched.note(LINE, looked.records, looked.of)
        filled = [level for level, saved in enumerate(front) if count_of(saved)]
        for done, level in enumerate(filled):
            share = Budget(budget.left // (len(filled) - done) if budget.left > 0 else budget.left)
            before = share.left
            looked = self._queues.look(front[level], wanted, share)
            budget.take(before - share.left)
            for url, (place, record) in looked.found.items():
                searched.places.setdefault(url, Place(FRONT, record, place, looked.of, level=level))
            if not looked.whole:
                searched.note(FRONT, looked.records, looked.of)


def saved_front(data: bytes) -> Front:
    """The queues in the frontier's value."""
    state = msgpack.unpackb(data)
    again = [state["revisits"]] if "revisits" in state else []  # the level of their own comes last
    return [*state["front"], *again], dict(state["lines"])
