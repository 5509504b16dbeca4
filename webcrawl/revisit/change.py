"""What a fetch says of a page, beside what the fetch before it found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Change(StrEnum):
    """What became of a page since its last fetch."""

    NEW = "new"  # there was none
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"  # answered 404 or 410


class By(StrEnum):
    """How it is known that a page is as it was, or is not."""

    STATUS = "status-304"  # the server says that it was not modified
    DIGEST = "digest"  # the bytes are the same; or they differ, and the visible text does not
    TEXT = "text"  # the visible text differs


class Signal(StrEnum):
    """Who announced a change."""

    SITEMAP = "sitemap"
    FEED = "feed"
    WEBSUB = "websub"


@dataclass(frozen=True, slots=True)
class Judged:
    """One fetch of a page that has a record; `Exchange.revisit`."""

    change: Change
    by: By | None = None
    before: float = 0.0  # the fetch before, seconds since 1970; 0: there was none
    digest: int = 0  # of the body, keyed; 0: there is no body
    digest_before: int = 0
    distance: int | None = None  # bits in which the fingerprints of the texts differ, where both have one
    signal: Signal | None = None
