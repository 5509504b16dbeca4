"""What robots.txt says of a URL: the rules that the crawl keeps, and which one decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webcrawl.net.robots import agent_of
from webcrawl.net.robots_book import SCHEMES, origin_of, robots_url
from webcrawl.net.robots_entry import KEEP
from webcrawl.net.robots_packed import FIELDS, split, unpack
from webcrawl.store import rowcrc
from webcrawl.text.dates import iso
from webcrawl.verify.snapshot import Snapshot

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
