"""Asks robots.txt about a URL: the rules that the crawl keeps, which one decides, and on which line it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from webcrawl.base.dates import iso
from webcrawl.net.robots import LIMIT, parse, pattern_of, records
from webcrawl.net.robots_book import SCHEMES, RobotsBook, origin_of, robots_url
from webcrawl.net.robots_entry import FIELDS

ALLOWED, FORBIDDEN, UNKNOWN, UNREACHABLE, NONE, IGNORED = (
    "allowed",
    "forbidden",
    "not fetched yet",
    "unreachable",
    "no robots.txt",
    "ignored",
)


@dataclass(slots=True)
class RobotsVerdict:
    """`pattern` decides, if there is one; `line` is its line in the robots.txt of the archive, if that is there."""

    verdict: str
    origin: str = ""
    pattern: str = ""
    allows: bool = True
    fetched: float = 0.0  # when the rules in force were fetched, by the crawl's clock
    until: float = 0.0
    tries: int = 0  # that failed in a row
    crawl_delay: float = 0.0
    line: int = 0
    written: str = ""  # that line
    use: tuple[str, ...] = ()  # what the file says of the use of the page

    @property
    def rule(self) -> str:
        """The rule that decides, as it is written there if that is known."""
        if not self.pattern:
            return ""
        return self.written or f"{FIELDS[self.allows]}{self.pattern}"

    def to_json(self, wall: float) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "url": robots_url(self.origin) if self.origin else None,
            "rule": self.rule or None,
            "line": self.line or None,
            "fetched": iso(self.fetched + wall) if self.fetched else None,
            "valid_until": iso(self.until + wall) if self.until else None,
            "failed_tries": self.tries,
            "use": list(self.use),
            "crawl_delay": self.crawl_delay,
        }


def robots_verdict(book: RobotsBook, url: str) -> RobotsVerdict:
    """Return the verdict by the rules as of the last checkpoint, whether they are still valid or not."""
    if not url.startswith(SCHEMES):
        return RobotsVerdict(NONE)
    origin = origin_of(url)
    if url == robots_url(origin):
        return RobotsVerdict(ALLOWED, origin)
    entry = book.in_force(origin)
    if entry is None:
        return RobotsVerdict(UNKNOWN, origin)
    if entry.rules is None:
        return RobotsVerdict(UNREACHABLE, origin, until=entry.until, tries=entry.tries)
    rules = entry.rules
    pattern, allows = rules.deciding(url) or ("", True)
    found = RobotsVerdict(
        ALLOWED if allows else FORBIDDEN,
        origin,
        pattern,
        allows,
        entry.fetched or 0.0,
        entry.until,
        entry.tries,
        rules.crawl_delay,
    )
    if allows and rules.said is not None:
        found.use = (*map(str, rules.said.of(url)), *(f"license {one}" for one in rules.said.licenses))
    return found


ENDS = re.compile(rb"\r\n|\r|\n")
LONGEST = 200  # bytes of a line that are quoted
MARKS = (b"\xff\xfe", b"\xfe\xff")
NO_RULE = b"Disallow:"  # it ends the lines that say whose group this is, as any rule
MOST = 20  # lines that give a pattern, of which the first one that counts is looked for


def line_of(body: bytes, agent: str, pattern: str, *, allows: bool) -> tuple[int, str]:
    """Return the number of the first line of this crawler's that gives this pattern, and the line; 0 if none does.

    A line is the crawler's if the file has the rule with no other line that gives it.
    """
    body = body[:LIMIT]
    if body[:2] in MARKS:
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    lines = ENDS.split(body)
    giving = [place for place, line in enumerate(lines) if _gives(line, pattern, allows=allows)]
    for place in giving[:MOST]:
        alone = [NO_RULE if other in giving and other != place else line for other, line in enumerate(lines)]
        if (pattern, allows) in parse(b"\n".join(alone), agent).rules.items():
            return place + 1, lines[place].strip()[:LONGEST].decode("utf-8", "replace")
    return 0, ""


def _gives(line: bytes, pattern: str, *, allows: bool) -> bool:
    """Return whether a line brings this pattern: allowing /a/index.html allows /a/, too."""
    for kind, value in records(line):
        if kind != ("allow" if allows else "disallow"):
            continue
        given = pattern_of(value)
        folder, _, page = given.rpartition("/")
        if given == pattern or (allows and page.startswith("index.htm") and pattern == f"{folder}/$"):
            return True
    return False
