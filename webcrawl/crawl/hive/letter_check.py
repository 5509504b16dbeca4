"""Checks letters: each item that arrives, and the letters in a drone's state that are still to go.

A checksum is no signature: a letter may hold anything that was put into the server. An item that
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
from webcrawl.crawl.hive.errors import ForeignMessage
from webcrawl.crawl.hive.letter import (
    EXACT_KINDS,
    INBOX,
    LINK_KINDS,
    MAX_ITEMS_BYTES,
    Kind,
    Letter,
    place_number,
    read_letter,
)
from webcrawl.crawl.hive.outbox import ROWS_BEGIN, ROWS_END, RowName, parse_row_name
from webcrawl.frontier.host_origins import MAX_ORIGINS as RECORDS
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.host_row import PLAIN_FIELDS as NUMBERS
from webcrawl.store.jobdir.queue_row import link_flaw
from webcrawl.store.jobdir.snapshot import Snapshot

logger = logging.getLogger(__name__)

HOST = rb"[A-Za-z0-9_.~!$&'()*+,;=%\"`{}\x80-\xff-]++"  # such as {site}, of a broken template
AUTHORITY = rb"(?:https?|ftp|gopher)://(?:" + HOST + rb"|\[[0-9a-f:.]++\])(?::\d{1,5}+)?"
WORD = rb"[!-~\x80-\xff]*+"
URL = AUTHORITY + b"/" + WORD
PLAIN = re.compile(URL + rb" [A-Za-z]*+ " + WORD + b" " + WORD + rb" \d{1,9}+(?:\.-?\d{1,9}+)?   ")
"""A packed link with nothing behind the number of its attempts: nearly all are, and a match takes 0.35 us."""
RECORD = re.compile(PLAIN.pattern[:-2] + WORD + b" " + WORD + b" " + WORD)
PAGE = re.compile(AUTHORITY.decode("latin-1") + "/[^\0- \x7f]*")
MOST = 10**12  # of any number in a record
OLDEST = 5  # fields of a host's failures: so many has one of a drone of the first version
# bytes of a link: beside it there is what a letter, or a piece of a slot, has with it
LONGEST = MAX_ITEMS_BYTES - (1 << 16)
KEY_BYTES = 8  # of one fingerprint

# epoch, place, numbers
KEPT_BY_INBOX = tuple[str, str, list[tuple[int, int, Annotated[int, Meta(gt=0)]]]]
ROWS = "SELECT name, value FROM meta WHERE name > ? AND name < ? ORDER BY name"

Number = Annotated[float, Meta(ge=0, le=MOST)]
Whole = Annotated[int, Meta(ge=-MOST, le=MOST)]
Count = Annotated[int, Meta(ge=0, le=MOST)]
Signed = Annotated[float, Meta(ge=-MOST, le=MOST)] | bool
Request = tuple[bytes, list[str], bool]  # record, variants, free
Vote = tuple[str, str]  # of a page's domain for a URL
Waits = tuple[bool, Annotated[float, Meta(ge=-MOST, le=MOST)], bytes]
Ends = tuple[int, int, int, int]
Domain = tuple[Signed, Signed, Signed, Signed, bytes]
Failures = Annotated[list[Signed | list[Signed]], Meta(min_length=OLDEST, max_length=NUMBERS + 1)]
Origin = tuple[Whole, str, Number, Whole, Whole, Failures | None]
Wall = tuple[str, Number, Whole, list[bytes]]
Pages = tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]  # linked to, and listed
Listed = tuple[Count, bool, Annotated[float, Meta(ge=0, lt=1)], Pages, Pages]


class RobotsLetter(Struct, array_like=True, forbid_unknown_fields=True):
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
    wall: Wall | None = None
    missing: Annotated[bytes, Meta(max_length=FORM.size)] = b""
    http2: bool = False
    listed: Listed | None = None
    origins: Annotated[list[Origin], Meta(max_length=RECORDS + 1)] = []


class Piece(Struct, array_like=True, forbid_unknown_fields=True):
    """A piece of a slot."""

    slot: Count
    kind: Literal["urls", "held", "later", "keys", "end", "host", "domain"]
    name: str
    value: Any


PIECES: dict[str, Any] = {  # what the value of each is
    **dict.fromkeys(("urls", "held", "later"), list),
    "keys": bytes,
    "end": Ends,
    "host": HostRecord,
    "domain": Domain,
}
# fields of a record that ends where none does
WITHOUT_MISSING = HostRecord.__struct_fields__.index("missing")


class UnsoundError(ValueError):
    """Says in a few words what an item is not."""


def _typed(item: Any, kind: Any) -> Any:
    """Return the item as a value of this type.

    Raise ValueError if it is not. No text is taken for bytes.
    """
    return msgspec.convert(item, kind, builtin_types=(bytes,))


class LetterCheck:
    """Drops items of letters that are not of the closed form.

    `check` raises ValueError if what a link brings beside its URL is not of the closed form. `lose`
    is told the kind and a line of each request of our own spider that no other drone would take.
    """

    def __init__(
        self,
        check: Callable[[Link], None] = lambda _: None,
        lose: Callable[[str, str], None] = lambda _kind, _line: None,
        tell: Callable[..., None] = logger.warning,
    ) -> None:
        self._check = check
        self._lose = lose
        self._tell = tell
        self.refused = 0  # items
        self._told = False
        self._checks: dict[Kind, Callable[[Any], None]] = {
            Kind.REQUESTS: self._request,
            Kind.VOTES: self._vote,
            Kind.ROBOTS: self._robots,
        }

    # -- what comes

    def items(self, kind: Kind, items: list[Any], slots: int) -> list[Any]:
        """Return the items that are sound; `slots` is the number of slots in all."""
        if kind in LINK_KINDS:
            return self._records(items)
        check = partial(self._piece, slots=slots) if kind is Kind.SLOT else self._checks[kind]
        return [item for item in items if self._is(check, item)]

    def _records(self, records: list[Any]) -> list[Any]:
        try:
            if all(map(PLAIN.fullmatch, records)) and b"".join(records).isascii():
                return records
        except TypeError:  # there is something else among them
            pass
        return [record for record in records if self._is(self._record, record)]

    def _is(self, check: Callable[[Any], None], item: Any) -> bool:
        try:
            check(item)
        except (ValueError, TypeError, RecursionError) as error:
            return self._refuse(error, item)
        return True

    def _refuse(self, error: Exception, item: Any) -> bool:
        self.refused += 1
        if not self._told:
            self._told = True
            shown = f"{item!r:.120}"
            self._tell(
                "an item of a letter was refused: %s (%s); further ones are counted, but not logged",
                error,
                shown,
            )
        return False

    def _record(self, record: Any) -> None:
        if not isinstance(record, bytes):
            raise UnsoundError("not a packed link")
        if not record.isascii():
            record.decode()
        if PLAIN.fullmatch(record):
            return
        if not RECORD.fullmatch(record):
            raise UnsoundError("not a packed link")
        self._check(unpack(record))

    def _request(self, item: Any) -> None:
        record, _, _ = _typed(item, Request)
        self._record(record)

    def _vote(self, item: Any) -> None:
        _, url = _typed(item, Vote)
        if not PAGE.fullmatch(url):  # by hand: as a pattern of the type it takes ten times as long
            raise UnsoundError("not a link between two pages")

    def _robots(self, item: Any) -> None:
        robots = _typed(item, RobotsLetter)
        self._record(robots.record)
        if not is_prerequisite(robots.record):
            raise UnsoundError("not an answer to a request for robots.txt")
        if robots.chain:
            self._check(Link("http://a/", chain=robots.chain))

    def _piece(self, item: Any, slots: int) -> None:
        """Check a piece of a slot; of a list of URLs the sound ones stay."""
        piece = _typed(item, Piece)
        if piece.slot >= slots:
            raise UnsoundError("not a slot of this hive")
        value = _typed(piece.value, PIECES[piece.kind])
        match piece.kind:
            case "urls" | "held":
                item[3] = self._records(piece.value)
            case "later":
                item[3] = [waiting for waiting in piece.value if self._is(self._waiting, waiting)]
            case "keys" if len(value) % KEY_BYTES:
                raise UnsoundError("not a list of fingerprints")
            case "host" if len(piece.value) == WITHOUT_MISSING:
                raise UnsoundError("not valid data about a host's rendering")
            case "host":
                self._host(value)

    def _waiting(self, item: Any) -> None:
        _, _, record = _typed(item, Waits)
        self._record(record)

    def _host(self, host: HostRecord) -> None:
        if len(host.missing) not in (0, FORM.size):
            raise UnsoundError("not valid data about a host's rendering")
        if host.row is not None:
            _check_failures(host.row)
        for _, origin, *_, failures in host.origins:
            if failures is not None:
                _check_failures(failures)
            if origin and not _is_origin_of(host.name, origin):
                raise UnsoundError("an origin of another host")
        if host.wall is not None:
            *_, links = host.wall
            self._links_of(host.name, links)

    def _links_of(self, host: str, records: list[bytes]) -> None:
        for record in records:
            self._record(record)
            if host_of(unpack(record).url) != host:
                raise UnsoundError("a link of another host")

    # -- what goes

    def link_for_other_drone(self, record: Packed) -> Packed | None:
        """Return a link of ours as another drone takes it, or None if no drone would take it.

        The request of such a link is lost. A robots.txt needs nothing of the request that waits for
        it.
        """
        if record.endswith(b" "):
            return record
        link = unpack(record)
        try:
            self._check(link)
            if len(record) > LONGEST:
                raise UnsoundError(
                    f"it is too long for a letter (limit {MAX_ITEMS_BYTES >> 20} MiB)"
                )
        except ValueError as error:
            if is_prerequisite(record):
                return replace(link, request="").pack()
            self._lose(
                f"letter {error}",
                f"{link.url} cannot be sent to the drone that has its host: {error}",
            )
            return None
        return record


def _check_failures(row: list[Any]) -> None:
    """Raise UnsoundError unless a row has a list behind its numbers, and nowhere else."""
    for at, value in enumerate(row):
        is_behind = at >= NUMBERS
        if isinstance(value, list) is not is_behind:
            raise UnsoundError("not a valid record of a host's failures")


def _is_origin_of(host: str, text: str) -> bool:
    url = f"{text}/"
    return PAGE.fullmatch(url) is not None and host_of(url) == host


def check_letters(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Read every letter once, and count letters and their items; yield what is damaged.

    A crawl that is in no hive has none.
    """
    yield from _inbox(snapshot)
    numbers = _Numbers(_channels(snapshot))
    for name, value in snapshot.rows(ROWS, (ROWS_BEGIN, ROWS_END)):
        found["letters"] += 1
        try:
            row = parse_row_name(name)
            gap = numbers.gap(row)
            hive, message = read_letter(value)
            flaw = gap or numbers.flaw(row, hive, message) or _links_flaw(message)
            found["items"] += len(message.items)
        except (ForeignMessage, ValueError, TypeError, AttributeError) as error:
            flaw = str(error)
        if flaw:
            yield snapshot.damaged(f"table meta, {name}: {flaw}", value=value)
    for drone, last in numbers.ends():
        yield snapshot.damaged(
            f"table meta, {outbox.OUTBOX}: the last exact letter for drone {drone} should be {last}, but is not"
        )


