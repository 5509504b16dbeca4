"""One drone of a hive, without a network: which drone owns a URL, what is sent, what has come.

The links of pages are divided: what this drone owns stays, and what belongs to another drone is
sent there, once. In front of the wire stands a URL cache (Broder, Najork, Wiener, section 2): a
link that was sent recently is not sent again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from webcrawl.base.model import Link, Packed, Status, authority_of, unpack
from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.batch import Batch, Kind
from webcrawl.crawl.hive.batch_check import BatchCheck
from webcrawl.crawl.hive.errors import HiveError, LaterMapNeeded
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.slot_moves import SlotMoves
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.net.robots import LIMIT

MAX_AUTHORITIES = 1 << 16  # whose slots are remembered
# Kinds whose items belong to a slot. Those of VOTES and ROBOTS belong to a drone.
SLOT_KINDS = frozenset((Kind.LINKS, Kind.REQUESTS, Kind.QUEUED, Kind.SLOT))


class HomeCrawl(Protocol):
    """The crawl of this drone, as far as batches of other drones have an effect on it."""

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
        """Take the answer to a robots.txt that another drone fetched for this one."""

    def forget(self) -> None:
        """Forget the recently submitted links, which may have new owners, to submit them again."""

    def seeds_again(self) -> None:
        """Read all seeds once more: some have become this drone's."""


