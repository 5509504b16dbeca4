"""Asks robots.txt about a URL: the rules that the crawl keeps, which one decides, and on which line it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webcrawl.base.dates import iso
from webcrawl.net.robots import LIMIT, agent_of, pattern_of, records
from webcrawl.net.robots_book import SCHEMES, origin_of, robots_url
from webcrawl.net.robots_entry import FIELDS, KEEP, split, unpack
from webcrawl.store import rowcrc
from webcrawl.store.jobdir.snapshot import Snapshot

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


def robots_verdict(snapshot: Snapshot, url: str, values: Mapping[str, Any]) -> RobotsVerdict:
    """By the rules as of the last checkpoint, whether they are still valid or not."""
    if not values["ROBOTSTXT_OBEY"]:
        return RobotsVerdict(IGNORED)
    if not url.startswith(SCHEMES):
        return RobotsVerdict(NONE)
    origin = origin_of(url)
    if url == robots_url(origin):
        return RobotsVerdict(ALLOWED, origin)
    for row in snapshot.rows("SELECT origin, until, rules, crc FROM robots WHERE origin = ?", (origin,)):
        if not rowcrc.agrees(rowcrc.robots, row):
            raise snapshot.damaged(f"table robots, {origin}: checksum")
        try:
            away, packed, _ = split(row[2])
        except ValueError as error:
            raise snapshot.damaged(f"table robots, {origin}: {error}") from error
        rules = unpack(packed, agent_of(values)) if packed is not None else None
        tries = away.tries if away is not None else 0
        if rules is None:
            verdict = UNREACHABLE if away is not None else UNKNOWN
            return RobotsVerdict(verdict, origin, until=row[1], tries=tries)
        fetched = row[1] - KEEP if away is None else 0.0
        pattern, allows = rules.deciding(url) or ("", True)
        verdict = ALLOWED if allows else FORBIDDEN
        found = RobotsVerdict(verdict, origin, pattern, allows, fetched, row[1], tries, rules.crawl_delay)
        if allows and rules.said is not None:
            found.use = (*map(str, rules.said.of(url)), *(f"license {one}" for one in rules.said.licenses))
        return found
    return RobotsVerdict(UNKNOWN, origin)


ENDS = re.compile(rb"\r\n|\r|\n")
TOKEN = re.compile(rb"[A-Za-z_-]*")
LONGEST = 200  # bytes of a line that are quoted
MARKS = (b"\xff\xfe", b"\xfe\xff")


def line_of(body: bytes, agent: str, pattern: str, *, allows: bool) -> tuple[int, str]:
    """The number of the first line in this crawler's group that gives this pattern, and the line; 0 if none does."""
    lines = list(_records(body[:LIMIT]))
    token = agent.lower().encode()
    ours = any(kind == "user-agent" and _is_ours(value, token) for _, kind, value, _ in lines)
    within = closed = False
    for number, kind, value, line in lines:
        if kind == "user-agent":
            if closed:
                within = closed = False
            within = within or (_is_ours(value, token) if ours else value[:1] == b"*" and not value[1:2].strip())
        elif kind in ("allow", "disallow"):
            closed = True
            if within and (kind == "allow") is allows and _gives(pattern_of(value), pattern, allows=allows):
                return number, line.strip()[:LONGEST].decode("utf-8", "replace")
    return 0, ""


def _records(body: bytes) -> Iterator[tuple[int, str, bytes, bytes]]:
    if body[:2] in MARKS:
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    for number, line in enumerate(ENDS.split(body), 1):
        for kind, value in records(line):
            yield number, kind, value, line


def _is_ours(value: bytes, token: bytes) -> bool:
    match = TOKEN.match(value)
    return bool(token) and match is not None and match[0].lower() == token


def _gives(given: str, pattern: str, *, allows: bool) -> bool:
    """True if a rule brings this pattern: allowing /a/index.html allows /a/, too."""
    if given == pattern:
        return True
    folder, _, page = given.rpartition("/")
    return allows and page.startswith("index.htm") and pattern == f"{folder}/$"
