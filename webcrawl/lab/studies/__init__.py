"""The names of the policies and orders that are studied: numpy, which the studies need, takes 0.1
seconds to import.
"""

from __future__ import annotations

NAMES = ("INFINITE", "MIN", "LRU", "CLOCK", "RANDOM", "STATIC")
ORDERS = (
    "breadth",
    "random",
    "indegree",
    "opic",
    "reputation",
    "pagerank",
    "best",
    "focus",
    "ideal",
)
ONLY_GOOD = ("focus", "ideal")
# by default, where it is known which pages are good
OF_GOOD = ("breadth", "indegree", "focus", "ideal")
KINDS_OF_SAMPLE = ("near-pagerank", "near-uniform")