def _links_flaw(message: Letter) -> str:
    return (
        next(filter(None, map(link_flaw, message.items)), "") if message.kind in LINK_KINDS else ""
    )


@dataclass(slots=True)
class _Numbers:
    """The numbers of letters, and what all must have in common."""

    channels: dict[int, tuple[int, int]]
    seen: dict[tuple[int, bool], int] = field(default_factory=dict)  # the last number of each lane
    author: tuple[bytes, int] | None = None  # the hive and the sender of all

    def gap(self, row: RowName) -> str:
        """Return what is wrong if the number does not follow the previous one of its lane."""
        before = self.seen.get((row.drone, row.exact), row.number - 1)
        self.seen[row.drone, row.exact] = row.number
        return "" if row.number == before + 1 else f"follows letter {before}"

    def flaw(self, row: RowName, hive: bytes, message: Letter) -> str:
        """Return the reason why this letter does not belong here, or nothing if it does."""
        self.author = self.author or (hive, message.sender)
        if self.author != (hive, message.sender):
            return "it is a letter of another drone"
        if row.exact != (message.kind in EXACT_KINDS):
            return f"a letter of kind {message.kind.name} is in the wrong lane"
        channel, _ = self.channels.get(row.drone, (0, 0))
        if row.exact and (message.number, message.channel) != (row.number, channel):
            return f"has number {message.number} of channel {message.channel}, but belongs to channel {channel}"
        return ""

    def ends(self) -> Iterator[tuple[int, int]]:
        """Yield drones whose last exact letter is not the last that was numbered."""
        for drone, (_, last) in self.channels.items():
            if self.seen.get((drone, True), last) != last:
                yield drone, last


def _channels(snapshot: Snapshot) -> dict[int, tuple[int, int]]:
    value = snapshot.get(outbox.OUTBOX)
    try:
        return outbox.channels_of(value)
    except (ValueError, TypeError) as error:
        raise snapshot.damaged(f"table meta, {outbox.OUTBOX}: {error!r}", value=value) from error


def _inbox(snapshot: Snapshot) -> Iterator[DamagedFile]:
    value = snapshot.get(INBOX)
    if value is None:
        return
    try:
        _, place, _ = msgspec.msgpack.decode(value, type=KEPT_BY_INBOX)
        place_number(place)
    except ValueError as error:
        yield snapshot.damaged(f"table meta, {INBOX}: {error!r}", value=value)
