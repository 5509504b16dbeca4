"""One drone of a hive, without a network: whose a URL is, what is sent, what has come.

What pages link to is divided: what is ours stays, and what belongs to another drone goes to it,
once. In front of the wire stands a URL cache (Broder, Najork, Wiener, section 2): a link that was
sent lately is not sent again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from webcrawl.base.model import Link, Packed, Status, authority_of, unpack
from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.errors import HiveError, LaterMapNeeded
from webcrawl.crawl.hive.letter import Kind, Letter
from webcrawl.crawl.hive.letter_check import LetterCheck
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.slot_moves import SlotMoves
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.net.robots import LIMIT

KNOWN = 1 << 16  # authorities whose slots are remembered
OF_SLOTS = frozenset((Kind.LINKS, Kind.REQUESTS, Kind.QUEUED, Kind.SLOT))


class HomeCrawl(Protocol):
    """The crawl of this drone, as far as letters of other drones have an effect on it."""

    def now(self) -> float:
        """Return the crawl's time."""

    def links(self, records: Sequence[bytes]) -> None:
        """Take links that other drones found."""

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        """Take a request that a spider made on another drone."""

    def vote(self, source: str, url: str) -> None:
        """Count that a page of this domain links to this URL."""

    def queued(self, records: Sequence[bytes]) -> None:
        """Take links that are known to be new."""

    def robots(self, link: Link, status: int, body: bytes, location: str, chain: str) -> None:
        """Takes what came of a robots.txt that another drone fetched for us."""

    def forget(self) -> None:
        """Forget what was submitted lately, which may have new owners, to submit it again."""

    def seeds_again(self) -> None:
        """Reads all seeds once more: some have become ours."""


