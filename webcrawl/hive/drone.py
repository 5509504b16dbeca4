"""One drone of a hive, without a network: whose a URL is, what goes to others, and what came from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from webcrawl.hive.errors import HiveError
from webcrawl.hive.message import Kind, Message
from webcrawl.hive.outbox import Outbox
from webcrawl.hive.slots import SlotMap
from webcrawl.hive.splitter import Splitter
from webcrawl.model import Link, Packed, Status, authority_of, is_link, unpack


class Home(Protocol):
    """The crawl of this drone, as what comes from others meets it."""

    def links(self, records: Sequence[bytes]) -> None:
        """Links that others found."""

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        """A request that a spider made on another drone."""

    def vote(self, source: str, url: str) -> None:
        """A page of this domain links to this URL."""

    def queued(self, records: Sequence[bytes]) -> None:
        """Links that are known to be new."""

    def robots(self, link: Link, status: int, body: bytes, location: str, chain: str) -> None:
        """What came of a robots.txt that another drone fetched for us."""


class Drone:
    """The crawl's `Elsewhere`, and the reader of its letters."""

    home: Home

    def __init__(
        self, me: int, splitter: Splitter, outbox: Outbox, keep: Callable[[SlotMap], None] = lambda _: None
    ) -> None:
        """`keep`: puts a later map into the state."""
        self.me, self._splitter, self._outbox, self._keep = me, splitter, outbox, keep
        self.keep_ours, self.is_ours = splitter.keep_ours, splitter.is_ours
        self.on_later_map: Callable[[int], None] | None = None  # a letter shows that there is a map of this generation
        self.received = self.forwarded = self.refused = 0
        self._takers: dict[Kind, Callable[[list[Any]], None]] = {
            Kind.LINKS: self._links,
            Kind.VOTES: self._votes,
            Kind.REQUESTS: self._requests,
            Kind.QUEUED: self._queued,
            Kind.ROBOTS: self._robots,
        }

    def __repr__(self) -> str:
        return f"<Drone {self.me} {self._splitter!r}>"

    @property
    def slots(self) -> SlotMap:
        return self._splitter.slots

    def learn(self, slots: SlotMap) -> None:
        """Takes a later map."""
        self._splitter.learn(slots)
        self._keep(slots)
        self._outbox.generation = slots.generation

    def stats(self) -> dict[str, int]:
        """Counters of this run."""
        splitter = self._splitter
        return {
            "foreign": splitter.foreign,
            "sent": splitter.sent,
            "received": self.received,
            "forwarded": self.forwarded,
            "refused": self.refused,
        }

    # -- to others

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        item = [link.pack(), list(variants), free]
        self._outbox.put(self._splitter.owner(link.url), Kind.REQUESTS, [item])

    def voted(self, source: str, url: str) -> bool:
        owner = self._splitter.owner(url)
        if owner == self.me:
            return False
        self._outbox.put(owner, Kind.VOTES, [[source, url]])
        return True

    def ask_robots(self, record: Packed) -> None:
        self._outbox.put(self._splitter.owner(_origin(record)), Kind.LINKS, [record])

    def robots_answered(self, link: Link, status: int, body: bytes, location: str | None, chain: str) -> bool:
        owner = self._splitter.owner(f"{link.history}/")
        if owner == self.me:
            return False
        self._outbox.put(owner, Kind.ROBOTS, [[link.pack(), int(status), body, location or "", chain]])
        return True

    def robots_gone(self, link: Link) -> bool:
        """Tells the drone that waits for a robots.txt that it does not come; False if that is this drone."""
        return self.robots_answered(link, Status.TIMEOUT, b"", None, "")

    # -- from others

    def take(self, message: Message) -> None:
        """Books a letter. What is not ours goes on to its owner."""
        if message.generation > self.slots.generation and self.on_later_map is not None:
            self.on_later_map(message.generation)
        taker = self._takers.get(message.kind)
        if taker is None:
            raise HiveError(f"drone {message.sender} sent a letter of the kind {message.kind}: has it another version?")
        self.received += len(message.items)
        taker(message.items)

    def _ours(self, kind: Kind, items: Sequence[Any], url: Callable[[Any], str]) -> list[Any]:
        """Those that are ours; the others go on."""
        mine, owner_of, me = [], self._splitter.owner, self.me
        for item in items:
            owner = owner_of(url(item))
            if owner == me:
                mine.append(item)
            else:
                self.forwarded += 1
                self._outbox.put(owner, kind, [item])
        return mine

    def _sound(self, records: Sequence[bytes]) -> list[bytes]:
        """Without what is no packed link: it would stop the crawl when it is taken out of a queue."""
        sound = [record for record in records if isinstance(record, bytes) and is_link(record)]
        self.refused += len(records) - len(sound)
        return sound

    def _links(self, items: list[Any]) -> None:
        mine = self._ours(Kind.LINKS, self._sound(items), _origin)
        if mine:
            self.home.links(mine)

    def _queued(self, items: list[Any]) -> None:
        mine = self._ours(Kind.QUEUED, self._sound(items), _origin)
        if mine:
            self.home.queued(mine)

    def _votes(self, items: list[Any]) -> None:
        for source, url in self._ours(Kind.VOTES, items, lambda item: str(item[1])):
            self.home.vote(source, url)

    def _requests(self, items: list[Any]) -> None:
        sound = [item for item in items if self._sound([item[0]])]
        for record, variants, free in self._ours(Kind.REQUESTS, sound, lambda item: _origin(item[0])):
            self.home.request(unpack(record), variants, free=free)

    def _robots(self, items: list[Any]) -> None:
        for record, status, body, location, chain in items:
            link = unpack(record)
            if not self.robots_answered(link, status, body, location, chain):
                self.home.robots(link, status, body, location, chain)


def _origin(record: bytes) -> str:
    """As much of a packed link's URL as says whose it is."""
    return f"//{authority_of(record)}/"
