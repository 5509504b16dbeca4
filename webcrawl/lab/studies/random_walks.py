"""Estimates from random walks on the web: samples of pages, and how good an index is (Henzinger and
others).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from webcrawl.base.program import program
from webcrawl.base.readable import readable
from webcrawl.lab.studies import KINDS_OF_SAMPLE
from webcrawl.lab.studies.traces import UNREADABLE, NoTrace, opened
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl, canonical

LOG = "logs/walk.log"
DIGITS = 18  # of a number
BURN_IN = 21  # steps: a share (6/7)^21 = 4 % of the walkers has not restarted by then
Numbers = npt.NDArray[np.int64]


class NoWalk(StoreError):  # noqa: N818 - reads as what it is
    """A log of a walk that is not there, or cannot be read."""


@dataclass(frozen=True)
class WalkVisits:
    """The visits to pages after the burn-in, in their order. `pages` are numbers of `urls`."""

    urls: list[str]
    pages: Numbers
    walkers: Numbers
    lines: int = 0  # of the log, with those before and those that were no pages
    came: Counter[str] = field(default_factory=Counter)  # how walkers came to all these
    failed: int = 0  # lines that are neither a page nor a redirect

    @property
    def visits(self) -> Numbers:
        return np.bincount(self.pages, minlength=len(self.urls))

    def near_pagerank(self, most: int, random: np.random.Generator) -> list[str]:
        """Return so many of the visits at random, in their order.

        A page is among them as often as its PageRank says.
        """
        pages = self.pages
        if most < len(pages):
            pages = pages[np.sort(random.choice(len(pages), most, replace=False))]
        return [self.urls[page] for page in pages]

    def near_uniform(self, most: int, random: np.random.Generator) -> list[str]:
        """Return so many of the distinct pages, each with a chance inversely proportional to its
        share of the visits.

        Weighted sampling without replacement: those whose exponential variates of that rate are the
        smallest.
        """
        waits = random.exponential(size=len(self.urls)) * self.visits
        return [self.urls[page] for page in np.argsort(waits, kind="stable")[:most]]

    def quality(self, index: set[str]) -> tuple[float, float]:
        """Return the part of the visits that are to pages of an index, and its standard error.

        Of an index with these pages it estimates the sum of their PageRank. Walkers are independent
        of each other, and visits of one walker are not: so the error is that of a ratio of sums
        over walkers.
        """
        inside = np.fromiter((url in index for url in self.urls), np.bool_, len(self.urls))[
            self.pages
        ]
        walkers, numbers = np.unique(self.walkers, return_inverse=True)
        made = np.bincount(numbers)
        met = np.bincount(numbers, weights=inside)
        share = float(met.sum() / made.sum())
        count = len(walkers)
        if count < 2:
            return share, float("nan")
        # The variance of a ratio of two sums, each walker a batch of its own
        spread = float(((met - share * made) ** 2).sum()) * count / (count - 1)
        return share, spread**0.5 / float(made.sum())


def read_walk(jobdir: Path, burn_in: int = BURN_IN) -> WalkVisits:
    """Return the visits of this walk, but those of each walker's first `burn_in` steps."""
    path = jobdir / LOG if jobdir.is_dir() else jobdir
    numbers: dict[str, int] = {}
    pages, walkers = array("q"), array("q")
    came: Counter[str] = Counter()
    lines = failed = 0
    for walker, step, url, how, status in _rows(path):
        lines += 1
        came[how] += 1
        # A redirect is followed without a choice, so it is no visit
        page = 200 <= status < 300
        failed += not (page or 300 <= status < 400)
        if page and step >= burn_in:
            pages.append(numbers.setdefault(url, len(numbers)))
            walkers.append(walker)
    if not pages:
        raise NoWalk(
            f"{path}: has {lines} lines, but no visit to a page after the first {burn_in} steps of each walker"
        )
    return WalkVisits([*numbers], np.array(pages), np.array(walkers), lines, came, failed)


def _rows(path: Path) -> Iterator[tuple[int, int, str, str, int]]:
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):  # the walk is under way
                    return
                try:
                    _, walker, step, url, how, _, status = line.rstrip("\n").split("\t")
                    numbers = _whole(walker), _whole(step), _whole(status)
                except ValueError:
                    raise NoWalk(f"{path}: line {number} is not a line of a walk") from None
                yield numbers[0], numbers[1], url, how, numbers[2]
    except FileNotFoundError:
        raise NoWalk(
            f"{path}: is missing: this is not the JOBDIR of a `{program()} crawl walk`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise NoWalk(f"{path}: {getattr(error, 'strerror', None) or 'not a text file'}") from error


def _whole(text: str) -> int:
    """Return a whole number. Raise ValueError also for one that has no room in an array."""
    if len(text) > DIGITS:
        raise ValueError(text)
    return int(text)


def read_index(path: Path) -> set[str]:
    """Return the URLs that a file has, one per line, in canonical form; also .gz and .zst."""
    urls: set[str] = set()
    try:
        with opened(path) as file:
            for line in file:
                text = line.strip()
                if text and not text.startswith("#"):
                    try:
                        urls.add(canonical(text))
                    except InvalidUrl:
                        raise NoWalk(f"{path}: {text[:100]!r} is not a URL") from None
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise NoWalk(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not urls:
        raise NoTrace(f"{path}: contains no URLs")
    return urls


def sample(walked: WalkVisits, kind: str, most: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return (
        walked.near_pagerank(most, random)
        if kind == KINDS_OF_SAMPLE[0]
        else walked.near_uniform(most, random)
    )


def quality_of(walked: WalkVisits, index: set[str]) -> dict[str, Any]:
    share, error = walked.quality(index)
    return {
        "quality": share,
        "error": error if error == error else None,  # noqa: PLR0124 - no number, of a single walker
        "urls": len(index),
        **_counts(walked),
    }


def about(walked: WalkVisits) -> dict[str, Any]:
    visits = walked.visits
    order = visits.argsort(kind="stable")[::-1][:10]
    return {
        "lines": walked.lines,
        "failed": walked.failed,
        "came": dict(walked.came),
        **_counts(walked),
        "pages": len(walked.urls),
        "most_visited": [[walked.urls[page], int(visits[page])] for page in order],
    }


def _counts(walked: WalkVisits) -> dict[str, Any]:
    made = Counter(walked.walkers.tolist()).values()
    return {"visits": len(walked.pages), "walkers": len(made), "each": [min(made), max(made)]}


def as_text(found: dict[str, Any]) -> str:
    if "sample" in found:
        return "".join(f"{readable(url)}\n" for url in found["urls"])
    if "quality" in found:
        error = (
            "of one walker"
            if found["error"] is None
            else f"standard error {100 * found['error']:.2f}"
        )
        return f"{100 * found['quality']:.2f} % of the PageRank, {error}: {_made(found)}\n"
    came = ", ".join(
        f"{count:,} by {how}"
        for how, count in sorted(found["came"].items(), key=lambda one: -one[1])
    )
    lines = [
        f"{found['lines']:,} URLs: {came}; {found['failed']:,} failed or were refused",
        f"after the burn-in: {_made(found)}, {found['pages']:,} pages; most often",
        *(f"{count:>10,}  {readable(url)}" for url, count in found["most_visited"]),
    ]
    return "\n".join([*lines, ""])


def _made(found: dict[str, Any]) -> str:
    least, most = found["each"]
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{found['visits']:,} visits of {found['walkers']:,} walkers, {each} each"
