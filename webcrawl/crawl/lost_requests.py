"""Requests of the spider that are lost or refused: not sent, not kept, without methods.

A refusal is a request that the frontier ends without sending it, until its errback is called; part
of the checkpoint.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

import msgpack

from webcrawl.base.model import Link, Status
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.store.crawldb import CrawlDB, Part

logger = logging.getLogger(__name__)

COUNTED = "requests/unkept"  # among the counters, over all runs
NAMELESS = f"status/{Status.NO_METHOD:d}"  # those that ended because a method is gone
META = "refusals"
# in the database: how many of them the end of a run has reported by its exit status
REPORTED = "unkept"


class Unkept:
    """Counts lost requests, logs each kind once per run, and has the end of a run report them."""

    def __init__(self, db: CrawlDB, counters: Counter[str]) -> None:
        self._db = db
        self._counters = counters
        self._logged_kinds: set[str] = set()

    def add(self, kind: str, line: str) -> None:
        """Count one more; of the first of its kind in this run, log `line`."""
        self._counters[COUNTED] += 1
        if kind not in self._logged_kinds:
            self._logged_kinds.add(kind)
            logger.error(
                "%s; this request is lost, and further ones of this kind are counted, "
                "but not logged",
                line,
            )

    def report(self) -> int:
        """Return the number that no run has reported at its end; call it before the checkpoint."""
        lost = self._counters[COUNTED] + self._counters[NAMELESS]  # over all runs
        reported = int(self._db.get(REPORTED) or 0)
        if lost != reported:
            self._db.set(REPORTED, b"%d" % lost)
        return lost - reported


def reason_of(status: int) -> str:
    """Return the words of IgnoreRequest for this Status."""
    return Status(status).name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """A packed link, and the Status that it ended with."""

    record: bytes
    status: int

    @property
    def reason(self) -> str:
        return reason_of(self.status)


class Refusals(Part):
    """Logs every dropped link; those that `wants` selects wait here for their errback."""

    def __init__(self, db: CrawlDB, log: CrawlLog, wants: Callable[[Link], bool]) -> None:
        """Restore the refused requests whose errbacks had not been called before the stop.

        `wants` returns whether the spider is to hear of a link's refusal.
        """
        self._db = db
        self._log = log
        self._wants = wants
        data = db.get(META)
        # refusals that `next_refusal` has not given out yet, the oldest first
        self.waiting = (
            deque(Refusal(*saved) for saved in msgpack.unpackb(data)) if data else deque()
        )
        # those whose errback is being called, in the order of `next_refusal`
        self._under_way: dict[Refusal, None] = {}
        self._saved = len(self.waiting)  # in the last checkpoint
        db.join(self)

    def __len__(self) -> int:
        """Return the number of refusals whose errback is still to be called."""
        return len(self.waiting) + len(self._under_way)

    def dropped(self, link: Link, status: int) -> None:
        """Take a URL that ends without having been fetched."""
        self._log.dropped(link, status)
        # A robots.txt has the request of the link that needs it.
        is_own_request = bool(link.request) and not link.is_prerequisite
        if is_own_request and self._wants(link):
            self.waiting.append(Refusal(link.pack(), status))

    def next_refusal(self) -> Refusal | None:
        """Return the next refusal to deliver; call `delivered` afterwards."""
        if not self.waiting:
            return None
        refusal = self.waiting.popleft()
        self._under_way[refusal] = None
        return refusal

    def delivered(self, refusal: Refusal) -> None:
        """Note that the errback of a refusal was called."""
        del self._under_way[refusal]

    # -- the checkpoint

    def save(self) -> None:
        """Save what is left; a crawl without refusals writes nothing."""
        if self or self._saved:
            # Those under way, too: their errbacks have not ended.
            left = [(one.record, one.status) for one in (*self._under_way, *self.waiting)]
            self._db.set(META, msgpack.packb(left))
            self._saved = len(left)
