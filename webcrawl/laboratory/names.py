"""What the policies and orders are called that are studied, for who does not need numpy: that takes 0.1 seconds."""

from __future__ import annotations

NAMES = ("INFINITE", "MIN", "LRU", "CLOCK", "RANDOM", "STATIC", "SIEVE", "S3-FIFO", "W-TinyLFU")
ORDERS = ("breadth", "random", "indegree", "opic", "reputation", "pagerank", "best")
