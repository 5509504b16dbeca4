"""Reads what a crawl or hive asked one site (docs/site-owners-operator.md#the-owners-account)."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from webcrawl.base.model import Status
from webcrawl.base.url_text import has_scheme, host_of
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import crawl_line, meta_row
from webcrawl.store.jobdir.crawl_line import LOG, CrawlLine
from webcrawl.store.jobdir.crawls import absent_drones, hive_of
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.log_lines import REQUESTS_LOG, read_request_line
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.lines import pieces_between
from webcrawl.store.requests_log import KEY, SavedWindows, is_open, read
from webcrawl.tools.optout_records import records_of
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.exclusion_rules import OptOut, without_comment


class UnknownTime(NamedTuple):
    """A time of which nobody knows what became of the requests that one process made."""

    since: float
    until: float  # infinite: now
    drone: str = ""  # of a hive; empty of a single crawl

    def has(self, one: AccountRow) -> bool:
        """Return whether this request is one of them."""
        return self.drone == one.drone and self.since - 1 <= one.at <= self.until


@dataclass
class SiteAccount:
    """What was asked of a site: `requests` in the order of time, then what ended without one."""

    jobdir: Path
    site: AskedSite
    requests: list[AccountRow] = field(default_factory=list)
    # URLs that ended without a request, refused ones for instance
    unasked: list[CrawlLine] = field(default_factory=list)
    gaps: list[UnknownTime] = field(default_factory=list)
    terms: Mapping[str, str] = field(default_factory=dict)  # settings, as texts
    # to be left alone, that name it or a part of it
    wishes: list[OptOut] = field(default_factory=list)
    unlogged: list[str] = field(default_factory=list)  # crawls without requests.log
    # crawls whose requests.log lacks some that were answered
    partly: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # drones of which nothing is here

    @property
    def first(self) -> CrawlLine | None:
        """Return the line of the page by which the site was found first, of what has ended."""
        ends = [one.end for one in self.requests if one.end is not None]
        pages = [end for end in (*ends, *self.unasked) if not end.is_prerequisite]
        return min(pages, key=attrgetter("at"), default=None)

    @property
    def refused(self) -> list[CrawlLine]:
        """URLs that robots.txt kept the crawl from."""
        return [end for end in self.unasked if end.status == Status.ROBOTS_FORBIDDEN]

    @property
    def robots(self) -> list[AccountRow]:
        """Return the requests for robots.txt."""
        return [one for one in self.requests if one.path.endswith("P")]


def account_of(jobdir: Path, site: AskedSite) -> SiteAccount:
    """Read everything; NoCrawl if there is none."""
    crawls = JobDir.all(jobdir)
    account = SiteAccount(jobdir, site)
    is_hive = hive_of(jobdir) is not None
    account.absent = [crawl.name for crawl in absent_drones(jobdir)]
    for crawl in crawls:
        _add(account, crawl, crawl.path.name if is_hive else "")
    wishes = records_of(crawl.path for crawl in crawls)
    account.wishes = [one for one in wishes if _about(one, site)]
    account.requests.sort(key=attrgetter("at"))
    account.unasked.sort(key=attrgetter("at"))
    account.gaps.sort()
    return account


def _add(account: SiteAccount, jobdir: JobDir, drone: str) -> None:
    """Add what a crawl or drone did on the site, and the times of which nothing is known."""
    site = account.site
    crawl = jobdir.path
    noted, terms, data = jobdir.read(
        lambda snapshot: (lengths(snapshot), meta_row.terms(snapshot), snapshot.get(KEY))
    )
    ends = [*ends_of(crawl / LOG, noted.get(LOG, 0), site)]
    asked = [*asked_of(crawl / REQUESTS_LOG, site, drone)]
    without_request = joined(asked, ends)
    has_log = (crawl / REQUESTS_LOG).exists()
    if not has_log:
        account.unlogged.append(crawl.name)
    elif without_request:  # the log was begun later than the crawl, or has been rotated
        account.partly.append(crawl.name)
    account.requests += asked
    account.requests += [
        AccountRow(end.started or end.at, "GET", end.url, end.path, 0, end=end, drone=drone)
        for end in without_request
    ]
    account.unasked += [end for end in ends if end.started is None]

    windows = _unknown_times(read(data), max((row.at for row in asked), default=0.0))
    # A drone that never had to do with the site has no gaps; without a log it may have made
    # requests unknown to us
    had_to_do_with_site = bool(asked or ends)
    if had_to_do_with_site or not drone or not has_log:
        account.gaps += [UnknownTime(since, until, drone) for since, until in windows]
    account.terms = {**terms, **account.terms}


def _unknown_times(saved: SavedWindows, last_request: float) -> list[tuple[float, float]]:
    """Return the times of whose requests the log may lack some; the last may be open."""
    windows = [*saved.windows]
    if is_open(saved, last_request):
        windows.append((saved.at, float("inf")))
    return windows


def _about(wish: OptOut, site: AskedSite) -> bool:
    """Return True if a record names the site or what is above it, or something of it."""
    rule = without_comment(wish.rule)
    # A rule without a scheme is for a domain and what is below it, with or without `*.`.
    domain = rule.removeprefix("*").removeprefix(".")
    try:
        there = canonical(rule if has_scheme(rule) else f"http://{domain}/")
    except InvalidUrl:  # of a damaged state
        return False
    is_of_site = site.has(there)
    if is_of_site or "/" in rule:
        return is_of_site
    return AskedSite(host_of(there)).has(f"http://{site.name}/")


def unknown(account: SiteAccount, one: AccountRow) -> bool:
    """Return whether a request without an outcome lies in a gap of whoever made it."""
    return one.end is None and any(gap.has(one) for gap in account.gaps)


class NoSite(StoreError):  # noqa: N818 - reads as what it is
    """Raised for a text that is no name of a site."""


@dataclass(frozen=True, slots=True)
class AskedSite:
    """A name as URLs have it: lower case, IDNA."""

    name: str

    def has(self, url: str) -> bool:
        """Return whether this URL is the site's."""
        try:
            host = host_of(url).removesuffix(".")  # the same name, for DNS and for its owner
        except IndexError:  # a line with no URL
            return False
        return host == self.name or host.endswith(f".{self.name}")

    @property
    def wanted(self) -> bytes:
        """Return bytes that stand in every one of its URLs."""
        return self.name.encode()


