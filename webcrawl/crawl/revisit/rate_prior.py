"""Learns how the rates of all pages are distributed, from what the visits of some of them say (empirical Bayes).

The shares of the rates are those that make the visits most likely, less what it takes to bend them. From one rate to
the next, the logarithm of the shares is believed to rise or fall as it did before anything was known, give or take 1,
and of the fastest rates give or take a fifth. Nothing contradicts that a page that changed at each visit is the fastest
there is: shares that are free put it there, and one page that changes each minute outweighs thousands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # of float64
FASTEST = 20  # rates: of once in two hours or more
LOOSE, STIFF = 1.0, 30.0  # weights of the squares by which slopes differ, those of the fastest rates last
ENOUGH = 0.01  # of the logarithm of the likelihood: what a step gains if there is nothing more to gain
SMALL = 1e-3  # pages
LEAST = 1e-300


def learned(likely: Array, first: Array, sure: float, logs: Array, steps: int) -> Array:
    """The logarithms of the shares, from others; `first` is what was believed before, and counts as `sure` pages.

    Newton's method, damped so that no step makes it worse. `likely` has a row for each page and a column for each rate.
    """
    slopes = np.diff(np.eye(len(first)), axis=0)
    weights = np.where(np.arange(len(slopes)) < len(slopes) - FASTEST, LOOSE, STIFF)
    stiff = slopes.T * weights @ slopes
    wanted = stiff @ np.log(first) + sure * first

    def worth(logs: Array) -> float:
        seen = np.log(np.maximum(likely @ np.exp(logs), LEAST)).sum()
        return float(seen + wanted @ logs - logs @ stiff @ logs / 2)

    pages, damping, best = len(likely) + sure, 1.0, worth(logs)
    for _ in range(steps):
        shares = np.exp(logs)
        believed = likely * shares
        believed /= np.maximum(believed.sum(axis=1, keepdims=True), LEAST)
        found = believed.sum(axis=0)
        slope = found - pages * shares + wanted - stiff @ logs
        curve = np.diag(pages * shares - found) - pages * np.outer(shares, shares) + believed.T @ believed + stiff
        step = np.linalg.solve(curve + damping * np.diag(pages * shares + SMALL), slope)
        after = normal(logs + step)
        gain = worth(after) - best
        if gain > 0.0:
            logs, best, damping = after, best + gain, damping / 3
        else:
            damping *= 10
        if abs(gain) < ENOUGH:
            break
    return logs


def normal(logs: Array) -> Array:
    """With a sum of 1 of what they are the logarithms of."""
    most = logs.max()
    found: Array = logs - most - np.log(np.exp(logs - most).sum())
    return found
