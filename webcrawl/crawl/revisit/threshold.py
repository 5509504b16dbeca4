"""One threshold for all pages, by which their visits just fill the budget; it is steered by a sample of the pages."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush, heapreplace
from math import exp, log
from struct import Struct

from siphashc import siphash

from webcrawl.crawl.revisit.pace import SIZE, YEAR, Pace
from webcrawl.crawl.revisit.policy import PolicyOptions

SAMPLED = 4096  # pages; a mean of what they have is then right within a few percent
KEY = 16  # bytes
_ALL = (1 << 64) - 1
_HEAD = Struct("<16sQ")
_ROW = Struct("<Q4d")
Row = tuple[float, float, float, float]  # three numbers of a policy's own, and when the page is due

FARTHEST = 40.0  # rounds after which even a page that is not worth a visit gets one: it may have become another
PASSES = 20  # passes over the sample per round of all pages, if there are so many
LOOKS = 2  # pages of the sample per call at most
PULL = 0.2  # a queue that is a round late: the threshold aims at so much less than the budget, as a power of e
DRIFT = 0.02  # and each round that it is late corrects the sample by so much
BOUND = 0.5  # rounds: a queue that is later counts as if it were so late, after a pause of a month say
WRONG = log(3.0)  # the sample's error is believed to be at most threefold
STEP = 2.0  # ln of the level, per pass
FEW, CAREFUL = 0.05, 0.3  # the same if signals have more of the budget: what they cost is known late
RARE = 0.01  # visits per page and round that are found at least: those that were spared are known late
LEAST, MOST = 1e-12, 1e24  # of the level
SHORTEST = 1.0  # seconds between two visits
DAY = 86400.0
_LAYOUT = Struct("<2d")

Interval = Callable[[float, float, float, float], float]


class Sample:
    """The pages whose URLs have the smallest hashes: any page is as likely to be in it, however often it is fetched.

    The hash is keyed, so that no site can choose its URLs to be in it.
    """

    __slots__ = ("_key", "_largest", "_order", "_slots", "bar", "rows")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._order: list[int] = []  # the hash in each slot
        self._slots: dict[int, int] = {}
        self._largest: list[int] = []  # a heap of the negated hashes
        self.rows: list[Row] = []
        self.bar = _ALL  # the largest hash that belongs to the sample

    def __len__(self) -> int:
        return len(self.rows)

    def put(self, url: str, row: Row) -> None:
        """Tells the latest of a page, whether it is of the sample or not."""
        number = siphash(self._key, url)
        if number <= self.bar:
            self._put(number, row)

    def _put(self, number: int, row: Row) -> None:
        slot = self._slots.get(number)
        if slot is not None:
            self.rows[slot] = row
        elif len(self.rows) < SAMPLED:
            self._slots[number] = len(self.rows)
            self._order.append(number)
            self.rows.append(row)
            heappush(self._largest, -number)
        else:
            slot = self._slots.pop(-heapreplace(self._largest, -number))
            self._slots[number], self._order[slot], self.rows[slot] = slot, number, row
        if len(self.rows) == SAMPLED:
            self.bar = min(self.bar, -self._largest[0])

    def drop(self, slot: int) -> None:
        """Forgets a page that is gone. Its place goes to the next page with as small a hash."""
        number, last, row = self._order[slot], self._order.pop(), self.rows.pop()
        del self._slots[number]
        if number != last:
            self._order[slot], self.rows[slot], self._slots[last] = last, row, slot
        self._largest.remove(-number)  # rare enough for a search and a sort
        self._largest.sort()

    def state(self) -> bytes:
        rows = (_ROW.pack(number, *row) for number, row in zip(self._order, self.rows, strict=True))
        return _HEAD.pack(self._key, self.bar) + b"".join(rows)

    def restore(self, data: bytes) -> bool:
        """Takes over a state, if it is one."""
        if len(data) < _HEAD.size or (len(data) - _HEAD.size) % _ROW.size:
            return False
        self._key, self.bar = _HEAD.unpack_from(data)
        rows = list(_ROW.iter_unpack(data[_HEAD.size :]))
        self._order, self.rows = [row[0] for row in rows], [row[1:] for row in rows]
        self._slots = {number: slot for slot, number in enumerate(self._order)}
        self._largest = sorted(-number for number in self._order)
        return True


class Threshold:
    """Turns what is known of a page into its due time.

    `interval(level, one, two, three)` is the seconds between two visits of a page, which grow with the level; the three
    numbers are the policy's own. The level is fed forward: with it, the pages of a sample are visited once per round on
    average. One page of the sample is looked at per call, so that no call takes long. What error remains shows in the
    queue, which becomes later and later or earlier and earlier, and is corrected slowly.
    """

    def __init__(self, options: PolicyOptions, interval: Interval) -> None:
        self.pace = Pace(options)
        self.level = 1.0
        self.correction = 0.0  # ln
        self._pages = options.pages
        self._interval = interval
        self._sample = Sample(options.random.randbytes(KEY))
        self._at = 0  # the next page of the sample
        self._often = 0.0  # visits per second of those before it, at this level
        self._farthest = YEAR
        self._stride = self._wait = self._looks = 1  # every so many calls, so many pages of the sample are looked at

    def due(self, url: str, now: float, one: float, two: float, three: float) -> float:
        """The time at which a page that was fetched just now is due."""
        place = self.pace.place(now)
        due = place + self._bounded(one, two, three)
        self._sample.put(url, (one, two, three, due))
        self.look(now)
        return due

    def _bounded(self, one: float, two: float, three: float) -> float:
        return min(max(self._interval(self.level, one, two, three), SHORTEST), self._farthest)

    def look(self, now: float) -> None:
        """Looks at the next pages of the sample, if it is time."""
        self._wait -= 1
        if self._wait > 0 or not self._sample.rows:
            return
        self._wait = self._stride
        for _ in range(self._looks):
            self._look(now)

    def _look(self, now: float) -> None:
        rows = self._sample.rows
        if self._at >= len(rows):
            self._judge(now)
        one, two, three, due = rows[self._at]
        if due + self._farthest + DAY < self.pace.place(now) and len(rows) > 1:
            self._sample.drop(self._at)  # its turn came long ago, and it was not kept again
        else:
            self._often += 1 / self._bounded(one, two, three)
            self._at += 1

    def _judge(self, now: float) -> None:
        """Sets the level by the pass over the sample that ends here."""
        seconds, looked = self.pace.round(now), len(self._sample)
        late = max(min((now - self.pace.place(now)) / seconds, BOUND), -BOUND)
        if abs(late) < BOUND:
            passed = self._stride * looked / (self._looks * max(self._pages(), looked))
            self.correction = max(min(self.correction - DRIFT * passed * late, WRONG), -WRONG)
        wanted = exp(self.correction - PULL * late)  # visits per page and round
        ahead = self.pace.ahead_rate / self.pace.rate if self.pace.rate > 0 else 0.0
        found = max(self._often / looked * seconds + ahead, RARE)
        most = STEP if ahead < FEW else CAREFUL
        step = max(min(log(found / wanted), most), -most)
        self.level = max(min(self.level * exp(step), MOST), LEAST)
        self._at, self._often = 0, 0.0
        self._farthest = FARTHEST * seconds
        calls = self._pages() / (PASSES * looked)  # per page of the sample
        self._stride, self._looks = max(int(calls), 1), max(min(int(1 / calls), LOOKS), 1) if calls > 0 else 1

    def state(self) -> bytes:
        return self.pace.state() + _LAYOUT.pack(self.level, self.correction) + self._sample.state()

    def restore(self, data: bytes) -> None:
        """Goes on from a state, with a new pass over the sample."""
        own = SIZE + _LAYOUT.size
        if not self._sample.restore(data[own:]):
            return
        self.pace.restore(data[:SIZE])
        self.level, self.correction = _LAYOUT.unpack(data[SIZE:own])
        self._at, self._often, self._wait = 0, 0.0, 1
