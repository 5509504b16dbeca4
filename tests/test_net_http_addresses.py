"""Which address is connected to, and which never."""

import pytest

from tests.net_http import LOOPS, Gate, Names, Visits, client, run, serving
from webcrawl.net.errors import AddressRefused, ConnectFailed, DnsFailed

pytestmark = pytest.mark.parametrize("loop", LOOPS)


class TestAddresses:
    def test_the_guard_sees_what_is_connected_to(self, loop):
        """The guard is asked for the very address and port that are connected to, once a connection."""
        guard = Gate()

        async def go():
            visits = Visits()
            async with serving(visits) as port, client(Names(a=["127.0.0.1"]), guard) as http:
                for _ in range(3):
                    got = await http.fetch(f"http://a.test:{port}/", keep=10)
                return got, port, visits.requests

        got, port, requests = run(go(), loop)

        assert guard.checked == [("127.0.0.1", port)]
        assert got.ip == "127.0.0.1"
        assert b"\r\nHost: a.test:%d\r\n" % port in requests[0]

    def test_a_refused_address_is_not_connected_to(self, loop):
        """An address that the guard refuses sees no packet, whatever name led there."""

        async def go():
            visits = Visits()
            async with serving(visits, "127.0.0.2") as port, client(Names(a=["127.0.0.2"]), Gate("127.0.0.2")) as http:
                for url in (f"http://a.test:{port}/", f"http://127.0.0.2:{port}/"):
                    with pytest.raises(AddressRefused):
                        await http.fetch(url)
                return visits.connections

        assert run(go(), loop) == 0

    def test_the_next_address_is_tried(self, loop):
        """Addresses that refuse, or are refused, give way to the next one."""

        async def go():
            names = Names(a=["127.0.0.3", "127.0.0.2", "127.0.0.1"])
            async with serving(Visits()) as port, client(names, Gate("127.0.0.3")) as http:
                return await http.fetch(f"http://a.test:{port}/")

        assert run(go(), loop).ip == "127.0.0.1"

    def test_no_more_than_four_addresses(self, loop):
        """A name with a hundred dead addresses costs four attempts."""
        guard = Gate()

        async def go():
            async with serving(Visits()) as port:
                pass
            async with client(Names(a=[f"127.0.0.{number}" for number in range(1, 101)]), guard) as http:
                await http.fetch(f"http://a.test:{port}/")

        with pytest.raises(ConnectFailed):
            run(go(), loop)
        assert len(guard.checked) == 4

    def test_a_resolver_that_gives_a_name(self, loop):
        """What a resolver gives is an address or nothing: no name is resolved behind the guard's back."""

        class Anything(Gate):
            def check(self, address, port):
                self.checked.append((address, port))

        async def go():
            async with client(Names(a=["localhost"]), Anything()) as http:
                await http.fetch("http://a.test/")

        with pytest.raises(ConnectFailed, match="not an address"):
            run(go(), loop)

    def test_a_name_without_an_address(self, loop):
        """A name that does not resolve is the resolver's error, untouched."""

        async def go():
            async with client() as http:
                await http.fetch("http://nowhere.test/")

        with pytest.raises(DnsFailed) as error:
            run(go(), loop)
        assert error.value.permanent

    def test_ipv6(self, loop):
        """An IPv6 literal is connected to as such, and stands in brackets in Host."""

        async def go():
            visits = Visits()
            async with serving(visits) as port, client() as http:
                got = await http.fetch(f"http://[::ffff:127.0.0.1]:{port}/")
                return got, port, visits.requests[0]

        got, port, request = run(go(), loop)

        assert got.ip == "::ffff:127.0.0.1"
        assert b"\r\nHost: [::ffff:127.0.0.1]:%d\r\n" % port in request
