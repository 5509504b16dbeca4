"""Owners' wishes to be left alone: as words of a command, and as records in the crawl's state.

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

FORGET, SINCE, UNTIL = "--forget", "--since", "--until"
WITH_TEXT = ("--by", "--reason", UNTIL, SINCE)
LONGEST_TEXT = 1000  # characters of a text
USAGE = "RULE [--by WHO] [--reason TEXT] [--until DATE] [--forget]"

COMMANDED, OF_FILE = "opt-outs", "opt-outs/file"


def wish_of(words: Sequence[str], now: float) -> OptOut:
    """Return the wish in these words; it begins now unless they say otherwise.

    Raise CommandError if they cannot be understood.
    """
    rules, options = _parsed(words)
    if len(rules) != 1:
        raise CommandError(f"give exactly one rule; usage: exclude {USAGE}")
    since = _date(options, SINCE) or now
    until = _date(options, UNTIL)
    if until and until <= since:
        raise CommandError(f"{UNTIL} {options[UNTIL][:40]}: is in the past")
    return OptOut(
        rules[0],
        since,
        by=options.get("--by", ""),
        why=options.get("--reason", ""),
        until=until,
        forget=FORGET in options,
    )


def _parsed(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the rules and the options: both `--name=text` and `--name text` are understood."""
    rules: list[str] = []
    options: dict[str, str] = {}
    words_left = list(words)
    while words_left:
        word = words_left.pop(0)
        name, equals, value = word.partition("=")
        if name in WITH_TEXT:
            if not (equals or words_left):
                raise CommandError(f"{name} needs a value; usage: exclude {USAGE}")
            text = value if equals else words_left.pop(0)
            options[name] = text.strip()[:LONGEST_TEXT]
        elif word == FORGET:
            options[FORGET] = ""
        elif name.startswith("--"):
            raise CommandError(f"{name[:40]}: unknown option; usage: exclude {USAGE}")
        else:
            rules.append(word)
    return rules, options


def _date(fields: Mapping[str, str], name: str) -> float:
    """Return the time in a field of a rule, 0 without one. Raise CommandError if it is no date."""
    if not fields.get(name):
        return 0.0
    try:
        return read_date(fields[name], end=name == UNTIL)
    except ValueError as error:
        written = f"{name} {fields[name][:40]}"
        raise CommandError(
            f"{written}: must be a date or time, such as 2027-01-31 or 2027-01-31T12:00Z"
        ) from error


def dated(words: Sequence[str], now: float) -> list[str]:
    """Return the words with the time of the order, so that all drones keep the same record."""
    has_time = any(word.partition("=")[0] == SINCE for word in words)
    return [*words] if has_time else [*words, SINCE, iso(now)]


def renewed(old: OptOut, wish: OptOut, now: float) -> OptOut | None:
    """Return the record of a rule that is excluded once more, or None if the wish adds nothing."""
    # The time of the first order stays as long as the rule has held since.
    still_holds = old.holds(now)
    if still_holds and not says_more(wish):
        return None
    return replace(
        wish,
        since=old.since if still_holds else wish.since,
        by=wish.by or old.by,
        why=wish.why or old.why,
        forget=wish.forget or old.forget,
    )


def says_more(wish: OptOut) -> bool:
    """Return whether a wish says more than its rule and the time when it was made."""
    return bool(wish.by or wish.why or wish.until or wish.forget)


class ValueStore(Protocol):
    """A store of values by name: a crawl's state, open or as of its last checkpoint."""

    def get(self, name: str, /) -> bytes | None: ...


def saved_optouts(state: ValueStore, excluded: Sequence[str]) -> list[OptOut]:
    """Return all opt-out records as of the last checkpoint.

    `excluded` holds the rules from `commands in force`.
    """
    return [*_commanded(state, excluded), *_unpacked(state.get(OF_FILE))]


def _commanded(state: ValueStore, excluded: Sequence[str]) -> list[OptOut]:
    """Return records of commands, in the light of a run by a version that has no records.

    Rules that it took back are gone, and those that it added are not dated.
    """
    saved = {one.rule: one for one in _unpacked(state.get(COMMANDED))}
    # `excluded` has no rule whose time is over, although its record stays.
    kept = [one for one in saved.values() if one.until or one.rule in excluded]
    undated = [OptOut(rule) for rule in excluded if rule not in saved]
    return [*kept, *undated]


def _unpacked(data: bytes | None) -> list[OptOut]:
    """Return saved records; none of None, which is what a crawl without any has."""
    return [] if data is None else unpacked(msgpack.unpackb(data))


class SavedOptOuts:
    """The opt-outs given by command, as they are saved."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._saved = SavedValue(db, COMMANDED)

    def commanded(self, excluded: Sequence[str]) -> list[OptOut]:
        return _commanded(self._db, excluded)

    def save(self, records: Sequence[OptOut]) -> None:
        """Save these records with the checkpoint that is being taken."""
        self._saved.save(msgpack.packb([one.pack() for one in records]), is_empty=not records)


class FileOptOuts(Part):
    """The opt-outs of the exclusion file in force, a part of the checkpoint.

    A line that is gone has no record. `filters`: those in force now. A rule is dated when its line
    is read first, unless the line has a date.
    """

    def __init__(self, db: CrawlDB, filters: Callable[[], Sequence[UrlFilter]]) -> None:
        self._filters = filters
        self._saved = SavedValue(db, OF_FILE)
        # of the file as it was read last; until then, as of the last checkpoint
        self._known: Sequence[OptOut] = _unpacked(self._saved.data)
        self._kept: Sequence[OptOut] = self._known  # as of the last checkpoint
        self._text: str | None = None  # of the file whose records `_known` has; None: not looked at
        db.join(self)

    def records(self) -> Sequence[OptOut]:
        """Return the records as of the last time that the crawl has read the file."""
        file = next((one for one in self._filters() if isinstance(one, ExclusionFilter)), None)
        text = file.text if file is not None else ""
        # By identity: the filter has another text only after it has read the file again.
        if text is self._text:
            return self._known
        self._known = self._dated(file) if file is not None else []
        self._text = text
        return self._known

    def _dated(self, file: ExclusionFilter) -> list[OptOut]:
        """Return the records of a file; a rule without a date keeps that of its earlier record."""
        since = {record.rule: record.since for record in self._known}
        dated = []
        for record in file.records():
            first_read = since.get(record.rule, file.read_at)
            dated.append(record if record.since else replace(record, since=first_read))
        return dated

    def has_changed(self) -> bool:
        """Return whether the file says something else than at the last checkpoint."""
        return list(self.records()) != list(self._kept)

    # -- the checkpoint

    def save(self) -> None:
        records = self.records()
        if records is self._kept:
            return
        self._kept = records
        self._saved.save(msgpack.packb([one.pack() for one in records]), is_empty=not records)
