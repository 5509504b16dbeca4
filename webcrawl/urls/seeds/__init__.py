"""Seed lists, read lazily and resumable at any line: see docs/seeds-and-scope.md."""

from webcrawl.urls.seeds.seed_reader import Seed, Seeds
from webcrawl.urls.seeds.seed_source import SeedError

__all__ = ["Seed", "SeedError", "Seeds"]
