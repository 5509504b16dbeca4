"""Counts by name, in bounded memory."""

from collections import Counter
from random import Random

from webcrawl.record.statistics.tally import Tally


def fed(tally, names):
    for name in names:
        tally.add(name, 10)
    return tally


def test_few_names_are_exact():
    """The rows are sorted by their numbers."""
    assert fed(Tally(3), ["b", "a", "b", "c"]).rows() == [("b", 2, 20), ("a", 1, 10), ("c", 1, 10)]


def test_hostile_names_are_counted_together():
    """However many names there are, the sum is exact, the memory bounded, and a frequent name exact."""
    chance = Random(1)
    names = ["text/html"] * 500 + [f"x/{number}" for number in range(5000)]
    chance.shuffle(names)
    tally = fed(Tally(16), ["text/html"] * 3 + names)

    rows = tally.rows()
    assert len(rows) <= 16
    assert rows[0] == ("text/html", 503, 5030)
    assert sum(row[1] for row in rows) + tally.others[0] == len(names) + 3
    assert sum(row[2] for row in rows) + tally.others[1] == 10 * (len(names) + 3)


def test_the_error_is_bounded():
    """No name has more than its row and `most` together."""
    chance = Random(2)
    names = [f"x/{int(chance.paretovariate(0.8)) % 300}" for _ in range(5000)]
    tally = fed(Tally(32), names)

    for name, number in Counter(names).items():
        assert tally.names.get(name, [0])[0] <= number <= tally.names.get(name, [0])[0] + tally.most


def test_room_for_one():
    """Even with room for a single name nothing is lost."""
    tally = fed(Tally(1), ["a", "b", "c"])

    assert (tally.rows(), tally.others) == ([("c", 1, 10)], [2, 20])
