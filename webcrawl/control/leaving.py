"""`exclude` and `excluded`: owners' wishes to be left alone, by command (urls/optout.py has what is kept of them)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from webcrawl.control.errors import CommandError
from webcrawl.control.names import url_named
from webcrawl.control.row import Answer, Command
from webcrawl.text.dates import iso
from webcrawl.urls.filters.exclusion_rules import rules_of
from webcrawl.urls.optout import COMMAND, PROOF, OptOut, read_date
from webcrawl.urls.rules_file import RulesError

WITH_TEXT = ("--by", "--why", "--until", "--since")
FORGET, SINCE, IF_BY = "--forget", "--since", "--if-by"
MOST = 10_000  # records of an answer
LONGEST = 1000  # characters of a text
USAGE = "RULE [--by WHO] [--why TEXT] [--until DATE] [--forget]"
BACK = "RULE [--if-by WHO]"


class Lists(Protocol):
    """What has records, be it a crawl that runs or the state of one."""

    def excluded(self) -> Sequence[OptOut]:
        """All records, those of the exclusion file too."""


class Leaves(Lists, Protocol):
    """The part of a crawl that these commands need."""

    def exclude(self, wish: OptOut) -> bool:
        """Fetches nothing any more that its rule names; False if that is so already. May raise CommandError."""

    def include(self, rule: str) -> None:
        """Takes such a rule back. May raise CommandError."""


def exclude(crawl: Leaves, *words: str) -> Answer:
    words, who = _conditional(words)
    now = time.time()
    wish = wish_of(words, now)
    _check_made_by(crawl, wish.rule, who, wish.since)
    if not crawl.exclude(wish):
        return f"{wish.rule} is excluded already"
    until = f" until {iso(wish.until, fraction=False)}" if wish.until else ""
    holds = "is" if wish.holds(now) else "was"
    return f"{wish.rule} {holds} excluded{until}{'; outputs made later leave it out' if wish.forget else ''}"


def check_exclude(*words: str) -> None:
    try:
        rules_of([wish_of(_conditional(words)[0], time.time())])
    except RulesError as error:
        raise CommandError(str(error)) from error


def _conditional(words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The words without `--if-by WHO`, and WHO: of others the record must not be. Raises CommandError.

    Whoever looks first and orders then cannot know what is ordered in between; here nothing is.
    """
    if IF_BY not in words:
        return tuple(words), ""
    at = words.index(IF_BY)
    if at + 1 == len(words):
        raise CommandError(f"{IF_BY}: who?")
    return (*words[:at], *words[at + 2 :]), words[at + 1]


def _check_made_by(crawl: Lists, rule: str, who: str, now: float) -> None:
    """CommandError if there is a command of this rule by somebody whose name does not begin so."""
    for one in crawl.excluded() if who else ():
        if (one.rule, one.source) == (rule, COMMAND) and one.holds(now) and not one.by.startswith(who):
            raise CommandError(f"{rule} is excluded by somebody else: {one.details or 'nobody has said by whom'}")


def wish_of(words: Sequence[str], now: float) -> OptOut:
    """What these words say; it begins now unless they say otherwise. CommandError if they cannot be understood."""
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
    """What becomes of a record when its rule is excluded once more; None if nothing is said that it does not have.

    What an owner has proven becomes the record of whoever runs the crawl: no proof is to take that back.
    """
    is_new = old.by.startswith(PROOF) and not wish.by.startswith(PROOF)
    if old.holds(now) and not is_new and not (wish.by or wish.why or wish.until or wish.forget):
        return None
    since, by = old.since if old.holds(now) else wish.since, wish.by or ("" if is_new else old.by)
    return replace(wish, since=since, by=by, why=wish.why or old.why, forget=wish.forget or old.forget)


def include(crawl: Leaves, *words: str) -> Answer:
    (rule,), who = _conditional(words)
    _check_made_by(crawl, rule, who, time.time())
    crawl.include(rule)
    return f"{rule} is no longer excluded; what was dropped meanwhile does not come back"


def check_include(*words: str) -> None:
    if len(_conditional(words)[0]) != 1:
        raise CommandError(f"one rule at a time: usage: include {BACK}")


def excluded(crawl: Lists, word: str = "") -> Answer:
    """All records, or those that name this host or URL."""
    url, now = url_named(word) if word else "", time.time()
    found = [one for one in crawl.excluded() if not url or rules_of([one]).excludes(url)]
    return {"records": len(found), "excluded": [one.to_json(now) for one in found[:MOST]]}


def check_excluded(word: str = "") -> None:
    if word:
        url_named(word)


ROWS = (
    Command("exclude", exclude, USAGE, "fetch nothing of a domain or prefix any more", 1, 12, True, check_exclude),
    Command("include", include, BACK, "take an exclude back", 1, 3, True, check_include),
    Command("excluded", excluded, "[NAME|URL]", "who is left alone, since when and why", 0, 1, check=check_excluded),
)
