"""Answers without a query: the hosts file, addresses, and invalid names."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.lookups import Told, failure
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answer import known_without_asking, read_hosts


class TestWithoutAsking:
    def test_the_hosts_file_goes_before_dns(self):
        """A name in the hosts file is never queried."""

        async def run():
            told = Told()
            resolver = CachingResolver(told, {"a.test": ("127.0.0.9", "::1")})
            return await resolver.resolve("A.test."), told.asked

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
            told = Told()
            return await CachingResolver(told).resolve(host), told.asked

        assert asyncio.run(run()) == (addresses, [])

    @pytest.mark.parametrize(
        "host",
        [
            *("0x7f.1", "127.1", "2130706433", "017700000001", "1.2.3.4.5", "256.1.1.1", "a.0x7f", "127.0.0.1:80"),
            *("[fe80::1%eth0]", "[::g]", "", ".", "a..b", ".a", "ümlaut.test", "x" * 64 + ".test", "a." * 127 + "test"),
        ],
    )
    def test_what_is_neither_name_nor_canonical_address_is_never_asked_for(self, host):
        """Non-canonical addresses, which a system's resolver might accept, and impossible names fail permanently."""

        async def run():
            told = Told()
            return (await failure(CachingResolver(told), host)).permanent, told.asked

        assert asyncio.run(run()) == (True, [])

    @given(st.text(max_size=30))
    def test_no_host_makes_it_raise(self, host):
        """Any string is an address, a failure, or a name to query."""
        answer = known_without_asking(host)

        assert answer is None or bool(answer.addresses) != bool(answer.failure)


class TestHostsFile:
    def test_names_gather_their_addresses(self, tmp_path):
        """Comments and case do not matter, and a name on several lines has several addresses in file order."""
        path = tmp_path / "hosts"
        path.write_text("# of a test\n127.0.0.1 a.test B.TEST. # two names\n\n::1\ta.test\r\n")

        assert read_hosts(path) == {"a.test": ("127.0.0.1", "::1"), "b.test": ("127.0.0.1",)}

    @pytest.mark.parametrize(
        ("line", "why"), [("a.test 127.0.0.1", "begins with no address"), ("::1 # x", "no name follows the address")]
    )
    def test_a_bad_line_is_named(self, tmp_path, line, why):
        """A line that is not an address with names is an error that gives its number, and not its text."""
        path = tmp_path / "hosts"
        path.write_text(f"127.0.0.1 a.test\n{line}\n")

        with pytest.raises(ValueError, match=rf"hosts, line 2: {why}$"):
            read_hosts(path)
