"""stats.json, replaced as a whole at each checkpoint: the figures of a crawl, or of a hive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import Any

from webcrawl.store.disk import regular, rewrite
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.counter_words import RENAMED_COUNTERS

MAX_SLOTS = 720  # twelve minutes at first; a longer crawl has wider slots, and no more of them
FIRST_WIDTH = 1000  # milliseconds of a slot at first


class Series:
    """Downloads, documents and bytes in slots of equal length, from the first download on."""

    def __init__(self, slots: int = MAX_SLOTS, width: int = FIRST_WIDTH) -> None:
        self._slots = slots  # the most that there may be
        self.width = width  # milliseconds of a slot
        # milliseconds since 1970, a multiple of the width at first; 0: nothing was added
        self.start = 0
        self.downloads: list[int] = []
        self.documents: list[int] = []
        self.sizes: list[int] = []

    def add(self, at: int, documents: int, size: int, downloads: int = 1) -> None:
        """Add downloads that ended at this time, in milliseconds: their number, documents and
        bytes.
        """
        if not self.start:
            self.start = at - at % self.width
        slot = (at - self.start) // self.width
        if slot >= len(self.downloads):
            slot = self._extend(at)
        elif slot < 0:
            # The machine's clock was set back: the download counts with the first one
            slot = 0
        self.downloads[slot] += downloads
        self.documents[slot] += documents
        self.sizes[slot] += size

    def _extend(self, at: int) -> int:
        """Make room up to this time, and return its slot.

        If there were too many slots, each two become one, as often as is needed.
        """
        while (slot := (at - self.start) // self.width) >= self._slots:
            self.width *= 2
            self.downloads, self.documents, self.sizes = map(
                _halved, (self.downloads, self.documents, self.sizes)
            )
        for values in (self.downloads, self.documents, self.sizes):
            values.extend([0] * (slot + 1 - len(values)))
        return slot

    @property
    def active(self) -> float:
        """Return the seconds in which anything came: a crawl may have been stopped for a week."""
        return sum(map(bool, self.downloads)) * self.width / 1000

    @classmethod
    def joined(cls, parts: Iterable[Series]) -> Series:
        """Return the sums of several series, from the earliest beginning on.

        Their slots are as wide as the widest of all; each old slot goes into the one that has its
        middle.
        """
        joined, begun_parts = cls(), [part for part in parts if part.start]
        if begun_parts:
            joined.width = max(part.width for part in begun_parts)
            joined.start = min(part.start for part in begun_parts)
        for part in begun_parts:
            slots = zip(part.downloads, part.documents, part.sizes, strict=True)
            for middle, (downloads, documents, size) in zip(
                count(part.start + part.width // 2, part.width), slots
            ):
                joined.add(middle, documents, size, downloads)
        return joined

    def table(self) -> dict[str, Any]:
        """Return what stats.json has of it; times are in whole seconds there."""
        return {
            "start": self.start // 1000,
            "seconds": self.width // 1000,
            "downloads": self.downloads,
            "documents": self.documents,
            "bytes": self.sizes,
        }

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Series:
        """Return the series that `table` gave."""
        made = cls(width=1000 * table["seconds"])
        made.start = 1000 * table["start"]
        made.downloads = table["downloads"]
        made.documents = table["documents"]
        made.sizes = table["bytes"]
        return made

    def save(self) -> list[object]:
        return [self.width, self.start, self.downloads, self.documents, self.sizes]

    def restore(self, saved: Iterable[object]) -> None:
        self.width, self.start, self.downloads, self.documents, self.sizes = saved  # type: ignore[assignment]


def _halved(values: list[int]) -> list[int]:
    return [sum(values[at : at + 2]) for at in range(0, len(values), 2)]


NAME = "stats.json"
FINISHED = "finished"  # nothing is left to do; Scrapy's word
# the reason of a crawl that ended because it could not take a checkpoint
STORE_FAILED = "store_failed"
START_ERROR = "start_error"  # Scrapy's word for a spider whose `start` has raised
ERROR_BREAKER = "error_breaker"  # the reason of one that ended for too many unexpected errors
BROWSER_FAILED = "browser_failed"  # of one whose browser could not be started
NO_SEEDS = "no_seeds"
# Reasons of crawls that end with exit status 1. After START_ERROR the requests that `start` had
# not yet yielded are not in the crawl.
BROKEN_REASONS = frozenset((BROWSER_FAILED, ERROR_BREAKER, NO_SEEDS, START_ERROR, STORE_FAILED))
# By a signal (Scrapy's reason) or by command: the crawl ends within seconds
HURRIED_REASONS = frozenset(("shutdown", "stopped"))
# why the seeds gave nothing, a line per kind of reason: of a crawl that ended with nothing
UNREACHED = "unreached"
# before the names of counters of answers, by what these are instead of pages
RECOGNISED = "recognised/"
# requests of rendered pages: a counter of all, and with the reason behind a slash
REFUSED = "browser/refused"
BLOCK_PAGE = "wall/"  # after that, before a vendor
# statuses of servers that fail, not of missing pages
SERVER_ERRORS = frozenset((408, 429, *range(500, 600)))
MOST_BYTES = 1 << 24  # bytes that are read
# Names of figures that an earlier version wrote, and what they are called now
RENAMED = {
    "aside": "deferred",
    "hosts_aside": "hosts_deferred",
    "aside_due": "deferred_due",
    **RENAMED_COUNTERS,
    **{f"frontier/{old}": f"frontier/{new}" for old, new in RENAMED_COUNTERS.items()},
}


def write(jobdir: Path, text: str) -> None:
    """Replace the file. If OSError is raised, the one before stays."""
    rewrite(jobdir / NAME, text.encode())


def plain(figures: Mapping[str, Any]) -> str:
    """Return a name per line."""
    return f"{json.dumps(figures, indent=1)}\n"


def read(jobdir: Path) -> dict[str, Any]:
    """Return the figures; none if the file cannot be read, or is missing: a user may delete it."""
    try:
        with regular(jobdir / NAME) as file:
            found = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    figures: dict[str, Any] = found
    return {RENAMED.get(name, name): value for name, value in figures.items()}


def over_budget(figures: Mapping[str, float]) -> tuple[int, int]:
    """Return how many URLs wait behind all others: beyond their domains' budgets, and folded."""
    folded = int(figures.get("over_budget/folded", 0))
    return int(figures.get("over_budget", 0)) - folded, folded


