"""Revisits for tests, with a policy whose due times the test says."""

from random import Random

from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.revisits import Revisits

NOW = 1.8e9
DAY = 86_400.0


class Told:
    """A page is due when `when` says, by its URL; else so long after its visit."""

    def __init__(self, after=DAY, *, early=True):
        self.early, self.after, self.when = early, after, {}
        self.observed, self.places, self.restored = [], [], b""

    def observe(self, record, seconds, changed):
        record.visits += 1
        record.changes += changed
        self.observed.append((record.url, seconds, changed))

    def due(self, record, now, place):
        self.places.append(place)
        return self.when.get(record.url, now + self.after)

    def state(self):
        return b"state"

    def restore(self, data):
        self.restored = data


def made(db, policy, *, rate=1.0, **others):
    """`rate`: pages per second, or a function."""
    return Revisits(
        db, policy, rate=rate if callable(rate) else lambda: rate, random=Random(1), **others
    )


def page(number, fetched=NOW - DAY, **others):
    return PageRecord(f"http://h/{number}", "L", fetched, **others)
