"""SOCKS5 proxies: who looks up names, what the guard sees, and whose fault a failure is."""

import asyncio
import sys
from contextlib import asynccontextmanager

import pytest

from tests.net.test_http_tls import page, server_context
from tests.support.net_http import LOOPS, Gate, Names, client, run, serving
from tests.support.net_socks import IPV4, NAME, Socks
from webcrawl.net.environment_proxies import EnvironmentProxies
from webcrawl.net.errors import (
    AddressRefused,
    BadOption,
    ConnectFailed,
    DnsFailed,
    ProxyFailed,
    TunnelRefused,
)
from webcrawl.net.protocols import Options
from webcrawl.net.proxy import parse_proxy

loops = pytest.mark.parametrize("loop", LOOPS)
FAR = Names(far=["127.0.0.1"])


@asynccontextmanager
async def behind(proxy, scheme, *, names=FAR, served_by=None, user="", guard=None):
    """A function that fetches from the site behind the proxy by a name of it."""
    async with (
        serving(page, tls=served_by) as port,
        serving(proxy) as at,
        client(names, guard) as http,
    ):
        options = Options(proxy=parse_proxy(f"{scheme}://{user}127.0.0.1:{at}"))
        start = "https" if served_by else "http"

        async def fetch(host="far.test"):
            return await http.fetch(f"{start}://{host}:{port}/", options=options, keep=5)

        yield fetch, port


def failure(proxy, scheme, **more):
    """The error of a request through the proxy."""

    async def go():
        async with behind(proxy, scheme, **more) as (fetch, _):
            await fetch()

    with pytest.raises(Exception) as failed:  # noqa: PT011 - each test says which
        run(go())
    return failed.value


@loops
class TestNames:
    def test_socks5_gets_an_address(self, loop):
        """The crawl looks up the name, and the exchange has the server's address."""
        proxy = Socks()

        async def go():
            async with behind(proxy, "socks5") as (fetch, port):
                return await fetch(), port

        got, port = run(go(), loop)
        assert got.body == b"ok"
        assert got.ip == "127.0.0.1"
        assert proxy.requested == [(IPV4, "127.0.0.1", port)]

    def test_socks5h_gets_the_name(self, loop):
        """No name server of ours hears of the name, and nobody here knows the address."""
        proxy = Socks()

        async def go():
            async with behind(proxy, "socks5h", names=Names()) as (fetch, port):
                return await fetch("unknown.test"), port

        got, port = run(go(), loop)
        assert got.body == b"ok"
        assert got.ip == ""
        assert proxy.requested == [(NAME, "unknown.test", port)]

    def test_tls_is_with_the_server(self, loop, tmp_path):
        """Https goes through the same tunnel; the certificate is the server's."""
        context = server_context(tmp_path, "far.test")

        async def go():
            async with behind(Socks(), "socks5h", served_by=context) as (fetch, _):
                return await fetch()

        got = run(go(), loop)
        assert got.tls.startswith("TLSv1.3")
        assert got.flaws == ()

    def test_a_connection_is_kept(self, loop):
        """The host's next request goes through the tunnel that is open."""
        proxy = Socks()

        async def go():
            async with behind(proxy, "socks5") as (fetch, _):
                return [await fetch(), await fetch()]

        assert [got.status for got in run(go(), loop)] == [200, 200]
        assert len(proxy.requested) == 1


class TestGuard:
    def test_socks5_is_guarded(self):
        """An address that the guard refuses is not asked of the proxy, whatever name leads there."""
        proxy = Socks()

        assert isinstance(failure(proxy, "socks5", guard=Gate("127.0.0.1")), AddressRefused)
        assert proxy.requested == []

    def test_an_allowed_address_of_several_is_taken(self):
        """Of a name's addresses those that the guard refuses are left out."""
        proxy = Socks()
        names = Names(far=["127.9.9.9", "127.0.0.1"])

        async def go():
            async with behind(proxy, "socks5", names=names, guard=Gate("127.9.9.9")) as (fetch, _):
                return await fetch()

        assert run(go()).ip == "127.0.0.1"
        assert [host for _, host, _ in proxy.requested] == ["127.0.0.1"]

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_socks5h_is_guarded_where_the_url_names_the_address(self, host):
        """With names that the proxy looks up, the guard sees literal addresses and localhost."""
        proxy = Socks()

        async def go():
            async with behind(proxy, "socks5h", guard=Gate("127.0.0.1")) as (fetch, _):
                await fetch(host)

        with pytest.raises(AddressRefused):
            run(go())
        assert proxy.requested == []

    def test_a_name_without_an_address(self):
        """It is the host's failure, and not the proxy's."""
        assert isinstance(failure(Socks(), "socks5", names=Names()), DnsFailed)


