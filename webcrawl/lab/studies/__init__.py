"""The names of the policies and orders that are studied: numpy, which the studies need, takes 0.1
seconds to import.
"""

from __future__ import annotations

POLICY_NAMES = ("INFINITE", "MIN", "LRU", "CLOCK", "RANDOM", "STATIC")
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
GOOD_ONLY_ORDERS = ("focus", "ideal")
# by default, where it is known which pages are good
DEFAULT_GOOD_ORDERS = ("breadth", "indegree", "focus", "ideal")
SAMPLE_KINDS = ("near-pagerank", "near-uniform")
