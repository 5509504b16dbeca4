"""The resolver's cache, one query per name, and addresses of the family that a name was not asked
for at first.
"""

import asyncio
import gc

import pytest
from scrapy.settings import Settings

from tests.support.lookups import Clock, FixedLookup, failure, ticks
from webcrawl.adapter.values import plain_values
from webcrawl.net.dns import SHORTEST_CACHING, CachingResolver
from webcrawl.net.dns_answers import DnsAnswer, DnsFailure
from webcrawl.net.errors import DnsFailed, Untried
from webcrawl.net.network import Network

OURS = (DnsFailure.NO_SOCKET, DnsFailure.NO_SERVER)  # of this machine, or of all name servers


class TestMemory:
    def test_an_address_is_kept_as_long_as_its_ttl_says(self):
        """Within the TTL a name is queried once, and again after it."""

        async def run():
            told, clock = FixedLookup({"a.test": DnsAnswer(("192.0.2.1",), 120.0)}), Clock()
            resolver = CachingResolver(told, clock=clock)
            counts = []
            for clock.now in (0.0, 119.0, 121.0):
                assert await resolver.resolve("a.test") == ["192.0.2.1"]
                counts.append(len(told.requested))
            return counts, resolver.counters

        counts, counters = asyncio.run(run())

        assert counts == [1, 1, 2]
        assert counters == {"asked": 2, "cache hits": 1}

    @pytest.mark.parametrize(("ttl", "kept"), [(0.0, 60.0), (1e9, 86_400.0)])
    def test_the_time_that_an_address_is_kept_has_bounds(self, ttl, kept):
        """A TTL of zero counts as a minute, one of years as a day."""

        async def run():
            told, clock = FixedLookup({"a.test": DnsAnswer(("192.0.2.1",), ttl)}), Clock()
            resolver = CachingResolver(told, clock=clock)
            counts = []
            for clock.now in (0.0, kept - 1, kept + 1):
                await resolver.resolve("a.test")
                counts.append(len(told.requested))
            return counts

        assert asyncio.run(run()) == [1, 1, 2]

    @pytest.mark.parametrize("kind", [one for one in DnsFailure if one not in OURS])
    def test_a_failure_is_remembered_for_its_time(self, kind):
        """A failed name is not queried again before its failure expires, and fails in the same way
        until then.
        """

        async def run():
            told, clock = FixedLookup({"a.test": DnsAnswer(failure=kind)}), Clock()
            resolver = CachingResolver(told, clock=clock)
            errors = []
            for clock.now in (0.0, max(kind.seconds - 1, 0.0), kind.seconds + 1):
                errors.append(await failure(resolver, "a.test"))
            return errors, len(told.requested)

        errors, requested = asyncio.run(run())

        assert {error.permanent for error in errors} == {kind.permanent}
        assert {str(error) for error in errors} == {f"a.test: {kind.words}"}
        assert requested == (2 if kind.seconds else 3)

    def test_the_least_recently_used_name_makes_room(self):
        """A full cache evicts the least recently used name."""

        async def run():
            told = FixedLookup()
            resolver = CachingResolver(told, size=3)
            for host in ("a.test", "b.test", "c.test", "a.test", "d.test", "a.test", "b.test"):
                await resolver.resolve(host)
            return told.requested, len(resolver)

        assert asyncio.run(run()) == (["a.test", "b.test", "c.test", "d.test", "b.test"], 3)

    def test_a_small_frontier_has_few_names(self):
        """A crawl with little FRONTIER_MEMORY keeps fewer names than others: 512 for each MiB."""

        async def run():
            settings = Settings(
                {"FRONTIER_MEMORY": 8, "PRIVATE_NETWORKS_ALLOWED": "198.51.100.0/24"}
            )
            network = Network(plain_values(settings, "web"), lookup=lambda _: FixedLookup())
            for number in range(5000):
                await network.resolver.resolve(f"h{number}.test")
            await network.close()
            return len(network.resolver)

        assert asyncio.run(run()) == 8 * 512

    def test_the_answer_is_the_callers_own(self):
        """Changing the returned list of addresses does not change the cache."""

        async def run():
            resolver = CachingResolver(FixedLookup())
            (await resolver.resolve("a.test")).clear()
            return await resolver.resolve("a.test")

        assert asyncio.run(run()) == ["198.51.100.1"]

    @pytest.mark.parametrize("host", ["A.Test", "a.test.", "A.TEST."])
    def test_case_and_the_roots_dot_do_not_make_another_name(self, host):
        """All spellings of a name share one answer."""

        async def run():
            told = FixedLookup()
            resolver = CachingResolver(told)
            await resolver.resolve("a.test")
            await resolver.resolve(host)
            return told.requested

        assert asyncio.run(run()) == ["a.test"]


