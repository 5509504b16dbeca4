"""The base of policies with one threshold, by which visits just fill the budget; a sample of the pages steers it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import exp, log
from struct import Struct

from webcrawl.crawl.revisit.change_rate import observe
from webcrawl.crawl.revisit.pace import SIZE as OF_PACE
from webcrawl.crawl.revisit.pace import YEAR, Pace
from webcrawl.crawl.revisit.page_sample import Sample
from webcrawl.crawl.revisit.policy import PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.sampled_rates import Rates

KEY = 16  # bytes
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
STEP = 8.0  # ln of the level, per pass: the number of pages may have grown a hundredfold since the last one
SOME, HALVINGS = 64, 10  # pages by which the next level is found, and in how many steps
FEW, CAREFUL = 0.05, 0.3  # the same if signals have more of the budget: what they cost is known late
RARE = 0.01  # visits per page and round that are found at least: those that were spared are known late
LEAST, MOST = 1e-12, 1e24  # of the level
SHORTEST = 1.0  # seconds between two visits
DAY = 86400.0
_LAYOUT = Struct("<2d")

Interval = Callable[[float, float, float, float], float]


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
        self._sample: Sample[Row] = Sample(options.random.randbytes(KEY))
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
        self.level = max(min(self.level * exp(self._step(log(found / wanted), most)), MOST), LEAST)
        self._at, self._often = 0, 0.0
        self._farthest = FARTHEST * seconds
        calls = self._pages() / (PASSES * looked)  # per page of the sample
        self._stride, self._looks = max(int(calls), 1), max(min(int(1 / calls), LOOKS), 1) if calls > 0 else 1

    def _step(self, excess: float, most: float) -> float:
        """Return by how much ln of the level changes, so that ln of the visits falls by `excess`; at most by `most`.

        How visits follow the level is learned from a few pages: as its root while intervals are short, and much faster
        where they are long.
        """
        rows = self._sample.rows
        some = rows[:: max(len(rows) // SOME, 1)]

        def visits(step: float) -> float:
            level = self.level * exp(step)
            return sum(1 / max(self._interval(level, one, two, three), SHORTEST) for one, two, three, _ in some)

        wanted = visits(0.0) * exp(-excess)
        low, high = -most, most
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if visits(middle) > wanted else (low, middle)
        return (low + high) / 2

    def state(self) -> bytes:
        rows = b"".join(_ROW.pack(number, *row) for number, row in self._sample.items())
        head = _HEAD.pack(self._sample.key, self._sample.bar)
        return self.pace.state() + _LAYOUT.pack(self.level, self.correction) + head + rows

    def restore(self, data: bytes) -> None:
        """Goes on from a state, with a new pass over the sample."""
        own, rows = OF_PACE + _LAYOUT.size, data[OF_PACE + _LAYOUT.size + _HEAD.size :]
        if len(data) < own + _HEAD.size or len(rows) % _ROW.size:
            return
        key, bar = _HEAD.unpack_from(data, own)
        self._sample.fill(key, bar, ((row[0], row[1:]) for row in _ROW.iter_unpack(rows)))
        self.pace.restore(data[:OF_PACE])
        self.level, self.correction = _LAYOUT.unpack(data[OF_PACE:own])
        self._at, self._often, self._wait = 0, 0.0, 1


class Steered(ABC):
    """Three numbers of a page and the level give its interval; the level is such that the budget is used."""

    early = True

    def __init__(self, options: PolicyOptions, interval: Interval) -> None:
        self.threshold = Threshold(options, interval)
        self.rates = Rates()

    @abstractmethod
    def numbers(self, record: PageRecord, missed: float) -> tuple[float, float, float]:
        """Of the page; `missed` is the share of its changes that no signal announces."""

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001
        observe(record, seconds, changed, self.rates.given)

    def worth(self, weight: float, gap: float | None, now: float) -> bool:
        del weight, gap
        self.threshold.look(now)
        self.threshold.pace.ahead += 1
        return True

    def due(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        return self.threshold.due(record.url, now, *self.numbers(record, missed))

    def took(self, record: PageRecord, now: float, due: float) -> None:
        del record, now
        self.threshold.pace.took(due)

    def spared(self, part: float) -> None:
        self.threshold.pace.ahead -= part

    def state(self) -> bytes:
        return self.threshold.state()

    def restore(self, data: bytes) -> None:
        self.threshold.restore(data)
