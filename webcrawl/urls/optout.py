"""A record of an owner's wish to be left alone: what it is about, who said so, since when, why, and until when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from webcrawl.base.errors import RulesError as RulesError  # noqa: PLC0414 - imported from here, too

COMMAND, FILE = "command", "file"
_KEYS = ("since", "by", "why", "until", "forget")
_KEY = re.compile(rf"(?:^|(?<=\s))({'|'.join(_KEYS)}):(?=\s|$)", re.IGNORECASE)
_YES = frozenset(("yes", "true", "on", "1"))
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d")  # as ISO 8601 writes it
_WEEK = re.compile(r"\d{4}-?W\d\d")


@dataclass(frozen=True, slots=True)
class OptOut:
    """`rule` is a domain or URL prefix (urls/exclusion_rules.py). Times are seconds since 1970."""

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
        """All but the rule, in words; empty if there is nothing to say."""
        parts = (
            f"since {said(self.since)}" if self.since else "",
            f"by {self.by}" if self.by else "",
            f"until {said(self.until)}" if self.until else "",
            "to be forgotten" if self.forget else "",
            self.why,
        )
        return ", ".join(filter(None, parts))

    def to_json(self, now: float) -> dict[str, Any]:
        """`holds` says whether it is in force at that time."""
        dates = {name: said(value) if value else None for name, value in self._times}
        return {**asdict(self), **dates, "holds": self.holds(now)}

    @property
    def _times(self) -> tuple[tuple[str, float], ...]:
        return ("since", self.since), ("until", self.until)

    def pack(self) -> dict[str, Any]:
        """Return what msgpack can keep, without what says nothing."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def unpack(cls, row: dict[str, Any]) -> OptOut:
        """The inverse of `pack`; what a later version may have added is passed over."""
        return cls(**{name: row[name] for name in NAMES if name in row})


NAMES = tuple(one.name for one in fields(OptOut))


def noted(rule: str, comment: str) -> tuple[OptOut, str]:
    """A line of the exclusion file: `by: WHO why: TEXT until: DATE since: DATE forget: yes`, in any order.

    A comment that begins with none of these words is a reason as a whole. The second value names the date that cannot
    be understood: the rule holds all the same, for good if it is the end.
    """
    comment = comment.strip()
    first = _KEY.match(comment)
    if first is None:
        return OptOut(rule, why=comment, source=FILE), ""
    found = {key.lower(): value.strip() for key, value in _pairs(comment)}
    times, odd = {}, ""
    for name in ("since", "until"):
        try:
            times[name] = read_date(found[name], end=name == "until") if found.get(name) else 0.0
        except ValueError:
            times[name], odd = 0.0, name
    forget = found.get("forget", "").lower() in _YES
    return OptOut(rule, by=found.get("by", ""), why=found.get("why", ""), forget=forget, source=FILE, **times), odd


def _pairs(comment: str) -> Iterator[tuple[str, str]]:
    pieces = _KEY.split(comment)
    return zip(pieces[1::2], pieces[2::2], strict=True)


def read_date(text: str, *, end: bool = False) -> float:
    """Seconds since 1970 of a date or time of ISO 8601, in UTC unless it says otherwise. ValueError if it is none.

    `end`: a day or week is meant to its end. In UTC its year has four figures, too, so that it can be written again.
    """
    days = 1 if _DAY.fullmatch(text) else 7 if _WEEK.fullmatch(text) else 0
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    try:
        return (found + timedelta(days=days) if end else found).astimezone(UTC).timestamp()
    except OverflowError as error:
        raise ValueError(text) from error


def unpacked(rows: Iterable[dict[str, Any]]) -> list[OptOut]:
    return [OptOut.unpack(row) for row in rows]


def said(seconds: float) -> str:
    """A time as 2027-01-31T12:00:00Z."""
    return f"{datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None).isoformat()}Z"


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns errors from reading the file into RulesError."""
    try:
        yield
    except OSError as error:
        raise RulesError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RulesError(f"{path}: is not UTF-8 text") from error
