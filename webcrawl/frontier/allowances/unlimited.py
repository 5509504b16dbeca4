"""No limit: for crawls of sites that one knows."""

from __future__ import annotations


class Unlimited:
    """Every domain is crawled as far as links lead, but for URLs of families that bring nothing
    new.
    """

    lead = float("inf")

    def __init__(self, pages: int = 0) -> None:
        del pages  # part of the protocol, without effect here

    def most(self, links: int, *, seed: bool) -> float:
        del links, seed
        return float("inf")

    def sure(self, links: int, *, seed: bool) -> float:
        del links, seed
        return float("inf")
