"""Pages that were watched by somebody: the histories of Bing's crawls (Kolobov and others, NeurIPS
2019).

A folder has two files of tabs: `urlid_offset_history.txt` with an id, the days until the first
crawl, and a list of [days since the last crawl, 1 if the page had changed]; `urlid_imp.txt` with an
id and the page's importance.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.support.changing import DAY, Array, World

HISTORIES, IMPORTANCE = "urlid_offset_history.txt", "urlid_imp.txt"
MIN_DAYS = 1.0 / DAY  # days between two crawls
SLOWEST, FASTEST, STEPS = 1e-6, 1e4, 50  # changes per day, and of the search between them


def replayed(folder: Path, pages: int, seed: int) -> World:
    """Return the first pages of the histories as a world.

    Each changes at the rate that makes its history most likely. Raise ValueError if there is none.
    """
    rates = dict(islice(_rows(folder / HISTORIES, _history), pages))
    weights = dict.fromkeys(rates, 0.0)
    weights.update(
        (page, weight) for page, weight in _rows(folder / IMPORTANCE, _weight) if page in weights
    )
    if not any(weights.values()):
        raise ValueError(f"{folder}: no page with a history and an importance")
    weight = np.array([*weights.values()])
    return World(np.array([*rates.values()]), weight / weight.sum(), np.random.default_rng(seed))


def _rows(path: Path, read: Callable[..., tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Yield what `read` makes of each line. Raise ValueError with the line's number if it fails."""
    with path.open() as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield read(*line.rstrip("\n").split("\t"))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}:{number}: {error}") from error


def _history(page: str, _: str, history: str) -> tuple[str, float]:
    return page, rate(np.array(json.loads(history), float).reshape(-1, 2)) / DAY


def _weight(page: str, weight: str) -> tuple[str, float]:
    return page, float(weight)


def rate(visits: Array) -> float:
    """Return the most likely number of changes per day.

    If each visit found a change, that is the estimate of Cho and Garcia-Molina.
    """
    days, changed = np.maximum(visits[:, 0], MIN_DAYS), visits[:, 1] > 0
    quiet, gaps = float(days[~changed].sum()), days[changed]
    if not len(gaps):
        return SLOWEST
    if not quiet:
        return float(np.log(2 * len(gaps) + 1) / gaps.mean())
    low, high = np.log(SLOWEST), np.log(FASTEST)
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = (gaps / np.expm1(np.minimum(np.exp(middle) * gaps, 500.0))).sum()
        low, high = (middle, high) if found > quiet else (low, middle)
    return float(np.exp(low))
