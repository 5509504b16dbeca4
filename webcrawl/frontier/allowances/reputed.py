"""IRLbot: a domain has as many pages as the domains that link to it vouch for."""

from __future__ import annotations

from math import log2

# Pages of a domain, in multiples of DOMAIN_BUDGET_PAGES
SEED_TIMES = 10  # at least, if it has a seed
TWO_LINKS_TIMES = 4  # if two other domains link to it
# if three others do; as many more for each doubling of their number
THREE_LINKS_TIMES = 128
# at most, if it has half as many URLs again as it may have pages
SURE_TIMES = 8
LINKS_OF_TRUSTED = 12  # other domains that link to one for which SURE_TIMES does not hold


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
        least = SEED_TIMES * self.pages if seed else self.pages
        if links < 2:
            return least
        if links == 2:
            return max(least, TWO_LINKS_TIMES * self.pages)
        doublings = log2(links / 3)
        return max(least, int(THREE_LINKS_TIMES * self.pages * (1 + doublings)))

    def sure(self, links: int, *, seed: bool) -> float:
        if links >= LINKS_OF_TRUSTED:
            return float("inf")
        return max(SEED_TIMES, SURE_TIMES) * self.pages if seed else SURE_TIMES * self.pages