class TestInFlight:
    def test_many_who_ask_for_a_name_share_one_question(self):
        """A hundred callers cost one query and all get its answer."""

        async def run():
            told = FixedLookup()
            told.gate = asyncio.Event()
            resolver = CachingResolver(told)
            waiters = [asyncio.create_task(resolver.resolve("a.test")) for _ in range(100)]
            await ticks()
            flying = resolver.in_flight
            told.gate.set()
            return (
                await asyncio.gather(*waiters),
                told.requested,
                flying,
                resolver.in_flight,
                resolver.counters["joined"],
            )

        assert asyncio.run(run()) == ([["198.51.100.1"]] * 100, ["a.test"], 1, 0, 99)

    def test_a_cancelled_waiter_does_not_disturb_the_others(self):
        """If one caller is cancelled, even the first, the others still get their answer."""

        async def run():
            told = FixedLookup()
            told.gate = asyncio.Event()
            resolver = CachingResolver(told)
            first, second = (asyncio.create_task(resolver.resolve("a.test")) for _ in range(2))
            await ticks()
            first.cancel()
            await ticks()
            told.gate.set()
            return await asyncio.gather(first, second, return_exceptions=True)

        first, second = asyncio.run(run())

        assert isinstance(first, asyncio.CancelledError)
        assert second == ["198.51.100.1"]

    def test_the_answer_of_a_deserted_question_is_kept(self):
        """If all callers are cancelled, the answer is still cached for the next one."""

        async def run():
            told = FixedLookup()
            told.gate = asyncio.Event()
            resolver = CachingResolver(told)
            waiter = asyncio.create_task(resolver.resolve("a.test"))
            await ticks()
            waiter.cancel()
            told.gate.set()
            await ticks()
            return await resolver.resolve("a.test"), told.requested

        assert asyncio.run(run()) == (["198.51.100.1"], ["a.test"])

    def test_an_error_of_a_deserted_question_is_no_traceback(self, monkeypatch):
        """If all callers are cancelled, an error of the query concerns nobody, and is not logged."""
        logged = []

        async def run():
            asyncio.get_running_loop().set_exception_handler(lambda _, what: logged.append(what))
            told = FixedLookup()
            gate = asyncio.Event()

            async def ask(_):
                await gate.wait()
                raise Untried("this process was stopped")

            monkeypatch.setattr(told, "ask", ask)
            resolver = CachingResolver(told)
            waiter = asyncio.create_task(resolver.resolve("a.test"))
            await ticks()
            waiter.cancel()
            await ticks()
            gate.set()
            await ticks()
            gc.collect()

        asyncio.run(run())
        assert logged == []

    def test_questions_in_flight_are_bounded(self):
        """However many names are requested at once, only so many queries are in flight."""

        async def run():
            told = FixedLookup()
            told.gate = asyncio.Event()
            resolver = CachingResolver(told, in_flight=7)
            waiters = [asyncio.create_task(resolver.resolve(f"h{i}.test")) for i in range(50)]
            await ticks()
            told.gate.set()
            await asyncio.gather(*waiters)
            return told.most, len(told.requested)

        assert asyncio.run(run()) == (7, 50)

    def test_a_question_has_a_deadline(self):
        """A lookup that never answers is a timeout, which is not permanent."""

        async def run():
            told = FixedLookup()
            told.gate = asyncio.Event()
            resolver = CachingResolver(told, timeout=0.01)
            return await failure(resolver, "a.test"), resolver.counters["failed/timeout"]

        error, counted = asyncio.run(run())

        assert (error.permanent, counted) == (False, 1)

    def test_closing_leaves_nothing_running_and_nobody_waiting(self):
        """After close every caller has failed, no task is left, and a new name fails at once."""

        async def run():
            told = FixedLookup()
            told.gate = asyncio.Event()
            resolver = CachingResolver(told, in_flight=2)
            waiters = [asyncio.create_task(resolver.resolve(f"h{i}.test")) for i in range(5)]
            await ticks()
            late = asyncio.create_task(resolver.resolve("late.test"))
            await asyncio.sleep(0)  # requested, but its task has not run yet
            await resolver.close()
            errors = await asyncio.gather(*waiters, late, return_exceptions=True)
            await failure(resolver, "new.test")
            return (
                errors,
                asyncio.all_tasks() - {asyncio.current_task()},
                resolver.in_flight,
                told.closed,
            )

        errors, tasks, flying, closed = asyncio.run(run())

        assert [type(error) for error in errors] == [DnsFailed] * 6
        assert (tasks, flying, closed) == (set(), 0, True)

    def test_an_alias_after_a_denial_is_followed(self):
        """The question past the cache says only that the name is there: the next one says where it
        leads.
        """

        class Aliased(FixedLookup):
            async def check(self, _):
                return DnsAnswer(ttl=60.0)

        async def run():
            told, clock = Aliased({"a.test": DnsAnswer(failure=DnsFailure.NO_NAME)}), Clock()
            resolver = CachingResolver(told, clock=clock)
            await failure(resolver, "a.test")
            told.answers.clear()
            clock.now += DnsFailure.NO_NAME.seconds
            return await resolver.resolve("a.test")

        assert asyncio.run(run()) == ["198.51.100.1"]

    def test_an_unexpected_error_reaches_those_who_wait(self):
        """A lookup that breaks its contract and raises does not leave its callers hanging."""

        class Broken(FixedLookup):
            async def ask(self, host):
                raise RuntimeError(host)

        async def run():
            resolver = CachingResolver(Broken())
            with pytest.raises(RuntimeError, match=r"a\.test"):
                await resolver.resolve("a.test")
            return resolver.in_flight

        assert asyncio.run(run()) == 0


