"""Waits that double."""

from webcrawl.base.doubling import DoublingWait, wait_after


def test_each_failure_doubles_the_wait():
    """The first wait, then twice as long each time, and never longer than the longest."""
    wait = DoublingWait(3.0, 10.0)

    assert wait.last == 0.0
    assert [wait.next() for _ in range(4)] == [3.0, 6.0, 10.0, 10.0]
    assert wait.last == 10.0


def test_a_success_forgets_all():
    """After it the next wait is the first one again."""
    wait = DoublingWait(3.0, 10.0)
    wait.next()
    wait.next()
    wait.reset()

    assert wait.last == 0.0
    assert wait.next() == 3.0


def test_the_number_of_failures_tells_the_same_wait():
    """Whoever keeps how often it failed waits as long as whoever keeps the wait."""
    pause = DoublingWait(0.5, 60.0)

    assert [pause.next() for _ in range(12)] == [
        wait_after(failures, 0.5, 60.0) for failures in range(1, 13)
    ]
    assert wait_after(5000, 0.5, 60.0) == 60.0
