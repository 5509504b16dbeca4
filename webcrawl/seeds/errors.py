"""What can be wrong with a list of seeds: one of its lines, or all of it."""

from __future__ import annotations


class BadLineError(ValueError):
    """A line that gives no seed and should have; the message says why. It is counted and passed over."""


class SeedError(Exception):
    """A list that cannot be read; the message is one line that begins with its path."""
