"""From counters at moments to what a plot shows."""

import pytest

from webcrawl.store.jobdir.history_line import LONGEST, Moment, Revisited
from webcrawl.tools.dashboard import curves

NOW = 1_700_000_000.0


def at(seconds, pages=0.0, mix=(0, 0, 0, 0, 0, 0), milliseconds=(), seen=0.0):
    return Moment(NOW + seconds, pages, 0, 0, 0, seen, 0, 0, 0, 0, mix, milliseconds)


def test_rates():
    """A rate is what a counter grew by, per second, at the later of two moments."""
    parts = curves.pieces([at(0, 0), at(5, 50), at(10, 60)], 5, NOW)

    assert curves.between(parts, curves.rate("pages")) == [[(NOW + 5, 10.0), (NOW + 10, 2.0)]]


def test_a_stop_is_a_gap():
    """Between two runs nobody knows anything; an old crawl writes seldom, which is none."""
    stopped = curves.pieces([at(0), at(5, 5), at(3600, 10), at(3605, 15)], 5, NOW)
    old = curves.pieces([at(1e7), at(1e7 + LONGEST, 10), at(1e7 + 2 * LONGEST, 20)], 5, NOW)

    assert [len(piece) for piece in stopped] == [2, 2]
    assert [len(piece) for piece in old] == [3]


def test_a_kill_is_a_gap():
    """A counter that has fallen back to a checkpoint is no negative rate."""
    parts = curves.pieces([at(0, 100), at(5, 200), at(10, 150), at(15, 160)], 5, NOW)

    assert curves.between(parts, curves.rate("pages")) == [[(NOW + 5, 20.0)], [(NOW + 15, 2.0)]]


def test_two_moments_at_once():
    """Two moments of the same time have no rate."""
    assert curves.between([[at(0, 1), at(0, 2)]], curves.rate("pages")) == []


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 0.024), (0.9, 0.0512)])
def test_quantiles(share, seconds):
    """Of 10 downloads from 8 to 15 ms, 20 from 16 to 31 ms and 10 from 32 to 63 ms."""
    before = at(0, milliseconds=(0, 0, 0, 0, 5))
    after = at(5, milliseconds=(0, 0, 0, 0, 15, 20, 10))

    value = curves.quantile(share)(before, after)

    assert value == pytest.approx(seconds)
    assert curves.quantile(share)(after, after) is None


def test_shares():
    """Each curve includes those before it; where nothing ended there is a gap."""
    parts = [[at(0), at(5, mix=(3, 0, 1, 0, 0, 0)), at(10, mix=(3, 0, 1, 0, 0, 0))]]
    made = curves.shares(parts)

    assert [curve[0][0][1] for curve in made] == [0.75, 0.75, 1.0, 1.0, 1.0, 1.0]
    assert all(len(curve) == 1 for curve in made)
    assert curves.shares([]) == []


def test_thinning():
    """A plot has the last moment of each slot, and one from before it begins."""
    moments = [at(second, second) for second in range(1000)]
    found = curves.thinned(moments, NOW + 500, NOW + 1000, 10)

    assert [one.pages for one in found] == [499, 549, 599, 649, 699, 749, 799, 849, 899, 949, 999]


def test_moments_that_are_close():
    """Of two moments that follow at once, one of the file and one seen here, the later is shown."""
    found = curves.thinned([at(0), at(9.9, 99), at(10.1, 101), at(20, 200)], NOW, NOW + 20, 2)

    assert [one.pages for one in found] == [101, 200]


def test_revisits():
    """Freshness is what it was at the later moment, revisits a rate; where nobody knows there is a gap."""
    known = [
        at(second)._replace(revisits=Revisited(10, second, 0, 2 * second, 0, 0.5 + second / 40, 0))
        for second in (5, 10)
    ]
    parts = [[at(0)._replace(revisits=Revisited(0, 0, 0, 0, 0, 0, 0)), *known, at(15)]]

    assert curves.between(parts, curves.freshness) == [[(NOW + 5, 62.5), (NOW + 10, 75.0)]]
    assert curves.between(parts, curves.revisited("changed")) == [[(NOW + 5, 2.0), (NOW + 10, 2.0)]]
