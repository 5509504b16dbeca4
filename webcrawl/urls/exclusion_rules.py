"""Domains and URL prefixes never to request, one per line, and the owners' wishes behind them.

example.com               the domain and every name below it, whatever the scheme
example.com/private/      this prefix, whatever the scheme
http://example.com/~joe   this prefix, exactly

A comment after `#` may tell more of the wish: whose it is, since when, why, and until when
(`OptOut`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any

from webcrawl.base.errors import RulesError
from webcrawl.base.readable import count
from webcrawl.base.url_text import has_scheme, host_of
from webcrawl.urls.canonical import SCHEMES, InvalidUrl, canonical

COMMAND, FILE = "command", "file"
_KEYS = ("since", "by", "why", "until", "forget")
_KEY = re.compile(rf"(?:^|(?<=\s))({'|'.join(_KEYS)}):(?=\s|$)", re.IGNORECASE)
_YES = frozenset(("yes", "true", "on", "1"))
_PORT = re.compile(r"[^/@\s]+:\d+")  # ends a host that is no rule by itself
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d")  # as ISO 8601 writes it
_WEEK = re.compile(r"\d{4}-?W\d\d")


@dataclass(frozen=True, slots=True)
class OptOut:
    """`rule` is a domain or URL prefix. Times are seconds since 1970."""

    rule: str
    since: float = 0.0  # 0: it is not known
    by: str = ""
    why: str = ""
    until: float = 0.0  # 0: for good
    forget: bool = False  # what is stored of it is left out of outputs, too
    source: str = COMMAND

    def holds(self, now: float) -> bool:
        """Return whether its time is not over."""
        return not self.until or now < self.until

    @property
    def details(self) -> str:
        """Return all but the rule itself, in words; empty if nothing else is known."""
        parts = (
            f"since {said(self.since)}" if self.since else "",
            f"by {self.by}" if self.by else "",
            f"until {said(self.until)}" if self.until else "",
            "to be forgotten" if self.forget else "",
            self.why,
        )
        return ", ".join(filter(None, parts))

    def to_json(self, now: float) -> dict[str, Any]:
        """Return the record as JSON has it; `holds` says whether it is in force at that time."""
        since, until = (said(value) if value else None for value in (self.since, self.until))
        return {**asdict(self), "since": since, "until": until, "holds": self.holds(now)}

    def pack(self) -> dict[str, Any]:
        """Return what msgpack can keep, without what says nothing."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def unpack(cls, row: dict[str, Any]) -> OptOut:
        """Return the inverse of `pack`; what a later version may have added is passed over."""
        return cls(**{name: row[name] for name in NAMES if name in row})


NAMES = tuple(one.name for one in fields(OptOut))


def read_comment(rule: str, comment: str) -> tuple[OptOut, str]:
    """Return a rule's record, and the name of a date in its comment that cannot be read, or
    nothing.

    The comment is such as `by: WHO why: TEXT until: DATE since: DATE forget: yes`, in any order;
    one that begins with none of these words is a reason as a whole. With an unreadable date the
    rule still holds, for good if that is its end.
    """
    comment = comment.strip()
    is_one_reason = _KEY.match(comment) is None
    if is_one_reason:
        return OptOut(rule, why=comment, source=FILE), ""
    parts = {key.lower(): value.strip() for key, value in _pairs(comment)}
    unreadable = ""
    times = dict.fromkeys(("since", "until"), 0.0)
    for name in times:
        if not parts.get(name):
            continue
        try:
            times[name] = read_date(parts[name], end=name == "until")
        except ValueError:
            unreadable = name
    by, why = parts.get("by", ""), parts.get("why", "")
    forget = parts.get("forget", "").lower() in _YES
    return OptOut(rule, by=by, why=why, forget=forget, source=FILE, **times), unreadable


def _pairs(comment: str) -> Iterator[tuple[str, str]]:
    pieces = _KEY.split(comment)
    return zip(pieces[1::2], pieces[2::2], strict=True)


