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
    is_judged: bool  # the store knows whether it is new; if so, it is on its way into the queues


class SeenSnapshot:
    """The seen store as of the last checkpoint. `notes` are lines about its damaged files."""

    def __init__(self, snapshot: Snapshot, files: SeenFiles) -> None:
        """Read the store's state. Raise DamagedFile if it cannot be read."""
        self._snapshot = snapshot
        self._runs = files.url_runs
        self.notes = [str(damage) for damage in files.damages]
        state = meta_row.value(
            snapshot, STATE, lambda data: SeenState(**json.loads(data)), SeenState("disk")
        )
        self._store = state.store
        # of the links in the table `waiting`: the first that has not come out, and the first that
        # is not judged
        self._first_waiting = state.begin
        self._first_unjudged = state.judged
        self._last_merged: Keys = np.frombuffer(
            meta_row.value(snapshot, known_keys.NAME, meta_row.eights, b""), "<u8"
        )
        self._bloom = self._read_bloom(*files.bloom) if files.bloom is not None else None

    def _read_bloom(self, path: Path, file: BinaryIO) -> Container[int] | None:
        """Return the Bloom filter, or None if its file is damaged, which is noted."""
        from webcrawl.frontier.seen import bloomfile  # noqa: PLC0415 - and its library, which other seen stores do without

        try:
            bits: Container[int] = bloomfile.read_file(path, file)
        except DamagedFile as damage:
            self.notes.append(str(damage))
            return None
        return bits

    def where_known(self, keys: Collection[int]) -> dict[int, str]:
        """Return which of these keys are known, each with the place where it was found, in words."""
        found: dict[int, str] = {}
        wanted: Keys = np.sort(np.fromiter(set(keys), np.uint64, len(set(keys))))
        for run in self._runs:
            _note(found, wanted, run.contains(wanted), f"state/seen/{run.path.name}")
        _note(found, wanted, np.isin(wanted, self._last_merged), "the last merge")
        if self._store != "disk":
            for (logged,) in self._snapshot.rows(
                "SELECT value FROM meta WHERE name GLOB ?", (f"{KEY_ROWS}*",)
            ):
                in_memory = np.frombuffer(_whole_keys(logged), "<u8")
                _note(found, wanted, np.isin(wanted, in_memory), "the set in memory")
        if self._bloom is not None:
            for key in wanted.tolist():
                if key not in found and key in self._bloom:
                    found[key] = "the Bloom filter, which takes a few new URLs for known ones"
        return found

    def submitted(self, keys: Collection[int]) -> dict[int, SubmittedLink]:
        """Return the last link of each key that is in the store, and has not come out."""
        links: dict[int, SubmittedLink] = {}
        wanted: Keys = np.fromiter(keys, np.uint64, len(keys))
        for first, stored in self._waiting_keys():
            if first + len(stored) <= self._first_waiting:
                continue
            positions = np.flatnonzero(np.isin(stored, wanted))
            positions = positions[positions + first >= self._first_waiting]
            if not len(positions):
                continue
            records = self._records(first, len(stored), positions.tolist())
            for position, record in zip(positions.tolist(), records, strict=True):
                is_judged = first + position < self._first_unjudged
                links[int(stored[position])] = SubmittedLink(record, is_judged)
        return links

    def _waiting_keys(self) -> Iterator[tuple[int, Keys]]:
        """Yield the rows of the table `waiting`: the number of the first link, and all keys."""
        for first, keys in self._snapshot.rows("SELECT seq, keys FROM waiting ORDER BY seq"):
            yield first, np.frombuffer(_whole_keys(keys), "<u8")

    def _records(self, first: int, count: int, positions: list[int]) -> list[Packed]:
        """Return the links at these positions of a row of the table `waiting`, which has `count`.

        Raise DamagedFile if the row is damaged.
        """
        ((packed,),) = self._snapshot.rows("SELECT records FROM waiting WHERE seq = ?", (first,))
        try:
            data = unpack_frame(packed)
            lengths = np.frombuffer(data, "<u4", count)
        except (ValueError, TypeError) as error:
            raise self._snapshot.damaged(f"table waiting, record {first}: {error}") from error
        lengths_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
        ends = lengths_before + 4 * count  # the lengths come first, of 4 bytes each
        return [data[int(ends[at]) : int(ends[at + 1])] for at in positions]


