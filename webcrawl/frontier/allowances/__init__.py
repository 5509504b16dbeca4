"""The pages of a registered domain that are fetched: a class per file, chosen by DOMAIN_BUDGET."""

from __future__ import annotations

from typing import Protocol


class Allowance(Protocol):
    """A policy is constructed with DOMAIN_BUDGET_PAGES."""

    def __init__(self, pages: int) -> None: ...

    @property
    def lead(self) -> float:
        """Pages that may be requested before new bodies have come back for them.

        Infinity: novelty does not count.
        """

    def most(self, links: int, *, seed: bool) -> float:
        """Return how many pages a domain may have to which `links` other domains link.

        At most 64 of these are counted. Infinity: no limit. `seed`: the domain has a seed. More
        links must never mean fewer pages.
        """

    def sure(self, links: int, *, seed: bool) -> float:
        """Return how many of these pages a domain may have even if it is a wide site.

        That is one with half as many URLs again as it may have pages (budgets.py). Infinity: all.
        """
