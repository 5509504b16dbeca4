"""The contract of a lookup, and each implementation of it."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from tests.support.lookups import asking
from tests.support.nameserver import SERVFAIL, NameServer
from webcrawl.net.dns_answer import Failure
from webcrawl.net.dns_system import SystemResolver


def _getaddrinfo(host, port, **options):
    """The system's function as a test would have it."""
    if host == "here.test":
        return [(family, 1, 6, "", (address, 0)) for family, address in [(2, "192.0.2.1"), (10, "2001:db8::1")]]
    if host == "slow.test":
        raise socket.gaierror(socket.EAI_AGAIN, "again")
    raise socket.gaierror(socket.EAI_NONAME, "none")


class LookupContract:
    """What CachingResolver may rely on, whoever is asked."""

    @asynccontextmanager
    async def make(self):
        raise AssertionError("each implementation makes its own")
        yield

    def _run(self, *names):
        async def run():
            async with self.make() as lookup:
                await lookup.probe()
                return [await lookup.ask(name) for name in names]

        return asyncio.run(run())

    def test_a_name_has_addresses_and_a_time(self):
        """An answer has at least one address and says how long it holds."""
        (answer,) = self._run("here.test")

        assert answer.addresses[0] == "192.0.2.1"
        assert answer.ttl > 0
        assert answer.failure is None

    def test_for_good_and_for_now_are_told_apart(self):
        """A name that does not exist fails for good, a server in trouble for now."""
        missing, slow = self._run("missing.test", "slow.test")

        assert (missing.failure, slow.failure) == (Failure.NO_NAME, Failure.SERVER_FAILED)

    def test_it_may_be_closed_twice(self):
        """Closing what is closed does nothing."""

        async def run():
            async with self.make() as lookup:
                await lookup.close()

        asyncio.run(run())


class TestNameServersAsLookup(LookupContract):
    @asynccontextmanager
    async def make(self):
        server = NameServer(codes={"slow.test": SERVFAIL})
        server.add("here.test", "192.0.2.1")
        async with asking(server) as lookup:
            yield lookup


class TestSystemResolverAsLookup(LookupContract):
    @asynccontextmanager
    async def make(self):
        lookup = SystemResolver(getaddrinfo=_getaddrinfo)
        yield lookup
        await lookup.close()

    def test_the_systems_own_answer(self):
        """The machine's own name for itself is found without any name server."""

        async def run():
            lookup = SystemResolver(threads=1)
            answer = await lookup.ask("localhost")
            await lookup.close()
            return answer.addresses

        assert set(asyncio.run(run())) <= {"127.0.0.1", "::1"}

    def test_a_name_that_python_cannot_encode_fails_for_good(self):
        """The library's own refusal is an answer, not an exception."""

        def refuse(*_, **__):
            raise UnicodeError

        async def run():
            lookup = SystemResolver(getaddrinfo=refuse)
            answer = await lookup.ask("a.test")
            await lookup.close()
            return answer.failure

        assert asyncio.run(run()) is Failure.BAD_NAME

    def test_it_takes_no_name_servers(self):
        """The system's resolver asks whom the system says."""
        with pytest.raises(ValueError, match="cannot be told"):
            SystemResolver(["127.0.0.1:53"])
