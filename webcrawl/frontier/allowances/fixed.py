"""One number of pages for every registered domain."""

from __future__ import annotations


class Fixed:
    """DOMAIN_BUDGET_PAGES, whichever pages link to the domain and whatever it serves."""

    lead = float("inf")

    def __init__(self, pages: int) -> None:
        self.pages = pages

    def most(self, links: int, *, seed: bool) -> float:
        del links, seed  # part of the protocol, without effect here
        return self.pages

    def sure(self, links: int, *, seed: bool) -> float:
        del links, seed
        return float("inf")
