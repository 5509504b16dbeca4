"""One timer expires all late requests, each at its own time."""

import asyncio

import pytest

from webcrawl.net.deadlines import Deadlines


class Question:
    """Stands in for a connection; records when it expires."""

    def __init__(self, name, ended, done=None):
        self.name, self.ended, self.done = name, ended, done

    def expire(self):
        self.ended.append(self.name)
        if self.done is not None:
            self.done.set()


def ended(waits, removed=(), last=0.03):
    """The names of the expired requests, in order, until one of `last` seconds has expired."""

    async def run():
        loop, found, done = asyncio.get_running_loop(), [], asyncio.Event()
        deadlines, now = Deadlines(), loop.time()
        questions = {name: Question(name, found) for name in waits} | {"last": Question("last", found, done)}
        for name, wait in {**waits, "last": last}.items():
            deadlines.add(questions[name], now + wait)
        for name in removed:
            deadlines.remove(questions[name])
        await done.wait()
        deadlines.close()
        return found

    return asyncio.run(run())


class TestDeadlines:
    @pytest.mark.parametrize("waits", [{"a": 0.01, "b": 0.02}, {"b": 0.02, "a": 0.01}])
    def test_the_earliest_ends_first(self, waits):
        """Requests expire in the order of their deadlines, in whatever order they were added."""
        assert ended(waits) == ["a", "b", "last"]

    def test_what_is_answered_does_not_end(self):
        """A removed request does not expire, even if the timer was set for it."""
        assert ended({"a": 0.01, "b": 0.02}, removed=["a"]) == ["b", "last"]

    def test_a_deadline_may_have_passed(self):
        """A request added after its deadline expires in the loop's next turn."""
        assert ended({"a": -1.0}) == ["a", "last"]

    def test_those_of_one_moment_end_together(self):
        """All requests of one deadline expire together, and later ones still expire in time."""
        assert ended({"a": 0.01, "b": 0.01, "c": 0.01}) == ["a", "b", "c", "last"]

    def test_nothing_ends_after_close(self):
        """After `close` no request expires."""

        async def run():
            found, deadlines = [], Deadlines()
            deadlines.add(Question("a", found), asyncio.get_running_loop().time() + 0.001)
            deadlines.close()
            await asyncio.sleep(0.01)
            return found

        assert asyncio.run(run()) == []
