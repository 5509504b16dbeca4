"""Finds where a URL is: known, on its way into the queues, in a queue, or waiting for a revisit.

Queues are the frontier's own, opened on the checkpoint. Each search goes through a structure once
for all URLs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from webcrawl.base.dates import iso
from webcrawl.base.model import Packed, is_link, unpack
from webcrawl.base.url_text import host_of
from webcrawl.base.zstd_frame import unpack as unpack_frame
from webcrawl.crawl.revisit.buckets import seconds_of, stamped
from webcrawl.crawl.revisit.check_revisits import number_of_records, places
from webcrawl.crawl.revisit.record import ASK, SIGNAL, PageRecord, mark_of, record_in
from webcrawl.frontier.core import Core
from webcrawl.frontier.domain_table import FAMILIES
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.seen import known_keys
from webcrawl.frontier.seen.portions import Portion
from webcrawl.frontier.seen.protocol import KEY_ROWS, STATE, SeenState
from webcrawl.frontier.seen.sorted_keys import SeenFiles
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.runs import Keys, Mask
from webcrawl.urls.canonical import InvalidUrl, canonical


class SubmittedLink(NamedTuple):
    """A link that was submitted, and has not come out of the seen store."""

    record: Packed  # empty: the link is only to be marked as seen
    judged: bool  # it was looked up: it is on its way into the queues, or was a duplicate


class SeenSnapshot:
    """The seen store as of the last checkpoint."""

    def __init__(self, snapshot: Snapshot, files: SeenFiles) -> None:
        self._snapshot = snapshot
        self._runs = files.url_runs
        self.odd = [str(damage) for damage in files.damages]
        state = meta_row.value(
            snapshot, STATE, lambda data: SeenState(**json.loads(data)), SeenState("disk")
        )
        self._store = state.store
        self._begin = state.begin
        self._judged = state.judged
        self._fresh: Keys = np.frombuffer(
            meta_row.value(snapshot, known_keys.NAME, meta_row.eights, b""), "<u8"
        )
        self._bloom = self._read_bloom(*files.bloom) if files.bloom is not None else None

    def _read_bloom(self, path: Path, file: BinaryIO) -> Container[int] | None:
        from webcrawl.frontier.seen import bloomfile  # noqa: PLC0415 - and its library, which other seen stores do without

        try:
            bits: Container[int] = bloomfile.read_file(path, file)
        except DamagedFile as damage:
            self.odd.append(str(damage))
            return None
        return bits

    def among(self, keys: Collection[int]) -> dict[int, str]:
        """Return those of these keys that are known, and where each was found."""
        found: dict[int, str] = {}
        wanted: Keys = np.sort(np.fromiter(set(keys), np.uint64, len(set(keys))))
        for run in self._runs:
            _note(found, wanted, run.contains(wanted), f"state/seen/{run.path.name}")
        _note(found, wanted, np.isin(wanted, self._fresh), "the last merge")
        if self._store != "disk":
            for (logged,) in self._snapshot.rows(
                "SELECT value FROM meta WHERE name GLOB ?", (f"{KEY_ROWS}*",)
            ):
                _note(
                    found,
                    wanted,
                    np.isin(wanted, np.frombuffer(_whole(logged), "<u8")),
                    "the set in memory",
                )
        if self._bloom is not None:
            for key in wanted.tolist():
                if key not in found and key in self._bloom:
                    found[key] = "the Bloom filter, which takes a few new URLs for known ones"
        return found

    def waiting(self, keys: Collection[int]) -> dict[int, SubmittedLink]:
        """Return the last link of each key that waits to be looked up, or queued."""
        found: dict[int, SubmittedLink] = {}
        wanted: Keys = np.fromiter(keys, np.uint64, len(keys))
        for first, stored in self._rows():
            if first + len(stored) <= self._begin:
                continue
            places = np.flatnonzero(np.isin(stored, wanted))
            places = places[places + first >= self._begin]
            if not len(places):
                continue
            records = self._records(first, len(stored), places.tolist())
            for place, record in zip(places.tolist(), records, strict=True):
                found[int(stored[place])] = SubmittedLink(record, first + place < self._judged)
        return found

    def _rows(self) -> Iterator[tuple[int, Keys]]:
        for first, keys in self._snapshot.rows("SELECT seq, keys FROM waiting ORDER BY seq"):
            yield first, np.frombuffer(_whole(keys), "<u8")

    def _records(self, first: int, count: int, places: list[int]) -> list[Packed]:
        ((packed,),) = self._snapshot.rows("SELECT records FROM waiting WHERE seq = ?", (first,))
        try:
            data = unpack_frame(packed)
            lengths = np.frombuffer(data, "<u4", count)
        except (ValueError, TypeError) as error:
            raise self._snapshot.damaged(f"table waiting, record {first}: {error}") from error
        lengths_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
        ends = lengths_before + 4 * count
        return [data[int(ends[place]) : int(ends[place + 1])] for place in places]


def _whole(value: bytes | None) -> bytes:
    data = value if isinstance(value, bytes) else b""
    return data[: len(data) & ~7]


def _note(found: dict[int, str], wanted: Keys, mask: Mask, where: str) -> None:
    for key in wanted[mask].tolist():
        found.setdefault(key, where)


RETRY, HOST, BUDGET, FAMILY, LINE, FRONT = "retry", "host", "budget", "family", "line", "front"
# bytes of links looked at in the queue of one host or domain: a quarter of a second
OF_HOST = 32 << 20
OF_ALL = 64 << 20  # and in the front-end and the lines together


@dataclass(slots=True)
class QueuePlace:
    """The place of a URL that waits: `place` URLs go before it there, as far as anybody can say."""

    where: str
    record: Packed
    place: int
    of: int
    level: int | None = None
    at: float = 0.0  # of one that waits for a time of its own: not before then

    @property
    def has_failed(self) -> bool:
        """Return whether the URL has been tried before and will be tried again."""
        return unpack(self.record).tried > 0

    def to_json(self, ahead: float) -> dict[str, Any]:
        """`ahead`: what the machine's clock shows beyond the crawl's."""
        found: dict[str, Any] = {"where": self.where, "place": self.place + 1, "of": self.of}
        if self.level is not None:
            found["level"] = self.level
        if self.at > 0:
            found["not_before"] = iso(self.at + ahead)
        return found | {"attempt": unpack(self.record).tried + 1}


@dataclass(slots=True)
class ByteAllowance:
    """Bytes of records that may still be looked at."""

    left: float


class QueueSearch:
    """Looks for URLs in the queues of a frontier. `deep`: however many links they have."""

    def __init__(self, core: Core, domain_of: Callable[[str], str], *, deep: bool) -> None:
        self._core = core
        self._domain_of = domain_of
        self._deep = deep
        self.places: dict[str, QueuePlace] = {}
        # by queue that was not looked through: links looked at, of
        self._cut: dict[str, tuple[int, int]] = {}

    def near(self, urls: Iterable[str]) -> None:
        """Look in the queues of their hosts, and of their domains."""
        by_host: dict[str, list[str]] = defaultdict(list)
        for url in urls:
            by_host[host_of(url)].append(url)
        for name, some in by_host.items():
            if self._core.hosts.place(name):
                with self._core.opened(name) as host:
                    self._in_host(host, some)
        by_domain: dict[str, list[str]] = defaultdict(list)
        for name, some in by_host.items():
            by_domain[self._domain_of(name)] += [url for url in some if url not in self.places]
        for domain, some in by_domain.items():
            self._in_domain(domain, some, BUDGET, f"the URLs over the budget of {domain}")
            self._in_domain(
                domain + FAMILIES,
                some,
                FAMILY,
                f"the URLs of {domain} whose families bring nothing new",
            )

    def far(self, urls: Iterable[str]) -> None:
        """Look in the front-end and the lines."""
        wanted = _wanted(urls)
        if not wanted:
            return
        room = self._room(OF_ALL)
        for queue in self._core.queues.lines.queues.values():
            for number, record in self._found(queue, wanted, room, "the lines of hosts that wait"):
                self._add(QueuePlace(LINE, record, number, queue.count))
        front = self._core.queues.front
        levels = list(front.queues)
        if front.old is not None:
            levels.append(front.old)
        # Each level its share: the first one would take all of the room.
        share = room.left / max(sum(queue.count > 0 for queue in levels), 1)
        for level, queue in enumerate(levels):
            for number, record in self._found(queue, wanted, ByteAllowance(share), "the front-end"):
                self._add(QueuePlace(FRONT, record, number, queue.count, level))

    def cut_for(self, host: str) -> list[str]:
        """Return how far each queue that may have a URL of this host was looked through."""
        domain = self._domain_of(host)
        names = (
            f"the queue of {host}",
            f"the URLs over the budget of {domain}",
            f"the URLs of {domain} whose families bring nothing new",
            "the lines of hosts that wait",
            "the front-end",
        )
        cut = ((name, *self._cut[name]) for name in names if name in self._cut)
        return [f"{name}: {looked:,} of {of:,} URLs" for name, looked, of in cut]

    def _room(self, size: float) -> ByteAllowance:
        return ByteAllowance(float("inf") if self._deep else size)

    def _add(self, place: QueuePlace) -> None:
        self.places.setdefault(unpack(place.record).url, place)

    def _in_host(self, host: Host, urls: Iterable[str]) -> None:
        wanted = _wanted(urls)
        records = [host, *(host.origins or {}).values()]
        waiting = host.waiting()
        retries = sorted(retry for record in records for retry in record.later)
        for number, (at, link) in enumerate(retries):
            if _is_among(link, wanted):
                self._add(QueuePlace(RETRY, link, number, waiting, at=at))
        before = 0
        room = self._room(OF_HOST)
        what = f"the queue of {host.name}"
        for queue in chain.from_iterable(map(_served, records)):
            for number, link in self._found(queue, wanted, room, what):
                self._add(QueuePlace(HOST, link, before + number, waiting))
            before += queue.count

    def _in_domain(self, name: str, urls: Iterable[str], where: str, what: str) -> None:
        queue = self._core.queues.budgets.table.get(name).queue
        if queue is None:
            return
        for number, record in self._found(queue, _wanted(urls), self._room(OF_HOST), what):
            self._add(QueuePlace(where, record, number, queue.count))

    def _found(
        self, queue: Fifo, wanted: Collection[bytes], room: ByteAllowance, what: str
    ) -> Iterator[tuple[int, Packed]]:
        """Yield the wanted records of a queue, and how many are before each.

        Note if there is no room for all.
        """
        if not wanted:
            return
        for looked, record in enumerate(queue.records()):
            if room.left <= 0:
                looked_before, of_before = self._cut.get(what, (0, 0))
                self._cut[what] = looked_before + looked, of_before + queue.count
                return
            room.left -= len(record)
            if _is_among(record, wanted):
                yield looked, record


def _wanted(urls: Iterable[str]) -> set[bytes]:
    return {url.encode() for url in urls}


def _is_among(record: Packed, wanted: Container[bytes]) -> bool:
    """Return whether this is a link to one of these URLs."""
    return record[: record.find(b" ")] in wanted and is_link(record)


def _served(host: Host) -> list[Fifo]:
    """Return the queues of a host, or of one of its origins, as they are served."""
    ranked = host.ranked.queues if host.ranked is not None else []
    # Requests of a spider with a priority go before or behind all others of their host.
    before = [queue for priority, queue in ranked if priority > 0]
    behind = [queue for priority, queue in ranked if priority < 0]
    return [*before, host.queue, *behind]


MOST = 300  # portions looked at, of 1,000 links each: 0.3 s


def among_portions(
    snapshot: Snapshot, urls: Iterable[str], longest: int, *, deep: bool = False
) -> tuple[dict[str, str], list[str]]:
    """Return the large page whose link each URL is, of links that have yet to enter.

    And a line about what was not looked at, if there is anything.
    """
    wanted = set(urls)
    found: dict[str, str] = {}
    looked = 0
    ((count,),) = snapshot.rows("SELECT count(*) FROM portion")
    ends = {_end(url) for url in wanted}
    for number, data in snapshot.rows("SELECT id, data FROM portion ORDER BY turn, id"):
        if not deep and looked >= MOST:
            break
        try:
            portion = Portion.unpack(unpack_frame(data))
        except (ValueError, TypeError) as error:
            raise snapshot.damaged(f"table portion, {number}: {error}") from error
        base = portion.base or portion.page.url
        for link in portion.links:
            if any(end in link for end in ends):  # what a link is, is known when it is joined: 2 us
                url = _joined(link, base, longest)
                if url in wanted:
                    found.setdefault(url, portion.page.url)
        looked += 1
    cut = (
        [f"links of large pages that wait: {looked:,} of {count:,} thousand"]
        if looked < count
        else []
    )
    return found, cut


def _end(url: str) -> str:
    """Return a text in every link to this URL, however written; empty if there is none."""
    path = url.partition("?")[0].split("/", 3)[3]
    end = path.rpartition("/")[2]
    return end if end.isalnum() else ""


def _joined(link: str, base: str, longest: int) -> str:
    try:
        return canonical(link, base, longest)
    except InvalidUrl:
        return ""


OF_RECORDS = 64 << 20  # bytes of records looked at: half a million pages, half a second


class WaitingRevisit(NamedTuple):
    """The record of a page that waits to be fetched again."""

    record: PageRecord
    at: float  # seconds since 1970
    is_due: bool  # then; else the policy is asked then

    def to_json(self, ahead: float) -> dict[str, Any]:
        """`ahead`: what the machine's clock shows beyond the crawl's."""
        record = self.record
        return {
            "due": iso(self.at + ahead) if self.is_due else None,
            "fetched": iso(record.fetched + ahead),
            "visits": record.visits,
            "changes": record.changes,
        }


def among_records(
    snapshot: Snapshot, urls: Iterable[str], *, deep: bool = False
) -> tuple[dict[str, WaitingRevisit], list[str]]:
    """Return the pages that wait to be fetched again, and what was not looked at."""
    if not snapshot.has("revisit"):
        return {}, []
    wanted = _wanted(urls)
    found: dict[str, WaitingRevisit] = {}
    looked = size = 0
    for what, records in places(snapshot, SavedQueues(snapshot, "revisit")):
        for entry in records:
            if len(found) == len(wanted):
                return found, []
            if size > OF_RECORDS and not deep:
                records_of_all = number_of_records(snapshot)
                return found, [
                    f"pages that are fetched again: the first {looked:,} of {records_of_all:,}"
                ]
            looked += 1
            size += len(entry)
            # whose last word is a listing
            if entry[entry.rfind(b" ") + 1 :] in wanted and mark_of(entry) != SIGNAL:
                try:
                    record = record_in(entry)
                except ValueError as error:
                    raise snapshot.damaged(f"table meta, {what}: {error}") from error
                found[record.url] = WaitingRevisit(
                    record, seconds_of(stamped(entry)), mark_of(entry) != ASK
                )
    return found, []
