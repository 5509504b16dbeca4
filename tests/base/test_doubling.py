"""Waits that double."""

from webcrawl.base.doubling import Doubling


def test_each_failure_doubles_the_wait():
    """The first wait, then twice as long each time, and never longer than the longest."""
    wait = Doubling(3.0, 10.0)

    assert wait.last == 0.0
    assert [wait.next() for _ in range(4)] == [3.0, 6.0, 10.0, 10.0]
    assert wait.last == 10.0


def test_a_success_forgets_all():
    """After it the next wait is the first one again."""
    wait = Doubling(3.0, 10.0)
    wait.next()
    wait.next()
    wait.reset()

    assert wait.last == 0.0
    assert wait.next() == 3.0