class Drone:
    """Sends what other drones own, and takes their batches.

    It is the crawl's `OtherDrones`. `home` and `slot_moves` are set once their parts are open.
    """

    home: HomeCrawl
    slot_moves: SlotMoves

    def __init__(
        self,
        me: int,
        outbox: Outbox,
        slot_of: Callable[[str], int],
        make_cache: Callable[[], UrlCache],
        keep: Callable[[SlotMap], None] = lambda _: None,
        batch_check: BatchCheck | None = None,
    ) -> None:
        """`slot_of` returns the slot of a host, and `keep` puts a later map into the state.

        `make_cache` makes a cache of links that were sent to other drones.
        """
        self.me = me
        self._outbox = outbox
        self._keep = keep
        self._slot_of = slot_of
        self._make_cache = make_cache
        self._recently_sent = make_cache()
        self._slots: dict[str, int] = {}  # by authority
        self._batch_check = batch_check or BatchCheck()
        self.received = 0  # items of batches
        self.foreign = 0  # links to hosts of other drones
        self.sent = 0  # those of them that were not sent recently
        # By drones that are gone: what reroutes their batches, a batch in each step
        self.rerouted: dict[int, Iterator[None]] = {}

    @property
    def slots(self) -> SlotMap:
        """Return the slot map that the drone works by."""
        if self.slot_moves.map is None:
            raise HiveError("the drone has no slot map yet")
        return self.slot_moves.map

    def apply_map(self, slots: SlotMap, lost: Iterable[int] = ()) -> None:
        """Take a later map. Send what was for the `lost` drones, which give nothing, to others."""
        while self.reroute():  # before another drone gets the number of one that is gone
            pass
        gone = [drone for drone in lost if drone not in slots.drones]
        self.slot_moves.apply_map(slots, lost=gone)
        self._outbox.generation = slots.generation
        self._keep(slots)
        self._recently_sent = self._make_cache()  # there are other owners
        self.home.forget()
        for drone in gone:
            self.part_from(drone)
        if gone:
            self.home.seeds_again()

    def part_from(self, drone: int) -> None:
        """Begin to give batches for a drone that is gone to others, unless that is under way.

        `reroute` does it. A drone that gets the number later is sent batches from number 1 on.
        """
        if drone not in self.slots.drones and drone not in self.rerouted:
            self.rerouted[drone] = self._outbox.reroute(drone, self._new_receiver)

    def reroute(self) -> bool:
        """Give one batch for such drones to others, in 0.3 ms; return whether any was left."""
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
            self.slot_moves.apply_map(slots)
        self._outbox.generation = self.slots.generation
        self._keep(self.slots)

    def stats(self) -> dict[str, int]:
        """Return the counters of this run, and of the slots."""
        counters = {"foreign": self.foreign, "sent": self.sent, "received": self.received}
        return {**counters, "refused": self._batch_check.refused, **self.slot_moves.stats()}

    # -- to others

    def slot(self, url: str) -> int:
        """Return the slot of a canonical URL. Its scheme, host and port are enough."""
        authority = url.split("/", 3)[2]
        slot = self._slots.get(authority)
        if slot is None:
            if len(self._slots) >= MAX_AUTHORITIES:
                self._slots.clear()
            slot = self._slots[authority] = self._slot_of(host_of(url))
        return slot

    def is_ours(self, url: str) -> bool:
        """Return whether this drone fetches the URL, and no other drone of the hive."""
        return bool(self.slot_moves.owned[self.slot(url)])

    def keep_ours(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Return those of these links that this drone owns, and send the others to their owners.

        They are given by fingerprint, URL and packed form.
        """
        # Called for the links of each page: local names save two look-ups for each link.
        owned, slot_of = self.slot_moves.owned, self.slot
        slots = [slot_of(url) for url in urls]
        foreign = [number for number, slot in enumerate(slots) if not owned[slot]]
        if not foreign:
            return keys, records
        self._send_links(foreign, slots, keys, records)
        ours = [number for number, slot in enumerate(slots) if owned[slot]]
        return [keys[number] for number in ours], [records[number] for number in ours]

    def keep_seeds(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Return those of these seeds, which all drones read, that this drone owns.

        Seeds of slots that never were here are skipped.
        """
        known = [
            number for number, url in enumerate(urls) if self.slot_moves.was_here(self.slot(url))
        ]
        return self.keep_ours(
            [keys[number] for number in known],
            [urls[number] for number in known],
            [records[number] for number in known],
        )

    def _send_links(
        self, foreign: list[int], slots: list[int], keys: Sequence[int], records: Sequence[bytes]
    ) -> None:
        """Send the links with these numbers to the owners of their slots, unless sent recently."""
        self.foreign += len(foreign)
        links_by_slot: defaultdict[int, list[bytes]] = defaultdict(list)
        for missed in self._recently_sent.misses([keys[number] for number in foreign]):
            number = foreign[missed]
            links_by_slot[slots[number]].append(records[number])
        for slot, links in links_by_slot.items():
            self.sent += len(links)
            self.slot_moves.send(Kind.LINKS, slot, links)

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        self.slot_moves.send(
            Kind.REQUESTS, self.slot(link.url), [[link.pack(), list(variants), free]]
        )

    def send_vote(self, source: str, url: str) -> bool:
        owner = self.owner(url)
        if owner != self.me:
            self._outbox.put(owner, Kind.VOTES, [[source, url]])
        return owner != self.me

    def ask_robots(self, record: Packed) -> None:
        link = self._batch_check.link_for_other_drone(record) or record
        self.slot_moves.send(Kind.LINKS, self.slot(_authority_url(record)), [link])

    def send_robots_answer(
        self, link: Link, status: int, body: bytes, location: str | None, chain: str
    ) -> bool:
        """Send the answer to a robots.txt to the drone that asked for it.

        Return False if that is this drone.
        """
        owner = self.owner(f"{link.history}/")
        if owner != self.me:
            # The receiver reads LIMIT bytes, and has to see whether there were more.
            start = body[: LIMIT + 1]
            answer = [link.pack(), int(status), start, location or "", chain]
            self._outbox.put(owner, Kind.ROBOTS, [answer])
        return owner != self.me

    def send_robots_failure(self, link: Link) -> bool:
        """Tell the drone that waits for a robots.txt that it does not come.

        Return False if that is this drone.
        """
        return self.send_robots_answer(link, Status.TIMEOUT, b"", None, "")

    def owner(self, url: str) -> int:
        """Return the drone that owns a URL by the latest map."""
        return self.slot_moves.owner(self.slot(url))

    def _new_receiver(self, kind: Kind, item: Any) -> int:
        """Return the drone for an item that was for a drone which is gone."""
        if kind in SLOT_KINDS:
            return self.slot_moves.route(kind, item)
        if kind is Kind.VOTES:
            _, url = item
            return self.owner(str(url))
        record, *_ = item
        return self.owner(f"{unpack(record).history}/")  # the origin whose robots.txt it is

    # -- from others

    def receive(self, batch: Batch) -> None:
        """Book a batch, and send on what another drone owns.

        Raise LaterMapNeeded, and book nothing, if the sender knows a later map. By the map here the
        pieces of a slot that has moved here would go back to their sender, and later ones would
        arrive before them.
        """
        if batch.generation > self.slots.generation:
            raise LaterMapNeeded
        self.received += len(batch.items)
        kind = batch.kind
        items = self._batch_check.sound_items(kind, batch.items, len(self.slots.owners))
        if kind in SLOT_KINDS:
            self.slot_moves.receive(kind, items, self.home.now())
        elif kind is Kind.VOTES:
            for source, url in items:
                if not self.send_vote(source, url):
                    self.home.vote(source, url)
        else:
            for record, status, body, location, chain in items:
                link = unpack(record)
                if not self.send_robots_answer(link, status, body, location, chain):
                    self.home.robots(link, status, body, location, chain)

    def accept(self, kind: Kind, items: Sequence[Any]) -> None:
        """Have the crawl take LINKS, QUEUED or REQUESTS items that this drone owns."""
        if kind is Kind.LINKS:
            self.home.links(items)
        elif kind is Kind.QUEUED:
            self.home.queued(items)
        else:
            for record, variants, free in items:
                self.home.request(unpack(record), variants, free=free)


def _authority_url(record: Packed) -> str:
    """Return as much of a packed link's URL as decides its slot."""
    return f"//{authority_of(record)}/"
