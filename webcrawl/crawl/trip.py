"""The value that travels with a URL through the loop: what was decided, and how it went."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from webcrawl.base.model import Exchange, Link, Outcome, Timings, unpack
from webcrawl.crawl.lost_requests import Refusal
from webcrawl.net.protocols import AnswerSource


@dataclass(slots=True, eq=False)
class Trip:
    """A URL's way from `next_trip` (or the `next_request` of Scrapy's engine) to its booking.

    It is never stored: a URL that is queued again gets a new one.
    """

    link: Link | None = None  # none for a refusal, which was booked already
    keep: float = 0.0  # seconds that its connection is worth keeping: the host's next turn is near
    # no URL of its host waits: its own links may be of the host, or nothing comes
    spare: bool = False
    # the number of a request that needs no host (crawl/hostless.py), which has no link
    hostless: int = 0
    refusal: Refusal | None = None  # the frontier has ended it: it goes straight to its errback
    outcome: Outcome | None = None  # how the download ended
    failure: str = ""  # the dotted name of the error that it ended with
    exchange: Exchange | None = None  # its bytes, where one of the crawl's own clients made it
    withheld: Exchange | None = None  # the head of what a middleware gave, whose owner forbids it
    # cancelled by the end of the crawl: not booked, fetched again by the next run
    abandoned: bool = False
    # cancelled because others need its slot: not booked either, but its host waits
    cancelled: bool = False
    source: AnswerSource | None = None  # where its answer comes from, while it is under way
    timings: Timings | None = None  # of a new connection, as far as it has got
    begun: float = 0.0  # when its download began, by time.monotonic
    # of an archive: what is cancelled, even by its own code, is left to the next run
    resumed: bool = False
    comes_again: bool = False  # will be retried: the spider is not told yet
    visited: bool = False  # its page was made
    inline: bool = False  # of a request that somebody awaits, which no scheduler has handed out
    awaited: str = ""  # the URL of that, also while its robots.txt is fetched
    private: bool = False  # its request has a secret in it: logged, but not archived
    # while it is under way: its host has answered, and a browser renders the answer
    fetched: Outcome | None = None
    readers: int = 0  # processes that read its answer now: of PDFs, of documents, or for a score
    # what its page has to write once it is finished
    writes: list[Callable[[], object]] | None = None
    booked: bool = False  # it is over
    # id of the request that it travels with: a copy of its meta makes no second owner
    owner: int = 0

    @property
    def is_prerequisite(self) -> bool:
        """Return whether this is a robots.txt that the crawl fetches for itself."""
        return self.link is not None and self.link.is_prerequisite

    @property
    def url(self) -> str:
        """Return the URL that it is about; `data:` for a request that needs no host."""
        if self.link is not None:
            return self.link.url
        return (
            unpack(self.refusal.record).url if self.refusal is not None else self.awaited or "data:"
        )

    def answer(self) -> tuple[Link, Exchange]:
        """Return the link, and what came of it."""
        if self.link is None or self.exchange is None:
            raise ValueError(
                "this response was not made by one of webcrawl's download handlers, so it has no exchange"
            )
        return self.link, self.exchange


PAGE: ContextVar[Trip | None] = ContextVar("page", default=None)
"""The trip of the page that this code, and every task that it starts, works for."""


def page_under_way() -> Trip | None:
    """Return the page that the caller works for, unless it is finished already."""
    page = PAGE.get()
    return None if page is None or page.booked else page


def when_finished(write: Callable[[], object]) -> None:
    """Call `write` when the page under way is finished, or at once if there is none.

    So a checkpoint that leaves the page out has nothing of it, however long the page takes.
    """
    page = page_under_way()
    if page is None:
        write()
    elif page.writes is None:
        page.writes = [write]
    else:
        page.writes.append(write)
