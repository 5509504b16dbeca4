"""Why there is no package."""

from __future__ import annotations


class CannotPack(Exception):  # noqa: N818 - reads as what it is
    """One line for the user."""


class NothingToPack(CannotPack):
    """A crawl has no finished archive file; others of its hive may have."""
