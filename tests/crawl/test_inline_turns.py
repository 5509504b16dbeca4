"""Lines for hosts: who gets a turn when, and that nobody waits for ever."""

import asyncio
from collections import deque

import pytest

from webcrawl.base.model import Link, Outcome, Status
from webcrawl.crawl.inline_turns import Turns

ONE, TWO, OTHER = Link("http://a.test/1"), Link("http://a.test/2"), Link("http://b.test/1")
NEVER = float("inf")


class Crawl:
    """Lends hosts by a script of decisions; without one the answer is yes."""

    def __init__(self):
        self.decisions, self.said, self.ready = deque(), [], 0.0

    def now(self):
        return 0.0

    def lend(self, link, in_flight, *, impatient=False):
        decision = self.decisions.popleft() if self.decisions else None
        if isinstance(decision, Exception):
            raise decision
        return decision

    def give_back(self, link, outcome):
        self.said.append((link.url, outcome.status if outcome else None))

    def seconds_until(self, name):
        return self.ready

    seconds_reserved = seconds_until

    def release(self, name):
        self.said.append(("released", name))


@pytest.fixture(name="crawl")
def _crawl():
    return Crawl()


@pytest.fixture(name="failures")
def _failures():
    return []


@pytest.fixture(name="run")
def _run(crawl, failures):
    """Runs a script of the test with turns."""

    def run(script, **options):
        async def running():
            turns = Turns(crawl, lambda url: None, lambda: None, failures.append, **options)
            await asyncio.wait_for(script(turns), 120)

        asyncio.run(running())

    return run


async def soon(*awaitables):
    """Tasks that have had time to begin."""
    tasks = [asyncio.ensure_future(one) for one in awaitables]
    await asyncio.sleep(0.01)
    return tasks


def test_a_line_is_served_in_order(run, crawl):
    """One has the host; the next gets it when that one leaves; the frontier has it back when nobody
    is left.
    """

    async def script(turns):
        one, two = await soon(turns.wait_for_turn(ONE), turns.wait_for_turn(TWO))
        assert (one.done(), two.done(), turns.others_wait(ONE)) == (True, False, True)
        turns.leave(ONE, Outcome(200))
        assert await two is None
        turns.leave(TWO, Outcome(404))
        assert crawl.said == [(ONE.url, 200), (TWO.url, 404), ("released", "a.test")]
        assert not turns.lines

    run(script)


def test_a_host_is_requested_again_when_it_is_due(run, crawl):
    """A time is waited for; a Status is handed on, and the next in line does not wait for it."""

    async def script(turns):
        crawl.decisions += [0.02, Status.ROBOTS_FORBIDDEN]
        one, two = await soon(turns.wait_for_turn(ONE), turns.wait_for_turn(TWO))
        assert await one == Status.ROBOTS_FORBIDDEN
        assert await two is None

    run(script)


def test_a_host_in_use_is_waited_for(run, crawl):
    """Where nobody can say how long it takes, the end of the request that has the host wakes the
    line.
    """

    async def script(turns):
        crawl.decisions += [NEVER]
        (one,) = await soon(turns.wait_for_turn(ONE))
        assert not one.done()
        turns.own_left("a.test")
        assert await one is None

    run(script)


def test_another_host_of_the_address_may_be_waited_for(run, crawl):
    """With politeness per address the end of any request wakes every line."""

    async def script(turns):
        crawl.decisions += [NEVER]
        (one,) = await soon(turns.wait_for_turn(ONE))
        turns.own_left("b.test")
        assert await one is None

    run(script, share_addresses=True)


def test_the_schedulers_own_request_goes_first(run, crawl):
    """It holds its host already, and takes the next turn; the line goes on when it has ended."""

    async def script(turns):
        await turns.wait_for_turn(ONE)
        two, own, other = await soon(turns.wait_for_turn(TWO), turns.own(ONE), turns.own(OTHER))
        # nobody has lent the other's host
        assert (two.done(), own.done(), other.done()) == (False, False, True)
        turns.leave(ONE, Outcome(200))
        await own
        assert not two.done()
        turns.own_left("a.test")
        assert await two is None

    run(script)


def test_the_schedulers_own_request_may_wait_for_an_address(run, crawl):
    """Its address may be lent with another host, after the frontier has handed it out."""

    async def script(turns):
        await soon(turns.wait_for_turn(OTHER))
        crawl.ready = NEVER
        (own,) = await soon(turns.own(ONE))
        assert not own.done()
        crawl.ready = 0.0
        turns.leave(OTHER, Outcome(200))
        await own

    run(script, share_addresses=True)


def test_whoever_gives_up_leaves_the_line(run, crawl):
    """A task that is cancelled in the line holds nobody up, not even if its turn has come just
    then.
    """

    async def script(turns):
        await turns.wait_for_turn(ONE)
        two, three = await soon(turns.wait_for_turn(TWO), turns.wait_for_turn(ONE))
        two.cancel()
        turns.leave(ONE, Outcome(200))
        await asyncio.wait([two])
        assert await three is None
        (four,) = await soon(turns.wait_for_turn(TWO))
        turns.leave(ONE, Outcome(200))
        four.cancel()  # granted, and not yet told
        await asyncio.wait([four])
        assert crawl.said[-2:] == [(TWO.url, Status.UNTRIED), ("released", "a.test")]
        assert not turns.lines

    run(script)


def test_the_end_of_the_crawl_answers_all(run, crawl):
    """Everybody in line gets the error."""

    async def script(turns):
        crawl.decisions += [NEVER, NEVER, NEVER]
        tasks = await soon(
            turns.wait_for_turn(ONE), turns.wait_for_turn(TWO), turns.wait_for_turn(OTHER)
        )
        turns.end(LookupError())
        for task in tasks:
            with pytest.raises(LookupError):
                await task

    run(script)


def test_nothing_is_asked_of_a_closed_crawl(run, crawl):
    """A host's wait may outlast the crawl, and so may a download: neither is anybody's affair any
    more.
    """

    async def script(turns):
        crawl.ready = 0.02
        await turns.wait_for_turn(ONE)
        await turns.wait_for_turn(OTHER)
        turns.leave(ONE, Outcome(200))
        turns.close()
        turns.leave(OTHER, Outcome(200))
        crawl.said.clear()
        await asyncio.sleep(0.05)
        assert crawl.said == []

    run(script)


def test_a_broken_disk_answers_all(run, crawl, failures):
    """A host record that cannot be read ends the crawl, and those who wait for the host hear of it."""

    async def script(turns):
        crawl.decisions += [0.01, OSError("no disk")]
        tasks = await soon(turns.wait_for_turn(ONE), turns.wait_for_turn(TWO))
        for task in tasks:
            with pytest.raises(OSError, match="no disk"):
                await task
        assert [str(error) for error in failures] == ["no disk"]

    run(script)
