"""The questions of a crawl that is one drone of many to its hive: whose a URL is, and to tell others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webcrawl.base.model import Link, Packed


class Elsewhere(Protocol):
    """The part of the crawl that other drones have."""

    def is_ours(self, url: str) -> bool:
        """True if a canonical URL is for this drone to fetch."""

    def keep_ours(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Of a batch of links, given by fingerprint, URL and packed form, those that are ours; sends the others."""

    def keep_seeds(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Like `keep_ours`, for seeds, which all drones read."""

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        """Sends a request of the spider to the owner of its URL; `free`: without the seen test."""

    def voted(self, source: str, url: str) -> bool:
        """Tells the owner of a URL that this domain links to it; False if that is this drone."""

    def ask_robots(self, record: Packed) -> None:
        """Has the owner of another host fetch a robots.txt that was redirected there."""

    def robots_answered(self, link: Link, status: int, body: bytes, location: str | None, chain: str) -> bool:
        """Tells the drone that asked for a robots.txt what came of it; False if that is this drone."""