def recognised(figures: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many answers were block pages, by vendor, and how many were otherwise no pages, by
    kind.
    """
    block_pages: dict[str, int] = {}
    no_pages: dict[str, int] = {}
    for name, number in figures.items():
        if not name.startswith(RECOGNISED) or not number:
            continue
        kind = name.removeprefix(RECOGNISED)
        if kind.startswith(BLOCK_PAGE):
            block_pages[kind.removeprefix(BLOCK_PAGE)] = number
        else:
            no_pages[kind] = number
    return block_pages, no_pages


def without_page(outcomes: Mapping[Any, int]) -> dict[int, int]:
    """Return how many URLs ended with an answer that is no page, by its status.

    `outcomes` has numbers by status, which is a string in a file. Servers' errors are left out:
    they are counted apart.
    """
    numbers = {int(status): number for status, number in outcomes.items() if number}
    without: dict[int, int] = {}
    for status in sorted(numbers):
        # A 304 is for an unchanged page, of which an earlier fetch has the text
        is_page = status < 300 or status == 304
        if not is_page and status not in SERVER_ERRORS:
            without[status] = numbers[status]
    return without


def stamp(jobdir: Path) -> tuple[int, int]:
    """Return numbers that change when stats.json is written: its inode and time; zeros if it is
    missing.
    """
    try:
        status = (jobdir / NAME).stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def check(jobdir: Path) -> Iterator[DamagedFile]:
    """Yield what is wrong with the file, which may be missing."""
    path = jobdir / NAME
    try:
        with regular(path) as file:
            found = json.load(file)
        if not isinstance(found, dict):
            yield DamagedFile(path, 0, "not a mapping")
    except FileNotFoundError:
        return
    except (ValueError, RecursionError) as error:
        yield DamagedFile(path, getattr(error, "pos", 0), str(error))


MOST = 20  # names of each kind
OTHERS = "(others)"


def added(lists: Sequence[Sequence[int]]) -> list[int]:
    """Return the sums of lists of any lengths, number by number."""
    return [sum(numbers) for numbers in zip_longest(*lists, fillvalue=0)]


def added_names(each: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of numbers by name."""
    total: dict[str, int] = {}
    for one in each:
        for name, number in one.items():
            total[name] = total.get(name, 0) + number
    return total


# -- the tables of stats.json
#
# Sums are exact. Of the tables that have only the most frequent names, a name that a crawl does not
# list lacks what that crawl counts under its others; a host is crawled by one of them, so the rows
# of hosts are whole.

Counts = dict[str, int]
Rows = dict[str, list[int]]
RANKS = {"most_documents": 0, "most_bytes": 1, "most_failures": 2}  # by which column


def added_tables(figures: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tables of stats.json of all crawls together, merged by MERGES."""
    each = [*figures]
    found = {name: merge(_under(name, each)) for name, merge in MERGES.items()}
    revisits = _under("revisits", each)
    if revisits:
        found["revisits"] = _summed_bins(revisits)
    return found


def _under(name: str, tables: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the values under this name in those of the tables that have it."""
    return [table[name] for table in tables if name in table]


def _summed_counts(each: list[Counts]) -> Counts:
    """Return the sums by name, in the order of the names, which are numbers."""
    return dict(sorted(added_names(each).items(), key=lambda item: int(item[0])))


def _summed_sizes(each: list[dict[str, Counts]]) -> dict[str, Counts]:
    groups = dict.fromkeys(chain.from_iterable(each))
    return {group: _summed_counts(_under(group, each)) for group in groups}


def _summed_rows(each: list[Rows]) -> Rows:
    total: Rows = {}
    for one in each:
        for name, row in one.items():
            total[name] = [a + b for a, b in zip(total.get(name, [0] * len(row)), row, strict=True)]
    return total


def _most_frequent(tables: list[Rows]) -> Rows:
    """Return the rows of the MOST most frequent names, and the sums of the other rows under OTHERS."""
    total = _summed_rows(tables)
    others = total.pop(OTHERS, [0, 0])
    ranked = sorted(total, key=lambda name: (-total[name][0], name))
    for name in ranked[MOST:]:
        others = [others[0] + total[name][0], others[1] + total[name][1]]
    frequent = {name: total[name] for name in ranked[:MOST]}
    if others[0]:
        frequent[OTHERS] = others
    return frequent


def _merged_hosts(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the table of hosts of a hive, of those of its drones: sums, bounds and largest rows."""
    lacks = [table["may_lack"] for table in tables]
    merged: dict[str, Any] = {
        "with_documents": sum(table["with_documents"] for table in tables),
        "exact": all(table["exact"] for table in tables),
        # A host is crawled by one of them, so each crawl's bound holds for its own hosts alone
        "may_lack": [
            max((lack[column_number] for lack in lacks), default=0) for column_number in range(2)
        ],
    }
    for name, column in RANKS.items():
        merged[name] = _largest_rows([table[name] for table in tables], column)
    return merged


def _summed_bins(each: list[dict[str, list[int]]]) -> dict[str, list[int]]:
    """Return the sums of histograms with the same bins."""
    found = {}
    for name in each[0]:
        histograms = [one[name] for one in each]
        found[name] = [sum(bins) for bins in zip(*histograms, strict=True)]
    return found


def _largest_rows(each: list[Rows], column: int) -> Rows:
    """Return the largest rows. A host that has moved to another crawl has a row in both."""
    total = _summed_rows(each)
    largest = nlargest(MOST, total, lambda name: total[name][column])
    return {name: total[name] for name in largest}


MERGES: dict[str, Callable[[list[Any]], Any]] = {  # in the order of stats.json
    **dict.fromkeys(("urls", "documents", "document_bytes", "duplicates", "duplicate_bytes"), sum),
    **dict.fromkeys(("outcomes", "robots_txt"), _summed_counts),
    **dict.fromkeys(("truncated", "content_types"), _most_frequent),
    "sizes": _summed_sizes,
    **dict.fromkeys(("milliseconds", "depths"), _summed_counts),
    "top_level_domains": _most_frequent,
    "hosts": _merged_hosts,
    "series": lambda each: Series.joined(map(Series.of, each)).table(),
}
