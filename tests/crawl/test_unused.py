"""A budget for revisits that is larger than can be used is told, now and then."""

import pytest

from webcrawl.crawl.revisit_budget import EVERY, HOUR, Split, Unused


class Told:
    """A look every ten seconds at so many pages; `lines` are what the log says."""

    def __init__(self, caplog, *, pages=100, rate=10.0, early=True):
        self.now, self._log = 1e9, caplog
        self.split = Split(lambda: self.now)
        self.split.change(age=86_400.0, rate=rate, share=0.5)
        self.split.early = early
        self.unused = Unused(self.split, lambda: pages, lambda: 60.0)

    def look(self, seconds):
        for _ in range(int(seconds / 10)):
            self.unused.look(self.now)
            self.now += 10
        return [record.getMessage() for record in self._log.records]


def test_more_than_the_pages_allow(caplog):
    """No page is fetched twice within a minute: of a hundred pages fewer than two a second can be fetched."""
    (line,) = Told(caplog).look(2 * EVERY)
    assert line.startswith("REVISIT_RATE allows 10 revisits per second, of which 1.6667 can be used: 100 pages, and")
    assert line.endswith("and none is fetched again within 60 s")


def test_a_policy_that_is_never_early(caplog):
    """It has no use for more than one fetch of each page in REVISIT_AGE."""
    (line,) = Told(caplog, rate=0.01, early=False).look(2 * EVERY)
    assert line.endswith("and none is fetched again before it is as old as REVISIT_AGE, 86400 s, except at a signal")


def test_once_an_hour(caplog):
    """It is said again as long as it is so, but not more often."""
    told = Told(caplog)
    assert len(told.look(HOUR)) == 1
    assert len(told.look(2 * HOUR)) == 3


def test_the_clock_is_set_back(caplog):
    """That keeps nobody silent for longer than a look."""
    told = Told(caplog)
    told.look(2 * EVERY)
    told.now -= 86_400
    assert len(told.look(2 * EVERY)) == 2


@pytest.mark.parametrize("more", [{"rate": 1.5}, {"rate": 0.0}, {"pages": 0}])
def test_nothing_to_tell(caplog, more):
    """A budget that can be used, a share of all fetches, and a crawl that has no pages yet."""
    assert Told(caplog, **more).look(HOUR) == []
