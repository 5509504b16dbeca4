"""The pages of archives, in order: each is handed out once, over all runs of the same command."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import Any

import msgpack

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.trip import Trip
from webcrawl.record.archives import (
    LOSS_PREFIX,
    ORIGINALS_FILE,
    ArchivedAnswer,
    Archives,
    PayloadPlaces,
    check_places,
)
from webcrawl.record.shards import Shard
from webcrawl.record.warc.unpacked_stream import RecordStart
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.urls.exclusion_rules import Forgotten

logger = logging.getLogger(__name__)

PLACE = "archive."  # before a file's name, in the table meta: where to go on
AGAIN = "archive again"  # in the table meta: the pages before those places that are not finished
NONE_UNFINISHED = msgpack.packb([])
# Seconds of a turn of the event loop in which a page is looked for: a file of another shard may be
# long, and has none for this run
TURN = 0.05
Unfinished = tuple[str, RecordStart | None]  # the name of its file, and where in it a page begins


class ArchivedPages:
    """Hands out the pages of archive files as trips; each checkpoint has the places reached so far.

    A page is *unfinished* from when it is handed out until it is over: the next run reads those
    again before it goes on. What the user wants forgotten is left out.
    """

    def __init__(
        self,
        crawl: Crawl,
        files: Sequence[Path],
        forgotten: Forgotten,
        truncate: int,
        barrier: Barrier,
        shard: Shard | None,
        hear_robots: Callable[[Link, Exchange], object],
    ) -> None:
        """`truncate`: the bytes that are kept of a body.

        Pages enter the `barrier` as they are handed out. `shard`: if other runs have the other
        files. `hear_robots` hears of each robots.txt in those, which makes no page here.
        """
        self._counters = crawl.parts.counters
        self._barrier = barrier
        self._forgotten = forgotten
        self._places = ArchivePlaces(crawl.parts.db)
        self._trips: dict[Trip, Unfinished] = {}  # under way, with the place of each
        self._originals = _originals(crawl.parts.db)
        self._hear_robots = hear_robots
        self.archives = Archives(files, self._places.get, self._originals, truncate, shard)
        # A copy: `next` removes them from the original while this is iterated.
        reread = starmap(self.archives.reread, [*self._places.unfinished])
        self._answers: Iterator[ArchivedAnswer] = chain(reread, self.archives)
        self.is_over = False  # all have been handed out

    @property
    def unfinished(self) -> Mapping[Unfinished, None]:
        """Return the pages that another run of the same command processes."""
        return self._places.unfinished

    def next(self) -> Trip | None:
        """Return the trip of the next page, or None if there is none, or none within TURN."""
        begun = time.perf_counter()
        while not self.is_over and time.perf_counter() - begun < TURN:
            answer = next(self._answers, None)
            if answer is None:
                self.is_over = True
                break
            if answer.resume_at is not None:
                self._places.set(answer.name, answer.resume_at)
            else:
                # `_trip` notes it anew; if it is gone or left out below, it is over.
                self._places.unfinished.pop((answer.name, answer.start), None)
            self._counters.update(answer.counters)
            if answer.download is None:
                continue
            link, exchange = answer.download
            if answer.is_of_other_shard:
                self._hear_robots(link, exchange)
                continue
            if self._forgotten and self._forgotten.has(link.url, exchange.started):
                self._counters.update(["archive/forgotten"])
                continue
            exchange.state.was_begun = answer.resume_at is None
            return self._trip(link, exchange, (answer.name, answer.start))
        return None

    def _trip(self, link: Link, exchange: Exchange, unfinished: Unfinished) -> Trip:
        """Return the trip of an archived page, inside the barrier and noted as unfinished."""
        outcome = Outcome(exchange.status, exchange.timings.total, ip=exchange.ip)
        outcome.at = exchange.started + exchange.timings.total
        trip = Trip(link, outcome=outcome, exchange=exchange, resumed=True)
        self._barrier.enter_open(trip)  # at once: the place in the archive is behind it
        self._trips[trip] = unfinished
        self._places.unfinished[unfinished] = None
        return trip

    def end(self, trip: Trip) -> None:
        """Note that a page is over; one that was abandoned stays unfinished."""
        unfinished = self._trips.pop(trip, None)
        if trip.abandoned and trip.link is not None:
            logger.warning(
                "%s: processing was cancelled in a pipeline; the next run processes it again",
                trip.link.url,
            )
        elif unfinished is not None:
            del self._places.unfinished[unfinished]

    def close(self) -> None:
        """Let go of the files."""
        self._originals.close()


class ArchivePlaces(Part):
    """By file: the offset from which to go on, and the pages before it that are not finished."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._new: dict[str, RecordStart] = {}  # by file, since the last checkpoint
        saved: list[tuple[str, list[int]]] = msgpack.unpackb(db.get(AGAIN) or NONE_UNFINISHED)
        self.unfinished: dict[Unfinished, None] = {
            (name, RecordStart(*place)): None for name, place in saved
        }
        self._saved = [*self.unfinished]
        db.join(self)

    def get(self, name: str) -> RecordStart | None:
        data = self._db.get(PLACE + name)
        return None if data is None else RecordStart(*msgpack.unpackb(data))

    def set(self, name: str, place: RecordStart) -> None:
        self._new[name] = place

    def save(self) -> None:
        for name, place in self._new.items():
            self._db.set(PLACE + name, msgpack.packb(place))
        self._new.clear()
        # A checkpoint waits for pages inside the barrier, so only those that it leaves out (away or
        # overdue) are unfinished here.
        if [*self.unfinished] != self._saved:
            self._saved = [*self.unfinished]
            self._db.set(AGAIN, msgpack.packb(self._saved))


def lost_of(figures: Mapping[str, Any]) -> dict[str, int]:
    """Return how much of the archives could not be read, by what it was: answers, records, files."""
    return {
        name.removeprefix(LOSS_PREFIX): int(value)
        for name, value in figures.items()
        if name.startswith(LOSS_PREFIX)
    }


def check_originals(snapshot: Snapshot, state: Path) -> Iterator[DamagedFile]:
    """Yield damage if the places of payloads are missing or cannot be read.

    Without them, revisit records in archives that are read later would have no payload.
    """
    path = state / ORIGINALS_FILE
    has_read = list(snapshot.rows("SELECT 1 FROM meta WHERE name GLOB ? LIMIT 1", (f"{PLACE}*",)))
    if not path.exists():
        if has_read:
            yield DamagedFile(path, 0, "missing, though archives were read")
    else:
        yield from check_places(path)


def _originals(db: CrawlDB) -> PayloadPlaces:
    originals = PayloadPlaces(db.folder / ORIGINALS_FILE)
    db.join(originals)
    return originals
