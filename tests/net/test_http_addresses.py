"""Which addresses are connected to, and which never."""

import socket

import pytest

from tests.support.http2_servers import context
from tests.support.net_http import LOOPS, Gate, Names, Visits, client, run, serving, silence
from webcrawl.net.errors import AddressRefused, BadUrl, ConnectFailed, DnsFailed, FetchError, Sign
from webcrawl.net.guard import AddressGuard

pytestmark = pytest.mark.parametrize("loop", LOOPS)


class TestAddresses:
    def test_the_guard_sees_what_is_connected_to(self, loop):
        """The guard checks exactly the address and port that are connected to, once per connection."""
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
        """An address that the guard refuses gets no packet, whatever name led there."""

        async def go():
            visits = Visits()
            async with (
                serving(visits, "127.0.0.2") as port,
                client(Names(a=["127.0.0.2"]), Gate("127.0.0.2")) as http,
            ):
                for url in (f"http://a.test:{port}/", f"http://127.0.0.2:{port}/"):
                    with pytest.raises(AddressRefused):
                        await http.fetch(url)
                return visits.connections

        assert run(go(), loop) == 0

    def test_who_says_that_it_is_inside(self, loop):
        """A URL that names a forbidden address is wrong; a name that leads there may be a lie."""

        async def go():
            found = []
            async with client(Names(a=["127.0.0.2"]), Gate("127.0.0.2")) as http:
                for host in ("a.test", "127.0.0.2"):
                    with pytest.raises(AddressRefused) as caught:
                        await http.fetch(f"http://{host}/")
                    found.append(caught.value.sign)
            return found

        assert run(go(), loop) == [Sign.NO_NAME, Sign.NOTHING]

    def test_the_next_address_is_tried(self, loop):
        """If an address is refused or does not accept, the next one is tried."""

        async def go():
            names = Names(a=["127.0.0.3", "127.0.0.2", "127.0.0.1"])
            async with serving(Visits()) as port, client(names, Gate("127.0.0.3")) as http:
                return await http.fetch(f"http://a.test:{port}/")

        assert run(go(), loop).ip == "127.0.0.1"

    def test_a_silent_address_is_overtaken(self, loop):
        """Its host is requested at the other one from then on."""
        names = Names(a=["127.0.0.2", "127.0.0.1"])

        async def go():
            async with serving(Visits()) as port, client(names, guard := Gate()) as http:
                with silence("127.0.0.2", port):
                    got = [await http.fetch(f"http://a.test:{port}/") for _ in range(2)]
            return got, [address for address, _ in guard.checked]

        got, checked = run(go(), loop)

        assert [one.ip for one in got] == ["127.0.0.1", "127.0.0.1"]
        assert checked == ["127.0.0.2", "127.0.0.1", "127.0.0.1"]

    @pytest.mark.parametrize("secure", [True, False])
    def test_an_address_that_accepts_and_says_nothing(self, loop, secure, tmp_path):
        """The next request begins with another one."""
        names, scheme = Names(a=["127.0.0.2", "127.0.0.1"]), "https" if secure else "http"
        tls = context(tmp_path, "a.test", protocols=()) if secure else None

        async def closes(reader, _):
            await reader.read(1000)

        async def go():
            async with (
                serving(Visits(), tls=tls) as port,
                serving(closes, "127.0.0.2", port=port),
                client(names) as http,
            ):
                url = f"{scheme}://a.test:{port}/"
                with pytest.raises(FetchError):
                    await http.fetch(url)
                return [(await http.fetch(url)).ip for _ in range(2)]

        assert run(go(), loop) == ["127.0.0.1"] * 2

    def test_ipv6_where_ipv4_is_silent(self, loop):
        """The addresses of the other family are asked for then, and raced."""
        _needs_ipv6()
        names = Names(a=["127.0.0.2"])
        names.more = {"a": ["127.0.0.2", "::1"]}

        async def go():
            async with serving(Visits(), "::1") as port:
                with silence("127.0.0.2", port):
                    async with client(names, AddressGuard(["127.0.0.0/8", "::1/128"])) as http:
                        return [(await http.fetch(f"http://a.test:{port}/")).ip for _ in range(2)]

        assert run(go(), loop) == ["::1", "::1"]

    def test_ipv4_where_ipv6_is_refused(self, loop):
        """At once, and it is tried first from then on."""
        names = Names(a=["::1", "127.0.0.1"])

        async def go():
            guard = AddressGuard(["127.0.0.0/8", "::1/128"])
            async with serving(Visits()) as port, client(names, guard) as http:
                return [await http.fetch(f"http://a.test:{port}/") for _ in range(2)]

        assert [one.ip for one in run(go(), loop)] == ["127.0.0.1"] * 2

    def test_no_more_than_four_addresses(self, loop):
        """A name with a hundred dead addresses costs four attempts."""
        guard = Gate()

        async def go():
            async with serving(Visits()) as port:
                pass
            async with client(
                Names(a=[f"127.0.0.{number}" for number in range(1, 101)]), guard
            ) as http:
                await http.fetch(f"http://a.test:{port}/")

        with pytest.raises(ConnectFailed):
            run(go(), loop)
        assert len(guard.checked) == 4

    def test_a_resolver_that_gives_nothing(self, loop):
        """There is no address to connect to, and that is no error of ours."""

        async def go():
            async with client(Names(a=[])) as http:
                await http.fetch("http://a.test/")

        with pytest.raises(ConnectFailed, match="no address"):
            run(go(), loop)

    def test_a_resolver_that_gives_a_name(self, loop):
        """A resolver must return addresses: a name would be resolved again, bypassing the guard."""

        class Anything(Gate):
            def check(self, address, port):
                self.checked.append((address, port))

        async def go():
            async with client(Names(a=["localhost"]), Anything()) as http:
                await http.fetch("http://a.test/")

        with pytest.raises(ConnectFailed, match="not an IP address"):
            run(go(), loop)

    def test_a_name_without_an_address(self, loop):
        """A name that does not resolve raises the resolver's error."""

        async def go():
            async with client() as http:
                await http.fetch("http://nowhere.test/")

        with pytest.raises(DnsFailed) as error:
            run(go(), loop)
        assert error.value.permanent

    def test_ipv6(self, loop):
        """An IPv6 literal is connected to as such, and in brackets in Host."""

        async def go():
            visits = Visits()
            async with serving(visits) as port, client() as http:
                got = await http.fetch(f"http://[::ffff:127.0.0.1]:{port}/")
                return got, port, visits.requests[0]

        got, port, request = run(go(), loop)

        assert got.ip == "::ffff:127.0.0.1"
        assert b"\r\nHost: [::ffff:127.0.0.1]:%d\r\n" % port in request

    def test_a_name_that_changes_its_mind(self, loop):
        """The address connected to is the one that the guard checked: DNS rebinding gains nothing."""

        class Rebound(Names):
            async def resolve(self, host):
                self.requested.append(host)
                return ["127.0.0.1"] if len(self.requested) % 2 else ["127.9.9.9"]

        async def go():
            inside, outside, names, refused = Visits(), Visits(), Rebound(), 0
            guard = AddressGuard(["127.0.0.0/16"])
            async with (
                serving(outside) as port,
                serving(inside, "127.9.9.9", port=port),
                client(names, guard) as http,
            ):
                for _ in range(6):
                    try:
                        await http.fetch(f"http://a.test:{port}/")
                    except AddressRefused:
                        refused += 1
            return inside.connections, outside.connections, refused, len(names.requested)

        assert run(go(), loop) == (0, 3, 3, 6)

    def test_ipv6_loopback(self, loop):
        """An IPv6 server is connected to over IPv6 if its address is allowed."""
        _needs_ipv6()

        async def go():
            async with serving(Visits(), "::1") as port:
                async with client(guard=AddressGuard(["::1/128"])) as http:
                    got = await http.fetch(f"http://[::1]:{port}/")
                async with client(guard=AddressGuard(["127.0.0.0/8"])) as http:
                    with pytest.raises(AddressRefused):
                        await http.fetch(f"http://[::1]:{port}/")
                return got

        assert (run(go(), loop).ip, run(go(), loop).status) == ("::1", 200)

    @pytest.mark.parametrize("port", [0, 65536, 99999])
    def test_ports_that_are_none(self, loop, port):
        """A URL with an impossible port is refused."""

        async def go():
            async with client() as http:
                await http.fetch(f"http://127.0.0.1:{port}/")

        with pytest.raises(BadUrl):
            run(go(), loop)


def _needs_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as found:
            found.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no ::1")
