"""Policies by which only sitemaps and feeds are fetched again in their turns, or nothing: all else
is by signals.
"""

from webcrawl.crawl.revisit.policies import Fixed

NEVER = float("inf")


class OnlyListings(Fixed):
    """A page whose URL ends in `map.xml`, or in `feed`, is due after REVISIT_AGE."""

    early = False

    def due(self, record, now, place):
        return (
            super().due(record, now, place) if record.url.endswith(("map.xml", "feed")) else NEVER
        )


class OnlySignals(OnlyListings):
    """No page is due, whatever it is; with a small REVISIT_AGE it may be fetched again soon at a
    signal.
    """

    def due(self, record, now, place):
        return NEVER
