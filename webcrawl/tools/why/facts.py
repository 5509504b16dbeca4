"""All that was found out about one URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webcrawl.base.model import Link, unpack
from webcrawl.crawl.rules import prioritizer_of
from webcrawl.crawl.score_book import NOTE
from webcrawl.frontier.prioritizers import Popularity
from webcrawl.frontier.prioritizers.focus import ByFocus
from webcrawl.frontier.state import LEARNT, POPULARITY
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.crawl_line import CrawlLine
from webcrawl.store.jobdir.host_row import HostRow
from webcrawl.store.jobdir.index_line import IndexLine
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why.filtering import Verdict
from webcrawl.tools.why.form import Form
from webcrawl.tools.why.host_facts import Delay, DomainBudget, Load
from webcrawl.tools.why.known_urls import Waiting
from webcrawl.tools.why.later import Again, Later
from webcrawl.tools.why.linking_pages import Linking
from webcrawl.tools.why.queued import Awaited, Place
from webcrawl.tools.why.robots_verdict import RobotsVerdict

MIB = 1 << 20


class Scores(NamedTuple):
    """`worth` decides when a URL that waits is chosen; the site's mean is of `site_pages` pages."""

    score: float | None
    worth: float | None = None
    site: float | None = None
    site_pages: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"score": self.score, "worth": self.worth, "site": self.site, "site_pages": self.site_pages}


def focus_of(values: Mapping[str, Any], site: Callable[[str], str], snapshot: Snapshot, key: bytes) -> ByFocus | None:
    """The prioritizer that the crawl asks, with what it had learnt by the last checkpoint; None if it is another."""
    prioritizer = prioritizer_of(values, site)
    if not isinstance(prioritizer, ByFocus):
        return None
    table = Popularity(key, values["FRONTIER_MEMORY"] * MIB // LEARNT)
    meta_row.value(snapshot, POPULARITY, table.restore, None)
    prioritizer.learn(table)
    return prioritizer


def scores_of(url: str, lines: Sequence[CrawlLine], focus: ByFocus | None, *, waits: bool) -> Scores | None:
    """`lines`: its ends in the crawl log, of which the last one says the score; `waits`: it is in a queue."""
    score = _noted(lines[-1]) if lines else None
    if focus is None:
        return None if score is None else Scores(score)
    mean, pages = focus.history(url)
    return Scores(score, round(focus.worth(url), 4) if waits else None, round(mean, 4), pages)


def _noted(line: CrawlLine) -> float | None:
    noted = next((one.removeprefix(NOTE) for one in line.annotations if one.startswith(NOTE)), "")
    try:
        return float(noted)
    except ValueError:  # there is none, or the line is damaged
        return None


@dataclass(slots=True)
class Facts:
    """Of a URL without a canonical form there is nothing but `form`."""

    asked: str
    form: Form
    filters: list[Verdict] = field(default_factory=list)
    known: str = ""  # where its fingerprint was found
    waiting: Waiting | None = None
    portion: Awaited | None = None
    place: Place | None = None
    lines: list[CrawlLine] = field(default_factory=list)
    skipped: list[tuple[str, str, str]] = field(default_factory=list)  # time, reason, page
    setting: str = ""  # that says what the filter leaves out which did so
    all_links: bool = False  # all links of all pages were looked at
    linked: Linking | None = None  # a page that links to it
    entries: list[IndexLine] = field(default_factory=list)
    robots: RobotsVerdict | None = None
    budget: DomainBudget | None = None
    host: HostRow | None = None
    networks: Sequence[str] = ()  # PRIVATE_NETWORKS_ALLOWED
    delay: Delay | None = None
    rendering: str = ""  # what a browser has shown of its host
    ended: int = 0  # URLs of its host since the checkpoint
    load: Load | None = None  # of the crawl
    ahead: float = 0.0  # what the machine's clock shows beyond the crawl's
    paused: bool = False  # its host, by command
    live: Mapping[str, Any] | None = None  # what the running crawl said
    looked: list[str] = field(default_factory=list)  # what was not looked through, and how far
    redirect: str = ""  # where its answer leads
    last_try: tuple[int, str] = (0, "")  # of one to be tried again: status of its last answer, and why that was cut
    again: bool = False  # pages are fetched again in this crawl
    follows: bool = True  # links that are found are crawled, and not left for a later segment
    later: Later | None = None  # it is left for one
    scores: Scores | None = None  # of a page, or for one that waits
    turn: Again | None = None  # its record, if it waits to be fetched again and was found

    @property
    def url(self) -> str:
        return self.form.url

    @property
    def line(self) -> CrawlLine | None:
        """The last line of the log."""
        return self.lines[-1] if self.lines else None

    @property
    def link(self) -> Link | None:
        """The link in a queue, or on its way there."""
        if self.place is not None:
            return unpack(self.place.record)
        if self.waiting is not None and self.waiting.record:
            return unpack(self.waiting.record)
        if self.later is not None and self.later.record:
            return unpack(self.later.record)
        return None

    @property
    def in_flight(self) -> bool:
        """True if it is being fetched right now; only a running crawl knows."""
        return self.live is not None and bool(self.live.get("in_flight"))

    @property
    def is_known(self) -> bool:
        """True if it would be new if it were found again."""
        traces = self.known or self.waiting or self.place or self.lines
        return bool(traces or (self.live is not None and self.live.get("known")))

    def found_on(self) -> dict[str, Any] | None:
        """The page that it was found on, as far as anything says so."""
        link = self.link
        if link is not None:
            return {"via": link.via or None, "seed": link.seed or None, "path": link.hops, "depth": link.depth}
        if self.line is not None:
            one = self.lines[0]
            depth = len(one.path.replace("R", "").replace("P", ""))
            return {"via": one.via or None, "seed": one.seed or None, "path": one.path, "depth": depth}
        if self.portion is not None:
            return {"via": self.portion.via}
        if self.linked is not None:
            return {"via": self.linked.page, "kind": self.linked.kind}
        return None
