"""The values that a fetch yields of a page beside the fetch before it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

GONE = frozenset({404, 410})


class Change(StrEnum):
    """The change of a page since its last fetch."""

    NEW = "new"  # there was none
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"  # answered 404 or 410


class By(StrEnum):
    """The evidence that a page is as it was, or is not."""

    STATUS = "status-304"  # the server says that it was not modified
    DIGEST = "digest"  # the bytes are the same; or they differ, and the visible text does not
    TEXT = "text"  # the visible text differs, or the page was away in between


@dataclass(slots=True)  # not frozen: to make one would take five times as long
class Judged:
    """One fetch of a page that has a record; `Exchange.revisit`."""

    change: Change
    by: By | None = None
    before: float = 0.0  # the fetch before, seconds since 1970; 0: there was none
    digest: int = 0  # of the body, keyed; 0: there is no body
    digest_before: int = 0
    distance: int | None = None  # bits in which the fingerprints of the texts differ, where both have one
    announced: bool = False  # a sitemap, feed or hub had said that the page has changed
    text: int = 0  # the fingerprint of the visible text, if it was wanted; 0: none
    visits: int = 0  # how often the page was fetched again before
    stored: float = 0.0  # when the answer was fetched that the archive has, if this one is the same; 0: it has none
    copy_of: str = ""  # the URL of that answer, if it is another's
    said: tuple[int, int] = (0, 0)  # of an unchanged page: what the answer before said of its use
