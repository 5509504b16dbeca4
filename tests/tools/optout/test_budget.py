"""How often strangers may have something done."""

from webcrawl.tools.optout.deciding import Budget, take


def taken(budget, key, now):
    return take(now, (budget, key))


def test_of_a_key():
    """A key has its share; then it is told when it has again, and takes nothing from the others'."""
    budget = Budget(2, 60.0)

    assert [taken(budget, "a", now) for now in (0.0, 10.0, 20.0, 30.0)] == [0.0, 0.0, 40.0, 30.0]
    assert taken(budget, "b", 30.0) == 0.0
    assert taken(budget, "a", 60.0) == 0.0


def test_of_several():
    """Who has none left in one budget takes nothing from the other."""
    sites, askers = Budget(1, 60.0), Budget(2, 60.0)

    assert [take(0.0, (sites, "s"), (askers, "a")) for _ in range(5)] == [0.0, *[60.0] * 4]
    assert take(0.0, (sites, "t"), (askers, "a")) == 0.0


def test_it_forgets():
    """Nothing is kept of those whose time is over, nor of those who were refused."""
    budget = Budget(1, 5.0)
    for number in range(1000):
        taken(budget, f"{number}", number)
        taken(budget, f"{number}", number)

    assert repr(budget) == "<Budget of 5>"
    taken(budget, "x", 10_000.0)
    assert repr(budget) == "<Budget of 1>"


def test_a_flood_of_keys():
    """However many keys come, so many are remembered: those that took last."""
    budget = Budget(1, 60.0, kept=100)
    for number in range(10_000):
        taken(budget, f"{number}", 0.0)

    assert repr(budget) == "<Budget of 100>"
    assert taken(budget, "9999", 0.0) == 60.0