class TestFailures:
    @pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
    def test_credentials(self, scheme):
        """User and password are sent (RFC 1929), unescaped."""
        proxy = Socks(user=("me", "p:w%"))

        async def go():
            async with behind(proxy, scheme, user="me:p%3Aw%25@") as (fetch, _):
                return await fetch()

        assert run(go()).status == 200

    @pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
    def test_the_server_gets_no_credentials(self, scheme):
        """The server gets the same request as without a proxy."""
        heads = []

        async def site(reader, writer):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        async def go():
            socks = Socks(user=("me", "pw"))
            async with serving(site) as port, serving(socks) as at, client(FAR) as http:
                proxy = parse_proxy(f"{scheme}://me:pw@127.0.0.1:{at}")
                url = f"http://far.test:{port}/a"
                through = await http.fetch(url, options=Options(proxy=proxy))
                await http.fetch(url)
                return through

        exchange = run(go())
        through, direct = heads
        assert through == direct == exchange.request

    @pytest.mark.parametrize("user", ["", "me:wrong@"])
    def test_a_proxy_that_wants_other_credentials(self, user):
        """No URL is charged; the message has no password."""
        error = failure(Socks(user=("me", "right")), "socks5", user=user)

        assert isinstance(error, ProxyFailed)
        assert error.wait > 0
        assert "wrong" not in str(error)

    def test_a_proxy_that_is_away(self):
        """All that needs it waits."""

        async def go():
            async with serving(page) as closed:
                pass
            async with client(FAR) as http:
                options = Options(proxy=parse_proxy(f"socks5://127.0.0.1:{closed}"))
                await http.fetch("http://far.test/", options=options)

        with pytest.raises(ProxyFailed):
            run(go())

    def test_a_proxy_that_speaks_something_else(self):
        """An HTTP proxy under a SOCKS scheme is not usable, and charges no host."""

        async def proxy(reader, writer):
            await reader.read(3)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()

        assert isinstance(failure(proxy, "socks5"), ProxyFailed)

    def test_a_proxy_that_hangs_up(self):
        """A connection that ends within the handshake is the proxy's failure."""

        async def proxy(reader, writer):
            await reader.read(3)

        assert isinstance(failure(proxy, "socks5"), ProxyFailed)

    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            (2, TunnelRefused),
            (5, ConnectFailed),
            (1, ProxyFailed),
            (3, ProxyFailed),
            (4, ProxyFailed),
        ],
    )
    def test_replies(self, code, kind):
        """Its rules end the URL, a refused connection is the host's, the rest is doubtful at first
        (RFC 1928 6).
        """
        error = failure(Socks(replies={"127.0.0.1": code}), "socks5")

        assert type(error) is kind

    def test_the_next_address_is_tried(self):
        """A server is reached by another of its addresses if the proxy cannot reach the first."""
        proxy = Socks(replies={"127.0.0.9": 4})
        names = Names(far=["127.0.0.9", "127.0.0.1"])

        async def go():
            async with behind(proxy, "socks5", names=names) as (fetch, _):
                return await fetch()

        assert run(go()).ip == "127.0.0.1"

    def test_without_the_library(self, monkeypatch):
        """The line names the library and the command that installs it."""
        monkeypatch.setitem(sys.modules, "python_socks", None)

        error = failure(Socks(), "socks5")
        assert isinstance(error, BadOption)
        assert "python_socks is not installed: pip install 'python-socks" in str(error)

    def test_no_socket_is_left(self):
        """A request that is cancelled within the handshake closes its connection."""
        begun, ended = asyncio.Event(), asyncio.Event()

        async def proxy(reader, writer):
            await reader.read(3)
            begun.set()
            await reader.read(1)
            ended.set()

        async def go():
            async with behind(proxy, "socks5") as (fetch, _):
                task = asyncio.create_task(fetch())
                await begun.wait()
                task.cancel()
                await asyncio.wait([task])
                await ended.wait()
                return task.cancelled()

        assert run(go())


class TestEnvironment:
    def test_all_proxy_is_for_schemes_without_a_proxy(self):
        """A scheme's own proxy goes before ALL_PROXY; ftp and gopher are not left out."""
        proxies = EnvironmentProxies({"all": "socks5h://h:1", "http": "http://h:2"})

        assert [
            str(proxies.of(f"{scheme}://a.test/")) for scheme in ("http", "https", "ftp", "gopher")
        ] == ["h:2", "h:1", "h:1", "h:1"]

    @pytest.mark.parametrize("scheme", ["http", "https", "ftp", "gopher"])
    def test_no_proxy(self, scheme, monkeypatch):
        """no_proxy names hosts that are requested directly, by ALL_PROXY too."""
        monkeypatch.setenv("no_proxy", "a.test")

        assert EnvironmentProxies({"all": "socks5://h:1"}).of(f"{scheme}://a.test/") is None