def read_date(text: str, *, end: bool = False) -> float:
    """Return the seconds since 1970 of a date or time of ISO 8601. Raise ValueError if it is none.

    Without a zone it is in UTC. `end`: a day or week counts to its end. Its year in UTC must have
    four figures, so that it can be written again.
    """
    days = 0  # a time of day is an end itself
    if end and _DAY.fullmatch(text):
        days = 1
    elif end and _WEEK.fullmatch(text):
        days = 7
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return (moment + timedelta(days=days)).astimezone(UTC).timestamp()
    # In UTC the year 1 or 9999 may become 0 or 10000
    except OverflowError as error:
        raise ValueError(text) from error


def unpacked(rows: Iterable[dict[str, Any]]) -> list[OptOut]:
    return [OptOut.unpack(row) for row in rows]


def said(seconds: float) -> str:
    """Return a time as 2027-01-31T12:00:00Z."""
    return f"{datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None).isoformat()}Z"


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors from reading the file into RulesError."""
    try:
        yield
    except OSError as error:
        raise RulesError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RulesError(f"{path}: is not UTF-8 text") from error


NO_STAR = "* is not a wildcard here: a domain covers all names below it, a prefix all URLs that begin with it"


class ExclusionRules:
    """Decides whether a canonical URL is excluded, by a few dictionary look-ups for any list."""

    def __init__(
        self, domains: Iterable[str] = (), prefixes: Iterable[str] = (), ends: float = inf
    ) -> None:
        """`domains` exclude all names below them. `ends`: when the first of the rules is over."""
        self.ends = ends
        self._domains = frozenset(domains)
        self._prefixes: dict[str, tuple[str, ...]] = {}
        for prefix in prefixes:
            name, undotted = _undotted(prefix)
            self._prefixes[name] = (*self._prefixes.get(name, ()), _one_spelling(undotted))

    def __str__(self) -> str:
        return f"{count(len(self._domains), 'domain')}, prefixes at {count(len(self._prefixes), 'host')}"

    def excludes(self, url: str) -> bool:
        """Return whether a rule covers this canonical URL: a prefix of it, or a domain above its
        host.
        """
        name, undotted = _undotted(url)
        prefixes = self._prefixes.get(name)
        if prefixes is not None and _one_spelling(undotted).startswith(prefixes):
            return True
        # From the host up: as many look-ups as its name has labels, however long the list is
        while name not in self._domains:
            _, dot, name = name.partition(".")
            if not dot:
                return False
        return True


def parse_exclusions(text: str, source: str, now: float = 0.0) -> ExclusionRules:
    """Return the rules in the text of a file. Raise RulesError with the number of a line that is
    none.

    The error does not quote the line: an operator who gives `set URL_EXCLUDE_FILE` may name any
    file, and people who may not read that file see messages. Rules that have ended at `now` are
    left out.
    """
    collected = _Collected()
    for number, line, comment in _lines(text):
        refuse_star(line, f"{source}, line {number}")
        # An unreadable `until` is 0, for good: who asks to be left out is left out
        until = read_comment(line, comment)[0].until if comment else 0.0
        try:
            collected.add_rule(line, until, now)
        except InvalidUrl as error:
            raise RulesError(f"{source}, line {number}: {_not_a_rule(error)}") from error
    return ExclusionRules(collected.domains, collected.prefixes, collected.ends)


def refuse_star(rule: str, where: str) -> None:
    """Raise RulesError, which says `where` the rule is, if it has a * that would be no wildcard.

    That is one in a host or at the end. Rules that an earlier version has accepted are not checked:
    they are in the state of their crawl.
    """
    if has_scheme(rule):
        rule = rule.partition("://")[2]
    host, slash, path = rule.partition("/")
    # `*.example.com` is the domain example.com, whose names are all covered
    if not slash:
        host = host.removeprefix("*")
    if "*" in host or path.endswith("*"):
        raise RulesError(f"{where}: {NO_STAR}")


def optouts_in(text: str, source: str) -> tuple[list[OptOut], list[str]]:
    """Return the records of all rules in a file, and a line about each date in it that cannot be
    read.
    """
    records, complaints = [], []
    for number, line, comment in _lines(text):
        record, unreadable_date = read_comment(line, comment)
        records.append(record)
        if unreadable_date:
            complaints.append(
                f"{source}, line {number}: {unreadable_date} is not a date and is ignored; the rule itself holds"
            )
    return records, complaints


def without_comment(rule: str) -> str:
    """Return a rule without what follows a #, as in a line of the file."""
    return rule.partition("#")[0].strip()