class Drone:
    """The crawl's `Elsewhere`, and the reader of its letters."""

    home: HomeCrawl
    slot_moves: SlotMoves

    def __init__(
        self,
        me: int,
        outbox: Outbox,
        slot_of: Callable[[str], int],
        make_cache: Callable[[], UrlCache],
        keep: Callable[[SlotMap], None] = lambda _: None,
        sound: LetterCheck | None = None,
    ) -> None:
        """`slot_of` names the slot of a host; `make_cache` makes a cache of links sent to others.

        `keep` puts a later map into the state; `sound` knows what may come in a letter, and go.
        """
        self.me = me
        self._outbox = outbox
        self._keep = keep
        self._slot_of = slot_of
        self._make_cache = make_cache
        self._sent_lately = make_cache()
        self._slots: dict[str, int] = {}  # by authority
        self._sound = sound or LetterCheck()
        self.received = 0
        self.foreign = 0  # links to hosts of others
        self.sent = 0  # those of them that were not sent lately
        # for drones that are gone: slices of the work
        self.rerouted: dict[int, Iterator[None]] = {}

    @property
    def slots(self) -> SlotMap:
        """Return the slot map that the drone works by."""
        if self.slot_moves.map is None:
            raise HiveError("the drone has no slot map yet")
        return self.slot_moves.map

    def learn(self, slots: SlotMap, lost: Iterable[int] = ()) -> None:
        """Takes a later map.

        Of drones that are lost nothing comes; what was for them goes to others.
        """
        while self.reroute():  # before anybody else gets the number
            pass
        gone = [drone for drone in lost if drone not in slots.drones]
        self.slot_moves.learn(slots, lost=gone)
        self._outbox.generation = slots.generation
        self._keep(slots)
        self._sent_lately = self._make_cache()  # there are other owners
        self.home.forget()
        for drone in gone:
            self.part_from(drone)
        if gone:
            self.home.seeds_again()

    def part_from(self, drone: int) -> None:
        """Give letters for a drone that is gone to others; its successor's are numbered from 1."""
        if drone not in self.slots.drones and drone not in self.rerouted:
            self.rerouted[drone] = self._outbox.reroute(drone, self._route)

    def reroute(self) -> bool:
        """Give a letter for such drones to others, in 0.3 ms; return whether there is more to do."""
        for drone, slices in self.rerouted.items():
            try:
                next(slices)
            except StopIteration:
                del self.rerouted[drone]
            return True
        return False

    def settle(self, slots: SlotMap) -> None:
        """Begin with the map of the last checkpoint, or with this one if there is none."""
        if self.slot_moves.map is None:
            self.slot_moves.learn(slots)
        self._outbox.generation = self.slots.generation
        self._keep(self.slots)

    def stats(self) -> dict[str, int]:
        """Return the counters of this run, and of the slots."""
        counters = {"foreign": self.foreign, "sent": self.sent, "received": self.received}
        return {**counters, "refused": self._sound.refused, **self.slot_moves.stats()}

    # -- to others

    def slot(self, url: str) -> int:
        """Return the slot of a canonical URL. Its scheme, host and port are enough."""
        authority = url.split("/", 3)[2]
        slot = self._slots.get(authority)
        if slot is None:
            if len(self._slots) >= KNOWN:
                self._slots.clear()
            slot = self._slots[authority] = self._slot_of(host_of(url))
        return slot

    def is_ours(self, url: str) -> bool:
        return bool(self.slot_moves.owned[self.slot(url)])

    def keep_ours(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Return those of these links that are ours; send the others.

        They are given by fingerprint, URL and packed form.
        """
        owned, slot_of = self.slot_moves.owned, self.slot
        slots = [slot_of(url) for url in urls]
        away = [at for at, slot in enumerate(slots) if not owned[slot]]
        if not away:
            return keys, records
        self._send(away, slots, keys, records)
        mine = [at for at, slot in enumerate(slots) if owned[slot]]
        return [keys[at] for at in mine], [records[at] for at in mine]

    def keep_seeds(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Return those of these seeds, which all drones read, that are ours.

        Those of slots that never were here are passed over.
        """
        known = [at for at, url in enumerate(urls) if self.slot_moves.was_here(self.slot(url))]
        return self.keep_ours(
            [keys[at] for at in known], [urls[at] for at in known], [records[at] for at in known]
        )

    def _send(
        self, away: list[int], slots: list[int], keys: Sequence[int], records: Sequence[bytes]
    ) -> None:
        self.foreign += len(away)
        letters: defaultdict[int, list[bytes]] = defaultdict(list)
        for missed in self._sent_lately.misses([keys[at] for at in away]):
            at = away[missed]
            letters[slots[at]].append(records[at])
        for slot, some in letters.items():
            self.sent += len(some)
            self.slot_moves.send(Kind.LINKS, slot, some)

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        self.slot_moves.send(
            Kind.REQUESTS, self.slot(link.url), [[link.pack(), list(variants), free]]
        )

    def voted(self, source: str, url: str) -> bool:
        owner = self.owner(url)
        if owner != self.me:
            self._outbox.put(owner, Kind.VOTES, [[source, url]])
        return owner != self.me

    def ask_robots(self, record: Packed) -> None:
        self.slot_moves.send(
            Kind.LINKS,
            self.slot(_start(record)),
            [self._sound.link_for_other_drone(record) or record],
        )

    def robots_answered(
        self, link: Link, status: int, body: bytes, location: str | None, chain: str
    ) -> bool:
        owner = self.owner(f"{link.history}/")
        if owner != self.me:
            # who gets it reads no more, and is to see whether there was more
            read = body[: LIMIT + 1]
            self._outbox.put(
                owner, Kind.ROBOTS, [[link.pack(), int(status), read, location or "", chain]]
            )
        return owner != self.me

    def robots_gone(self, link: Link) -> bool:
        """Tell the drone that waits for a robots.txt that it does not come.

        Return False if that is this drone.
        """
        return self.robots_answered(link, Status.TIMEOUT, b"", None, "")

    def owner(self, url: str) -> int:
        """Return the drone whose URL it is."""
        return self.slot_moves.owner(self.slot(url))

    def _route(self, kind: Kind, item: Any) -> int:
        """Return the owner of an item that was for a drone which is lost."""
        if kind in OF_SLOTS:
            return self.slot_moves.route(kind, item)
        return self.owner(str(item[1]) if kind is Kind.VOTES else f"{unpack(item[0]).history}/")

    # -- from others

    def take(self, message: Letter) -> None:
        """Books a letter. What is not ours goes on to its owner.

        Raise LaterMapNeeded: nothing was booked. By our map the pieces of a slot that is now ours would go back
        to their sender, and those that come later would be here before them.
        """
        if message.generation > self.slots.generation:
            raise LaterMapNeeded
        self.received += len(message.items)
        kind = message.kind
        items = self._sound.items(kind, message.items, len(self.slots.owners))
        if kind in OF_SLOTS:
            self.slot_moves.receive(kind, items, self.home.now())
        elif kind is Kind.VOTES:
            for source, url in items:
                if not self.voted(source, url):
                    self.home.vote(source, url)
        else:
            for record, status, body, location, chain in items:
                link = unpack(record)
                if not self.robots_answered(link, status, body, location, chain):
                    self.home.robots(link, status, body, location, chain)

    def accept(self, kind: Kind, items: Sequence[Any]) -> None:
        """Takes in what is ours."""
        if kind is Kind.LINKS:
            self.home.links(items)
        elif kind is Kind.QUEUED:
            self.home.queued(items)
        else:
            for record, variants, free in items:
                self.home.request(unpack(record), variants, free=free)


def _start(record: Packed) -> str:
    """Return as much of a packed link's URL as says whose it is."""
    return f"//{authority_of(record)}/"
