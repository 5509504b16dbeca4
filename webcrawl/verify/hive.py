"""Checks a hive: each drone as a crawl of its own, then that everything belongs to one drone (docs/operations.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdirs import STATE, crawls_of
from webcrawl.text.percent import visible
from webcrawl.verify.holdings import Line, archived, hosts, lines, pages, tried_again
from webcrawl.verify.outputs import ABSENT
from webcrawl.verify.owners import check_owners, owner_of
from webcrawl.verify.shared import Names, Shared, shared
from webcrawl.verify.standing import check_identities, check_post, standing_of
from webcrawl.verify.whole import NoCrawl, check_stats, guarded, verify

TOLD = 20  # places of each kind; of the others only how many there are
Crawls = Mapping[int, Path]  # by position
Has = Callable[[Path], Names]  # what a drone has


def verify_hive(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """As `verify` does for one crawl; the figures are sums. StoreError: the check is impossible."""
    crawls: dict[int, Path] = {}
    for number, crawl in enumerate(crawls_of(jobdir)):
        mine = Counter[str]()
        try:
            yield from verify(crawl, mine)
        except NoCrawl:
            yield DamagedFile(crawl / STATE, 0, "missing, a drone of this hive")
            continue
        crawls[number] = crawl
        found.update({_named(name, crawl): many for name, many in mine.items()})
    found["drones"] = len(crawls)
    yield from guarded(lambda: _members(crawls.values()))
    yield from guarded(lambda: _once(crawls, found, "pages", pages, "is in the log of {} too"))
    yield from guarded(lambda: _archives(crawls, found))
    yield from guarded(lambda: _once(crawls, found, "hosts in use", hosts, "has URLs in {} too"))
    yield from check_stats(jobdir / "stats.json")


def _members(crawls: Iterable[Path]) -> Iterator[DamagedFile]:
    """What the drones say of each other, and whether each has kept to its own hosts."""
    before, after = ({crawl: one for crawl in crawls if (one := standing_of(crawl))} for _ in range(2))
    yield from check_identities(after)
    yield from check_post(*({one.drone: one for one in read.values()} for read in (before, after)))
    owner = owner_of(after.values())
    if owner is not None:
        for crawl, one in after.items():
            urls = lines(crawl, (Line.PAGE, Line.PREREQUISITE, Line.REVISIT))
            yield from _first(check_owners(one.drone, urls, owner))


def _first(damages: Iterator[DamagedFile]) -> Iterator[DamagedFile]:
    """Some of them, and how many more there are."""
    path = None
    for damage in islice(damages, TOLD):
        path = damage.path
        yield damage
    more = sum(1 for _ in damages)
    if more and path is not None:
        yield DamagedFile(path, 0, f"{more} more like these")


def _named(figure: str, crawl: Path) -> str:
    """Names of absent files are below the drone's folder."""
    return f"{ABSENT}{crawl.name}/{figure.removeprefix(ABSENT)}" if figure.startswith(ABSENT) else figure


def _once(crawls: Crawls, found: Counter[str], figure: str, has: Has, why: str) -> Iterator[DamagedFile]:
    found[figure], twice = shared({number: has(crawl) for number, crawl in crawls.items()})
    yield from _first(_told(crawls, twice, why))


def _archives(crawls: Crawls, found: Counter[str]) -> Iterator[DamagedFile]:
    """Several drones may ask for a robots.txt, and for what pages await; only the log says which URLs are such.

    A host may change hands between two attempts at a URL, and between two fetches of a page.
    """
    found["archived"], twice = shared({number: archived(crawl) for number, crawl in crawls.items()})
    by_log = {visible(one.name.decode()).encode(): one for one in twice}
    if by_log:
        for crawl in crawls.values():
            for name, _, _ in lines(crawl, (Line.PREREQUISITE, Line.AWAITED, Line.REVISIT)):
                by_log.pop(name, None)
    final = [one for one in by_log.values() if sum(not tried_again(*place) for place in one.places.values()) > 1]
    yield from _first(_told(crawls, final, "is in the archive of {} too"))


def _told(crawls: Crawls, twice: Iterable[Shared], why: str) -> Iterator[DamagedFile]:
    for one in twice:
        (first, _), *others = one.places.items()
        for _, (path, at) in others:
            yield DamagedFile(path, at, f"{one.name.decode(errors='replace')} {why.format(crawls[first].name)}")