def rules_of(records: Iterable[OptOut], now: float = 0.0) -> ExclusionRules:
    """Return the rules of the records that hold at `now`. Raise RulesError if one is not a rule."""
    collected = _Collected()
    for record in records:
        rule = without_comment(record.rule)
        if len(record.rule.splitlines()) != 1 or not rule:
            raise RulesError(f"{record.rule[:80]!r} is neither a domain nor a URL prefix")
        try:
            collected.add_rule(rule, record.until, now)
        except InvalidUrl as error:
            has_port = _PORT.fullmatch(rule)
            advice = f"; with a port, give a URL: http://{rule[:80]}/" if has_port else ""
            raise RulesError(
                f"exclude: {record.rule[:80]!r} is {_not_a_rule(error)}{advice}"
            ) from error
    return ExclusionRules(collected.domains, collected.prefixes, collected.ends)


class _Collected:
    """The rules of a list that hold, by their kind."""

    def __init__(self) -> None:
        self.domains: list[str] = []
        self.prefixes: list[str] = []
        self.ends = inf  # when the first of them is over

    def add_rule(self, rule: str, until: float, now: float) -> None:
        """Add a rule that ends at `until` (0: never), unless that is over at `now`.

        Raise InvalidUrl if it is no rule, also for one that is over.
        """
        prefixes = _prefixes(rule) if "/" in rule else []
        domains = [] if "/" in rule else [_domain(rule)]
        is_over = until and now >= until
        if is_over:
            return
        self.prefixes += prefixes
        self.domains += domains
        self.ends = min(self.ends, until or inf)


def _undotted(url: str) -> tuple[str, str]:
    """Return the URL's host and the URL without the dot that may end a host's name in DNS."""
    host = host_of(url)
    if not host.endswith("."):
        return host, url
    return host[:-1], url.replace(host, host[:-1], 1)


_ENCODED = re.compile("%[0-9A-Fa-f]{2}")
# Characters that mean something else once they are encoded: `/a%2Fb` and `/a/b` are two resources,
# as in robots.txt
_PARTING = "/?#%"


def _one_spelling(url: str) -> str:
    """Return one form for all spellings: servers and owners take `%7Ejoe` for `~joe`."""
    return _ENCODED.sub(_decoded_octet, url) if "%" in url else url


def _decoded_octet(octet: re.Match[str]) -> str:
    char = chr(int(octet[0][1:], 16))
    is_encoded_without_need = "!" <= char <= "~" and char not in _PARTING
    return char if is_encoded_without_need else octet[0].upper()


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number, the rule and the comment of each line that has a rule."""
    for number, raw in enumerate(text.splitlines(), 1):
        rule, _, comment = raw.partition("#")
        line = rule.strip()
        if line:
            yield number, line, comment


def _not_a_rule(error: InvalidUrl) -> str:
    return f"neither a domain nor a URL prefix ({error.reason})"


def _prefixes(line: str) -> list[str]:
    if has_scheme(line):
        return [canonical(line)]
    # A canonical URL begins with its scheme, so a prefix without one is a prefix for each
    return [canonical(f"{scheme}://{line}") for scheme in SCHEMES]


def _domain(line: str) -> str:
    url = canonical(f"http://{line.removeprefix('*').removeprefix('.')}/")
    host = host_of(url)
    # More than a domain. A user's name needs a look of its own: `canonical` drops it
    if "@" in line or url != f"http://{host}/":
        raise InvalidUrl("syntax")
    return host.removesuffix(".")


class Forgotten:
    """The owners' requests to delete what is stored; false if there are none.

    An expired request covers what was stored before its end.
    """

    def __init__(self, records: Iterable[OptOut] = ()) -> None:
        # One set of rules per end: a set decides by a few look-ups, however many rules it has
        by_end: dict[float, list[OptOut]] = {}
        for one in records:
            if one.forget:
                by_end.setdefault(one.until or inf, []).append(one)
        self._rules = [(end, rules_of(found)) for end, found in by_end.items()]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def has(self, url: str, at: float) -> bool:
        """Return whether to leave out what was stored of this canonical URL at that time.

        The time is 0 if it is unknown.
        """
        return any(at < end and rules.excludes(url) for end, rules in self._rules)
