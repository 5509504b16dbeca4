"""All that was found out about one URL, and the rule and line of robots.txt that decide."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from webcrawl.base.dates import iso
from webcrawl.base.model import Link, unpack
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.html.link_kinds import FOLLOWED
from webcrawl.crawl.score_book import NOTE
from webcrawl.frontier.host_facts import DomainFacts, HostFacts
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.focus import ByFocus
from webcrawl.frontier.wait_words import BLOCKED, FAILURE, RETRY_AFTER
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
    """What a robots.txt says of a URL.

    `pattern` is that of the rule that decides. `line` is its number in the archived file, or 0.
    """

    verdict: RobotsState
    origin: str = ""
    pattern: str = ""
    allows: bool = True
    fetched: float = 0.0  # when the rules in force were fetched, by the crawl's clock
    until: float = 0.0  # when the rules end to be valid
    tries: int = 0  # that failed in a row
    crawl_delay: float = 0.0  # seconds
    line: int = 0
    line_text: str = ""
    use: tuple[str, ...] = ()  # what the file says of the use of the page

    @property
    def rule(self) -> str:
        """Return the rule that decides, as the file has it if that is archived; empty if none does."""
        if not self.pattern:
            return ""
        return self.line_text or f"{FIELDS[self.allows]}{self.pattern}"

    def to_json(self, clock_ahead: float) -> dict[str, Any]:
        """`clock_ahead`: seconds that the machine's clock shows beyond the crawl's."""
        return {
            "verdict": self.verdict,
            "url": robots_url(self.origin) if self.origin else None,
            "rule": self.rule or None,
            "line": self.line or None,
            "fetched": iso(self.fetched + clock_ahead) if self.fetched else None,
            "valid_until": iso(self.until + clock_ahead) if self.until else None,
            "failed_tries": self.tries,
            "use": list(self.use),
            "crawl_delay": self.crawl_delay,
        }


def robots_verdict(book: RobotsBook, url: str) -> RobotsVerdict:
    """Return the verdict on a URL by the rules of the last checkpoint, still valid or not."""
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
    verdict = RobotsVerdict(
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
        licenses = [f"license {url}" for url in rules.said.licenses]
        verdict.use = (*words, *licenses)
    return verdict


LINE_ENDS = re.compile(rb"\r\n|\r|\n")
QUOTED_BYTES = 200  # of a line
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Takes the place of a rule. As any rule, it ends the lines that say which crawlers a group is for.
EMPTY_RULE = b"Disallow:"
MAX_CANDIDATES = 20  # lines that give a pattern; each is tried by parsing the whole file


def line_of(body: bytes, agent: str, pattern: str, *, allows: bool) -> tuple[int, str]:
    """Return the number and text of the first line of a robots.txt that gives a crawler this pattern.

    The number is 0 if there is no such line. A line gives the pattern if the file still has the
    rule for this `agent` when all other lines with the pattern are empty.
    """
    body = body[:LIMIT]
    if body[:2] in UTF_16_MARKS:
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    lines = LINE_ENDS.split(body)
    candidates = [place for place, line in enumerate(lines) if _gives(line, pattern, allows=allows)]
    without_pattern = list(lines)
    for place in candidates:
        without_pattern[place] = EMPTY_RULE
    for place in candidates[:MAX_CANDIDATES]:
        with_one = list(without_pattern)
        with_one[place] = lines[place]
        if (pattern, allows) in parse(b"\n".join(with_one), agent).rules.items():
            text = lines[place].strip()[:QUOTED_BYTES].decode("utf-8", "replace")
            return place + 1, text
    return 0, ""


def _gives(line: bytes, pattern: str, *, allows: bool) -> bool:
    """Return whether a line of robots.txt has this pattern: /a/index.html allows /a/, too."""
    wanted = "allow" if allows else "disallow"
    for kind, value in records(line):
        if kind != wanted:
            continue
        line_pattern = pattern_of(value)
        folder, _, page = line_pattern.rpartition("/")
        # As the crawl reads it (net/robots.py), and Google and Protego do.
        allows_folder = allows and page.startswith("index.htm") and pattern == f"{folder}/$"
        if line_pattern == pattern or allows_folder:
            return True
    return False


MIN_SLOWDOWN = 1.001  # times the usual wait; what is below it is a difference of rounding
FAILURE_RULES = (FAILURE, RETRY_AFTER, BLOCKED)  # by which a host is left alone that is not well


class HostPace(NamedTuple):
    """The seconds between two requests to a host, and what makes them so many, in words."""

    seconds: float
    because: str


def pace_of(
    host: HostFacts, values: CheckedSettings, live: Mapping[str, Any] | None = None
) -> HostPace:
    """Return the pace of a host.

    `live`: the running crawl's answer, which alone has the hosts that the crawl slows down.
    """
    usual = host.delay.seconds
    answer = live or {}
    wait = float(answer.get("wait", 0.0))
    is_slowed = answer.get("rule") not in FAILURE_RULES and wait > MIN_SLOWDOWN * usual
    if is_slowed:
        return HostPace(wait, "slowed down, because it answers more slowly than before")
    return HostPace(usual, _reason_for(host, usual, values))


def _reason_for(host: HostFacts, usual: float, values: CheckedSettings) -> str:
    """Return what makes the usual wait for a host as long as it is."""
    if host.delay.is_crawl_delay:
        longest = values["CRAWL_DELAY_MAX"]
        reason = f"the Crawl-delay of its robots.txt is {host.crawl_delay:g}"
        if longest < host.crawl_delay:
            reason += f", limited by CRAWL_DELAY_MAX = {longest:g}"
        return reason
    for setting in ("POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"):
        if usual == values[setting]:
            return f"{setting} = {usual:g}"
    policy = values["POLITENESS_POLICY"].rpartition(".")[2]
    if policy != Mercator.__name__:
        return f"POLITENESS_POLICY = {policy}"
    if not host.downloads:
        return f"{policy}: the host is new"
    factor = values["POLITENESS_FACTOR"]
    return f"{policy}: its last download took {host.downloads[-1]:.2f} s, POLITENESS_FACTOR = {factor:g}"


@dataclass(frozen=True, slots=True)
class UrlScores:
    """The scores of a URL. `worth` decides when it is chosen; `site` is the mean of `site_pages` pages."""

    score: float | None
    worth: float | None = None
    site: float | None = None
    site_pages: int = 0


def scores_of(
    url: str, lines: Sequence[CrawlLine], focus: ByFocus | None, *, waits: bool
) -> UrlScores | None:
    """Return the scores of a URL, or None if it has none.

    `lines`: those of crawl.log. `focus`: the crawl's prioritizer, if it scores. `waits`: the URL is
    in a queue.
    """
    score = _noted_score(lines[-1]) if lines else None
    if focus is None:
        return None if score is None else UrlScores(score)
    mean, pages = focus.history(url)
    return UrlScores(score, round(focus.worth(url), 4) if waits else None, round(mean, 4), pages)


def _noted_score(line: CrawlLine) -> float | None:
    notes = [note.removeprefix(NOTE) for note in line.annotations if note.startswith(NOTE)]
    try:
        return float(notes[0]) if notes else None
    except ValueError:  # the line is damaged
        return None


@dataclass(slots=True)
class UrlFacts:
    """All facts about a URL. Without a canonical form there is nothing but `form`."""

    text: str  # that was asked about
    form: CanonicalForm
    filters: list[FilterVerdict] = field(default_factory=list)
    known_in: str = ""  # where its fingerprint was found
    submitted: SubmittedLink | None = None  # it is on its way through the seen store
    large_page: str = ""  # a page whose links have yet to enter the crawl, this one among them
    place: QueuePlace | None = None
    log_lines: list[CrawlLine] = field(default_factory=list)  # of crawl.log
    skipped: list[tuple[str, str, str]] = field(default_factory=list)  # time, reason, page
    skip_setting: str = ""  # of the filter that has left it out
    has_all_links: bool = False  # all links in the outputs were searched
    linking_page: LinkingPage | None = None  # a page that links to it
    index_entries: list[IndexLine] = field(default_factory=list)  # of its records in the archive
    robots: RobotsVerdict | None = None
    domain: DomainFacts | None = None
    host: HostFacts | None = None
    pace: HostPace | None = None  # of its host
    networks: Sequence[str] = ()  # PRIVATE_NETWORKS_ALLOWED
    link_sources: Container[str] = FOLLOWED  # the kinds of links that the crawl follows
    rendering: str = ""  # what a browser has shown of its host
    clock_ahead: float = 0.0  # seconds that the machine's clock shows beyond the crawl's
    live: Mapping[str, Any] | None = None  # the running crawl's answer
    unsearched: list[str] = field(default_factory=list)  # what was not searched, or how far
    redirect_target: str = ""  # where its answer leads
    # of a URL that will be retried: the status of its last answer, and why that was truncated
    last_try: tuple[int, str] = (0, "")
    has_revisits: bool = False  # pages are fetched again in this crawl
    follows_links: bool = True  # links that are found are crawled, and not left for a later segment
    left_for_later: LinkLeftForLater | None = None
    scores: UrlScores | None = None  # of a page, or of a URL that waits
    revisit: WaitingRevisit | None = None  # the record by which it will be fetched again

    @property
    def url(self) -> str:
        return self.form.url

    @property
    def last_line(self) -> CrawlLine | None:
        """Return its last line in crawl.log."""
        return self.log_lines[-1] if self.log_lines else None

    @property
    def link(self) -> Link | None:
        """Return the link in a queue, or on its way there."""
        if self.place is not None:
            return unpack(self.place.record)
        # A record is empty where a link is only to be marked as seen.
        for holder in (self.submitted, self.left_for_later):
            if holder is not None and holder.record:
                return unpack(holder.record)
        return None

    @property
    def is_in_flight(self) -> bool:
        """Return whether it is being fetched right now, as only a running crawl knows."""
        return self.live is not None and bool(self.live.get("in_flight"))

    @property
    def is_known(self) -> bool:
        """Return whether it would be known, and not new, if it were found again."""
        has_trace = bool(self.place or self.log_lines)
        if self.known_in or self.submitted is not None or has_trace:
            return True
        return self.live is not None and bool(self.live.get("known"))

    def found_on(self) -> dict[str, Any] | None:
        """Return, for JSON, where it was found: the page and the path to it; None if unknown."""
        link = self.link
        if link is not None:
            return {
                "via": link.via or None,
                "seed": link.seed or None,
                "path": link.hops,
                "depth": link.depth,
            }
        if self.log_lines:
            first = self.log_lines[0]
            # Redirects and robots.txt lead no deeper.
            depth = len(first.path.replace("R", "").replace("P", ""))
            return {
                "via": first.via or None,
                "seed": first.seed or None,
                "path": first.path,
                "depth": depth,
            }
        if self.large_page:
            return {"via": self.large_page}
        if self.linking_page is not None:
            return {"via": self.linking_page.page, "kind": self.linking_page.kind}
        return None
