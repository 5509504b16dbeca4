"""The counters of stats.json for what a crawl left out, and the words for the rules by which it did.

To count something more, give it a row in `RULES`. Its counter has to be among the crawl's figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from webcrawl.base.model import FAILURES, Status
from webcrawl.base.readable import count

FILTERED = "refused/"  # before the name of a URL filter, or of a reason for which a link is no URL
DROPPED = "frontier/dropped/"  # before a Status


class Stage(StrEnum):
    """When something is left out, in the words of the report."""

    FILTER = "a URL filter"
    TURN = "when its turn came"
    READING = "reading the page"
    COPY = "reading a copy"


NOUNS = {  # a page's link counts on every page that has it, a queued URL once
    Stage.FILTER: "link",
    Stage.TURN: "URL",
    Stage.READING: "link",
    Stage.COPY: "page",
}


class Rule(NamedTuple):
    """A rule by which links or URLs are left out."""

    words: str
    stage: Stage
    is_expected: bool = False  # every crawl leaves such links out, or its operator has asked for just that


class LeftOut(NamedTuple):
    """A rule, and how many links or URLs it left out."""

    number: int
    rule: Rule


INVALID = Rule("not valid URLs", Stage.FILTER)
RULES = {
    f"{FILTERED}scheme": Rule("other schemes than URL_SCHEMES", Stage.FILTER, is_expected=True),
    f"{FILTERED}scope": Rule("outside the scope", Stage.FILTER, is_expected=True),
    f"{DROPPED}{Status.OUT_OF_SCOPE}": Rule("outside the scope", Stage.TURN, is_expected=True),
    f"{FILTERED}syntax": INVALID,
    f"{FILTERED}host": INVALID,
    f"{FILTERED}encoding": INVALID,
    f"{FILTERED}length": Rule("URL_MAX_LENGTH", Stage.FILTER),
    f"{FILTERED}depth": Rule("URL_MAX_DEPTH", Stage.FILTER),
    f"{FILTERED}port": Rule("ports that PORTS_ALLOWED does not open", Stage.FILTER),
    f"{FILTERED}extension": Rule("URL_EXCLUDE_EXTENSIONS", Stage.FILTER),
    f"{FILTERED}expression": Rule("URL_INCLUDE and URL_EXCLUDE", Stage.FILTER),
    f"{FILTERED}excluded": Rule("URL_EXCLUDE_FILE and opt-outs", Stage.FILTER),
    f"{FILTERED}commanded": Rule("excluded by command", Stage.FILTER),
    f"{FILTERED}known_path": Rule("known_path: logins, forms, other views of the same pages", Stage.FILTER),
    f"{FILTERED}trap_calendar": Rule("trap_calendar: more than TRAP_MAX_PAGES of an endless calendar", Stage.FILTER),
    f"{FILTERED}trap_family": Rule("trap_family: more than TRAP_MAX_PAGES of an endless family", Stage.FILTER),
    f"{FILTERED}trap_growth": Rule("trap_growth: paths that keep growing", Stage.FILTER),
    f"{FILTERED}trap_repeats": Rule("trap_repeats: repeated path segments", Stage.FILTER),
    f"{DROPPED}{Status.ROBOTS_FORBIDDEN}": Rule("forbidden by robots.txt", Stage.TURN),
    f"{DROPPED}{Status.EXCLUDED}": Rule("excluded after they were queued", Stage.TURN),
    f"{DROPPED}{Status.DROPPED}": Rule("dropped with their hosts by command", Stage.TURN),
    f"{DROPPED}{Status.HOST_BUDGET}": Rule("HOST_MAX_PAGES, or more than a host's sitemaps may bring", Stage.TURN),
    f"{DROPPED}{Status.REFUSED}": Rule("a class of FEATURES", Stage.TURN),
    "links/cut": Rule("too many links, or bytes of links, on a page", Stage.READING),
    "copies/elsewhere": Rule("the links of copies of another host's pages: CONTENT_SEEN", Stage.COPY),
    "copies/nested": Rule("the links of copies in ever more folders: CONTENT_SEEN", Stage.COPY),
    "sitemaps/cut": Rule("sitemaps with more than their hosts may bring", Stage.READING),
}
UNANSWERED = frozenset(f"{DROPPED}{status:d}" for status in (*FAILURES, Status.NO_METHOD))  # failed, or lost


def left_out(figures: Mapping[str, Any]) -> list[LeftOut]:
    """Return what was left out over all runs, the largest number first; `figures` are those of stats.json."""
    numbers: dict[Rule, int] = {}
    for counter, number in figures.items():
        if number and (rule := _rule(counter)):
            numbers[rule] = numbers.get(rule, 0) + int(number)
    return sorted((LeftOut(number, rule) for rule, number in numbers.items()), key=_largest_first)


def in_words(figures: Mapping[str, Any]) -> str:
    """Return what a user may not expect to be left out, as a list in words; empty if there is nothing."""
    unexpected = [found for found in left_out(figures) if not found.rule.is_expected]
    return ", ".join(f"{count(number, NOUNS[rule.stage])} ({rule.words})" for number, rule in unexpected)


def _rule(counter: str) -> Rule | None:
    """Return the rule that a counter belongs to, which may be a filter of the user's own."""
    if rule := RULES.get(counter):
        return rule
    if counter.startswith(FILTERED):
        return Rule(f"the filter {counter.removeprefix(FILTERED)}", Stage.FILTER)
    if counter.startswith(DROPPED) and counter not in UNANSWERED:
        return Rule(f"status {counter.removeprefix(DROPPED)}", Stage.TURN)
    return None


def _largest_first(found: LeftOut) -> tuple[int, str]:
    return -found.number, found.rule.words
