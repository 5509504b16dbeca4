"""Seed lists, read lazily and resumable at any line: see docs/seeds.md."""

from webcrawl.seeds.errors import SeedError
from webcrawl.seeds.listing import Seed
from webcrawl.seeds.reader import Seeds

__all__ = ["Seed", "SeedError", "Seeds"]
