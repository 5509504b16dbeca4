"""The pages of a registered domain that are fetched: a class per file, chosen by DOMAIN_BUDGET."""

from __future__ import annotations

from typing import Protocol


class Allowance(Protocol):
    """A policy is constructed with DOMAIN_BUDGET_PAGES."""

    def __init__(self, pages: int) -> None: ...

    @property
    def lead(self) -> float:
        """Pages that may be asked for before new bodies have come back for them.

        Infinity: novelty does not count.
        """

    def most(self, links: int, *, seed: bool) -> float:
        """Return the pages of a domain that this many others link to (at most 64 are counted).

        Infinity: no limit.

        `seed`: it has a seed. More links never mean fewer pages.
        """

    def sure(self, links: int, *, seed: bool) -> float:
        """Return how many of these it may have even if it has half as many URLs again.

        Infinity: all.
        """
