"""Reads the requests of a crawl or hive to one site (docs/site-owners-operator.md#the-owners-account)."""

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
from webcrawl.tools.absent_archives import FOLDER as ARCHIVES
from webcrawl.tools.optout_records import records_of
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.exclusion_rules import OptOut, without_comment


class UnknownTime(NamedTuple):
    """A time in which a process stopped abruptly: the outcomes of its requests may be lost."""

    since: float
    until: float  # infinite if it has not ended
    drone: str = ""  # empty for a single crawl

    def has(self, request: AccountRow) -> bool:
        """Return whether a request was made in this time, by this process."""
        return self.drone == request.drone and self.since - 1 <= request.at <= self.until


@dataclass
class SiteAccount:
    """All that a crawl or hive did on one site."""

    jobdir: Path
    site: RequestedSite
    requests: list[AccountRow] = field(default_factory=list)  # in the order of time
    # URLs that ended without a request, for instance because robots.txt forbids them
    not_requested: list[CrawlLine] = field(default_factory=list)
    gaps: list[UnknownTime] = field(default_factory=list)
    terms: Mapping[str, str] = field(default_factory=dict)  # settings, as texts
    optouts: list[OptOut] = field(default_factory=list)  # of the site, or of a part of it
    without_log: list[str] = field(default_factory=list)  # crawls without requests.log
    # crawls whose requests.log lacks requests that were answered
    with_partial_log: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # drones whose folders are not here
    has_archive: bool = False  # at least one crawl has written an archive file

    @property
    def lacks_lines(self) -> bool:
        """Return whether a crawl may have made requests of which no line tells."""
        return bool(self.without_log or self.with_partial_log)

    @property
    def first(self) -> CrawlLine | None:
        """Return the line of the page of the site that ended first, or None if none has."""
        ends = [request.end for request in self.requests if request.end is not None]
        pages = [end for end in (*ends, *self.not_requested) if not end.is_prerequisite]
        return min(pages, key=attrgetter("at"), default=None)

    @property
    def forbidden(self) -> list[CrawlLine]:
        """Return the lines of URLs that robots.txt forbids."""
        return [end for end in self.not_requested if end.status == Status.ROBOTS_FORBIDDEN]

    @property
    def robots(self) -> list[AccountRow]:
        """Return the requests for robots.txt."""
        return [request for request in self.requests if request.path.endswith("P")]


def account_of(jobdir: Path, site: RequestedSite) -> SiteAccount:
    """Read the account of a site from the logs and states of a crawl or hive.

    Raise NoCrawl if there is none.
    """
    crawls = JobDir.all(jobdir)
    account = SiteAccount(jobdir, site)
    is_hive = hive_of(jobdir) is not None
    account.absent = [crawl.name for crawl in absent_drones(jobdir)]
    for crawl in crawls:
        _add_crawl(account, crawl, crawl.path.name if is_hive else "")
    optouts = records_of(crawl.path for crawl in crawls)
    account.optouts = [optout for optout in optouts if _is_about(optout, site)]
    account.requests.sort(key=attrgetter("at"))
    account.not_requested.sort(key=attrgetter("at"))
    account.gaps.sort()
    return account


def _add_crawl(account: SiteAccount, jobdir: JobDir, drone: str) -> None:
    """Add the requests of a crawl or drone to the site, and the times whose outcomes may be lost."""
    site = account.site
    crawl = jobdir.path
    noted, terms, saved_windows = jobdir.read(
        lambda snapshot: (lengths(snapshot), meta_row.terms(snapshot), snapshot.get(KEY))
    )
    account.has_archive |= any(name.startswith(f"{ARCHIVES}/") for name in noted)
    ends = [*ends_of(crawl / LOG, noted.get(LOG, 0), site)]
    logged = [*requests_of(crawl / REQUESTS_LOG, site, drone)]
    without_request = join_ends(logged, ends)
    has_log = (crawl / REQUESTS_LOG).exists()
    if not has_log:
        account.without_log.append(crawl.name)
    elif without_request:  # the log was begun later than the crawl, or has been rotated
        account.with_partial_log.append(crawl.name)
    account.requests += logged
    account.requests += [
        AccountRow(end.started or end.at, "GET", end.url, end.path, 0, end=end, drone=drone)
        for end in without_request
    ]
    account.not_requested += [end for end in ends if end.started is None]

    last_request = max((request.at for request in logged), default=0.0)
    # A drone without any line on the site has no gaps, unless it has no log: then it may have made
    # requests of which no line tells.
    has_lines = bool(logged or ends)
    if has_lines or not drone or not has_log:
        windows = _unknown_times(read(saved_windows), last_request)
        account.gaps += [UnknownTime(since, until, drone) for since, until in windows]
    account.terms = {**terms, **account.terms}


