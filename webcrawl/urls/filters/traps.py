"""Crawler traps: calendars, endless families of pages, URLs that grow, paths that repeat."""

from __future__ import annotations

import re
import struct
from collections import Counter, OrderedDict
from itertools import pairwise
from time import gmtime
from typing import Self

from siphashc import siphash

from webcrawl.base.url_text import host_of
from webcrawl.urls.filters.filter_protocol import Clock, Lines, Origin, Setup, leave_out
from webcrawl.urls.foldings import SESSION_PARAMETER, SESSION_SEGMENT

_HEAD = struct.Struct("<QI")
_TAG = 4  # bytes of a member's hash


class BoundedSets:
    """Maps each name to the first `size` members that were offered to it.

    A member is stored as 4 bytes of its keyed hash: a full set of 500 wrongly admits about one in 9
    million others. All sets together hold at most `total` members (4 MB, and some 150 bytes per
    set); beyond that, the least recently used set is dropped and starts empty.
    """

    def __init__(self, size: int, key: bytes, total: int = 2**20) -> None:
        if size < 1:
            raise ValueError(f"TRAP_MAX_PAGES: {size} is not at least 1")
        self._size = size
        self._key = key
        self._total = total
        self._held = 0
        self._sets: OrderedDict[int, bytearray] = OrderedDict()

    def __len__(self) -> int:
        return self._held

    def admit(self, name: str, member: str) -> bool:
        """Return whether this member is in the set of this name, or there was room to add it.

        If there are too many members in all sets, those used longest ago are dropped.
        """
        number = siphash(self._key, name)
        tags = self._sets.get(number)
        if tags is None:
            tags = self._sets[number] = bytearray()
        else:
            self._sets.move_to_end(number)
        tag = (siphash(self._key, member) & 0xFFFFFFFF).to_bytes(_TAG, "little")
        # A plain count would not recognise repeats: a navigation bar would use up the bound
        if holds(tags, tag):
            return True
        if len(tags) >= self._size * _TAG:
            return False
        tags += tag
        self._held += 1
        # A host that comes again after that may have another TRAP_MAX_PAGES
        while self._held > self._total:
            self._held -= len(self._sets.popitem(last=False)[1]) // _TAG
        return True

    def state(self) -> bytes:
        """Return every set, least recently used first: hash of its name, number of members, members."""
        return b"".join(
            _HEAD.pack(number, len(tags) // _TAG) + tags for number, tags in self._sets.items()
        )

    def restore(self, state: bytes) -> None:
        """Replace all sets by those that `state` returned under the same key. Raise ValueError for
        other bytes.
        """
        sets: OrderedDict[int, bytearray] = OrderedDict()
        held = place = 0
        while place < len(state):
            if place + _HEAD.size > len(state):
                raise ValueError(f"bounded sets: truncated at byte {place}")
            number, count = _HEAD.unpack_from(state, place)
            place += _HEAD.size
            tags = state[place : place + count * _TAG]
            if len(tags) < count * _TAG:
                raise ValueError(f"bounded sets: truncated at byte {place}")
            sets[number] = bytearray(tags)
            held += count
            place += len(tags)
        self._sets = sets
        self._held = held


def holds(tags: bytearray, tag: bytes) -> bool:
    """Return whether the tag is in `tags` at a multiple of its length, not across neighbours."""
    place = tags.find(tag)
    while place % _TAG > 0 and place >= 0:
        place = tags.find(tag, place + 1)
    return place >= 0


# Without look-around, which RE2 does not support. `/2019/11/08/title` is an article, not a
# calendar. `start=2000` may be a page number, so only parameter names that refer to time count.
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_TWO_DIGITS = r"(?:0[1-9]|1[0-2])"
_COMPACT = rf"[0-9]{{4}}(?:{_TWO_DIGITS}(?:0[1-9]|[12][0-9]|3[01])?)?(?:[^0-9]|$)"
_DATED_PATHS = (
    rf"/[0-9]{{4}}/{_MONTH}(?:/{_DAY})?/?(?:\?|$)|/[0-9]{{4}}-{_TWO_DIGITS}(?:-{_DAY})?/?(?:\?|$)"
)
# `m=3&y=2031&d=14`, in any order: a year and a month or day by their initials. One of them alone
# may be anything.
_INITIAL_YEAR, _INITIAL_PART = r"y=(?:19|20|21)[0-9]{2}", r"[md]=[0-9]{1,2}"
_INITIALS = rf"[?&]{_INITIAL_YEAR}&(?:.*&)?{_INITIAL_PART}(?:&|$)|[?&]{_INITIAL_PART}&(?:.*&)?{_INITIAL_YEAR}(?:&|$)"
DATE = (
    rf"{_DATED_PATHS}|{_INITIALS}"
    rf"|[?&][^=&]*(?:date|month|year|calendar)[^=&]*={_COMPACT}"
    rf"|[?&](?:from|since|until|day|week|yr|ym|cal|when)=(?:[0-9]{{4}}-[0-9]|{_COMPACT})"
)

# The part of them without parameters that name a year and nothing closer: years are few, and
# articles have them too, as `?id=7&year=2022`.
_FINER = rf"[0-9]{{4}}(?:{_TWO_DIGITS}(?:0[1-9]|[12][0-9]|3[01])?(?:[^0-9]|$)|[^0-9&])"
_YEAR_NAME, _PART_NAME = r"(?:[^=&]*year[^=&]*|yr)", r"[^=&]*(?:mon|day|week)[^=&]*"
MONTHLY = (
    rf"{_DATED_PATHS}|{_INITIALS}"
    rf"|[?&](?:[^=&]*(?:date|month|year|calendar)[^=&]*|from|since|until|day|week|yr|ym|cal|when)={_FINER}"
    rf"|[?&]{_YEAR_NAME}=[0-9]{{4}}&(?:.*&)?{_PART_NAME}=[0-9]"
    rf"|[?&]{_PART_NAME}=[0-9]{{1,2}}&(?:.*&)?{_YEAR_NAME}=[0-9]{{4}}"
)

_DATE = re.compile(rf"(?:{DATE})", re.IGNORECASE)
_YEAR = re.compile(r"[/=]([0-9]{4})")


def years(url: str) -> list[int]:
    """Return the years of all dates by which the URL is a calendar page."""
    found: list[str] = []
    date = _DATE.search(url)
    while date is not None:
        found += _YEAR.findall(date[0])
        # the end of one parameter is the start of the next
        date = _DATE.search(url, date.end() - 1)
    return [int(year) for year in found]


AHEAD = 2  # years
# Years. `/4711/5/` and `/2210/5` are two numbers, not dates; no calendar leaps a hundred years
FAR = 100


class CalendarFilter:
    """Drops calendar pages more than two years ahead.

    FamiliesFilter bounds the number of the others: newspapers have pages for every past day.
    """

    name = "trap_calendar"
    suspects = DATE

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._dates = Lines(DATE)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        return cls(setup.clock) if setup.settings["TRAP_RULES"] else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        """Return the URLs without calendar pages of years that are more than AHEAD years in the
        future.

        Numbers that are FAR years ahead are no years.
        """
        dated = self._dates.among(urls)
        if not dated:
            return urls
        last_year = gmtime(self._clock()).tm_year + AHEAD
        too_far: set[str] = set()
        for url in dated:
            if any(0 < year - last_year < FAR for year in years(url)):
                too_far.add(url)
        return leave_out(urls, too_far)


SESSION = rf"[?&](?:{SESSION_PARAMETER})(?:&|$)|{SESSION_SEGMENT}"
QUERY = r"\?(?:[^&]*&){4}"  # five parameters or more: a page for every combination in a form
DEEP = r"^[^/]+//[^/]+(?:/[^/?]+){11}"  # 36 of 50,000 real URLs are this deep


class FamiliesFilter:
    """Drops all but the first TRAP_MAX_PAGES of each of these on a host: calendar pages, session ids,
    queries of five or more parameters, and paths of more than ten segments.
    """

    name = "trap_family"

    def __init__(self, pages: int, key: bytes, *, sessions: bool = True) -> None:
        kinds = {"calendar": MONTHLY, "query": QUERY, "deep": DEEP}
        if sessions:
            kinds["session"] = SESSION
        # DATE contains MONTHLY, and CalendarFilter makes the shared search look for it anyway.
        self.suspects = "|".join({**kinds, "calendar": DATE}.values())
        self._suspects = Lines(self.suspects)
        self._kinds = {kind: Lines(expression) for kind, expression in kinds.items()}
        self._taken = BoundedSets(pages, key)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        settings = setup.settings
        if not settings["TRAP_RULES"]:
            return None
        # Where session ids are folded, all URLs of such a family count as one
        folded = any(path.endswith(".no_session_ids") for path in settings["URL_FOLDINGS"])
        return cls(settings["TRAP_MAX_PAGES"], setup.key, sessions=not folded)

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        """Return the URLs without those of families that have given their host's TRAP_MAX_PAGES.

        Those that pass are counted from now on.
        """
        suspects = self._suspects.among(urls)
        if not suspects:
            return urls
        trapped: set[str] = set()
        for kind, lines in self._kinds.items():
            for url in lines.among(suspects):
                # A URL that is kept out takes no place in the set of another kind
                if url in trapped:
                    continue
                if not self._taken.admit(f"{kind} {host_of(url)}", url):
                    trapped.add(url)
        return leave_out(urls, trapped)

    def state(self) -> bytes:
        return self._taken.state()

    def restore(self, state: bytes) -> None:
        self._taken.restore(state)


MAX_SEGMENTS = 30  # the deepest of 50,000 real URLs has 23


class GrowthFilter:
    """Drops paths of more than 30 segments, fourfold escapes, and parameters repeated three times."""

    name = "trap_growth"

    def __init__(self, max_segments: int = MAX_SEGMENTS) -> None:
        # The fourth escape of an escape: links of real pages were broken by three (`amp;amp;amp;`)
        deep = rf"^[^/]+//[^/]+(?:/[^/?]+){{{max_segments + 1}}}|%25252525|(?:amp;){{4}}"
        queries = r"\?(?:[^&]*&){2}"
        self.suspects = f"{deep}|{queries}"
        self._deep = Lines(deep)
        self._queries = Lines(queries)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        return cls() if setup.settings["TRAP_RULES"] else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        trapped = set(self._deep.among(urls))
        for url in self._queries.among(urls):
            if _repeats_parameters(url.partition("?")[2].split("&")):
                trapped.add(url)
        return leave_out(urls, trapped)


def _repeats_parameters(parameters: list[str]) -> bool:
    named = [one for one in parameters if one]  # `a=1&&b=2` has an empty one
    different = set(named)
    # Cheaper than counting: with a parameter that comes three times two are too many
    if len(named) - len(different) < 2:
        return False
    return any(named.count(one) > 2 for one in different)


class RepeatsFilter:
    """Drops paths in which a segment, or a pair of segments, keeps repeating."""

    name = "trap_repeats"

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        return cls() if setup.settings["TRAP_RULES"] else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        # Count slashes first: 0.1 us per URL, and only a fifth of real links need more. A path of
        # just three equal segments without a trailing slash is caught one step later.
        long = [url for url in urls if url.count("/") > 5]
        return leave_out(urls, set(filter(path_repeats, long)))


def path_repeats(url: str) -> bool:
    """Return whether segments of the path repeat without end.

    A segment may not occur four times, nor three times with two of them adjacent; a pair may not
    occur three times. Numbers are exempt: `/11/11/11/` is a date and `/0/0/0/` an empty form.
    """
    # This is true of nearly all URLs, and cheaper than what follows
    parts = url.split("/")
    if len(parts) - len(set(parts)) < 2:
        return False
    path = url.partition("?")[0].split("/")[3:]
    segments = [part for part in path if part and not part.isdigit()]
    if len(segments) - len(set(segments)) < 2:
        return False
    counts = Counter(segments)
    if max(counts.values()) >= 4:
        return True
    pairs = Counter(pairwise(segments))
    if max(pairs.values()) >= 3:
        return True
    return any(one == other and counts[one] >= 3 for one, other in pairs)
