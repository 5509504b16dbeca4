"""Owners' wishes to be left alone: as the words of a command, and as records in the crawl's state.

The state has those given by command and those of the exclusion file; urls/exclusion_rules.py says
what is kept of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import msgpack

from webcrawl.base.dates import iso
from webcrawl.crawl.control.command import CommandError
from webcrawl.store.crawldb import CrawlDB, Part, SavedValue
from webcrawl.urls.exclusion_rules import OptOut, read_date, unpacked
from webcrawl.urls.filters.exclusion import ExclusionFilter
from webcrawl.urls.filters.filter_protocol import UrlFilter

WITH_TEXT = ("--by", "--why", "--until", "--since")
FORGET, SINCE = "--forget", "--since"
LONGEST = 1000  # characters of a text
USAGE = "RULE [--by WHO] [--why TEXT] [--until DATE] [--forget]"

COMMANDED, OF_FILE = "opt-outs", "opt-outs/file"


def wish_of(words: Sequence[str], now: float) -> OptOut:
    """Reads these words; it begins now unless they say otherwise.

    CommandError if they cannot be understood.
    """
    said, left, forget = dict[str, str](), list(words), False
    rules: list[str] = []
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in WITH_TEXT:
            if not (equals or left):
                raise CommandError(f"{name}: what? usage: exclude {USAGE}")
            said[name] = (value if equals else left.pop(0)).strip()[:LONGEST]
        elif name == FORGET and not equals:
            forget = True
        elif name.startswith("--"):
            raise CommandError(f"{name[:40]}: usage: exclude {USAGE}")
        else:
            rules.append(f"{name}{equals}{value}")
    if len(rules) != 1:
        raise CommandError(f"one rule at a time: usage: exclude {USAGE}")
    since, until = _date(said, SINCE) or now, _date(said, "--until")
    if until and until <= since:
        raise CommandError(f"--until {said['--until'][:40]}: over already")
    return OptOut(rules[0], since, said.get("--by", ""), said.get("--why", ""), until, forget)


def _date(said: Mapping[str, str], name: str) -> float:
    if not said.get(name):
        return 0.0
    try:
        return read_date(said[name], end=name == "--until")
    except ValueError as error:
        written = f"{name} {said[name][:40]}"
        raise CommandError(
            f"{written}: a date or time, such as 2027-01-31 or 2027-01-31T12:00Z"
        ) from error


def dated(words: Sequence[str], now: float) -> list[str]:
    """Return the words with the time of the order: whoever hears of it later keeps the same record."""
    return (
        [*words]
        if any(one.partition("=")[0] == SINCE for one in words)
        else [*words, SINCE, iso(now)]
    )


def renewed(old: OptOut, wish: OptOut, now: float) -> OptOut | None:
    """Return the record of a rule that is excluded once more, or None if the wish adds nothing to
    the old record.
    """
    says_more = bool(wish.by or wish.why or wish.until or wish.forget)
    if old.holds(now) and not says_more:
        return None
    since = old.since if old.holds(now) else wish.since
    return replace(
        wish,
        since=since,
        by=wish.by or old.by,
        why=wish.why or old.why,
        forget=wish.forget or old.forget,
    )


class State(Protocol):
    """A store of values by name: a crawl's state, open or as of its last checkpoint."""

    def get(self, name: str, /) -> bytes | None: ...


def saved_optouts(state: State, excluded: Sequence[str]) -> list[OptOut]:
    """Return all records as of the last checkpoint; `excluded`: the rules of `commands in force`."""
    return [*_commanded(state, excluded), *_unpacked(state.get(OF_FILE))]


def _commanded(state: State, excluded: Sequence[str]) -> list[OptOut]:
    """A version that has no records keeps rules alone: what it took back is gone, what it added is
    not dated.
    """
    saved = {one.rule: one for one in _unpacked(state.get(COMMANDED))}
    kept = [one for one in saved.values() if one.until or one.rule in excluded]
    return [*kept, *(OptOut(rule) for rule in excluded if rule not in saved)]


def _unpacked(data: bytes | None) -> list[OptOut]:
    return [] if data is None else unpacked(msgpack.unpackb(data))


class SavedOptOuts:
    """Those given by command, for whoever has them in force."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._saved = SavedValue(db, COMMANDED)

    def commanded(self, excluded: Sequence[str]) -> list[OptOut]:
        return _commanded(self._db, excluded)

    def save(self, records: Sequence[OptOut]) -> None:
        """Save these records with the checkpoint that is being taken."""
        self._saved.save(msgpack.packb([one.pack() for one in records]), is_empty=not records)


class FileOptOuts(Part):
    """Those of the exclusion file that is in force, a part of the checkpoint. A line that is gone
    has no record.

    `filters`: those in force now. A rule is dated when its line is read first, unless the line says
    more.
    """

    def __init__(self, db: CrawlDB, filters: Callable[[], Sequence[UrlFilter]]) -> None:
        self._filters = filters
        self._saved = SavedValue(db, OF_FILE)
        self._known: Sequence[OptOut] = _unpacked(self._saved.data)
        self._kept: Sequence[OptOut] = self._known  # as of the last checkpoint
        self._text: str | None = None  # not looked at
        db.join(self)

    def records(self) -> Sequence[OptOut]:
        """As of the last time that the crawl has read the file."""
        file = next((one for one in self._filters() if isinstance(one, ExclusionFilter)), None)
        text = file.text if file is not None else ""
        if text is not self._text:
            since = {one.rule: one.since for one in self._known}
            found = file.records() if file is not None else []
            now = file.read_at if file is not None else 0.0
            self._known = [
                one if one.since else replace(one, since=since.get(one.rule, now)) for one in found
            ]
            self._text = text
        return self._known

    # -- the checkpoint

    def save(self) -> None:
        records = self.records()
        if records is self._kept:
            return
        self._kept = records
        self._saved.save(msgpack.packb([one.pack() for one in records]), is_empty=not records)
