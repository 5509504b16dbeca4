"""All that a crawl, or the drones of a hive, asked one site, as far as its files tell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from webcrawl.account.asked import Asked, End, asked_of, ends_of, joined
from webcrawl.account.site import Site
from webcrawl.leaving.records import records_of
from webcrawl.model import Status
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdirs import crawls_of, hive_of, is_crawl
from webcrawl.store.windows import KEY, is_open, read
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.hosts import host_of
from webcrawl.urls.optout import OptOut
from webcrawl.verify.snapshot import Changed, Snapshot

REQUESTS, LOG = "logs/requests.log", "logs/crawl.log"
TRIES = 3


class NoAccount(StoreError):  # noqa: N818 - reads as what it is
    """The folder holds no crawl."""


class Gap(NamedTuple):
    """A time of which nobody knows what became of the requests that one process made."""

    since: float
    until: float  # infinite: now
    drone: str = ""  # of a hive; empty of a single crawl

    def has(self, one: Asked) -> bool:
        """Whether this request is one of them."""
        return self.drone == one.drone and self.since - 1 <= one.at <= self.until


@dataclass
class Account:
    """`requests` in the order of time, then what ended without one."""

    jobdir: Path
    site: Site
    requests: list[Asked] = field(default_factory=list)
    unasked: list[End] = field(default_factory=list)  # URLs that ended without a request, refused ones for instance
    gaps: list[Gap] = field(default_factory=list)
    terms: Mapping[str, str] = field(default_factory=dict)  # settings, as texts
    wishes: list[OptOut] = field(default_factory=list)  # to be left alone, that name it or a part of it
    unlogged: list[str] = field(default_factory=list)  # crawls without requests.log

    @property
    def first(self) -> End | None:
        """How the site was found first, of what has ended."""
        ends = [*(one.end for one in self.requests if one.end is not None), *self.unasked]
        pages = [end for end in ends if not end.path.endswith("P")]
        return min(pages, key=attrgetter("at"), default=None)

    @property
    def refused(self) -> list[End]:
        """What robots.txt kept the crawl from."""
        return [end for end in self.unasked if end.status == Status.ROBOTS_FORBIDDEN]

    @property
    def robots(self) -> list[Asked]:
        """Requests for robots.txt."""
        return [one for one in self.requests if one.path.endswith("P")]


def account_of(jobdir: Path, site: Site) -> Account:
    """Reads everything; StoreError in one line if there is no crawl."""
    crawls = [crawl for crawl in crawls_of(jobdir) if is_crawl(crawl)]
    if not crawls:
        raise NoAccount(f"{jobdir}: not a crawl: state/crawl.db is missing")
    account, is_hive = Account(jobdir, site), hive_of(jobdir) is not None
    for crawl in crawls:
        for left in reversed(range(TRIES)):
            try:
                _add(account, crawl, crawl.name if is_hive else "")
            except Changed:
                if not left:
                    raise
            else:
                break
    account.wishes = [one for one in records_of(crawls) if _about(one, site)]
    account.requests.sort(key=attrgetter("at"))
    account.unasked.sort(key=attrgetter("at"))
    account.gaps.sort()
    return account


def _add(account: Account, crawl: Path, drone: str) -> None:
    """What one crawl did, or one drone, unless it never had to do with the site: then its gaps say nothing of it."""
    site = account.site
    with Snapshot(crawl / "state") as snapshot:
        lengths = dict(snapshot.rows("SELECT path, length FROM output"))
        terms = _terms(snapshot)
        data = snapshot.get(KEY)
        snapshot.check_still()
    ends = [*ends_of(crawl / LOG, lengths.get(LOG, 0), site.has, site.wanted)]
    asked = [*asked_of(crawl / REQUESTS, site.has, site.wanted, drone)]
    alone, logged = joined(asked, ends), (crawl / REQUESTS).exists()
    if not logged:
        account.unlogged.append(crawl.name)
    account.requests += asked
    account.requests += [
        Asked(one.started or one.at, "GET", one.url, one.path, 0, end=one, drone=drone) for one in alone
    ]
    account.unasked += [end for end in ends if end.started is None]
    saved = read(data)
    windows = [*saved.windows]
    if is_open(saved, max((one.at for one in asked), default=0.0)):
        windows.append((saved.at, float("inf")))
    if not drone or asked or ends or not logged:  # without a log it may have asked for what no checkpoint knows of
        account.gaps += [Gap(since, until, drone) for since, until in windows]
    account.terms = {**terms, **account.terms}


def _about(wish: OptOut, site: Site) -> bool:
    """Whether a record names the site or what is above it, or something of it."""
    rule = wish.rule.partition("#")[0].strip()
    try:
        there = canonical(rule if "://" in rule else f"http://{rule.removeprefix('*').removeprefix('.')}/")
    except InvalidUrl:  # of a damaged state
        return False
    return site.has(there) or ("/" not in rule and Site(host_of(there)).has(f"http://{site.name}/"))


def _terms(snapshot: Snapshot) -> dict[str, str]:
    """The crawl's settings, as it keeps them."""
    data = snapshot.get("terms")
    found = json.loads(data) if data is not None else {}
    return {str(name): str(value) for name, value in found.items()}


def unknown(account: Account, one: Asked) -> bool:
    """Whether a request without an outcome lies in a gap of whoever made it."""
    return one.end is None and any(gap.has(one) for gap in account.gaps)


def waits(account: Account) -> Iterator[tuple[str, list[Asked]]]:
    """Requests by the rule that set the wait before them, those of a version that did not write it left out."""
    rules = sorted({one.rule for one in account.requests if one.rule})
    for rule in rules:
        yield rule, [one for one in account.requests if one.rule == rule]
