"""What the policies are called that are studied, for who does not need numpy: it takes a tenth of a second."""

from __future__ import annotations

NAMES = ("INFINITE", "MIN", "LRU", "CLOCK", "RANDOM", "STATIC", "SIEVE", "S3-FIFO", "W-TinyLFU")
