"""What every lookup of names has in common: the shipped one, and the one in docs/extending.md."""

import asyncio

import pytest

from tests.support.nameserver import NameServer
from tests.support.snippets import load
from webcrawl.net.dns_answer import Answer, Failure
from webcrawl.net.dns_cares import NameServers

LOOKUPS = {"name servers": NameServers, "an extended one": load("docs/extending.md", "Staging")}


@pytest.fixture(name="looked_up", params=LOOKUPS)
def _looked_up(request):
    """Runs `use(lookup)` beside a name server that knows known.test."""

    async def run(use):
        server = NameServer()
        server.add("known.test", "192.0.2.4", 99)
        async with server.running():
            lookup = LOOKUPS[request.param]((("127.0.0.1", server.port),))
            try:
                return await use(lookup)
            finally:
                await lookup.close()

    return lambda use: asyncio.run(run(use))


def test_a_name_has_its_addresses_and_their_ttl(looked_up):
    """`ask` returns the addresses of a name."""
    assert looked_up(lambda lookup: lookup.ask("known.test")) == Answer(("192.0.2.4",), 99.0)


def test_a_failure_is_an_answer(looked_up):
    """`ask` returns the failure of a name that does not exist."""
    assert looked_up(lambda lookup: lookup.ask("none.test")).failure is Failure.NO_NAME


def test_a_server_that_answers_passes_the_probe(looked_up):
    """`probe` raises nothing if a name server answers."""
    assert looked_up(lambda lookup: lookup.probe()) is None


def test_the_check_asks_again(looked_up):
    """`check` says what the servers say now."""
    assert looked_up(lambda lookup: lookup.check("known.test")).failure is None


def test_after_its_close_it_only_fails(looked_up):
    """Nothing is asked any more after `close`, and nothing is raised."""

    async def use(lookup):
        await lookup.close()
        return await lookup.ask("known.test")

    assert looked_up(use).failure is Failure.CLOSED


def test_the_example_sends_its_names_elsewhere():
    """The lookup of docs/extending.md answers for one domain by itself."""
    staging = LOOKUPS["an extended one"](())

    assert asyncio.run(staging.ask("www.shop.test")) == Answer(("127.0.0.9",), 300.0)
