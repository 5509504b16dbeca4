"""Name servers that lie are told from names that lead nowhere."""

import asyncio
import logging

import pytest

from tests.support.lookups import Clock
from webcrawl.frontier.health import GONE
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answers import FRESH_SECONDS, SUSPECT, DnsAnswer, DnsFailure
from webcrawl.net.errors import DnsFailed, Sign
from webcrawl.net.guard import AddressGuard

GOOD, INSIDE = DnsAnswer(("198.41.0.4",), 86_400.0), DnsAnswer(("10.0.0.1",), 86_400.0)
DENIED = DnsAnswer(failure=DnsFailure.NO_NAME)
LIES = [
    DENIED,
    INSIDE,
    DnsAnswer(("192.168.1.1", "fd00::1"), 0.0),
    DnsAnswer(failure=DnsFailure.NO_ADDRESS),
]


class Lookup:
    """Knows every name but those that begin with `gone`; `lie` is what it says of all instead."""

    def __init__(self):
        self.lie = None
        self.checks = []

    async def ask(self, host):
        await asyncio.sleep(0)
        return self.lie or (DENIED if host.startswith("gone") else GOOD)

    async def check(self, host):
        self.checks.append(host)
        return await self.ask(host)

    async def close(self):
        pass


class Names:
    """A resolver whose clock stands still, but for `later`."""

    def __init__(self):
        self.lookup, self._clock = Lookup(), Clock()
        self.resolver = CachingResolver(
            self.lookup, clock=self._clock, admits=AddressGuard().admits
        )

    def later(self, seconds=FRESH_SECONDS):
        self._clock.now += seconds

    async def says(self, name):
        """Addresses, or whether the failure is permanent, and what it says of our network."""
        try:
            return await self.resolver.resolve(name)
        except DnsFailed as error:
            return error.permanent, error.sign


NOWHERE, DOUBT = (True, Sign.NO_NAME), (False, Sign.DOUBT)


def run(scenario):
    async def main():
        names = Names()
        try:
            return await scenario(names)
        finally:
            await names.resolver.close()

    return asyncio.run(main())


def test_a_name_that_nobody_has():
    """It leads nowhere for good, if a name that led somewhere still does."""

    async def scenario(names):
        await names.says("a.test")
        names.later()
        found = [await names.says(name) for name in ("gone1.test", "gone2.test")]
        return found, names.lookup.checks

    assert run(scenario) == ([NOWHERE] * 2, ["a.test"])


@pytest.mark.parametrize("lie", LIES)
def test_servers_that_deny_what_they_knew(lie):
    """If all names that led somewhere are denied or lead inside, a name that does so, too, is in
    doubt.
    """

    async def scenario(names):
        for name in "abc":
            await names.says(f"{name}.test")
        names.later()
        names.lookup.lie = lie
        return [await names.says(name) for name in ("new.test", "newer.test")], sorted(
            names.lookup.checks
        )

    assert run(scenario) == ([DOUBT] * 2, ["a.test", "b.test", "c.test"])


def test_names_of_a_former_run():
    """Hosts that earlier runs have reached are asked for, but for addresses and names that nobody
    is asked for.
    """

    async def scenario(names):
        names.resolver.remember(["192.0.2.1", "a.test"])
        names.lookup.lie = DENIED
        return await names.says("new.test"), names.lookup.checks

    assert run(scenario) == (DOUBT, ["a.test"])


def test_nobody_knows_any_name():
    """As long as no name has led anywhere, one that does not exist leads nowhere for good."""

    async def scenario(names):
        names.lookup.lie = DENIED
        return await names.says("a.test")

    assert run(scenario) == NOWHERE


def test_a_denial_is_asked_for_again_past_any_cache():
    """A name that was denied is asked for once more a moment later, past the lookup's own cache."""

    async def scenario(names):
        first = await names.says("gone.test")
        names.later(GONE)
        return first, await names.says("gone.test"), names.lookup.checks

    assert run(scenario) == (NOWHERE, NOWHERE, ["gone.test"])


def test_an_address_inside_is_asked_for_again_past_any_cache():
    """A name that led inside is asked for once more, too, past the lookup's own cache."""

    async def scenario(names):
        names.lookup.lie = INSIDE
        first = await names.says("a.test")
        names.later(GONE)
        return first, await names.says("a.test"), names.lookup.checks

    assert run(scenario) == ([*INSIDE.addresses], [*INSIDE.addresses], ["a.test"])


