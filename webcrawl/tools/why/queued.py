"""Finds where URLs wait: in queues of hosts, domains, lines and the front-end, or among the links of large pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgpack
import zstandard

from webcrawl.base.dates import iso
from webcrawl.base.model import Packed, is_link, unpack
from webcrawl.base.url_text import host_of
from webcrawl.frontier.domain_table import FAMILIES
from webcrawl.frontier.seen.portions import Portion
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.domain_row import domain_row
from webcrawl.store.jobdir.host_row import HostRow, host_row
from webcrawl.store.jobdir.queue_row import SavedQueues, count_of
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.urls.canonical import InvalidUrl, canonical

RETRY, HOST, BUDGET, FAMILY, LINE, FRONT = "retry", "host", "budget", "family", "line", "front"
Front = tuple[list[bytes], dict[str, bytes]]  # the levels of the front-end, and the lines
NO_FRONT: Front = ([], {})
OF_HOST = 32 << 20  # bytes of links looked at in the queue of one host or domain: a quarter of a second
FEW = 8  # URLs for which a block is searched as a whole first, in a tenth of the time that its records take
OF_ALL = 64 << 20  # and in the front-end and the lines together


@dataclass(slots=True)
class Budget:
    """Bytes of records that may still be looked at; less than none: as many as there are."""

    left: int

    @property
    def spent(self) -> bool:
        return self.left == 0

    def take(self, size: int) -> None:
        if self.left > 0:
            self.left = max(self.left - size, 0)


@dataclass(slots=True)
class Looked:
    """Findings in one queue: the first place of each URL, and how far it went."""

    found: dict[str, tuple[int, Packed]] = field(default_factory=dict)
    records: int = 0
    of: int = 0

    @property
    def whole(self) -> bool:
        return self.records >= self.of


class Wanted:
    """The URLs that are looked for."""

    def __init__(self, urls: Iterable[str]) -> None:
        self.urls = {url.encode(): url for url in urls}
        self._few = [url + b" " for url in self.urls] if len(self.urls) <= FEW else None

    def may_be_in(self, data: bytes) -> bool:
        return self._few is None or any(url in data for url in self._few)

    def url_of(self, record: Packed) -> str | None:
        """The one of them that this link is; None if it is none."""
        url = self.urls.get(record[: record.find(b" ")])
        return url if url is not None and is_link(record) else None


def look(queues: SavedQueues, saved: bytes | None, wanted: Wanted, budget: Budget) -> Looked:
    """Goes through a queue from its first record on, block by block, and stops when the budget is spent."""
    looked = Looked(of=count_of(saved))
    for piece in queues.pieces(saved) if saved is not None else ():
        if budget.spent:
            break
        budget.take(len(piece))
        some = list(queues.cut(piece, 0, "a saved queue"))
        if wanted.may_be_in(piece):
            for number, record in enumerate(some):
                url = wanted.url_of(record)
                if url is not None:
                    looked.found.setdefault(url, (looked.records + number, record))
        looked.records += len(some)
    return looked


@dataclass(slots=True)
class Place:
    """The place of a URL that waits: `place` URLs go before it there, as far as anybody can say."""

    where: str
    record: Packed
    place: int
    of: int
    level: int | None = None
    at: float = 0.0  # of one to be tried again: not before then
    group: str = ""  # of a line

    @property
    def has_failed(self) -> bool:
        """True if it was tried, and is to be tried again."""
        return unpack(self.record).tried > 0

    def to_json(self, ahead: float) -> dict[str, Any]:
        """`ahead`: what the machine's clock shows beyond the crawl's."""
        link = unpack(self.record)
        found: dict[str, Any] = {"where": self.where, "place": self.place + 1, "of": self.of}
        if self.level is not None:
            found["level"] = self.level
        if self.at > 0:
            found["not_before"] = iso(self.at + ahead)
        return found | {"attempt": link.tried + 1}


@dataclass(slots=True)
class Searched:
    """Findings in all queues, and how far the search went."""

    places: dict[str, Place] = field(default_factory=dict)
    hosts: dict[str, HostRow | None] = field(default_factory=dict)
    cut: dict[str, tuple[int, int]] = field(default_factory=dict)  # by what was not looked through: links looked at, of

    def note(self, what: str, looked: int, of: int) -> None:
        before = self.cut.get(what, (0, 0))
        self.cut[what] = before[0] + looked, before[1] + of

    def cut_for(self, host: str, domain: str) -> list[str]:
        """Names of what was not looked through, of the queues that may have a URL of this host."""
        names = {
            f"{HOST} {host}": f"the queue of {host}",
            f"{BUDGET} {domain}": f"the URLs over the budget of {domain}",
            f"{FAMILY} {domain}": f"the URLs of {domain} whose families bring nothing new",
            LINE: "the lines of hosts that wait",
            FRONT: "the front-end",
        }
        cut = ((names[what], *self.cut[what]) for what in names if what in self.cut)
        return [f"{name}: {looked:,} of {of:,} URLs" for name, looked, of in cut]


class Search:
    """Looks for URLs in all queues of a snapshot. `deep`: however many links they have."""

    def __init__(self, snapshot: Snapshot, domain_of: Callable[[str], str], *, deep: bool = False) -> None:
        self._snapshot, self._domain_of, self._deep = snapshot, domain_of, deep
        self._queues = SavedQueues(snapshot)

    def near(self, urls: Iterable[str]) -> Searched:
        """Looks in the queues of their hosts and domains."""
        searched, left = Searched(), dict.fromkeys(urls)
        by_host: dict[str, list[str]] = defaultdict(list)
        for url in left:
            by_host[host_of(url)].append(url)
        for name, some in by_host.items():
            searched.hosts[name] = host_row(self._snapshot, name)
            self._in_host(searched, name, some)
        by_domain: dict[str, list[str]] = defaultdict(list)
        for url in left:
            if url not in searched.places:
                by_domain[self._domain_of(host_of(url))].append(url)
        for domain, some in by_domain.items():
            self._in_domain(searched, domain, some, BUDGET, domain)
            self._in_domain(searched, domain, some, FAMILY, domain + FAMILIES)
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
        for saved in host.queues:
            looked = look(self._queues, saved, wanted, budget)
            for url, (place, record) in looked.found.items():
                searched.places.setdefault(url, Place(HOST, record, before + place, host.waiting))
            before += looked.of
            if not looked.whole:
                searched.note(f"{HOST} {name}", looked.records, looked.of)

    def _in_domain(self, searched: Searched, domain: str, urls: list[str], where: str, record: str) -> None:
        row = domain_row(self._snapshot, record)
        if row is None or not row.waiting:
            return
        looked = look(self._queues, row.queue, Wanted(urls), self._budget(OF_HOST))
        for url, (place, link) in looked.found.items():
            searched.places[url] = Place(where, link, place, looked.of)
        if not looked.whole:
            searched.note(f"{where} {domain}", looked.records, looked.of)

    def far(self, searched: Searched, urls: Collection[str]) -> None:
        """Looks in the front-end and the lines, too."""
        if not urls:
            return
        front, lines = meta_row.value(self._snapshot, meta_row.FRONTIER, saved_front, NO_FRONT)
        wanted, budget = Wanted(urls), self._budget(OF_ALL)
        likely = {self._domain_of(host_of(url)) for url in urls}
        for group, saved in sorted(lines.items(), key=lambda line: line[0] not in likely):
            looked = look(self._queues, saved, wanted, budget)
            for url, (place, record) in looked.found.items():
                searched.places[url] = Place(LINE, record, place, looked.of, group=group)
            if not looked.whole:
                searched.note(LINE, looked.records, looked.of)
        filled = [level for level, saved in enumerate(front) if count_of(saved)]
        for done, level in enumerate(filled):
            share = Budget(budget.left // (len(filled) - done) if budget.left > 0 else budget.left)
            before = share.left
            looked = look(self._queues, front[level], wanted, share)
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


MOST = 300  # portions looked at, of 1,000 links each: 0.3 s


class Awaited(NamedTuple):
    """A link that waits in a portion."""

    via: str
    turns: int  # portions before it


def among_portions(
    snapshot: Snapshot, urls: Iterable[str], longest: int, *, deep: bool = False
) -> tuple[dict[str, Awaited], tuple[int, int]]:
    """Those of these URLs that wait in portions; how many portions were looked at, and how many there are."""
    wanted, found, looked = set(urls), dict[str, Awaited](), 0
    ((count,),) = snapshot.rows("SELECT count(*) FROM portion")
    ends = {_end(url) for url in wanted}
    unpack = zstandard.ZstdDecompressor().decompress
    for number, data in snapshot.rows("SELECT id, data FROM portion ORDER BY turn, id"):
        if not deep and looked >= MOST:
            break
        try:
            portion = Portion.unpack(unpack(data))
        except (zstandard.ZstdError, ValueError, TypeError) as error:
            raise snapshot.damaged(f"table portion, {number}: {error}") from error
        base = portion.base or portion.page.url
        for link in portion.links:
            if any(end in link for end in ends):  # what a link is, is known when it is joined: 2 us
                url = _joined(link, base, longest)
                if url in wanted:
                    found.setdefault(url, Awaited(portion.page.url, looked))
        looked += 1
    return found, (looked, count)


def _end(url: str) -> str:
    """A text in every link to this URL, however it is written, if no escape is left out; empty for a start page."""
    path = url.partition("?")[0].split("/", 3)[3]
    end = path.rpartition("/")[2]
    return end if end.isalnum() else ""


def _joined(link: str, base: str, longest: int) -> str:
    try:
        return canonical(link, base, longest)
    except InvalidUrl:
        return ""