FOUR, SIX = ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("2001:db8::1",)
MIXED = ["192.0.2.1", "2001:db8::1", "192.0.2.2", "192.0.2.3"]


def resolving(six, *, half=True):
    """A resolver of one name, what it asks, and its clock."""
    told, clock = FixedLookup({"a.test": DnsAnswer(FOUR, 300.0, half=half)}), Clock()
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
    resolver, told, _ = resolving(DnsAnswer(SIX, 300.0))

    async def scenario():
        await resolver.resolve("a.test")
        return [
            await resolver.others("A.test."),
            await resolver.others("a.test"),
            await resolver.resolve("a.test"),
        ]

    assert run(resolver, scenario) == [MIXED, [], MIXED]
    assert told.requested == ["a.test", "a.test six"]


def test_they_are_kept_no_longer_than_either_answer_says():
    """Then the name is asked for anew, IPv4 first."""
    resolver, told, clock = resolving(DnsAnswer(SIX, 5.0))

    async def scenario():
        await resolver.resolve("a.test")
        await resolver.others("a.test")
        clock.now += SHORTEST_CACHING
        return await resolver.resolve("a.test")

    assert run(resolver, scenario) == [*FOUR]
    assert told.requested == ["a.test", "a.test six", "a.test"]


@pytest.mark.parametrize(
    ("failure", "again"), [(DnsFailure.NO_ADDRESS, False), (DnsFailure.SERVER_FAILED, True)]
)
def test_a_name_without_any(failure, again):
    """Where the name servers say so it is not asked for again; where they fail it is."""
    resolver, told, _ = resolving(DnsAnswer(failure=failure))

    async def scenario():
        await resolver.resolve("a.test")
        return [
            await resolver.others("a.test"),
            await resolver.others("a.test"),
            await resolver.resolve("a.test"),
        ]

    assert run(resolver, scenario) == [[], [], [*FOUR]]
    assert told.requested.count("a.test six") == 1 + again


def test_a_lookup_that_has_said_all_is_not_asked_for_more():
    """One of your own answers for a name by itself, as it likes."""
    resolver, told, _ = resolving(DnsAnswer(SIX), half=False)

    async def scenario():
        await resolver.resolve("a.test")
        return (
            await resolver.others("a.test"),
            await resolver.others("127.0.0.1"),
            await resolver.others("new.test"),
        )

    assert run(resolver, scenario) == ([], [], [])
    assert told.requested == ["a.test"]


def test_who_comes_meanwhile_does_without():
    """One question at a time; if whoever asked has gone, the next one asks again."""
    resolver, told, _ = resolving(DnsAnswer(SIX, 300.0))

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
    assert told.requested == ["a.test", "a.test six", "a.test six"]
