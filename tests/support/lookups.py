"""Shared by the tests of names and addresses: a lookup with fixed answers, and a server to query."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from webcrawl.net.dns_answers import DnsAnswer
from webcrawl.net.dns_cares import NameServers
from webcrawl.net.errors import DnsFailed


class FixedLookup:
    """A lookup with fixed answers that counts its queries and can be blocked."""

    def __init__(self, answers=None):
        self.answers = answers or {}
        self.six: dict[str, DnsAnswer] = {}
        self.requested: list[str] = []
        self.gate: asyncio.Event | None = None
        self.now = self.most = 0
        self.closed = False

    async def ask(self, host):
        """Return the answer for a host, once the gate is open."""
        self.requested.append(host)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if self.gate is not None:
                await self.gate.wait()
            return self.answers.get(host, DnsAnswer(("198.51.100.1",), 300.0))
        finally:
            self.now -= 1

    check = ask

    async def ask_six(self, host):
        self.requested.append(f"{host} six")
        if self.gate is not None:
            await self.gate.wait()
        return self.six[host]

    async def probe(self):
        pass

    async def close(self):
        self.closed = True


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


async def failure(resolver, host):
    with pytest.raises(DnsFailed) as caught:
        await resolver.resolve(host)
    return caught.value


async def ticks():
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def asking(server, **options):
    async with server.running():
        lookup = NameServers(
            [("127.0.0.1", server.port)], **({"timeout": 5.0, "tries": 1} | options)
        )
        try:
            yield lookup
        finally:
            await lookup.close()


def ask(server, *names, **options):
    """Return the name servers' answers for these names, requested one after the other."""

    async def run():
        async with asking(server, **options) as lookup:
            return [await lookup.ask(name) for name in names]

    return asyncio.run(run())
