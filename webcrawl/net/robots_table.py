"""Where the robots.txt rules of all hosts are kept, as the book of rules sees it."""

from __future__ import annotations

from typing import Protocol

Row = tuple[float, bytes] | None  # of the table: when it expires, and what it says


class RobotsTable(Protocol):
    """Persistent storage for rules: webcrawl.frontier.robots_rows.RobotsRows."""

    def robots(self, origin: str) -> tuple[float, bytes] | None:
        """When the row expires, and the row."""
        ...

    def set_robots(self, origin: str, until: float, rules: bytes) -> None:
        """Replace the row."""
        ...

    def origins(self, host: str, most: int) -> list[str]:
        """Origins of a host that have a row."""
        ...

    def sweep(self, before: float) -> None:
        """Delete some of the rows that expired before `before`."""
        ...
