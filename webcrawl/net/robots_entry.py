"""The state of an origin's robots.txt, when it is fetched again, and the row that keeps it.

The meaning of a status is RFC 9309 2.3.1's, as a table.

A row has the rules as a compressed robots.txt with only this crawler's group: for real files 300
bytes on average instead of 5,000, and 25 us to load instead of 200. The row of an origin whose
robots.txt is unreachable begins with `!`, the number of failures and the time of the first; rules
that are still in force follow after a semicolon. Rules of which more is known than when they expire
begin with `@`, or with `?` if they allow everything; a list of msgpack follows: when to look at the
file again, the interval, ETag, Last-Modified, whether its sitemaps were read, and the rules. Where
sitemaps are named, these stand in place of that word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

import msgpack

from webcrawl.base.model import REDIRECTS, Exchange
from webcrawl.base.zstd_frame import pack_checked
from webcrawl.base.zstd_frame import unpack as unpacked
from webcrawl.content.purpose_bits import LARGEST
from webcrawl.net.header_times import Validators, max_age, validators
from webcrawl.net.robots import LICENSE, RobotsRules, RobotsSaid
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot

MAX_HOPS = 5  # RFC 9309 2.3.1.2: follow at least five redirects in a row, also to other hosts


class RobotsEffect(Enum):
    """The consequence of a robots.txt request for the host's URLs."""

    READ = "the body says what is allowed"
    OPEN = "everything is allowed"
    SAME = "the rules known before are right"  # 304 to a request with a condition
    SHUT = "unreachable: rules known before stay in force, without any nothing is allowed"


# RFC 6585: it says nothing about the file, only that we ask too often. Read as "no robots.txt", it
# gave a site that asks for less more requests.
TOO_MANY = 429
# By hundreds of the HTTP status. A 3xx counts only as a last hop: too many hops, or no valid
# Location.
MEANINGS = {2: RobotsEffect.READ, 3: RobotsEffect.OPEN, 4: RobotsEffect.OPEN, 5: RobotsEffect.SHUT}


