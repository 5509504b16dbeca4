"""All that was found out about one URL, and the rule and line of robots.txt that decide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from webcrawl.base.dates import iso
from webcrawl.base.model import Link, unpack
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.score_book import NOTE
from webcrawl.frontier.host_facts import DomainFacts, HostFacts
from webcrawl.frontier.prioritizers.focus import ByFocus
from webcrawl.frontier.wait_words import FAILURE, RETRY_AFTER, WALL
from webcrawl.net.robots import LIMIT, parse, pattern_of, records
from webcrawl.net.robots_book import SCHEMES, RobotsBook, origin_of, robots_url
from webcrawl.net.robots_entry import FIELDS
from webcrawl.store.jobdir.crawl_line import CrawlLine
from webcrawl.store.jobdir.index_line import IndexLine
from webcrawl.tools.why.noted_links import LinkingPage, LinkLeftForLater
from webcrawl.tools.why.places import QueuePlace, SubmittedLink, WaitingRevisit
from webcrawl.tools.why.url_rules import CanonicalForm, FilterVerdict


class RobotsState(StrEnum):
    """What the robots.txt of an origin says of a URL."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNKNOWN = "not fetched yet"
    UNREACHABLE = "unreachable"
    NONE = "no robots.txt"
    IGNORED = "ignored"


@dataclass(slots=True)
class RobotsVerdict:
    """What a robots.txt says of a URL. `pattern` decides; `line`: where the archive has it."""

    verdict: RobotsState
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
        """Return the rule that decides, as it is written there if that is known."""
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
    """Return the verdict by the rules of the last checkpoint, still valid or not."""
    if not url.startswith(SCHEMES):
        return RobotsVerdict(RobotsState.NONE)
    origin = origin_of(url)
    if url == robots_url(origin):
        return RobotsVerdict(RobotsState.ALLOWED, origin)
    entry = book.in_force(origin)
    if entry is None:
        return RobotsVerdict(RobotsState.UNKNOWN, origin)
    if entry.rules is None:
        return RobotsVerdict(RobotsState.UNREACHABLE, origin, until=entry.until, tries=entry.tries)
    rules = entry.rules
    pattern, allows = rules.deciding(url) or ("", True)
    found = RobotsVerdict(
        RobotsState.ALLOWED if allows else RobotsState.FORBIDDEN,
        origin,
        pattern,
        allows,
        entry.fetched or 0.0,
        entry.until,
        entry.tries,
        rules.crawl_delay,
    )
    if allows and rules.said is not None:
        words = map(str, rules.said.of(url))
        licenses = [f"license {one}" for one in rules.said.licenses]
        found.use = (*words, *licenses)
    return found


ENDS = re.compile(rb"\r\n|\r|\n")
LONGEST = 200  # bytes of a line that are quoted
MARKS = (b"\xff\xfe", b"\xfe\xff")
NO_RULE = b"Disallow:"  # it ends the lines that say whose group this is, as any rule
MOST = 20  # lines that give a pattern, of which the first one that counts is looked for


def line_of(body: bytes, agent: str, pattern: str, *, allows: bool) -> tuple[int, str]:
    """Return the first of this crawler's lines that gives the pattern, by number; 0 if none.

    A line is the crawler's if the file has the rule with no other line that gives it.
    """
    body = body[:LIMIT]
    if body[:2] in MARKS:
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    lines = ENDS.split(body)
    giving = [place for place, line in enumerate(lines) if _gives(line, pattern, allows=allows)]
    without_pattern = list(lines)
    for place in giving:
        without_pattern[place] = NO_RULE
    for place in giving[:MOST]:
        alone = list(without_pattern)
        alone[place] = lines[place]
        if (pattern, allows) in parse(b"\n".join(alone), agent).rules.items():
            return place + 1, lines[place].strip()[:LONGEST].decode("utf-8", "replace")
    return 0, ""


def _gives(line: bytes, pattern: str, *, allows: bool) -> bool:
    """Return whether a line brings this pattern: allowing /a/index.html allows /a/, too."""
    wanted = "allow" if allows else "disallow"
    for kind, value in records(line):
        if kind != wanted:
            continue
        given = pattern_of(value)
        folder, _, page = given.rpartition("/")
        # As the crawl reads it (net/robots.py), and Google and Protego do.
        is_of_folder = allows and page.startswith("index.htm") and pattern == f"{folder}/$"
        if given == pattern or is_of_folder:
            return True
    return False


SLOWED = 1.001  # times the usual wait; what is below it is a difference of rounding
OF_FAILURES = (FAILURE, RETRY_AFTER, WALL)  # rules by which a host is left alone that is not well


class HostPace(NamedTuple):
    """The seconds between two requests to a host, and what makes them so many, in words."""

    seconds: float
    because: str


def pace_of(
    host: HostFacts, values: CheckedSettings, live: Mapping[str, Any] | None = None
) -> HostPace:
    """Return the pace of a host.

    `live`: what a running crawl says: it alone knows which hosts it slows down.
    """
    usual = host.delay.seconds
    said = live or {}
    now = float(said.get("wait", 0.0))
    is_slowed = said.get("rule") not in OF_FAILURES and now > SLOWED * usual
    if is_slowed:
        return HostPace(now, "slowed down, because it answers more slowly than before")
    return HostPace(usual, _because(host, usual, values))


