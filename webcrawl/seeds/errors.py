"""Errors in a list of seeds: in one of its lines, or in the whole list."""

from __future__ import annotations


class BadLineError(ValueError):
    """A line that should give a seed and does not; the message says why. It is counted and skipped."""


class SeedError(Exception):
    """A list that cannot be read; the message is one line that begins with the list's path."""