def _unknown_times(saved: SavedWindows, last_request: float) -> list[tuple[float, float]]:
    """Return begin and end of the times in which the log may lack requests. The last may be open."""
    windows = [*saved.windows]
    if is_open(saved, last_request):
        windows.append((saved.at, float("inf")))
    return windows


def _is_about(optout: OptOut, site: RequestedSite) -> bool:
    """Return whether an opt-out covers the site, a part of it, or a domain above it."""
    rule = without_comment(optout.rule)
    # A rule without a scheme is for a domain and what is below it, with or without `*.`.
    domain = rule.removeprefix("*").removeprefix(".")
    try:
        url = canonical(rule if has_scheme(rule) else f"http://{domain}/")
    except InvalidUrl:  # of a damaged state
        return False
    is_of_site = site.has(url)
    if is_of_site or "/" in rule:
        return is_of_site
    return RequestedSite(host_of(url)).has(f"http://{site.name}/")


def may_have_lost_end(account: SiteAccount, request: AccountRow) -> bool:
    """Return whether a request has no outcome, and was made when its process stopped abruptly."""
    return request.end is None and any(gap.has(request) for gap in account.gaps)


class NoSite(StoreError):  # noqa: N818 - reads as what it is
    """Raised for a text that is not the name of a site."""


@dataclass(frozen=True, slots=True)
class RequestedSite:
    """A host and the names below it. The name is as URLs have it: lower case, IDNA."""

    name: str

    def has(self, url: str) -> bool:
        """Return whether a URL is of this site. False for what is no URL."""
        try:
            host = host_of(url).removesuffix(".")  # the same name, for DNS and for its owner
        except IndexError:  # a line with no URL
            return False
        return host == self.name or host.endswith(f".{self.name}")

    @property
    def bytes_in_urls(self) -> bytes:
        """Return bytes that all URLs of the site contain, for a quick search."""
        return self.name.encode()


def site_of(text: str) -> RequestedSite:
    """Return the site that a text names, by its name or a URL. Raise NoSite."""
    url = text if "://" in text else f"http://{text}/"
    try:
        return RequestedSite(host_of(canonical(url)).removesuffix("."))
    except InvalidUrl as error:
        raise NoSite(f"{text}: is not the name of a site") from error


# The logs have milliseconds: the sum of a begin and a duration may differ from the true end by so
# many seconds.
ROUNDING_SECONDS = 0.002


@dataclass(slots=True)
class AccountRow:
    """A request, and its outcome if that is known."""

    at: float
    method: str
    url: str
    path: str  # discovery path; that of a robots.txt ends in P
    tries: int  # before this one
    waited: float | None = None  # seconds since the host's last answer
    needed: float = 0.0  # seconds, by the rule
    rule: str = ""  # which the wait follows
    end: CrawlLine | None = None
    drone: str = ""  # which made it; empty for a single crawl


def ends_of(path: Path, length: int, site: RequestedSite) -> Iterator[CrawlLine]:
    """Yield the site's lines among the first `length` bytes of crawl.log."""
    for line in lines_with(path, site.bytes_in_urls, length):
        end = crawl_line.read(line)
        if end is not None and site.has(end.url):
            yield end


def requests_of(path: Path, site: RequestedSite, drone: str = "") -> Iterator[AccountRow]:
    """Yield the site's requests of requests.log.

    All of the file is read: it is never truncated, so that no checkpoint says where it ends.
    """
    for line in lines_with(path, site.bytes_in_urls):
        request = read_request_line(line)
        if request is not None and site.has(request.url):
            yield AccountRow(*request, drone=drone)


def lines_with(path: Path, wanted: bytes, length: int | None = None) -> Iterator[bytes]:
    """Yield the lines of a file that contain these bytes, among its first `length` bytes.

    Yield none if the file is missing.
    """
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


def join_ends(requests: list[AccountRow], ends: list[CrawlLine]) -> list[CrawlLine]:
    """Set the outcome of each request, and return the ends that have no request.

    An end belongs to the last request for its URL before it. Earlier requests for the URL were
    retried, or repeated after a kill.
    """
    by_url: dict[str, list[AccountRow]] = defaultdict(list)
    # The log is not in the order of time if the machine's clock was set back.
    for request in sorted(requests, key=attrgetter("at")):
        by_url[request.url].append(request)
    without_request: list[CrawlLine] = []
    for end in ends:
        if end.started is None:
            continue  # ended without a request
        of_url = by_url.get(end.url, [])
        ended_at = end.started + end.seconds + ROUNDING_SECONDS
        place = bisect_right(of_url, ended_at, key=attrgetter("at")) - 1
        if place >= 0 and of_url[place].end is None:
            of_url[place].end = end
        else:
            without_request.append(end)
    return without_request