def _because(host: HostFacts, usual: float, values: CheckedSettings) -> str:
    if host.delay.is_crawl_delay:
        longest = values["CRAWL_DELAY_MAX"]
        said = f"the Crawl-delay of its robots.txt is {host.crawl_delay:g}"
        if longest < host.crawl_delay:
            said += f", limited by CRAWL_DELAY_MAX = {longest:g}"
        return said
    for setting in ("POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"):
        if usual == values[setting]:
            return f"{setting} = {usual:g}"
    policy = values["POLITENESS_POLICY"].rpartition(".")[2]
    if not host.downloads:
        return f"{policy}: the host is new"
    factor = values["POLITENESS_FACTOR"]
    return f"{policy}: its last download took {host.downloads[-1]:.2f} s, POLITENESS_FACTOR = {factor:g}"


@dataclass(frozen=True, slots=True)
class UrlScores:
    """The scores of a URL. `worth` decides when it is chosen; `site` is of `site_pages` pages."""

    score: float | None
    worth: float | None = None
    site: float | None = None
    site_pages: int = 0


def scores_of(
    url: str, lines: Sequence[CrawlLine], focus: ByFocus | None, *, waits: bool
) -> UrlScores | None:
    """Return a URL's scores; `lines`: its ends in crawl.log; `waits`: it is in a queue."""
    score = _noted(lines[-1]) if lines else None
    if focus is None:
        return None if score is None else UrlScores(score)
    mean, pages = focus.history(url)
    return UrlScores(score, round(focus.worth(url), 4) if waits else None, round(mean, 4), pages)


def _noted(line: CrawlLine) -> float | None:
    noted = next((one.removeprefix(NOTE) for one in line.annotations if one.startswith(NOTE)), "")
    try:
        return float(noted)
    except ValueError:  # there is none, or the line is damaged
        return None


@dataclass(slots=True)
class UrlFacts:
    """All facts about a URL. Without a canonical form there is nothing but `form`."""

    asked: str
    form: CanonicalForm
    filters: list[FilterVerdict] = field(default_factory=list)
    known: str = ""  # where its fingerprint was found
    waiting: SubmittedLink | None = None
    large_page: str = ""  # whose links enter the crawl later, this one among them
    place: QueuePlace | None = None
    lines: list[CrawlLine] = field(default_factory=list)
    skipped: list[tuple[str, str, str]] = field(default_factory=list)  # time, reason, page
    setting: str = ""  # that says what the filter leaves out which did so
    all_links: bool = False  # all links of all pages were looked at
    linked: LinkingPage | None = None  # a page that links to it
    entries: list[IndexLine] = field(default_factory=list)
    robots: RobotsVerdict | None = None
    domain: DomainFacts | None = None
    host: HostFacts | None = None
    pace: HostPace | None = None  # of its host
    networks: Sequence[str] = ()  # PRIVATE_NETWORKS_ALLOWED
    rendering: str = ""  # what a browser has shown of its host
    ahead: float = 0.0  # what the machine's clock shows beyond the crawl's
    live: Mapping[str, Any] | None = None  # what the running crawl said
    looked: list[str] = field(default_factory=list)  # what was not looked through, and how far
    redirect: str = ""  # where its answer leads
    # of one to be tried again: status of its last answer, and why that was cut
    last_try: tuple[int, str] = (0, "")
    again: bool = False  # pages are fetched again in this crawl
    follows: bool = True  # links that are found are crawled, and not left for a later segment
    later: LinkLeftForLater | None = None  # it is left for one
    scores: UrlScores | None = None  # of a page, or for one that waits
    turn: WaitingRevisit | None = None  # its record, if it waits to be fetched again and was found

    @property
    def url(self) -> str:
        return self.form.url

    @property
    def line(self) -> CrawlLine | None:
        """Return the last line of the log."""
        return self.lines[-1] if self.lines else None

    @property
    def link(self) -> Link | None:
        """Return the link in a queue, or on its way there."""
        if self.place is not None:
            return unpack(self.place.record)
        # A record is empty where a link is only to be marked as seen.
        for found in (self.waiting, self.later):
            if found is not None and found.record:
                return unpack(found.record)
        return None

    @property
    def in_flight(self) -> bool:
        """Return whether it is being fetched right now, as only a running crawl knows."""
        return self.live is not None and bool(self.live.get("in_flight"))

    @property
    def is_known(self) -> bool:
        """Return whether it would be known, and not new, if it were found again."""
        if self.known or self.waiting or self.place or self.lines:
            return True
        return self.live is not None and bool(self.live.get("known"))

    def found_on(self) -> dict[str, Any] | None:
        """Return the page that it was found on, as far as anything says so."""
        link = self.link
        if link is not None:
            return {
                "via": link.via or None,
                "seed": link.seed or None,
                "path": link.hops,
                "depth": link.depth,
            }
        if self.line is not None:
            one = self.lines[0]
            depth = len(one.path.replace("R", "").replace("P", ""))
            return {
                "via": one.via or None,
                "seed": one.seed or None,
                "path": one.path,
                "depth": depth,
            }
        if self.large_page:
            return {"via": self.large_page}
        if self.linked is not None:
            return {"via": self.linked.page, "kind": self.linked.kind}
        return None
