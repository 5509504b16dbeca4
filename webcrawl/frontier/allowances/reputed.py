"""IRLbot: a domain has as many pages as the domains that link to it vouch for."""

from __future__ import annotations

from math import log2

SEED = 10  # times DOMAIN_BUDGET_PAGES
# times DOMAIN_BUDGET_PAGES for links from two other domains
TWO = 4
MANY = 128  # for three links, and once more for each doubling of their number
SURE = 8  # for a domain with half as many URLs again as it may have pages, unless
KNOWN = 12  # so many others link to it


class ByReputation:
    """DOMAIN_BUDGET_PAGES for the first link from another domain, 4 times that for two, 128 times
    for three.

    From there each doubling of the links adds as much again: trust grows with the logarithm,
    because a spammer's next thousand domains cost less than the first.
    docs/decisions/frontier-order.md has the figures.
    """

    def __init__(self, pages: int) -> None:
        self.pages = pages

    @property
    def lead(self) -> float:
        return self.pages

    def most(self, links: int, *, seed: bool) -> float:
        least = SEED * self.pages if seed else self.pages
        if links < 2:
            return least
        trusted = TWO * self.pages if links == 2 else MANY * self.pages * (1 + log2(links / 3))
        return max(least, int(trusted))

    def sure(self, links: int, *, seed: bool) -> float:
        if links >= KNOWN:
            return float("inf")
        return max(SEED, SURE) * self.pages if seed else SURE * self.pages
