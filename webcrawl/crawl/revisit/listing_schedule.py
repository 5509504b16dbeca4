"""Schedules sitemaps and feeds: by what their readings bring, and not by how often they change themselves.

A reading every D seconds costs 1 / D fetches per second, and lets the news that come every `gap` seconds wait for D / 2
on average. A fetch is worth what it is worth elsewhere, about the time of a round of all pages. So the best D is near
the geometric mean of the two: a listing with much news is read often, and many news come with each reading.

Of a listing's record, `shape` is what its readings brought, of which the latest count most, and `span` the seconds
that this took.
"""

from __future__ import annotations

from math import sqrt

from webcrawl.crawl.revisit.record import COUNT, PageRecord

HOUR = 3600.0  # seconds between two readings of listings of one host at least
WEEK = 7 * 86_400.0  # the same at most, of one that brings nothing; or a round, if that takes longer
LONGEST = 30 * 86_400.0  # and this in any case: a budget of nothing may be one of something soon
KEEP = 0.9  # what is known of a listing loses the rest of its weight with each reading
PRIOR = 0.5  # news that a listing is given before anything is known, in so many rounds


def learn(record: PageRecord, seconds: float, brought: int, *, changed: bool) -> None:
    """The listing was read so long after the last time, and told of so many pages that were worth a fetch, or new."""
    record.shape, record.span = KEEP * record.shape + brought, KEEP * record.span + max(seconds, 0.0)
    record.visits, record.changes = min(record.visits + 1, COUNT), min(record.changes + changed, COUNT)


def wait(record: PageRecord, a_round: float, least: float = HOUR) -> float:
    """Seconds until the listing is to be read again. `a_round`: those in which all pages are fetched once."""
    a_round = min(a_round, LONGEST)
    gap = (record.span + PRIOR * a_round) / (record.shape + PRIOR)
    return min(max(sqrt(gap * a_round / 2), least), max(WEEK, a_round, least))
