"""Names: what is no name, what needs no query, and names of addresses."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.lookups import FixedLookup, failure
from tests.support.nameserver import AAAA, PTR, REFUSED, NameServer
from tests.support.net_http import LOOPS, run
from tests.support.snippets import load
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answers import DnsAnswer, DnsFailure, known_without_asking, read_hosts
from webcrawl.net.dns_cares import NameServers, ReverseNames

ONE = "1.2.0.192.in-addr.arpa"
SIX = ".".join(reversed("20010db8" + "0" * 23 + "1")) + ".ip6.arpa"


def ask(server, call):
    async def go():
        async with server.running():
            requested = ReverseNames([("127.0.0.1", server.port)], timeout=0.2, tries=1)
            try:
                return await call(requested)
            finally:
                requested.close()

    return go()


@pytest.mark.parametrize("loop", LOOPS)
class TestNames:
    @pytest.mark.parametrize(("address", "owner"), [("192.0.2.1", ONE), ("2001:db8::1", SIX)])
    def test_of_an_address(self, loop, address, owner):
        """All names of an address of either family, without their last dot."""
        server = NameServer({owner: [(owner, PTR, 60, "One.test"), (owner, PTR, 60, "two.test")]})

        assert run(ask(server, lambda requested: requested.names(address)), loop) == (
            "one.test",
            "two.test",
        )

    def test_of_none(self, loop):
        """An address without a name has none; what nobody answers is not known."""
        server = NameServer(codes={"2.2.0.192.in-addr.arpa": REFUSED})
        server.silent.add("3.2.0.192.in-addr.arpa")

        assert run(ask(server, lambda requested: requested.names("192.0.2.1")), loop) == ()
        assert run(ask(server, lambda requested: requested.names("192.0.2.2")), loop) is None
        assert run(ask(server, lambda requested: requested.names("192.0.2.3")), loop) is None

    def test_addresses_of_a_name(self, loop):
        """A name's addresses of both families, in their usual form."""
        server = NameServer()
        server.add("one.test", "192.0.2.1")
        server.add("one.test", "2001:0db8:0::1", kind=AAAA)

        assert run(ask(server, lambda requested: requested.addresses("one.test")), loop) == (
            "192.0.2.1",
            "2001:db8::1",
        )
        assert run(ask(server, lambda requested: requested.addresses("two.test")), loop) == ()


class TestWithoutAsking:
    def test_the_hosts_file_goes_before_dns(self):
        """A name in the hosts file is never queried."""

        async def run():
            told = FixedLookup()
            resolver = CachingResolver(told, {"a.test": ("127.0.0.9", "::1")})
            return await resolver.resolve("A.test."), told.requested

        assert asyncio.run(run()) == (["127.0.0.9", "::1"], [])

    @pytest.mark.parametrize(
        ("host", "addresses"),
        [
            ("127.0.0.1", ["127.0.0.1"]),
            ("[::1]", ["::1"]),
            ("2001:db8::1", ["2001:db8::1"]),
            ("[2001:db8:0:0::1]", ["2001:db8::1"]),
            ("localhost", ["127.0.0.1"]),
            ("Shop.localhost.", ["127.0.0.1"]),
        ],
    )
    def test_an_address_is_its_own_answer(self, host, addresses):
        """A literal address costs no query, and neither does this machine's own name."""

        async def run():
            told = FixedLookup()
            return await CachingResolver(told).resolve(host), told.requested

        assert asyncio.run(run()) == (addresses, [])

    @pytest.mark.parametrize(
        "host",
        [
            *(
                "0x7f.1",
                "127.1",
                "2130706433",
                "017700000001",
                "1.2.3.4.5",
                "256.1.1.1",
                "a.0x7f",
                "127.0.0.1:80",
            ),
            *(
                "[fe80::1%eth0]",
                "[::g]",
                "",
                ".",
                "a..b",
                ".a",
                "ümlaut.test",
                "x" * 64 + ".test",
                "a." * 127 + "test",
            ),
        ],
    )
    def test_what_is_neither_name_nor_canonical_address_is_never_asked_for(self, host):
        """Non-canonical addresses, which a system's resolver might accept, and impossible names
        fail permanently.
        """

        async def run():
            told = FixedLookup()
            return (await failure(CachingResolver(told), host)).permanent, told.requested

        assert asyncio.run(run()) == (True, [])

    @given(st.text(max_size=30))
    def test_no_host_makes_it_raise(self, host):
        """Any string is an address, a failure, or a name to query."""
        answer = known_without_asking(host)

        assert answer is None or bool(answer.addresses) != bool(answer.failure)


class TestHostsFile:
    def test_names_gather_their_addresses(self, tmp_path):
        """Comments and case do not matter, and a name on several lines has several addresses in
        file order.
        """
        path = tmp_path / "hosts"
        path.write_text("# of a test\n127.0.0.1 a.test B.TEST. # two names\n\n::1\ta.test\r\n")

        assert read_hosts(path) == {"a.test": ("127.0.0.1", "::1"), "b.test": ("127.0.0.1",)}

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("a.test 127.0.0.1", "does not begin with an IP address"),
            ("::1 # x", "no name follows the address"),
        ],
    )
    def test_a_bad_line_is_named(self, tmp_path, line, why):
        """A line that is not an address with names is an error that gives its number, and not its
        text.
        """
        path = tmp_path / "hosts"
        path.write_text(f"127.0.0.1 a.test\n{line}\n")

        with pytest.raises(ValueError, match=rf"hosts, line 2: {why}$"):
            read_hosts(path)


LOOKUPS = {"name servers": NameServers, "an extended one": load("docs/policies.md", "Staging")}


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
    assert looked_up(lambda lookup: lookup.ask("known.test")) == DnsAnswer(("192.0.2.4",), 99.0)


def test_a_failure_is_an_answer(looked_up):
    """`ask` returns the failure of a name that does not exist."""
    assert looked_up(lambda lookup: lookup.ask("none.test")).failure is DnsFailure.NO_NAME


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

    assert looked_up(use).failure is DnsFailure.CLOSED


def test_the_example_sends_its_names_elsewhere():
    """The lookup of docs/policies.md answers for one domain by itself."""
    staging = LOOKUPS["an extended one"](())

    assert asyncio.run(staging.ask("www.shop.test")) == DnsAnswer(("127.0.0.9",), 300.0)
