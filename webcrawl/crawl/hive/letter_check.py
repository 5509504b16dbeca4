"""Checks each item of a letter by itself, and leaves out what is not of the closed form.

A checksum is no signature: a letter may hold whatever somebody put into the server. An item that got into a queue
would stop the drone when its turn comes, and again at each start.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from webcrawl.base.model import Link, Packed, is_prerequisite, unpack
from webcrawl.base.url_text import host_of
from webcrawl.content.recognise.probe import FORM
from webcrawl.crawl.hive.letter import LARGEST, LINKS, Kind
from webcrawl.frontier.host_origins import MOST as RECORDS
from webcrawl.store.jobdir.host_row import PLAIN as NUMBERS

logger = logging.getLogger(__name__)

HOST = rb"[A-Za-z0-9_.~!$&'()*+,;=%\"`{}\x80-\xff-]++"  # such as {site}, of a broken template
AUTHORITY = rb"(?:https?|ftp|gopher)://(?:" + HOST + rb"|\[[0-9a-f:.]++\])(?::\d{1,5}+)?"
WORD = rb"[!-~\x80-\xff]*+"
URL = AUTHORITY + b"/" + WORD
PLAIN = re.compile(URL + rb" [A-Za-z]*+ " + WORD + b" " + WORD + rb" \d{1,9}+(?:\.-?\d{1,9}+)?   ")
"""A packed link with nothing behind the number of its attempts: nearly all are, and a match takes 0.35 us."""
RECORD = re.compile(PLAIN.pattern[:-2] + WORD + b" " + WORD + b" " + WORD)
PAGE = re.compile(AUTHORITY.decode("latin-1") + "/[^\0- \x7f]*")
MOST = 1e12  # of any number in a record
COUNTS, PAIR = 4, 2  # how many numbers: a slot's end, pages linked to and listed
OLDEST = 5  # fields of a host's failures: so many has one of a drone of the first version
STATUSES = range(-10_000, 1000)
LONGEST = LARGEST - (1 << 16)  # bytes of a link: beside it there is what a letter, or a piece of a slot, has with it


Check = Callable[[Any], None]


class UnsoundError(ValueError):
    """Says in a few words what an item is not."""


class LetterCheck:
    """`check` raises ValueError if what a link brings beside its URL is not of the closed form.

    `lose` is told the kind and a line of each request of our own spider that no other drone would take.
    """

    def __init__(
        self,
        check: Callable[[Link], None] = lambda _: None,
        lose: Callable[[str, str], None] = lambda _kind, _line: None,
        tell: Callable[..., None] = logger.warning,
    ) -> None:
        self._check, self._lose, self._tell = check, lose, tell
        self.refused = 0  # items
        self._told = False
        self._checks: dict[Kind, Check] = {
            Kind.REQUESTS: self._request,
            Kind.VOTES: self._vote,
            Kind.ROBOTS: self._robots,
            Kind.SLOT: self._piece,
        }
        self._pieces: dict[str, Check] = {
            **dict.fromkeys(("urls", "held", "later"), self._urls),
            "keys": self._keys,
            "end": self._end,
            "host": self._host,
            "domain": self._domain,
        }

    # -- what comes

    def items(self, kind: Kind, items: list[Any], slots: int) -> list[Any]:
        """Those that are sound; `slots` is how many there are in all."""
        if kind in LINKS:
            return self._records(items)
        check = self._checks.get(kind)
        if check is None:  # the drone refuses the letter
            return items
        sound = [item for item in items if self._is(check, item)]
        if kind is not Kind.SLOT:
            return sound
        return [item for item in sound if item[0] < slots or self._refuse(UnsoundError("no slot of this hive"), item)]

    def _records(self, records: list[Any]) -> list[Any]:
        try:
            if all(map(PLAIN.fullmatch, records)) and b"".join(records).isascii():
                return records
        except TypeError:  # there is something else among them
            pass
        return [record for record in records if self._is(self._record, record)]

    def _is(self, check: Check, item: Any) -> bool:
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
            self._tell("an item of a letter is refused: %s (%s); others like it are only counted", error, shown)
        return False

    def _record(self, record: Any) -> None:
        if not isinstance(record, bytes):
            raise UnsoundError("no packed link")
        if not record.isascii():
            record.decode()
        if PLAIN.fullmatch(record):
            return
        if not RECORD.fullmatch(record):
            raise UnsoundError("no packed link")
        self._check(unpack(record))

    def _request(self, item: Any) -> None:
        record, variants, free = _list(item)
        self._record(record)
        if not isinstance(free, bool) or not _is_list(variants, str):
            raise UnsoundError("no request")

    def _vote(self, item: Any) -> None:
        source, url = _list(item)
        if not isinstance(source, str) or not isinstance(url, str) or not PAGE.fullmatch(url):
            raise UnsoundError("no link between two pages")

    def _robots(self, item: Any) -> None:
        record, status, body, location, chain = _list(item)
        self._record(record)
        kinds = (body, bytes), (location, str), (chain, str)
        if not is_prerequisite(record) or status not in STATUSES or not all(isinstance(*one) for one in kinds):
            raise UnsoundError("no answer to a robots.txt")
        if chain:
            self._check(Link("http://a/", chain=chain))

    def _piece(self, item: Any) -> None:
        """Of a list of URLs the sound ones stay."""
        slot, kind, name, value = _list(item)
        if not _is_whole(slot) or slot < 0 or not isinstance(name, str) or kind not in self._pieces:
            raise UnsoundError("no piece of a slot")
        self._pieces[kind](value)
        if kind in ("urls", "held"):
            item[3] = self._records(value)
        elif kind == "later":
            item[3] = [one for one in value if self._is(self._waiting, one)]

    def _waiting(self, item: Any) -> None:
        waits, wait, record = _list(item)
        if not isinstance(waits, bool) or not _is_number(wait, -MOST):
            raise UnsoundError("no URL that waits")
        self._record(record)

    def _urls(self, value: Any) -> None:
        if not isinstance(value, list):
            raise UnsoundError("no list of URLs")

    def _keys(self, value: Any) -> None:
        if not isinstance(value, bytes) or len(value) % 8:
            raise UnsoundError("no fingerprints")

    def _end(self, value: Any) -> None:
        if not _is_list(value, int) or len(value) != COUNTS:
            raise UnsoundError("no counts of a slot")

    def _host(self, value: Any) -> None:
        name, wait, times, delay, failures, row, pages, retired, ip, *more = _list(value)
        whole = map(_is_whole, (failures, pages, retired))
        words = isinstance(name, str), isinstance(ip, str)
        known = row is None or _are_failures(_list(row))
        if not (all(whole) and all(words) and known and all(map(_is_number, (wait, *_list(times), delay)))):
            raise UnsoundError("no record of a host")
        if more:  # a drone of before has none
            self._answers(name, more)

    def _answers(self, host: str, value: list[Any]) -> None:
        """What is known of a host's wall, of what it shows for a URL that cannot exist, its HTTP/2 and its sitemaps."""
        wall, missing, *newer = value
        if not all(isinstance(http2, bool) for http2 in newer[:1]):
            raise UnsoundError("no protocol of a host")
        if newer[1:2] not in ([], [None]):
            self._listed(newer[1])
        if newer[2:]:
            self._origins(host, _list(newer[2]))
        if not isinstance(missing, bytes) or len(missing) not in (0, FORM.size):
            raise UnsoundError("nothing that a host shows")
        if wall is None:
            return
        vendor, ago, answers, walled = _list(wall)
        if not (isinstance(vendor, str) and _is_number(ago) and _is_whole(answers)):
            raise UnsoundError("no wall")
        for record in _list(walled):
            self._record(record)
            if host_of(unpack(record).url) != host:
                raise UnsoundError("a link of another host")

    def _origins(self, host: str, value: list[Any]) -> None:
        if len(value) > RECORDS + 1:
            raise UnsoundError("too many origins of a host")
        for origin in value:
            key, text, wait, failures, retired, row = _list(origin)
            numbers = all(map(_is_whole, (key, failures, retired))) and _is_number(wait)
            if not (numbers and isinstance(text, str) and (row is None or _are_failures(_list(row)))):
                raise UnsoundError("no origin of a host")
            if text and not (PAGE.fullmatch(f"{text}/") and host_of(f"{text}/") == host):
                raise UnsoundError("an origin of another host")

    def _listed(self, value: Any) -> None:
        urls, full, credit, tried, new = _list(value)
        pairs = all(_is_list(pair, int) and len(pair) == PAIR and min(pair) >= 0 for pair in (tried, new))
        numbers = _is_whole(urls) and urls >= 0 and _is_number(credit) and 0 <= credit < 1
        if not (numbers and isinstance(full, bool) and pairs):
            raise UnsoundError("no sitemaps of a host")

    def _domain(self, value: Any) -> None:
        seed, used, debt, old, sources = _list(value)
        if not _are_numbers([seed, used, debt, old]) or not isinstance(sources, bytes):
            raise UnsoundError("no record of a domain")

    # -- what goes

    def leaving(self, record: Packed) -> Packed | None:
        """A link of ours as another drone takes it; None if it would refuse that: the request is lost here, in words.

        A robots.txt needs nothing of the request that waits for it.
        """
        if record.endswith(b" "):
            return record
        link = unpack(record)
        try:
            self._check(link)
            if len(record) > LONGEST:
                raise UnsoundError(f"it is longer than a letter may be, {LARGEST >> 20} MiB")
        except ValueError as error:
            if is_prerequisite(record):
                return replace(link, request="").pack()
            self._lose(f"letter {error}", f"{link.url} cannot go to the drone that has its host: {error}")
            return None
        return record


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) <= MOST


def _is_number(value: Any, least: float = 0.0) -> bool:
    return isinstance(value, (int, float)) and least <= value <= MOST


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(_is_number(one, -MOST) for one in value)


def _are_failures(row: list[Any]) -> bool:
    """Whether this is a FailedRow, of which drones of before lack the last fields."""
    numbers, unwell = row[:NUMBERS], row[NUMBERS:]
    return _are_numbers(numbers) and len(numbers) >= OLDEST and len(unwell) <= 1 and all(map(_are_numbers, unwell))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise UnsoundError("no list")
    return value


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)
