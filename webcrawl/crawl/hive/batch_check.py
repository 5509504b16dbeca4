"""Checks batches: each item that arrives, and the batches in a drone's state that are still to go.

A checksum is no signature: a batch may hold anything that was put into the server. An item that
got into a queue would stop the drone when its turn comes, and again at each start. So an item that
is not of the closed form is left out. Links stay packed, and are compared with a pattern; all other
items have types, with which msgspec compares them. The items themselves stay as they came.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from webcrawl.base.model import Link, Packed, is_prerequisite, unpack
from webcrawl.base.url_text import host_of
from webcrawl.content.recognise.probe import FORM
from webcrawl.crawl.hive import outbox
from webcrawl.crawl.hive.batch import (
    EXACT_KINDS,
    INBOX,
    LINK_KINDS,
    MAX_ITEMS_BYTES,
    Batch,
    Kind,
    place_number,
    read_batch,
)
from webcrawl.crawl.hive.errors import ForeignMessage
from webcrawl.crawl.hive.outbox import ROWS_BEGIN, ROWS_END, RowName, parse_row_name
from webcrawl.frontier.host_origins import MAX_ORIGINS
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.host_row import PLAIN_FIELDS as NUMBERS
from webcrawl.store.jobdir.queue_row import link_flaw
from webcrawl.store.jobdir.snapshot import Snapshot

logger = logging.getLogger(__name__)

# Links on pages have hosts such as {site}, of a broken template.
HOST = rb"[A-Za-z0-9_.~!$&'()*+,;=%\"`{}\x80-\xff-]++"
AUTHORITY = rb"(?:https?|ftp|gopher)://(?:" + HOST + rb"|\[[0-9a-f:.]++\])(?::\d{1,5}+)?"
WORD = rb"[!-~\x80-\xff]*+"
URL = AUTHORITY + b"/" + WORD
PLAIN = re.compile(URL + rb" [A-Za-z]*+ " + WORD + b" " + WORD + rb" \d{1,9}+(?:\.-?\d{1,9}+)?   ")
"""A packed link with nothing behind the number of its attempts: nearly all are, and a match takes 0.35 us."""
RECORD = re.compile(PLAIN.pattern[:-2] + WORD + b" " + WORD + b" " + WORD)
PAGE = re.compile(AUTHORITY.decode("latin-1") + "/[^\0- \x7f]*")
MAX_NUMBER = 10**12  # of any number in a record
MIN_FAILURE_FIELDS = 5  # so many has the record of a host's failures from the first version
# Beside a link there is what a batch, or a piece of a slot, has with it.
MAX_LINK_BYTES = MAX_ITEMS_BYTES - (1 << 16)
KEY_BYTES = 8  # of one fingerprint

# Of INBOX: epoch, place; sender, channel and number of the last exact batches
SavedInbox = tuple[str, str, list[tuple[int, int, Annotated[int, Meta(gt=0)]]]]
SELECT_BATCHES = "SELECT name, value FROM meta WHERE name > ? AND name < ? ORDER BY name"

Number = Annotated[float, Meta(ge=0, le=MAX_NUMBER)]
Whole = Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Count = Annotated[int, Meta(ge=0, le=MAX_NUMBER)]
Signed = Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)] | bool
Request = tuple[bytes, list[str], bool]  # record, variants, free
Vote = tuple[str, str]  # of a page's domain for a URL
Waits = tuple[bool, Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)], bytes]
Ends = tuple[int, int, int, int]
Domain = tuple[Signed, Signed, Signed, Signed, bytes]
Failures = Annotated[
    list[Signed | list[Signed]], Meta(min_length=MIN_FAILURE_FIELDS, max_length=NUMBERS + 1)
]
Origin = tuple[Whole, str, Number, Whole, Whole, Failures | None]
BlockPages = tuple[str, Number, Whole, list[bytes]]
Pages = tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]  # linked to, and listed
Listed = tuple[Count, bool, Annotated[float, Meta(ge=0, lt=1)], Pages, Pages]


class RobotsItem(Struct, array_like=True, forbid_unknown_fields=True):
    """The answer to a robots.txt."""

    record: bytes
    status: Annotated[int, Meta(ge=-10_000, lt=1000)]
    body: bytes
    location: str
    chain: str


class HostRecord(Struct, array_like=True):
    """A host, as frontier/handover_records.py packs it; earlier versions send fewer fields."""

    name: str
    wait: Number
    times: list[Number]
    delay: Number
    failures: Whole
    row: Failures | None
    pages: Whole
    retired: Whole
    ip: str
    block_pages: BlockPages | None = None
    missing: Annotated[bytes, Meta(max_length=FORM.size)] = b""
    http2: bool = False
    listed: Listed | None = None
    origins: Annotated[list[Origin], Meta(max_length=MAX_ORIGINS + 1)] = []


class Piece(Struct, array_like=True, forbid_unknown_fields=True):
    """A piece of a slot."""

    slot: Count
    kind: Literal["urls", "held", "later", "keys", "end", "host", "domain"]
    name: str
    value: Any


PIECE_VALUES: dict[str, Any] = {  # the type of `value`, by the kind of the piece
    **dict.fromkeys(("urls", "held", "later"), list),
    "keys": bytes,
    "end": Ends,
    "host": HostRecord,
    "domain": Domain,
}
# Every version that sends a host's `block_pages` sends `missing` too: no record ends between them.
FIELDS_WITHOUT_MISSING = HostRecord.__struct_fields__.index("missing")


class UnsoundError(ValueError):
    """An item is not of the closed form. Its message says in a few words what the item is not."""


def _typed(item: Any, kind: Any) -> Any:
    """Return the item as a value of this type.

    Raise ValueError if it is not. No text is taken for bytes.
    """
    return msgspec.convert(item, kind, builtin_types=(bytes,))


class BatchCheck:
    """Drops items of batches that are not of the closed form."""

    def __init__(
        self,
        check_link: Callable[[Link], None] = lambda _: None,
        lose: Callable[[str, str], None] = lambda _kind, _line: None,
        warn: Callable[..., None] = logger.warning,
    ) -> None:
        """`warn` is called as `logger.warning` is, for the first item that is refused.

        `check_link` raises ValueError if what a link brings beside its URL is not of the closed
        form. `lose` is called with a kind and a line for each request of our own spider that no
        other drone would take.
        """
        self._check_link = check_link
        self._lose = lose
        self._warn = warn
        self.refused = 0  # items
        self._has_warned = False
        self._checks: dict[Kind, Callable[[Any], None]] = {
            Kind.REQUESTS: self._check_request,
            Kind.VOTES: self._check_vote,
            Kind.ROBOTS: self._check_robots,
        }

    # -- what comes

    def sound_items(self, kind: Kind, items: list[Any], slots: int) -> list[Any]:
        """Return the items that are sound; `slots` is the number of slots of all groups."""
        if kind in LINK_KINDS:
            return self._sound_records(items)
        check = partial(self._check_piece, slots=slots) if kind is Kind.SLOT else self._checks[kind]
        return [item for item in items if self._is_sound(check, item)]

    def _sound_records(self, records: list[Any]) -> list[Any]:
        """Return the packed links that are sound."""
        # Nearly all batches have only plain links, and a single look at each suffices.
        try:
            if all(map(PLAIN.fullmatch, records)) and b"".join(records).isascii():
                return records
        except TypeError:  # there is something else among them
            pass
        return [record for record in records if self._is_sound(self._check_record, record)]

    def _is_sound(self, check: Callable[[Any], None], item: Any) -> bool:
        """Return whether a check raises no error; count the item as refused if it does."""
        try:
            check(item)
        except (ValueError, TypeError, RecursionError) as error:
            self._refuse(error, item)
            return False
        return True

    def _refuse(self, error: Exception, item: Any) -> None:
        """Count an item that is not sound; log the first one."""
        self.refused += 1
        if not self._has_warned:
            self._has_warned = True
            shown = f"{item!r:.120}"
            self._warn(
                "an item from the hive's server was refused: %s (%s); further ones are counted, "
                "but not logged",
                error,
                shown,
            )

    # Each of these raises ValueError or TypeError for an item that is not sound.

    def _check_record(self, record: Any) -> None:
        """Check a packed link, and what it brings beside its URL."""
        if not isinstance(record, bytes):
            raise UnsoundError("not a packed link")
        if not record.isascii():
            record.decode()  # raises ValueError if it is not UTF-8
        if PLAIN.fullmatch(record):
            return
        if not RECORD.fullmatch(record):
            raise UnsoundError("not a packed link")
        self._check_link(unpack(record))

    def _check_request(self, item: Any) -> None:
        record, _, _ = _typed(item, Request)
        self._check_record(record)

    def _check_vote(self, item: Any) -> None:
        _, url = _typed(item, Vote)
        if not PAGE.fullmatch(url):  # by hand: as a pattern of the type it takes ten times as long
            raise UnsoundError("not a link between two pages")

    def _check_robots(self, item: Any) -> None:
        robots = _typed(item, RobotsItem)
        self._check_record(robots.record)
        if not is_prerequisite(robots.record):
            raise UnsoundError("not an answer to a request for robots.txt")
        if robots.chain:
            self._check_link(Link("http://a/", chain=robots.chain))

    def _check_piece(self, item: Any, slots: int) -> None:
        """Check a piece of a slot. Remove unsound links from a list of URLs, which stays otherwise."""
        piece = _typed(item, Piece)
        if piece.slot >= slots:
            raise UnsoundError("not a slot of this hive")
        value = _typed(piece.value, PIECE_VALUES[piece.kind])
        match piece.kind:
            case "urls" | "held":
                item[3] = self._sound_records(piece.value)
            case "later":
                item[3] = [
                    waiting
                    for waiting in piece.value
                    if self._is_sound(self._check_waiting, waiting)
                ]
            case "keys" if len(value) % KEY_BYTES:
                raise UnsoundError("not a list of fingerprints")
            case "host" if len(piece.value) == FIELDS_WITHOUT_MISSING:
                raise UnsoundError("not valid data about a host's rendering")
            case "host":
                self._check_host(value)

    def _check_waiting(self, item: Any) -> None:
        _, _, record = _typed(item, Waits)
        self._check_record(record)

    def _check_host(self, host: HostRecord) -> None:
        """Check what the types of a host's record leave open."""
        if len(host.missing) not in (0, FORM.size):
            raise UnsoundError("not valid data about a host's rendering")
        if host.row is not None:
            _check_failures(host.row)
        for _, origin, *_, failures in host.origins:
            if failures is not None:
                _check_failures(failures)
            if origin and not _is_origin_of(host.name, origin):
                raise UnsoundError("an origin of another host")
        if host.block_pages is not None:
            *_, records = host.block_pages
            for record in records:
                self._check_record(record)
                if host_of(unpack(record).url) != host.name:
                    raise UnsoundError("a link of another host")

    # -- what goes

    def link_for_other_drone(self, record: Packed) -> Packed | None:
        """Return a link of ours as another drone takes it, or None if no drone would take it.

        The request of a link that no drone takes is lost, and `lose` is called. A robots.txt is
        sent without the request that waits for it, if that is not of the closed form.
        """
        if record.endswith(b" "):  # without a request, as the links of pages are
            return record
        link = unpack(record)
        try:
            self._check_link(link)
            if len(record) > MAX_LINK_BYTES:
                raise UnsoundError(
                    f"it is too long for a batch (limit {MAX_ITEMS_BYTES >> 20} MiB)"
                )
        except ValueError as error:
            if is_prerequisite(record):
                return replace(link, request="").pack()
            self._lose(
                f"batch {error}",
                f"{link.url} cannot be sent to the drone that has its host: {error}",
            )
            return None
        return record