def site_of(text: str) -> AskedSite:
    """Return the site that was named, perhaps by a URL of it."""
    url = text if "://" in text else f"http://{text}/"
    try:
        return AskedSite(host_of(canonical(url)).removesuffix("."))
    except InvalidUrl as error:
        raise NoSite(f"{text}: is not the name of a site") from error


ROUNDED = 0.002  # seconds by which two times in milliseconds may differ that are the same


@dataclass(slots=True)
class AccountRow:
    """A line of requests.log, and what came of it as far as that is known."""

    at: float
    method: str
    url: str
    path: str
    tries: int
    waited: float | None = None  # seconds since the host's last answer
    needed: float = 0.0  # seconds, by the rule
    rule: str = ""
    end: CrawlLine | None = None
    drone: str = ""  # which of a hive's asked; empty of a single crawl


def ends_of(path: Path, length: int, site: AskedSite) -> Iterator[CrawlLine]:
    """Yield the site's lines among the first `length` bytes of crawl.log."""
    for line in lines_with(path, site.wanted, length):
        if (end := crawl_line.read(line)) is not None and site.has(end.url):
            yield end


def asked_of(path: Path, site: AskedSite, drone: str = "") -> Iterator[AccountRow]:
    """Yield the site's lines of requests.log, all of it: no checkpoint knows where it ends."""
    for line in lines_with(path, site.wanted):
        if (sent := read_request_line(line)) is not None and site.has(sent.url):
            yield AccountRow(*sent, drone=drone)


def lines_with(path: Path, wanted: bytes, length: int | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, or of its first `length` bytes, that have these bytes."""
    try:
        file = regular(path)
    except FileNotFoundError:
        return
    with file:
        end = os.fstat(file.fileno()).st_size
        if length is not None:
            end = min(length, end)
        for _, piece in pieces_between(file, 0, end):
            # A search in the whole piece is faster than splitting it into lines.
            if wanted in piece:
                yield from (line for line in piece.split(b"\n") if wanted in line)


def joined(asked: list[AccountRow], ends: list[CrawlLine]) -> list[CrawlLine]:
    """Give each request what came of it, and return the ends that have no request.

    An end belongs to the last request for its URL that was sent before it. Others for it were tried
    again, or repeated after a kill.
    """
    by_url: dict[str, list[AccountRow]] = defaultdict(list)
    # not as in the log if the machine's clock was set back
    for one in sorted(asked, key=attrgetter("at")):
        by_url[one.url].append(one)
    alone: list[CrawlLine] = []
    for end in ends:
        if end.started is None:
            continue  # no request
        there = by_url.get(end.url, [])
        place = bisect_right(there, end.started + end.seconds + ROUNDED, key=lambda one: one.at) - 1
        if place >= 0 and there[place].end is None:
            there[place].end = end
        else:
            alone.append(end)
    return alone
