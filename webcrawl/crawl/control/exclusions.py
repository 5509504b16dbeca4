"""`exclude` and `excluded`: owners' wishes to be left alone, by command, and their records in the crawl's state.

The state has those given by command and those of the exclusion file; urls/exclusion_rules.py says what is kept of each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import msgpack

from webcrawl.base.dates import iso
from webcrawl.base.errors import RulesError
from webcrawl.crawl.control.command import Answer, Command, CommandError, url_named
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.urls.canonical import canonical
from webcrawl.urls.exclusion_rules import OptOut, read_date, refuse_star, rules_of, unpacked, without_comment
from webcrawl.urls.filters.exclusion import ExclusionFilter
from webcrawl.urls.filters.filter_protocol import UrlFilter

WITH_TEXT = ("--by", "--why", "--until", "--since")
FORGET, SINCE = "--forget", "--since"
MOST = 10_000  # records of an answer
LONGEST = 1000  # characters of a text
USAGE = "RULE [--by WHO] [--why TEXT] [--until DATE] [--forget]"

COMMANDED, OF_FILE = "opt-outs", "opt-outs/file"


class Lists(Protocol):
    """A holder of records, be it a crawl that runs or the state of one."""

    def excluded(self) -> Sequence[OptOut]:
        """All records, those of the exclusion file too."""


class Leaves(Lists, Protocol):
    """The part of a crawl that these commands need."""

    def exclude(self, wish: OptOut) -> bool:
        """Fetches nothing any more that its rule names; False if that is so already. May raise CommandError."""

    def include(self, rule: str) -> None:
        """Takes such a rule back. May raise CommandError."""


def exclude(crawl: Leaves, *words: str) -> Answer:
    now = time.time()
    wish = wish_of(words, now)
    if not crawl.exclude(wish):
        return f"{wish.rule} is excluded already"
    until = f" until {iso(wish.until, fraction=False)}" if wish.until else ""
    holds = "is" if wish.holds(now) else "was"
    return f"{wish.rule} {holds} excluded{until}{'; outputs made later leave it out' if wish.forget else ''}"


def check_exclude(*words: str) -> None:
    try:
        wish = wish_of(words, time.time())
        rules_of([wish])
        refuse_star(wish.rule, f"exclude: {wish.rule[:80]!r}")
    except RulesError as error:
        raise CommandError(str(error)) from error


def wish_of(words: Sequence[str], now: float) -> OptOut:
    """Reads these words; it begins now unless they say otherwise. CommandError if they cannot be understood."""
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
        raise CommandError(f"{written}: a date or time, such as 2027-01-31 or 2027-01-31T12:00Z") from error


def dated(words: Sequence[str], now: float) -> list[str]:
    """The words with the time of the order: whoever hears of it later keeps the same record."""
    return [*words] if any(one.partition("=")[0] == SINCE for one in words) else [*words, SINCE, iso(now)]


def renewed(old: OptOut, wish: OptOut, now: float) -> OptOut | None:
    """Return the record of a rule that is excluded once more, or None if the wish adds nothing to the old record."""
    if old.holds(now) and not (wish.by or wish.why or wish.until or wish.forget):
        return None
    since = old.since if old.holds(now) else wish.since
    return replace(
        wish,
        since=since,
        by=wish.by or old.by,
        why=wish.why or old.why,
        forget=wish.forget or old.forget,
    )


def include(crawl: Leaves, rule: str) -> Answer:
    crawl.include(rule)
    others = rules_of(crawl.excluded(), time.time()).excludes(_first_url(rule))
    still = f"; another record still names it: excluded {rule}" if others else ""
    return f"the exclusion of {rule} is taken back; what was dropped meanwhile does not come back{still}"


def _first_url(rule: str) -> str:
    """The first of the URLs that a rule names."""
    rule = without_comment(rule)
    return canonical(rule if "://" in rule else f"http://{rule.removeprefix('*').removeprefix('.')}")


def excluded(crawl: Lists, word: str = "") -> Answer:
    """All records, or those that name this host or URL."""
    url, now = url_named(word) if word else "", time.time()
    found = [one for one in crawl.excluded() if not url or rules_of([one]).excludes(url)]
    return {"records": len(found), "excluded": [one.to_json(now) for one in found[:MOST]]}


def check_excluded(word: str = "") -> None:
    if word:
        url_named(word)


ROWS = (
    Command("exclude", exclude, USAGE, "fetch nothing of a domain or prefix any more", 1, 10, True, check_exclude),
    Command("include", include, "RULE", "take an exclude back", 1, 1, True),
    Command("excluded", excluded, "[NAME|URL]", "who is left alone, since when and why", 0, 1, check=check_excluded),
)


class State(Protocol):
    """A store of values by name: a crawl's state, open or as of its last checkpoint."""

    def get(self, name: str, /) -> bytes | None: ...


def saved_optouts(state: State, excluded: Sequence[str]) -> list[OptOut]:
    """All records as of the last checkpoint; `excluded`: the rules of `commands in force`."""
    return [*_commanded(state, excluded), *_unpacked(state.get(OF_FILE))]


def _commanded(state: State, excluded: Sequence[str]) -> list[OptOut]:
    """A version that has no records keeps rules alone: what it took back is gone, what it added is not dated."""
    saved = {one.rule: one for one in _unpacked(state.get(COMMANDED))}
    kept = [one for one in saved.values() if one.until or one.rule in excluded]
    return [*kept, *(OptOut(rule) for rule in excluded if rule not in saved)]


def _unpacked(data: bytes | None) -> list[OptOut]:
    return [] if data is None else unpacked(msgpack.unpackb(data))


class SavedOptOuts:
    """Those given by command, for whoever has them in force."""

    def __init__(self, db: CrawlDB) -> None:
        self._db, self._saved = db, db.get(COMMANDED)

    def commanded(self, excluded: Sequence[str]) -> list[OptOut]:
        return _commanded(self._db, excluded)

    def save(self, records: Sequence[OptOut]) -> None:
        """With the checkpoint that is being taken."""
        data = bytes(msgpack.packb([one.pack() for one in records]))
        if data != self._saved and (records or self._saved is not None):
            self._db.set(COMMANDED, data)
            self._saved = data


class FileOptOuts(Part):
    """Those of the exclusion file that is in force, a part of the checkpoint. A line that is gone has no record.

    `filters`: those in force now. A rule is dated when its line is read first, unless the line says more.
    """

    def __init__(self, db: CrawlDB, filters: Callable[[], Sequence[UrlFilter]]) -> None:
        self._db, self._filters = db, filters
        self._saved = db.get(OF_FILE)
        self._known: Sequence[OptOut] = _unpacked(self._saved)
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
            self._known = [one if one.since else replace(one, since=since.get(one.rule, now)) for one in found]
            self._text = text
        return self._known

    # -- the checkpoint

    def save(self) -> None:
        records = self.records()
        if records is self._kept:
            return
        self._kept = records
        data = bytes(msgpack.packb([one.pack() for one in records]))
        if data != self._saved and (records or self._saved is not None):
            self._db.set(OF_FILE, data)
            self._saved = data