def _check_failures(row: list[Any]) -> None:
    """Raise UnsoundError unless a row has a list behind its numbers, and nowhere else."""
    for field_number, value in enumerate(row):
        must_be_list = field_number >= NUMBERS
        if isinstance(value, list) is not must_be_list:
            raise UnsoundError("not a valid record of a host's failures")


def _is_origin_of(host: str, text: str) -> bool:
    url = f"{text}/"
    return PAGE.fullmatch(url) is not None and host_of(url) == host


def check_batches(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Read every batch in a crawl's state once; yield what is damaged.

    Count batches and their items in `found`. A crawl that is in no hive has none.
    """
    yield from _check_inbox(snapshot)
    sequence = _BatchSequence(_channels(snapshot))
    for name, value in snapshot.rows(SELECT_BATCHES, (ROWS_BEGIN, ROWS_END)):
        found["batches"] += 1
        try:
            row = parse_row_name(name)
            gap = sequence.gap(row)
            hive, batch = read_batch(value)
            flaw = gap or sequence.flaw(row, hive, batch) or _links_flaw(batch)
            found["items"] += len(batch.items)
        except (ForeignMessage, ValueError, TypeError, AttributeError) as error:
            flaw = str(error)
        if flaw:
            yield snapshot.damaged(f"table meta, {name}: {flaw}", value=value)
    for drone, last in sequence.incomplete():
        yield snapshot.damaged(
            f"table meta, {outbox.OUTBOX}: the last exact batch for drone {drone} should be {last}, but is not"
        )


def _links_flaw(batch: Batch) -> str:
    """Return what is wrong with the first damaged link of a batch, or nothing."""
    if batch.kind not in LINK_KINDS:
        return ""
    return next(filter(None, map(link_flaw, batch.items)), "")


@dataclass(slots=True)
class _BatchSequence:
    """Checks that batches follow each other in their queues, and are all of one hive and drone."""

    channels: dict[int, tuple[int, int]]  # by drone: the channel, and its last number
    last_numbers: dict[tuple[int, bool], int] = field(default_factory=dict)  # by queue
    author: tuple[bytes, int] | None = None  # the hive and the sender of the first batch

    def gap(self, row: RowName) -> str:
        """Return what is wrong if the number does not follow the previous one of its queue."""
        queue = row.drone, row.exact
        before = self.last_numbers.get(queue, row.number - 1)
        self.last_numbers[queue] = row.number
        return "" if row.number == before + 1 else f"follows batch {before}"

    def flaw(self, row: RowName, hive: bytes, batch: Batch) -> str:
        """Return the reason why this batch does not belong here, or nothing if it does."""
        if self.author is None:
            self.author = hive, batch.sender
        if self.author != (hive, batch.sender):
            return "it is a batch of another drone"
        if row.exact != (batch.kind in EXACT_KINDS):
            return f"a batch of kind {batch.kind.name} is in the wrong queue"
        channel, _ = self.channels.get(row.drone, (0, 0))
        if row.exact and (batch.number, batch.channel) != (row.number, channel):
            return f"has number {batch.number} of channel {batch.channel}, but belongs to channel {channel}"
        return ""

    def incomplete(self) -> Iterator[tuple[int, int]]:
        """Yield the drones whose last exact batch is missing, each with the batch's number."""
        for drone, (_, last) in self.channels.items():
            if self.last_numbers.get((drone, True), last) != last:
                yield drone, last


def _channels(snapshot: Snapshot) -> dict[int, tuple[int, int]]:
    """Return the channel and the last number of the exact batches to each drone.

    Raise DamagedFile if the state does not say so.
    """
    value = snapshot.get(outbox.OUTBOX)
    try:
        return outbox.channels_of(value)
    except (ValueError, TypeError) as error:
        raise snapshot.damaged(f"table meta, {outbox.OUTBOX}: {error!r}", value=value) from error


def _check_inbox(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Yield the damage if what a state has as INBOX is none."""
    value = snapshot.get(INBOX)
    if value is None:
        return
    try:
        _, place, _ = msgspec.msgpack.decode(value, type=SavedInbox)
        place_number(place)
    except ValueError as error:
        yield snapshot.damaged(f"table meta, {INBOX}: {error!r}", value=value)