def _whole_keys(value: bytes | None) -> bytes:
    """Return the bytes of whole keys, of 8 bytes each; none for a damaged value."""
    data = value if isinstance(value, bytes) else b""
    return data[: len(data) & ~7]


def _note(found: dict[int, str], wanted: Keys, mask: Mask, place: str) -> None:
    """Note the place of the wanted keys that the mask selects, unless one is noted."""
    for key in wanted[mask].tolist():
        found.setdefault(key, place)


RETRY, HOST, BUDGET, FAMILY, LINE, FRONT = "retry", "host", "budget", "family", "line", "front"
QUEUE_BYTES = 32 << 20  # of links searched for one host or domain: a quarter of a second
SHARED_BYTES = 64 << 20  # of links searched in the front-end and the lines together


@dataclass(slots=True)
class QueuePlace:
    """The place of a URL in a queue. Which URL is the next one may change yet."""

    where: str  # RETRY to FRONT
    record: Packed
    place: int  # URLs before it
    of: int  # URLs in the queue
    level: int | None = None  # of the front-end
    at: float = 0.0  # the time before which a URL that waits for one is not fetched

    @property
    def has_failed(self) -> bool:
        """Return whether the URL has been tried before and will be tried again."""
        return unpack(self.record).tried > 0

    def to_json(self, clock_ahead: float) -> dict[str, Any]:
        """`clock_ahead`: seconds that the machine's clock shows beyond the crawl's."""
        place: dict[str, Any] = {"where": self.where, "place": self.place + 1, "of": self.of}
        if self.level is not None:
            place["level"] = self.level
        if self.at > 0:
            place["not_before"] = iso(self.at + clock_ahead)
        place["attempt"] = unpack(self.record).tried + 1
        return place


@dataclass(slots=True)
class SearchAllowance:
    """How many bytes of records may still be searched."""

    bytes_left: float


