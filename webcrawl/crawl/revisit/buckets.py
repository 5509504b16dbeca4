"""Records in the order of their times, as many as the disk holds, in a bounded amount of memory.

A bucket is a FIFO of all records of an interval of time. Intervals have one of five widths, from 12
days to a second, and begin at a multiple of their width. Nothing is sorted until its time comes
near: then a bucket of many records is divided into the next narrower ones, a few records with each
push and pop, and the first small one is sorted in memory.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator

import msgpack

from webcrawl.base.zstd_frame import pack_checked
from webcrawl.frontier.fifo import Fifo, Pool
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.queue_row import frame, some

TICKS_PER_SECOND = 256  # per second
# bytes of a time in front of each record, big-endian: records of any kind are sorted by it
TIME = 5
# seconds before 1970 when they begin: a due time may lie far in the past
BEFORE = 10 * 365 * 86_400
LAST = (1 << 8 * TIME) - 1  # in the year 2096
# A record moves at most four times, usually twice. A row with an index of due times costs 26 to 31
# us for a page taken and kept again, buckets 12 to 13.
WIDTHS = (8, 13, 18, 23, 28)  # powers of two: 1 s, 32 s, 17 minutes, 9 hours, 12 days in ticks
WIDEST = len(WIDTHS) - 1
LONGEST_SORTED = 1024  # records sorted in memory at once; a bucket with more is divided
MOST_BUCKETS = 512  # buckets; beyond, order within the last ones is given up
MOVES = 4  # records moved with each push and pop while a bucket is divided, so that none takes long
SLICE = 4096  # records moved at once if they are needed now
BUCKET, DIVIDED, SORTED = "revisit.bucket.", "revisit.divided", "revisit.sorted"
HELD = "held."  # before these names: of records that are put aside (revisits.py)
# Bytes of the number of all records, so that a bucket that is missing is noticed
# (crawl/revisit/check_revisits.py)
COUNT = 8


def ticks(seconds: float) -> int:
    """Return a time as buckets count it, the nearest that they can."""
    at = (seconds + BEFORE) * TICKS_PER_SECOND
    if 0.0 <= at < LAST:
        return int(at)
    return LAST if at > 0.0 else 0


def seconds_of(at: int) -> float:
    """Return the time of these ticks, in seconds since 1970."""
    return at / TICKS_PER_SECOND - BEFORE


def stamp(at: int) -> bytes:
    """Return the first bytes of a record to be pushed for this time."""
    return at.to_bytes(TIME, "big")


def stamped(record: bytes) -> int:
    return int.from_bytes(record[:TIME], "big")


class Bucket:
    """The records of an interval of time."""

    __slots__ = ("end", "fifo", "start", "width")

    def __init__(self, start: int, width: int, fifo: Fifo) -> None:
        self.start = start
        self.width = width  # index of WIDTHS
        self.end = start + (1 << WIDTHS[width])
        self.fifo = fifo


class Buckets:
    """A queue of records by time.

    Its order is exact but within a bucket that is too large to be divided in time.

    A record is in one of three places: in a bucket, in a bucket that is being divided, which is no
    longer found by its start, or among those that are sorted in memory and come next.
    """

    def __init__(self, db: CrawlDB, pool: Pool, which: str = "") -> None:
        """Restore the queue as of the last checkpoint; the caller saves it with the next.

        `pool`: one of its own. `which`: a prefix of the saved names, as a crawl has several queues.
        """
        self._db = db
        self._pool = pool
        self._bucket_prefix = which + BUCKET
        self._divided_name = which + DIVIDED
        self._sorted_name = which + SORTED
        self._buckets: dict[int, Bucket] = {}  # by start
        self._starts: list[int] = []  # in order; no two buckets overlap
        self._divided: list[Bucket] = []  # of these, each record is moved to a narrower bucket
        self._sorted: list[bytes] = []  # what comes next
        self._next = 0  # position of its first record that is not taken
        self._sorted_until = 0  # ticks: a record that is earlier than this is, or goes, among them
        self._stale: set[int] = set()  # starts of buckets that differ from what is saved
        # Told the owner of a FIFO whose blocks have gone to disk: the start of its bucket.
        pool.on_spill = self._stale.add
        self.count = 0  # records in all three places
        self._restore()

    def __len__(self) -> int:
        return self.count

    def push(self, record: bytes) -> None:
        """Add a record that begins with its stamp."""
        self.count += 1
        due_tick = int.from_bytes(record[:TIME], "big")
        if due_tick >= self._sorted_until:
            self._put(due_tick, record)
        else:
            self._insert(record)
        if self._divided:
            self._move(self._divided[-1], MOVES)

    def first(self) -> int | None:
        """Return the time of the next record, or None."""
        if self._next == len(self._sorted) and not self._load():
            return None
        return stamped(self._sorted[self._next])

    def pop(self) -> bytes | None:
        """Remove and return the next record, or None."""
        if self._next == len(self._sorted) and not self._load():
            return None
        record = self._sorted[self._next]
        self._next += 1
        self.count -= 1
        # Those that were taken, many at once: each time the rest of the list moves.
        if self._next > LONGEST_SORTED:
            del self._sorted[: self._next]
            self._next = 0
        if self._divided:
            self._move(self._divided[-1], MOVES)
        return record

    # -- where a record goes

    def _insert(self, record: bytes) -> None:
        """Add a record to those that are sorted."""
        insort(self._sorted, record, self._next)
        if len(self._sorted) - self._next > 2 * LONGEST_SORTED:
            self._shorten()

    def _put(self, due_tick: int, record: bytes) -> None:
        """Push a record into the bucket of its time; a long bucket that is due soon is divided."""
        place = bisect_right(self._starts, due_tick)
        bucket = self._buckets[self._starts[place - 1]] if place else None
        if bucket is None or due_tick >= bucket.end:
            bucket = self._make(due_tick, place)
        fifo = bucket.fifo
        fifo.push(record)
        self._stale.add(bucket.start)
        # One second is the narrowest: within it the order of more records than LONGEST_SORTED is given up.
        if fifo.count > LONGEST_SORTED and bucket.width:
            self._divide_if_near(bucket)

    def _make(self, at: int, place: int) -> Bucket:
        """Return a new bucket for this time, the widest that fits between its neighbours.

        `place`: its position in `_starts`. If there are too many buckets, return the one before.
        """
        low = self._buckets[self._starts[place - 1]].end if place else 0
        high = self._starts[place] if place < len(self._starts) else LAST + 1
        if len(self._starts) >= MOST_BUCKETS:
            return self._buckets[self._starts[max(place - 1, 0)]]
        # Records of a bucket that is being divided go to narrower ones, or would be divided again.
        around = [one.width for one in self._divided if one.start <= at < one.end]
        width = min(around) - 1 if around else WIDEST
        while True:
            shift = WIDTHS[width]
            start = at >> shift << shift
            # All fit that are one second wide, so that the loop ends.
            fits = low <= start and start + (1 << shift) <= high
            if fits:
                return self._add(start, width, None)
            width -= 1

    def _add(self, start: int, width: int, saved: bytes | None) -> Bucket:
        """Return a bucket of the queue that begins there, empty or with what `saved` has of it."""
        bucket = Bucket(start, width, self._pool.fifo(saved))
        bucket.fifo.owner = start
        insort(self._starts, start)
        self._buckets[start] = bucket
        return bucket

    def _remove(self, bucket: Bucket) -> None:
        del self._buckets[bucket.start]
        self._starts.remove(bucket.start)
        self._stale.add(bucket.start)

    # -- what comes next

    def _load(self) -> bool:
        """Sort the next records; return whether there are any."""
        self._sorted = []
        self._next = 0
        while not self._sorted and (self._starts or self._divided):
            late = self._late_division()
            if late is not None:
                # A slice at once: those that come after it are inserted where they belong.
                self._move(late, SLICE)
                if not late.fifo.count:
                    continue
            if not self._sorted and self._starts:
                self._load_bucket(self._buckets[self._starts[0]])
        return bool(self._sorted)

    def _late_division(self) -> Bucket | None:
        """Return the bucket under division whose records are needed now, or None."""
        first = min(self._divided, key=_start, default=None)
        if first is None or (self._starts and self._starts[0] < first.start):
            return None
        return first

    def _load_bucket(self, bucket: Bucket) -> None:
        """Sort a bucket if it is small.

        A large one is divided; if it cannot be, a part of it is sorted.
        """
        self._prepare_next(bucket.start)
        fifo = bucket.fifo
        can_be_divided = bucket.width > 0 and len(self._starts) < MOST_BUCKETS
        if fifo.count > LONGEST_SORTED and can_be_divided:
            self._divide(bucket)
            return
        found = [
            record
            for _ in range(min(fifo.count, LONGEST_SORTED))
            if (record := fifo.pop()) is not None
        ]
        found.sort()
        self._sorted = found
        self._sorted_until = bucket.end
        self._stale.add(bucket.start)
        if not fifo.count:
            self._remove(bucket)
            fifo.close()

    def _shorten(self) -> None:
        """Put the later half of the sorted records back into buckets: too many have come since."""
        end = self._next + LONGEST_SORTED
        rest = self._sorted[end:]
        self._sorted = self._sorted[self._next : end]
        self._next = 0
        self._sorted_until = stamped(rest[0])
        for record in rest:
            self._put(stamped(record), record)

    # -- dividing

    def _divide_if_near(self, bucket: Bucket) -> None:
        """Divide a bucket of many records in time: when the one before it is the first."""
        shift = WIDTHS[bucket.width]
        # In the interval of the first bucket, or in the next one, of this width.
        is_near = (bucket.start >> shift) - (self._starts[0] >> shift) <= 1
        is_narrower = not self._divided or bucket.width < self._divided[-1].width
        if is_near and is_narrower:
            self._divide(bucket)

    def _prepare_next(self, first: int) -> None:
        """Begin to divide the large buckets that begin where a wider interval of `first` ends."""
        for width in range(1, len(WIDTHS)):
            shift = WIDTHS[width]
            next_start = (first >> shift) + 1 << shift
            bucket = self._buckets.get(next_start)
            if bucket is not None and bucket.width == width and bucket.fifo.count > LONGEST_SORTED:
                self._divide_if_near(bucket)

    def _divide(self, bucket: Bucket) -> None:
        """Begin to divide a bucket: nothing is pushed into it any more, and `_move` empties it."""
        if len(self._starts) < MOST_BUCKETS:
            self._remove(bucket)
            bucket.fifo.owner = None  # saved with the divided ones, at each checkpoint
            self._divided.append(bucket)

    def _move(self, bucket: Bucket, most: int) -> None:
        """Move some records of a bucket that is being divided to where they belong by now."""
        pop, put = bucket.fifo.pop, self._put
        for _ in range(most):
            record = pop()
            if record is None:
                self._divided.remove(bucket)
                bucket.fifo.close()
                break
            at = int.from_bytes(record[:TIME], "big")
            if at >= self._sorted_until:
                put(at, record)
            else:
                self._insert(record)

    # -- saving

    def prepare(self) -> Iterator[None]:
        """Write most of it ahead of a checkpoint."""
        for start in sorted(self._stale):
            self._save(start)
            yield

    def save(self) -> None:
        """Write the rest."""
        for start in sorted(self._stale):
            self._save(start)
        # Each time, as they change with each push and pop.
        divided = [(bucket.start, bucket.width, bucket.fifo.save()) for bucket in self._divided]
        self._db.set(self._divided_name, msgpack.packb(divided))
        records = b"".join(map(frame, self._sorted[self._next :]))
        head = stamp(self._sorted_until) + self.count.to_bytes(COUNT, "big")
        self._db.set(self._sorted_name, head + pack_checked(records))

    def _save(self, start: int) -> None:
        """Save the bucket that begins there, or delete what was saved of it if it is gone."""
        self._stale.discard(start)
        name = f"{self._bucket_prefix}{start:010x}"
        bucket = self._buckets.get(start)
        if bucket is None:
            self._db.delete(name, f"{name}.")
        else:
            self._db.set(name, bytes((bucket.width,)) + bucket.fifo.save())

    def _restore(self) -> None:
        """Restore the buckets, the divided ones and the sorted records from the checkpoint."""
        for name, value in self._db.named(self._bucket_prefix):
            self._add(int(name.removeprefix(self._bucket_prefix), 16), value[0], value[1:])
        self._divided = [
            Bucket(start, width, self._pool.fifo(saved))
            # Without a row, msgpack's empty list.
            for start, width, saved in msgpack.unpackb(self._db.get(self._divided_name) or b"\x90")
        ]
        saved = self._db.get(self._sorted_name)
        if saved is not None:
            self._sorted_until = stamped(saved)
            data = self._pool.blocks.unpack(saved[TIME + COUNT :], self._sorted_name)
            self._sorted = some(data, 0, len(data))
        of_fifos = sum(bucket.fifo.count for bucket in (*self._buckets.values(), *self._divided))
        self.count = of_fifos + len(self._sorted)


def _start(bucket: Bucket) -> int:
    return bucket.start
