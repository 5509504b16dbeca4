"""PageRank by power iteration (Page, Brin, Motwani, Winograd 1998)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

CLOSE = 1e-12
STEPS = 1000  # at most; with 0.85 some 170 are enough for any graph


def pagerank(
    heads: npt.NDArray[Any], tails: npt.NDArray[Any], nodes: int, damping: float = 0.85, close: float = CLOSE
) -> npt.NDArray[np.float64]:
    """The PageRank of pages numbered from 0; together they have 1.

    Link i is on page `heads[i]` and leads to `tails[i]`. A page that links to another twice gives it two shares. One
    without links gives to all pages alike, itself included, and so does the part 1 - `damping` of every page. Steps are
    taken until all values together change by less than `close`.
    """
    if not nodes:
        return np.zeros(0)
    links = np.bincount(heads, minlength=nodes)
    ends = links == 0
    share = damping / np.maximum(links, 1)
    rank = np.full(nodes, 1 / nodes)
    for _ in range(STEPS):
        given = np.bincount(tails, weights=(rank * share)[heads], minlength=nodes).astype(np.float64, copy=False)
        given += (1 - damping + damping * rank[ends].sum()) / nodes
        given /= given.sum()  # rounding errors would add up
        change = np.abs(given - rank).sum()
        rank = given
        if change < close:
            break
    return rank
