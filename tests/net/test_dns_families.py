"""Addresses of the family that a name was not asked for at first."""

import asyncio

import pytest

from tests.support.lookups import Clock, Told, ticks
from webcrawl.net.dns import SHORTEST, CachingResolver
from webcrawl.net.dns_answers import Answer, Failure

FOUR, SIX = ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("2001:db8::1",)
MIXED = ["192.0.2.1", "2001:db8::1", "192.0.2.2", "192.0.2.3"]


def resolving(six, *, half=True):
    """A resolver of one name, what it asks, and its clock."""
    told, clock = Told({"a.test": Answer(FOUR, 300.0, half=half)}), Clock()
    told.six["a.test"] = six
    return CachingResolver(told, clock=clock), told, clock


def run(resolver, scenario):
    async def go():
        try:
            return await scenario()
        finally:
            await resolver.close()

    return asyncio.run(go())


def test_they_are_asked_for_once():
    """They alternate with the others, and are known from then on."""
    resolver, told, _ = resolving(Answer(SIX, 300.0))

    async def scenario():
        await resolver.resolve("a.test")
        return [await resolver.others("A.test."), await resolver.others("a.test"), await resolver.resolve("a.test")]

    assert run(resolver, scenario) == [MIXED, [], MIXED]
    assert told.asked == ["a.test", "a.test six"]


def test_they_are_kept_no_longer_than_either_answer_says():
    """Then the name is asked for anew, IPv4 first."""
    resolver, told, clock = resolving(Answer(SIX, 5.0))

    async def scenario():
        await resolver.resolve("a.test")
        await resolver.others("a.test")
        clock.now += SHORTEST
        return await resolver.resolve("a.test")

    assert run(resolver, scenario) == [*FOUR]
    assert told.asked == ["a.test", "a.test six", "a.test"]


@pytest.mark.parametrize(("failure", "again"), [(Failure.NO_ADDRESS, False), (Failure.SERVER_FAILED, True)])
def test_a_name_without_any(failure, again):
    """Where the name servers say so it is not asked for again; where they fail it is."""
    resolver, told, _ = resolving(Answer(failure=failure))

    async def scenario():
        await resolver.resolve("a.test")
        return [await resolver.others("a.test"), await resolver.others("a.test"), await resolver.resolve("a.test")]

    assert run(resolver, scenario) == [[], [], [*FOUR]]
    assert told.asked.count("a.test six") == 1 + again


def test_a_lookup_that_has_said_all_is_not_asked_for_more():
    """One of your own answers for a name by itself, as it likes."""
    resolver, told, _ = resolving(Answer(SIX), half=False)

    async def scenario():
        await resolver.resolve("a.test")
        return await resolver.others("a.test"), await resolver.others("127.0.0.1"), await resolver.others("new.test")

    assert run(resolver, scenario) == ([], [], [])
    assert told.asked == ["a.test"]


def test_who_comes_meanwhile_does_without():
    """One question at a time; if whoever asked has gone, the next one asks again."""
    resolver, told, _ = resolving(Answer(SIX, 300.0))

    async def scenario():
        await resolver.resolve("a.test")
        told.gate = asyncio.Event()
        first = asyncio.create_task(resolver.others("a.test"))
        await ticks()
        second = await resolver.others("a.test")
        first.cancel()
        await ticks()
        told.gate.set()
        return second, await resolver.others("a.test")

    assert run(resolver, scenario) == ([], MIXED)
    assert told.asked == ["a.test", "a.test six", "a.test six"]