class QueueSearch:
    """Searches the queues of a frontier for URLs. `places` are those that were found, by URL."""

    def __init__(self, core: Core, domain_of: Callable[[str], str], *, deep: bool) -> None:
        """`deep`: search queues to their end, however many links they have."""
        self._core = core
        self._domain_of = domain_of
        self._deep = deep
        self.places: dict[str, QueuePlace] = {}
        # by queue that was not searched to its end: links that were searched, and all links
        self._partly_searched: dict[str, tuple[int, int]] = {}

    def search_own_queues(self, urls: Iterable[str]) -> None:
        """Search the queues of the URLs' hosts and domains."""
        by_host: dict[str, list[str]] = defaultdict(list)
        for url in urls:
            by_host[host_of(url)].append(url)
        for name, host_urls in by_host.items():
            if self._core.hosts.place(name):
                with self._core.opened(name) as host:
                    self._search_host(host, host_urls)
        by_domain: dict[str, list[str]] = defaultdict(list)
        for name, host_urls in by_host.items():
            not_found = [url for url in host_urls if url not in self.places]
            by_domain[self._domain_of(name)] += not_found
        for domain, domain_urls in by_domain.items():
            self._search_domain(
                domain, domain_urls, BUDGET, f"the URLs over the budget of {domain}"
            )
            self._search_domain(
                domain + FAMILIES,
                domain_urls,
                FAMILY,
                f"the URLs of {domain} whose families bring nothing new",
            )

    def search_shared_queues(self, urls: Iterable[str]) -> None:
        """Search the front-end, and the lines of hosts that wait."""
        wanted = _encoded(urls)
        if not wanted:
            return
        allowance = self._allowance(SHARED_BYTES)
        for queue in self._core.queues.lines.queues.values():
            matches = self._matches_in(queue, wanted, allowance, "the lines of hosts that wait")
            for number, record in matches:
                self._add(QueuePlace(LINE, record, number, queue.count))
        front = self._core.queues.front
        levels = list(front.queues)
        if front.old is not None:
            levels.append(front.old)
        # Each level has its share: the first one would use all of the allowance.
        used_levels = sum(queue.count > 0 for queue in levels)
        share = allowance.bytes_left / max(used_levels, 1)
        for level, queue in enumerate(levels):
            matches = self._matches_in(queue, wanted, SearchAllowance(share), "the front-end")
            for number, record in matches:
                self._add(QueuePlace(FRONT, record, number, queue.count, level))

    def unsearched_for(self, host: str) -> list[str]:
        """Return a line about each queue that may have a URL of this host and was not searched whole."""
        domain = self._domain_of(host)
        names = (
            f"the queue of {host}",
            f"the URLs over the budget of {domain}",
            f"the URLs of {domain} whose families bring nothing new",
            "the lines of hosts that wait",
            "the front-end",
        )
        partial = (
            (name, *self._partly_searched[name]) for name in names if name in self._partly_searched
        )
        return [f"{name}: {searched:,} of {of:,} URLs" for name, searched, of in partial]

    def _allowance(self, size: float) -> SearchAllowance:
        return SearchAllowance(float("inf") if self._deep else size)

    def _add(self, place: QueuePlace) -> None:
        self.places.setdefault(unpack(place.record).url, place)

    def _search_host(self, host: Host, urls: Iterable[str]) -> None:
        """Search the retries of a host and its origins, and then their queues as they are served."""
        wanted = _encoded(urls)
        records = [host, *(host.origins or {}).values()]
        waiting = host.waiting()
        retries = sorted(retry for record in records for retry in record.later)
        for number, (at, link) in enumerate(retries):
            if _is_among(link, wanted):
                self._add(QueuePlace(RETRY, link, number, waiting, at=at))
        before = 0
        allowance = self._allowance(QUEUE_BYTES)
        name = f"the queue of {host.name}"
        for queue in chain.from_iterable(map(_served_queues, records)):
            for number, link in self._matches_in(queue, wanted, allowance, name):
                self._add(QueuePlace(HOST, link, before + number, waiting))
            before += queue.count

    def _search_domain(self, key: str, urls: Iterable[str], where: str, name: str) -> None:
        """Search the queue that a domain has in the table of budgets, under this key, if any."""
        queue = self._core.queues.budgets.table.get(key).queue
        if queue is None:
            return
        allowance = self._allowance(QUEUE_BYTES)
        for number, record in self._matches_in(queue, _encoded(urls), allowance, name):
            self._add(QueuePlace(where, record, number, queue.count))

    def _matches_in(
        self, queue: Fifo, wanted: Collection[bytes], allowance: SearchAllowance, name: str
    ) -> Iterator[tuple[int, Packed]]:
        """Yield how many records of a queue are before each wanted one, and that record.

        If the allowance does not suffice for the whole queue, that is noted under this name.
        """
        if not wanted:
            return
        for searched, record in enumerate(queue.records()):
            if allowance.bytes_left <= 0:
                searched_before, of_before = self._partly_searched.get(name, (0, 0))
                self._partly_searched[name] = searched_before + searched, of_before + queue.count
                return
            allowance.bytes_left -= len(record)
            if _is_among(record, wanted):
                yield searched, record


def _encoded(urls: Iterable[str]) -> set[bytes]:
    return {url.encode() for url in urls}


def _is_among(record: Packed, wanted: Container[bytes]) -> bool:
    """Return whether this is a link to one of these URLs."""
    return record[: record.find(b" ")] in wanted and is_link(record)


def _served_queues(host: Host) -> list[Fifo]:
    """Return the queues of a host, or of one of its origins, in the order in which they are served."""
    ranked = host.ranked.queues if host.ranked is not None else []
    # Requests of a spider with a priority go before or behind all others of their host.
    before = [queue for priority, queue in ranked if priority > 0]
    behind = [queue for priority, queue in ranked if priority < 0]
    return [*before, host.queue, *behind]


