"""Name servers that all fail are told from names that cannot be resolved."""

import asyncio
import logging

import pytest

from tests.support.waiting import eventually
from webcrawl.net import dns_answers
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answers import NAMES_UNTIL_SILENCE, DnsAnswer, DnsFailure
from webcrawl.net.errors import DnsFailed, NoNameServer

GOOD = DnsAnswer(("192.0.2.1",), 300.0)


class Lookup:
    """Knows every name but those that begin with `dead`, unless it is `away`."""

    def __init__(self):
        self.away = None
        self.requested = []
        self.is_released = asyncio.Event()  # names that begin with `slow` fail then

    async def ask(self, host):
        self.requested.append(host)
        await asyncio.sleep(0)
        if host.startswith("slow"):
            await self.is_released.wait()
            return DnsAnswer(failure=DnsFailure.SERVER_FAILED)
        if self.away:
            return DnsAnswer(failure=self.away)
        if host.startswith("gone"):
            return DnsAnswer(failure=DnsFailure.NO_NAME)
        return DnsAnswer(failure=DnsFailure.SERVER_FAILED) if host.startswith("dead") else GOOD

    async def probe(self):
        pass

    async def check(self, host):
        return await self.ask(host)

    async def close(self):
        pass


@pytest.fixture(name="lookup")
def _lookup(monkeypatch):
    monkeypatch.setattr(dns_answers, "SILENT_QUERY_GAP", 0.01)
    return Lookup()


def run(lookup, scenario):
    async def main():
        clock = iter(range(1, 1_000_000))  # every look at it is a second later
        resolver = CachingResolver(lookup, clock=lambda: float(next(clock)))
        try:
            return await scenario(resolver)
        finally:
            await resolver.close()

    return asyncio.run(main())


async def resolve(resolver, *names):
    """The type of the error of each name, or None."""
    found = []
    for name in names:
        try:
            await resolver.resolve(name)
        except (DnsFailed, NoNameServer) as error:
            found.append(type(error))
        else:
            found.append(None)
        await asyncio.sleep(0)
    return found


def names(prefix, count, start=0):
    return [f"{prefix}{number}.test" for number in range(start, start + count)]


@pytest.mark.parametrize(
    "failure", [DnsFailure.TIMEOUT, DnsFailure.SERVER_FAILED, DnsFailure.REFUSED]
)
def test_all_servers_are_away(lookup, caplog, failure):
    """When names in a row fail, and so does one that was resolved before, nobody is charged for it
    any more.
    """
    lost, ended = [], []

    async def scenario(resolver):
        resolver.silence.on_begin, resolver.silence.on_end = lost.append, lambda: ended.append(1)
        await resolve(resolver, "good.test")
        lookup.away = failure
        found = await resolve(resolver, *names("site", NAMES_UNTIL_SILENCE))
        await eventually(lambda: resolver.silence.on)
        later = await resolve(resolver, "other.test", "good.test")
        requested = len(lookup.requested)
        await resolve(resolver, *names("more", 100))
        lookup.away = None
        await eventually(lambda: not resolver.silence.on)
        return found, later, requested, await resolve(resolver, "other.test", "more1.test")

    caplog.set_level(logging.INFO)
    found, later, requested, after = run(lookup, scenario)

    assert found[:-1] == [DnsFailed] * (NAMES_UNTIL_SILENCE - 1)
    assert later == [NoNameServer, None]  # a name in the cache is known
    assert not {*names("more", 100)} & {*lookup.requested[requested:-1]}
    assert after == [None, None]
    assert len(lost) == len(ended) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_question_that_ends_after_the_silence(lookup):
    """The name is not charged for it, and is asked for again; a later question counts."""

    async def scenario(resolver):
        await resolve(resolver, "good.test")
        slow = asyncio.create_task(resolve(resolver, "slow.test"))
        lookup.away = DnsFailure.SERVER_FAILED
        await resolve(resolver, *names("site", NAMES_UNTIL_SILENCE))
        await eventually(lambda: resolver.silence.on)
        lookup.away = None
        await eventually(lambda: not resolver.silence.on)
        lookup.is_released.set()
        return await slow, await resolve(resolver, "slow.test")

    assert run(lookup, scenario) == ([NoNameServer], [DnsFailed])


def test_names_whose_own_servers_are_dead(lookup):
    """Any number of names that fail in a row are the names' own fault if one that was resolved
    before has an answer.
    """

    async def scenario(resolver):
        await resolve(resolver, "good.test")
        found = await resolve(resolver, *names("dead", 100))
        return found, resolver.silence.on

    assert run(lookup, scenario) == ([DnsFailed] * 100, False)


def test_names_that_do_not_exist(lookup):
    """That there is no such name is an answer."""

    async def scenario(resolver):
        await resolve(resolver, *names("gone", 100))
        return len(lookup.requested)

    assert run(lookup, scenario) == 100


def test_names_of_one_domain(lookup):
    """Names below one domain count once: its servers may be dead."""

    async def scenario(resolver):
        await resolve(resolver, "good.test", *(f"{number}.dead.test" for number in range(100)))
        lookup.away = DnsFailure.TIMEOUT
        await resolve(resolver, *(f"{number}.dead.test" for number in range(100, 200)))
        return resolver.silence.on

    assert run(lookup, scenario) is False


def test_no_name_was_ever_resolved(lookup):
    """Then the names that wait are asked for, one now and then, until one has an answer."""

    async def scenario(resolver):
        lookup.away = DnsFailure.SERVER_FAILED
        await resolve(resolver, *names("site", NAMES_UNTIL_SILENCE))
        await eventually(lambda: resolver.silence.on)
        first = await resolve(resolver, *names("more", 20))
        lookup.away = None
        second = await resolve(resolver, *names("more", 20), *names("more", 20))
        return first, second[-1]

    first, last = run(lookup, scenario)

    assert set(first) == {NoNameServer}
    assert last is None


def test_failures_from_before_are_forgotten(lookup):
    """When the servers are back, names that had failed are asked for again at once, and those that
    were denied.
    """

    async def scenario(resolver):
        await resolve(resolver, "good.test", "gone.test", "dead.test")
        resolver.forget_failures()
        return len(resolver)

    assert run(lookup, scenario) == 1


def test_closing_during_a_silence(lookup):
    """Nothing is left running."""

    async def scenario(resolver):
        await resolve(resolver, "good.test")
        lookup.away = DnsFailure.TIMEOUT
        await resolve(resolver, *names("site", NAMES_UNTIL_SILENCE))
        await eventually(lambda: resolver.silence.on)
        await resolver.close()
        return len(asyncio.all_tasks())

    assert run(lookup, scenario) == 1