@pytest.mark.parametrize("lie", LIES)
def test_servers_that_begin_to_lie_a_moment_after_the_truth(lie):
    """A name that is denied twice is in doubt if no name has led anywhere since the first time."""

    async def scenario(names):
        await names.says("a.test")
        names.later(1)
        names.lookup.lie = lie
        await names.says("new.test")
        names.later(GONE)
        return await names.says("new.test")

    assert run(scenario) == DOUBT


def test_a_witness_between_two_denials():
    """A name that is denied twice leads nowhere for good if another one has led somewhere in
    between.
    """

    async def scenario(names):
        await names.says("gone.test")
        names.later(GONE - 1)
        await names.says("a.test")
        names.later(1)
        return await names.says("gone.test"), names.lookup.checks

    assert run(scenario) == (NOWHERE, ["gone.test"])


@pytest.mark.parametrize("lie", LIES)
def test_many_denials_before_any_name_led_somewhere(lie):
    """Servers that deny all names, or lead inside, are not believed after so many names."""

    async def scenario(names):
        names.lookup.lie = lie
        for number in range(SUSPECT):
            await names.says(f"{number}.test")
        found = [await names.says("new.test"), await names.says("0.test") == DOUBT]
        names.lookup.lie = None
        names.later()
        return [*found, await names.says("a.test"), await names.says("gone.test")]

    assert run(scenario) == [DOUBT, False, [*GOOD.addresses], NOWHERE]


def test_who_has_told_the_truth_is_believed_for_a_while():
    """No name is asked for again within ten seconds of one that led somewhere."""

    async def scenario(names):
        await names.says("a.test")
        names.later(FRESH_SECONDS - 1)
        return await names.says("gone.test"), names.lookup.checks

    assert run(scenario) == (NOWHERE, [])


def test_names_that_fail_otherwise():
    """A server that fails denies nothing."""

    async def scenario(names):
        await names.says("a.test")
        names.later()
        names.lookup.lie = DnsAnswer(failure=DnsFailure.SERVER_FAILED)
        return await names.says("b.test"), names.lookup.checks

    assert run(scenario) == (DOUBT, [])


def test_servers_that_fail_when_they_are_asked_again(caplog):
    """What they denied is in doubt then; nobody says that they lie."""

    async def scenario(names):
        await names.says("a.test")
        names.later()

        async def check(_):
            return DnsAnswer(failure=DnsFailure.TIMEOUT)

        names.lookup.check = check
        return await names.says("gone.test")

    assert (run(scenario), caplog.messages) == (DOUBT, [])


def test_a_name_found_while_others_are_asked_for():
    """It is a witness as good as they are, and nothing fails by it."""

    async def scenario(names):
        for name in "abcd":
            await names.says(f"{name}.test")
        names.later()

        async def check(_):
            await names.says("new.test")
            return DENIED

        names.lookup.check = check
        return await names.says("gone.test")

    assert run(scenario) == NOWHERE


def test_a_lookup_that_leaves_out_addresses():
    """A name that has an answer without addresses is there."""

    async def scenario(names):
        await names.says("a.test")
        names.later()

        async def check(_):
            return DnsAnswer()

        names.lookup.check = check
        return await names.says("gone.test")

    assert run(scenario) == NOWHERE


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_kept_for_half_a_minute(lie):
    """Whatever its TTL, so that a host's next try asks anew; when the network is back, it is
    forgotten at once.
    """

    async def scenario(names):
        names.lookup.lie = lie
        first = await names.says("a.test")
        names.lookup.lie = None
        kept = await names.says("a.test")
        names.later(31)
        names.lookup.lie, after = lie, await names.says("a.test")
        await names.says("b.test")
        names.lookup.lie = None
        names.resolver.forget_failures()
        return first == kept, after, await names.says("b.test")

    assert run(scenario) == (True, [*GOOD.addresses], [*GOOD.addresses])


def test_it_is_said_once(caplog):
    """That names are denied which led to hosts, and that they lead there again."""

    async def scenario(names):
        await names.says("a.test")
        names.lookup.lie = DENIED
        for number in range(3):
            names.later()
            await names.says(f"new{number}.test")
        names.lookup.lie = None
        names.later(31)
        await names.says("new1.test")

    caplog.set_level(logging.INFO)
    run(scenario)

    assert caplog.messages == [
        (
            "name servers no longer resolve 1 name that they resolved before, or give private "
            "addresses; no host is given up for this"
        ),
        "name servers resolve host names again",
    ]
