"""Estimates from random walks on the web: samples of pages, and how good an index is (Henzinger and
others).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from webcrawl.base.program import program
from webcrawl.base.readable import readable
from webcrawl.lab.studies import SAMPLE_KINDS
from webcrawl.lab.studies.traces import UNREADABLE, NoTrace, open_text
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl, canonical

LOG = "logs/walk.log"
MAX_DIGITS = 18  # of a number that fits into 64 bits
BURN_IN = 21  # steps: a share (6/7)^21 = 4 % of the walkers has not restarted by then
Numbers = npt.NDArray[np.int64]


class NoWalk(StoreError):  # noqa: N818 - reads as what it is
    """Raised if the log of a walk is missing, or cannot be read."""


@dataclass(frozen=True)
class WalkVisits:
    """The visits to pages after the burn-in, in their order."""

    urls: list[str]
    pages: Numbers  # of each visit, the number of its page in `urls`
    walkers: Numbers  # of each visit, the number of its walker
    lines: int = 0  # of the whole log, with the burn-in and with what were no pages
    came: Counter[str] = field(default_factory=Counter)  # of all lines, by how walkers came there
    failed: int = 0  # lines that are neither a page nor a redirect

    @property
    def visits(self) -> Numbers:
        return np.bincount(self.pages, minlength=len(self.urls))

    def near_pagerank(self, most: int, random: np.random.Generator) -> list[str]:
        """Return the URLs of at most `most` visits, drawn at random, in the order of the visits.

        So each page occurs about as often as its PageRank says.
        """
        pages = self.pages
        if most < len(pages):
            pages = pages[np.sort(random.choice(len(pages), most, replace=False))]
        return [self.urls[page] for page in pages]

    def near_uniform(self, most: int, random: np.random.Generator) -> list[str]:
        """Return the URLs of at most `most` distinct pages, drawn almost uniformly.

        The chance of a page is inversely proportional to its share of the visits.
        """
        # Weighted sampling without replacement: the smallest of exponential variates whose rates
        # are the weights
        waits = random.exponential(size=len(self.urls)) * self.visits
        return [self.urls[page] for page in np.argsort(waits, kind="stable")[:most]]

    def quality(self, index: set[str]) -> tuple[float, float]:
        """Return the share of the visits that are to pages of an index, and its standard error.

        The share estimates the sum of the PageRank of the pages of the index. The error is NaN if
        there is only one walker.
        """
        is_inside = np.fromiter((url in index for url in self.urls), np.bool_, len(self.urls))[
            self.pages
        ]
        # Walkers are independent of each other, and the visits of one walker are not. So the error
        # is that of a ratio of sums over walkers
        walkers, numbers = np.unique(self.walkers, return_inverse=True)
        visits = np.bincount(numbers)
        visits_inside = np.bincount(numbers, weights=is_inside)
        share = float(visits_inside.sum() / visits.sum())
        count = len(walkers)
        if count < 2:
            return share, float("nan")
        # The variance of a ratio of two sums, each walker a batch of its own
        spread = float(((visits_inside - share * visits) ** 2).sum()) * count / (count - 1)
        return share, spread**0.5 / float(visits.sum())


def read_walk(jobdir: Path, burn_in: int = BURN_IN) -> WalkVisits:
    """Return the visits of a walk without those of each walker's first `burn_in` steps.

    Raise NoWalk if there are none, or the log cannot be read.
    """
    path = jobdir / LOG if jobdir.is_dir() else jobdir
    numbers: dict[str, int] = {}
    pages, walkers = array("q"), array("q")
    came: Counter[str] = Counter()
    lines = failed = 0
    for walker, step, url, how, status in _read_lines(path):
        lines += 1
        came[how] += 1
        # A redirect is followed without a choice, so it is no visit
        is_page = 200 <= status < 300
        is_redirect = 300 <= status < 400
        failed += not (is_page or is_redirect)
        if is_page and step >= burn_in:
            pages.append(numbers.setdefault(url, len(numbers)))
            walkers.append(walker)
    if not pages:
        raise NoWalk(
            f"{path}: has {lines} lines, but no visit to a page after the first {burn_in} steps of each walker"
        )
    return WalkVisits([*numbers], np.array(pages), np.array(walkers), lines, came, failed)


def _read_lines(path: Path) -> Iterator[tuple[int, int, str, str, int]]:
    """Yield the walker, step, URL, way and status of each line of a walk's log.

    Raise NoWalk if the log cannot be read or a line is not one of a walk.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):  # the walk is under way, and has not written it yet
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
    """Return the text as a whole number. Raise ValueError if it is none that fits into an array."""
    if len(text) > MAX_DIGITS:
        raise ValueError(text)
    return int(text)


def read_index(path: Path) -> set[str]:
    """Return the URLs of a file in canonical form: one per line, also in .gz and .zst.

    Raise NoWalk or NoTrace if the file cannot be read, has no URLs, or something else.
    """
    urls: set[str] = set()
    try:
        with open_text(path) as file:
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


def sample(walk: WalkVisits, kind: str, most: int, seed: int) -> list[str]:
    """Return at most `most` URLs of the visited pages; `kind` is one of SAMPLE_KINDS."""
    random = np.random.default_rng(seed)
    near_pagerank, _ = SAMPLE_KINDS
    if kind == near_pagerank:
        return walk.near_pagerank(most, random)
    return walk.near_uniform(most, random)


def quality_of(walk: WalkVisits, index: set[str]) -> dict[str, Any]:
    """Return the estimated quality of an index, as `lab walks --index --json` prints it."""
    share, error = walk.quality(index)
    return {
        "quality": share,
        "error": None if isnan(error) else error,
        "urls": len(index),
        **_visit_counts(walk),
    }


def summary_of(walk: WalkVisits) -> dict[str, Any]:
    """Return the figures of a walk, as `lab walks --json` prints them."""
    visits = walk.visits
    order = visits.argsort(kind="stable")[::-1][:10]
    return {
        "lines": walk.lines,
        "failed": walk.failed,
        "came": dict(walk.came),
        **_visit_counts(walk),
        "pages": len(walk.urls),
        "most_visited": [[walk.urls[page], int(visits[page])] for page in order],
    }


def _visit_counts(walk: WalkVisits) -> dict[str, Any]:
    made = Counter(walk.walkers.tolist()).values()
    return {"visits": len(walk.pages), "walkers": len(made), "each": [min(made), max(made)]}


def as_text(result: dict[str, Any]) -> str:
    """Return in words what `summary_of` or `quality_of` returns, or the URLs of a sample."""
    if "sample" in result:
        return "".join(f"{readable(url)}\n" for url in result["urls"])
    if "quality" in result:
        error = "of one walker"
        if result["error"] is not None:
            error = f"standard error {100 * result['error']:.2f}"
        return f"{100 * result['quality']:.2f} % of the PageRank, {error}: {_visits_in_words(result)}\n"
    most_often_first = sorted(result["came"].items(), key=lambda item: -item[1])
    came = ", ".join(f"{count:,} by {how}" for how, count in most_often_first)
    lines = [
        f"{result['lines']:,} URLs: {came}; {result['failed']:,} failed or were refused",
        f"after the burn-in: {_visits_in_words(result)}, {result['pages']:,} pages; most often",
        *(f"{count:>10,}  {readable(url)}" for url, count in result["most_visited"]),
    ]
    return "\n".join([*lines, ""])


def _visits_in_words(result: dict[str, Any]) -> str:
    least, most = result["each"]
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{result['visits']:,} visits of {result['walkers']:,} walkers, {each} each"
