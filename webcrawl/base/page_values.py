"""Values of a fetched page: how it has changed, its score, and whose block page it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

GONE = frozenset({404, 410})
MOVED = frozenset({301, 308})  # for good


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
class PageJudgement:
    """One fetch of a page that has a record; `Exchange.revisit`."""

    change: Change
    by: By | None = None
    before: float = 0.0  # the fetch before, seconds since 1970; 0: there was none
    digest: int = 0  # of the body, keyed; 0: there is no body
    digest_before: int = 0
    # Bits in which the fingerprints of the texts differ, if both have one
    distance: int | None = None
    announced: bool = False  # a sitemap, feed or hub had said that the page has changed
    text: int = 0  # the fingerprint of the visible text, if it was wanted; 0: none
    visits: int = 0  # how often the page was fetched again before
    # When the equal answer in the archive was fetched; 0: the archive has none
    stored: float = 0.0
    copy_of: str = ""  # the URL of that answer, if it is another's
    said: tuple[int, int] = (0, 0)  # of an unchanged page: what the answer before said of its use


class PageScores(NamedTuple):
    """Scores are from 0 to 1; None where there is none."""

    score: float | None
    language: str = ""  # as its text shows, else as it declares; ISO 639
    fits: float | None = None  # whether that is one of FOCUS_LANGUAGES
    anchors: Mapping[str, float] = {}  # of the texts of its links, by canonical URL
    # The languages of links by hreflang: 1 for a wanted one, 0 for another
    tongues: Mapping[str, float] = {}
    flaw: str = ""  # why there is no score although there should be one


UNSCORED = PageScores(None, flaw="the scorer is paused after failures")


# Names of block pages in files of users: annotations in crawl.log and WARC, kinds in marks.toml
BLOCK_PAGE, UNKNOWN = "wall:", "wall:unknown"
DENIAL = "wall:denial"  # by the structure of an error
# Recognised by words or structure, with a script that sets a cookie and asks again, or is packed
SCRIPT = "wall:script"


def has_block_page(notes: Iterable[str]) -> bool:
    """Return whether one of these annotations says that the answer is a block page."""
    return any(map(block_page_vendor, notes))


def block_page_vendor(recognised: str | None, *, robots: bool = False) -> str:
    """Return the vendor of the block page that marks or structure show; empty if they show none.

    Words alone may be wrong. The denial of a robots.txt is no block page: such an error allows
    everything.
    """
    if not recognised or not recognised.startswith(BLOCK_PAGE):
        return ""
    is_shown_by_words_alone = recognised == UNKNOWN
    allows_everything = robots and recognised == DENIAL
    if is_shown_by_words_alone or allows_everything:
        return ""
    return recognised.removeprefix(BLOCK_PAGE)
