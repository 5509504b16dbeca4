"""How long a drone may fetch without an answer of its server."""

from webcrawl.crawl.hive.fence import Fence


class Watch:
    """A clock."""

    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


def test_it_is_closed_until_the_server_has_answered():
    """A drone that starts without its server may have been given up while it was away."""
    fence = Fence(30, Watch())

    assert fence.is_closed()
    assert fence.note_answer(100.0)
    assert not fence.is_closed()


def test_it_closes_so_long_after_the_question():
    """The time counts from the sign of life and not from its answer: in the server the lease began
    before that.
    """
    watch = Watch()
    fence = Fence(30, watch)
    fence.note_answer(100.0)
    watch.time = 120.0
    assert not fence.note_answer(110.0), "it was open"

    watch.time = 139.9
    assert not fence.is_closed()
    watch.time = 140.0
    assert fence.is_closed()


def test_an_answer_that_comes_too_late():
    """It opens nothing: the lease that it speaks of has run out."""
    watch = Watch()
    watch.time = 140.0

    assert not Fence(30, watch).note_answer(100.0)