def meaning(status: int) -> RobotsEffect:
    """Return the effect of an HTTP status or a model.Status.

    A failure (no address, refused, timeout) shuts.
    """
    if status == TOO_MANY:
        return RobotsEffect.SHUT
    return MEANINGS.get(status // 100, RobotsEffect.SHUT)


def follows(status: int, hops: int) -> bool:
    """Return whether to follow this response's Location, by the number of hops before it."""
    return status in REDIRECTS and hops < MAX_HOPS


# An hour after a change, then twice as long each time, up to a day: owners edit several times in a
# row. Asking busy hosts every hour takes 24 requests a day; a host that is edited four times in a day
# of each week takes 1.9 so.
HOUR, DAY = 3600.0, 86_400.0
BUSY = 100  # URLs since the last look: one look costs at most a hundredth of the host's requests
LONGEST_ETAG = 128  # bytes of an entity tag
NONE = Validators()
# the headers that are hints
VALIDATOR_HEADERS = frozenset((b"etag", b"last-modified", b"cache-control"))
NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class Fresh:
    """The next look at a robots.txt if the host is busy.

    `step`: seconds from the last look to the next.
    """

    soon: float
    step: float = DAY
    validators: Validators = NONE
    # that the file names, the first ones; None: they were not wanted
    sitemaps: tuple[str, ...] | None = None

    @property
    def weight(self) -> int:
        """Return the bytes of memory, about."""
        texts = (*self.validators, *(self.sitemaps or ()))
        return 150 + sum(100 + len(text) for text in texts if text)

    def says_more(self, until: float) -> bool:
        """Return whether more is known than that the rules are fetched again at this time."""
        looks_earlier = self.soon != until or self.step != DAY
        return looks_earlier or any(self.validators) or bool(self.sitemaps)


class RobotsHead(NamedTuple):
    """The hints of a robots.txt answer's head at its future."""

    validators: Validators = NONE
    max_age: float | None = None  # seconds; None if it does not say

    def completed(self, before: Fresh | None) -> RobotsHead:
        """Return the head after a 304: what it does not repeat still holds."""
        if before is None:
            return self
        return self._replace(validators=self.validators.completed(before.validators))


def head_of(exchange: Exchange) -> RobotsHead:
    """Read a head. Of a body that is not whole no validators are kept: its rules may not be all."""
    if exchange.names.isdisjoint(VALIDATOR_HEADERS):
        return RobotsHead()
    headers = exchange.headers
    is_whole = 200 <= exchange.status < 300 and exchange.truncated in ("", "length")
    if not is_whole and exchange.status != NOT_MODIFIED:
        return RobotsHead(NONE, max_age(headers))
    return RobotsHead(validators(headers, exchange.started, longest=LONGEST_ETAG), max_age(headers))


def look(
    now: float,
    before: Fresh | None,
    *,
    changed: bool,
    head: RobotsHead,
    sitemaps: tuple[str, ...] | None,
) -> Fresh:
    """Return when to look at the rules again: an hour after a change, then ever later, up to a day.

    Rules of which only one answer is known are looked at after a day. What the server says counts
    within the same bounds.
    """
    step = min(2 * before.step, DAY) if before is not None else DAY
    if changed:
        step = HOUR
    soon = step if head.max_age is None else min(step, max(head.max_age, HOUR))
    return Fresh(now + soon, step, head.validators, sitemaps)


Row = tuple[float, bytes] | None  # of the table: when it expires, and what it says


class RobotsTable(Protocol):
    """Persistent storage for rules: webcrawl.frontier.host_rows.RobotsRows."""

    def robots(self, origin: str) -> tuple[float, bytes] | None:
        """Return the time at which the row expires, and the row."""
        ...

    def set_robots(self, origin: str, until: float, rules: bytes) -> None:
        """Replace the row."""
        ...

    def origins(self, host: str, most: int) -> list[str]:
        """Return the origins of a host that have a row."""
        ...

    def sweep(self, before: float) -> None:
        """Delete some of the rows that expired before `before`."""
        ...


KEEP = 86_400.0  # seconds, RFC 9309 2.4: no longer than 24 hours
_NOTHING = RobotsRules({})


@dataclass(slots=True)
class Heard:
    """The content of a robots.txt besides its rules."""

    meaning: RobotsEffect
    crawl_delay: float | None = None  # seconds, 0 for none; None if it was not heard
    sitemaps: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RobotsEntry:
    """The state of an origin in memory."""

    until: float  # when robots.txt is to be fetched again
    rules: RobotsRules | None  # in force; None if none are known
    tries: int = 0  # that failed in a row; without any, and without rules, the origin is given up
    since: float = 0.0  # when the first of them failed
    owes: bool = False  # a URL that the rules in force allow goes before the next try
    # when to look before they expire; None for rules of an earlier version
    fresh: Fresh | None = None
    allowed: int = 0  # URLs that they have allowed since they were loaded

    def looks_early(self, now: float) -> bool:
        """Return whether a robots.txt whose rules are valid is requested all the same.

        Their host is busy enough for that.
        """
        fresh = self.fresh
        if self.allowed < BUSY or fresh is None or self.tries:
            return False
        return fresh.soon <= now < self.until

    def owes_now(self, now: float) -> bool:
        """Return whether a URL goes before the next try."""
        return self.owes and now < self.until + KEEP

    @property
    def fetched(self) -> float | None:
        """Return the time at which the rules came.

        None if that is not known: robots.txt has been unreachable since.
        """
        return None if self.tries or self.rules is None else self.until - KEEP

    @property
    def weight(self) -> int:
        rules = self.rules if self.rules is not None else _NOTHING
        return rules.weight + (self.fresh.weight if self.fresh is not None else 0)


FIELDS = {True: "Allow: ", False: "Disallow: "}
IS_AWAY, IN_FORCE = b"!", b";"  # neither begins a zstd frame, nor do these
IS_FRESH = {True: b"@", False: b"?"}  # whether there are rules


def pack(rules: RobotsRules, agent: str) -> bytes:
    """Return the row for these rules; empty if everything is allowed."""
    says_nothing_else = not rules.crawl_delay and rules.said is None
    if not len(rules) and says_nothing_else:
        return b""
    lines = [f"User-agent: {agent or '*'}", f"Crawl-delay: {rules.crawl_delay!r}"]
    lines += [FIELDS[allow] + pattern for pattern, allow in rules.items()]
    if rules.said is not None:
        lines += _said_lines(rules.said)
    return pack_checked("\n".join(lines).encode())


def unpack(data: bytes, agent: str) -> RobotsRules | None:
    """Return the rules, or None if they were read for another USER_AGENT or are unreadable."""
    if not data:
        return RobotsRules({})
    try:
        head, delay, *lines = unpacked(data).decode().split("\n")
        if head != f"User-agent: {agent or '*'}":
            return None
        statements: list[str] = []
        rules: dict[str, bool] = {}
        for line in lines:
            if line[:1].islower():
                statements.append(line)
                continue
            field, _, pattern = line.partition(" ")
            rules[pattern] = field[0] == "A"
        return RobotsRules(rules, float(delay.partition(" ")[2]), _said(statements))
    except ValueError:
        return None


def _said_lines(said: RobotsSaid) -> Iterator[str]:
    """Yield the fields in small letters, by which they differ from rules.

    Each is a statement in figures, then its path.
    """
    for name, paths in said.fields().items():
        yield from (f"{name}: {statement:x} {path}" for path, statement in paths.items())
    yield from (f"{LICENSE}: {one}" for one in said.licenses)


def _said(lines: list[str]) -> RobotsSaid | None:
    """Return what lines of a robots.txt say on the use of pages; None if there are none."""
    fields: dict[str, dict[str, int]] = {}
    licenses = []
    for line in lines:
        name, _, value = line.partition(": ")
        if name == LICENSE:
            licenses.append(value)
        else:
            number, _, path = value.partition(" ")
            fields.setdefault(name, {})[path] = int(number, 16) & LARGEST
    return RobotsSaid(fields, tuple(licenses)) if lines else None


class RobotsOutage(NamedTuple):
    """The time since which an origin's robots.txt is unreachable, and the tries that have failed.

    There are none if it is given up.
    """

    tries: int
    since: float


def pack_away(away: RobotsOutage, rules: bytes | None) -> bytes:
    """Return the row of an unreachable robots.txt, with the packed rules in force.

    None if there are none.
    """
    head = IS_AWAY + f"{away.tries} {away.since!r}".encode()
    return head if rules is None else head + IN_FORCE + rules


def pack_fresh(fresh: Fresh, rules: bytes) -> bytes:
    """Return the packed rules, with when and how to look again."""
    named = fresh.sitemaps or fresh.sitemaps is not None
    packed: bytes = msgpack.packb([fresh.soon, fresh.step, *fresh.validators, named, rules])
    return IS_FRESH[bool(rules)] + packed


class RowParts(NamedTuple):
    """A row, split into the outage of robots.txt, the packed rules in force, and the next look."""

    away: RobotsOutage | None
    rules: bytes | None
    fresh: Fresh | None


def row_of(entry: RobotsEntry, agent: str) -> bytes:
    row: bytes | None = None
    if entry.rules is not None:
        row = pack(entry.rules, agent)
        if entry.fresh is not None and entry.fresh.says_more(entry.until):
            row = pack_fresh(entry.fresh, row)
    if row is None or entry.tries:
        row = pack_away(RobotsOutage(entry.tries, entry.since), row)
    return row


def entry_of(until: float, row: bytes, agent: str) -> RobotsEntry | None:
    """Return the entry that a row has kept; None if its rules are of no use to this crawler."""
    away, packed, fresh = split(row)
    rules = unpack(packed, agent) if packed is not None else None
    if away is not None:
        return RobotsEntry(until, rules, away.tries, away.since, fresh=fresh)
    return RobotsEntry(until, rules, fresh=fresh) if rules is not None else None


def split(row: bytes) -> RowParts:
    """Return the parts of a stored row. Raise ValueError if it is damaged."""
    if not row.startswith(IS_AWAY):
        return _freshness(None, row)
    head, in_force, rules = row[1:].partition(IN_FORCE)
    tries, since = head.split(b" ")
    away = RobotsOutage(int(tries), float(since))
    return _freshness(away, rules) if in_force else RowParts(away, None, None)


def _freshness(outage: RobotsOutage | None, rules: bytes) -> RowParts:
    """Split off what a row says on the next check of a robots.txt. Raise ValueError if damaged."""
    if not rules.startswith(tuple(IS_FRESH.values())):
        return RowParts(outage, rules, None)
    try:
        soon, step, etag, modified, sitemaps, packed = msgpack.unpackb(rules[1:])
        validators = Validators(bytes(etag), bytes(modified))
        fresh = Fresh(float(soon), float(step), validators, _sitemaps_of(sitemaps))
        return RowParts(outage, bytes(packed), fresh)
    except (TypeError, ValueError) as error:
        raise ValueError(f"not valid data about the next check of robots.txt: {error}") from error


def _sitemaps_of(stored: object) -> tuple[str, ...] | None:
    """Return the names of sitemaps; None if they were not wanted when the file was read."""
    if isinstance(stored, list):
        return tuple(map(str, stored))
    return () if stored else None


RULES_FORM = re.compile(
    r"User-agent: [^\n]+\nCrawl-delay: [-+.0-9a-z]+(\n(Allow|Disallow): [^\n]*)*"
    r"(\ncontent-(usage|signal): [0-9a-f]{1,4} [^\n]*)*(\nlicense: [^\n]+)*"
)
# failures, when the first was, whether rules follow
AWAY_FORM = re.compile(rb"!\d+ \d+\.\d+(e[-+]\d+)?(?P<rules>;?)")


def check_robots(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Read and count each row once."""
    queues = SavedQueues(snapshot)
    for row in snapshot.rows("SELECT origin, until, rules, crc FROM robots"):
        found["robots"] += 1
        origin, until, rules, _ = row
        place = f"table robots, {origin}"
        if not rowcrc.agrees(rowcrc.robots, row):
            yield snapshot.damaged(f"{place}: wrong checksum", value=rules)
            continue
        try:
            has_key = isinstance(until, float) and "://" in origin
            if not has_key or not _are_rules(queues, rules, place):
                yield snapshot.damaged(f"{place}: not a valid row of rules", value=rules)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"{place}: {error}", value=rules)
        except DamagedFile as damage:
            yield damage


def _are_rules(queues: SavedQueues, rules: bytes, place: str) -> bool:
    """Return whether these bytes are rules as they are stored.

    Valid are: nothing, or a packed robots.txt with one group, alone or with when it is looked at
    again; before either, since when robots.txt is away.
    """
    if rules.startswith(b"!"):
        outage_match = AWAY_FORM.match(rules)
        if outage_match is None:
            return False
        has_more = outage_match.end() < len(rules)
        if has_more and not outage_match["rules"]:
            return False
        rules = rules[outage_match.end() :]
    rules = split(rules).rules or b""
    return not rules or RULES_FORM.fullmatch(queues.unpack(rules, place).decode()) is not None
