"""Seed lists, read lazily and resumable at any line: see docs/seeds.md."""

from webcrawl.urls.seeds.seed_list import Seed
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_rows import SeedError

__all__ = ["Seed", "SeedError", "Seeds"]