MAX_PORTIONS = 300  # searched, of 1,000 links each: 0.3 s


def large_pages_of(
    snapshot: Snapshot, urls: Iterable[str], max_url_chars: int, *, deep: bool = False
) -> tuple[dict[str, str], list[str]]:
    """Return, by URL, the large page that has it among its links that have yet to enter the crawl.

    Also return a line about what was not searched, if there is anything. Raise DamagedFile if a
    portion of links is damaged.
    """
    wanted = set(urls)
    pages: dict[str, str] = {}
    searched = 0
    ((count,),) = snapshot.rows("SELECT count(*) FROM portion")
    ends = {_end_of_path(url) for url in wanted}
    for number, data in snapshot.rows("SELECT id, data FROM portion ORDER BY turn, id"):
        if not deep and searched >= MAX_PORTIONS:
            break
        try:
            portion = Portion.unpack(unpack_frame(data))
        except (ValueError, TypeError) as error:
            raise snapshot.damaged(f"table portion, {number}: {error}") from error
        base = portion.base or portion.page.url
        for link in portion.links:
            # Which URL a link means is known once it is joined, which takes 2 us.
            if any(end in link for end in ends):
                url = _joined(link, base, max_url_chars)
                if url in wanted:
                    pages.setdefault(url, portion.page.url)
        searched += 1
    if searched >= count:
        return pages, []
    return pages, [f"links of large pages that wait: {searched:,} of {count:,} thousand"]


def _end_of_path(url: str) -> str:
    """Return a text in every link to this URL, however written; empty if there is none."""
    path = url.partition("?")[0].split("/", 3)[3]
    end = path.rpartition("/")[2]
    return end if end.isalnum() else ""


def _joined(link: str, base: str, max_url_chars: int) -> str:
    """Return the canonical URL of a link, or an empty text if it has none."""
    try:
        return canonical(link, base, max_url_chars)
    except InvalidUrl:
        return ""


REVISIT_BYTES = 64 << 20  # of records searched: half a million pages, half a second


class WaitingRevisit(NamedTuple):
    """The record of a page that waits to be fetched again."""

    record: PageRecord
    at: float  # seconds since 1970
    is_visit: bool  # the page is due at that time; else the policy decides again then

    def to_json(self, clock_ahead: float) -> dict[str, Any]:
        """`clock_ahead`: seconds that the machine's clock shows beyond the crawl's."""
        record = self.record
        return {
            "due": iso(self.at + clock_ahead) if self.is_visit else None,
            "fetched": iso(record.fetched + clock_ahead),
            "visits": record.visits,
            "changes": record.changes,
        }


def waiting_revisits(
    snapshot: Snapshot, urls: Iterable[str], *, deep: bool = False
) -> tuple[dict[str, WaitingRevisit], list[str]]:
    """Return, by URL, the pages that wait to be fetched again.

    Also return a line about what was not searched, if there is anything. Raise DamagedFile if a
    record is damaged.
    """
    if not snapshot.has("revisit"):
        return {}, []
    wanted = _encoded(urls)
    revisits: dict[str, WaitingRevisit] = {}
    searched = searched_bytes = 0
    for what, records in places(snapshot, SavedQueues(snapshot, "revisit")):
        for entry in records:
            if len(revisits) == len(wanted):
                return revisits, []
            if searched_bytes > REVISIT_BYTES and not deep:
                of = number_of_records(snapshot)
                return revisits, [f"pages that are fetched again: the first {searched:,} of {of:,}"]
            searched += 1
            searched_bytes += len(entry)
            # The last word of an entry is its URL; that of a signal is the page that has told of it.
            url = entry[entry.rfind(b" ") + 1 :]
            if url in wanted and mark_of(entry) != SIGNAL:
                try:
                    record = record_in(entry)
                except ValueError as error:
                    raise snapshot.damaged(f"table meta, {what}: {error}") from error
                is_visit = mark_of(entry) != ASK
                revisits[record.url] = WaitingRevisit(record, seconds_of(stamped(entry)), is_visit)
    return revisits, []
