"""How often strangers may have something done."""

from webcrawl.leaving.budget import Budget


def test_of_a_site():
    """A site has its share; then it is told when it has again, and takes nothing from the others'."""
    budget = Budget(2, 10, 60.0)

    assert [budget.take("a", now) for now in (0.0, 10.0, 20.0, 30.0)] == [0.0, 0.0, 40.0, 30.0]
    assert budget.take("b", 30.0) == 0.0
    assert budget.take("a", 60.0) == 0.0


def test_of_all():
    """All together have no more than the whole, however many sites they name."""
    budget = Budget(2, 3, 60.0)

    assert [budget.take(f"{number}", number) for number in range(4)] == [0.0, 0.0, 0.0, 57.0]
    assert budget.take("x", 60.0) == 0.0


def test_it_forgets():
    """Nothing is kept of those whose time is over, nor of those who were refused."""
    budget = Budget(1, 5, 60.0)
    for number in range(1000):
        budget.take(f"{number}", number)

    assert repr(budget) == "<Budget 5 of 5>"
    budget.take("x", 10_000.0)
    assert repr(budget) == "<Budget 1 of 5>"
    assert len(budget._of) == 1
