"""Names of addresses, as name servers on loopback tell them."""

import pytest

from tests.support.nameserver import AAAA, PTR, REFUSED, NameServer
from tests.support.net_http import LOOPS, run
from webcrawl.net.dns_records import ReverseNames

ONE = "1.2.0.192.in-addr.arpa"
SIX = ".".join(reversed("20010db8" + "0" * 23 + "1")) + ".ip6.arpa"


def ask(server, call):
    async def go():
        async with server.running():
            asked = ReverseNames([("127.0.0.1", server.port)], timeout=0.2, tries=1)
            try:
                return await call(asked)
            finally:
                asked.close()

    return go()


@pytest.mark.parametrize("loop", LOOPS)
class TestNames:
    @pytest.mark.parametrize(("address", "owner"), [("192.0.2.1", ONE), ("2001:db8::1", SIX)])
    def test_of_an_address(self, loop, address, owner):
        """All names of an address of either family, without their last dot."""
        server = NameServer({owner: [(owner, PTR, 60, "One.test"), (owner, PTR, 60, "two.test")]})

        assert run(ask(server, lambda asked: asked.names(address)), loop) == ("one.test", "two.test")

    def test_of_none(self, loop):
        """An address without a name has none; what nobody answers is not known."""
        server = NameServer(codes={"2.2.0.192.in-addr.arpa": REFUSED})
        server.silent.add("3.2.0.192.in-addr.arpa")

        assert run(ask(server, lambda asked: asked.names("192.0.2.1")), loop) == ()
        assert run(ask(server, lambda asked: asked.names("192.0.2.2")), loop) is None
        assert run(ask(server, lambda asked: asked.names("192.0.2.3")), loop) is None

    def test_addresses_of_a_name(self, loop):
        """A name's addresses of both families, in their usual form."""
        server = NameServer()
        server.add("one.test", "192.0.2.1")
        server.add("one.test", "2001:0db8:0::1", kind=AAAA)

        assert run(ask(server, lambda asked: asked.addresses("one.test")), loop) == ("192.0.2.1", "2001:db8::1")
        assert run(ask(server, lambda asked: asked.addresses("two.test")), loop) == ()
