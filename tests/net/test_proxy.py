"""HTTP proxies: how they are named, what they are asked, and whose fault a failure behind one is."""

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager, suppress

import pytest

from tests.net.test_http_tls import page, server_context
from tests.support.net_http import LOOPS, Gate, Names, Visits, client, run, serving
from tests.support.net_proxy import DENIED, Proxy, status
from webcrawl.base.model import Status
from webcrawl.net import proxy as module
from webcrawl.net.errors import (
    AddressRefused,
    BadOption,
    CertificateRefused,
    ConnectFailed,
    DnsFailed,
    PortRefused,
    ProxyFailed,
    TimedOut,
    TunnelRefused,
)
from webcrawl.net.protocols import Options
from webcrawl.net.protocols import Proxy as Address
from webcrawl.net.proxy import Proxies, parse_proxy

loops = pytest.mark.parametrize("loop", LOOPS)
AUTH = b"Basic dXNlcjpwdyU="  # user:pw%


@asynccontextmanager
async def behind(proxy, site, *, served_by=None, **options):
    """A client, the options of a request through the proxy, and the port of the site behind it."""
    async with (
        serving(site, tls=served_by) as port,
        serving(proxy) as at,
        client(**options) as http,
    ):
        yield http, Options(proxy=Address("127.0.0.1", at, proxy.auth)), port


class TestNames:
    @pytest.mark.parametrize(
        ("url", "proxy"),
        [
            ("http://proxy.test:3128", ("proxy.test", 3128, b"", "http")),
            ("http://proxy.test", ("proxy.test", 80, b"", "http")),
            ("proxy.test:3128", ("proxy.test", 3128, b"", "http")),
            ("//proxy.test:3128", ("proxy.test", 3128, b"", "http")),
            ("HTTP://[::1]:3128/", ("::1", 3128, b"", "http")),
            ("http://user:pw%25@proxy.test:1", ("proxy.test", 1, AUTH, "http")),
            ("socks5://proxy.test", ("proxy.test", 1080, b"", "socks5")),
            ("SOCKS5H://user:pw%25@[::1]:9050", ("::1", 9050, AUTH, "socks5h")),
        ],
    )
    def test_how_a_proxy_may_be_named(self, url, proxy):
        """A proxy is a URL, whose scheme may be missing, with credentials or without."""
        assert parse_proxy(url) == proxy

    @pytest.mark.parametrize(
        "url",
        [
            *("socks4://h", "socks://h", "https://h:443", "http://", "h:99999", ""),
            *("a..b:1080", "socks5h://a..b", f"http://{'x' * 64}.test:1080"),
            *("socks5://", "socks5://me@h", "socks5h://me:%C3%A9@h", f"socks5://{'x' * 256}:p@h"),
        ],
    )
    def test_other_proxies_are_refused(self, url):
        """SOCKS4 and proxies that are spoken to over TLS are refused in one line, names that cannot
        be looked up, and credentials that SOCKS5 cannot carry (RFC 1929 2).
        """
        with pytest.raises(BadOption, match=r"^proxy[^\n]*$"):
            parse_proxy(url)

    @pytest.mark.parametrize(
        "url", ["socks4://u:secret@h:1", "http://u:secret@h:99999", "socks5://:secret@h"]
    )
    def test_no_password_is_shown(self, url):
        """Neither the error nor the proxy's own text shows the credentials."""
        with pytest.raises(BadOption) as refused:
            parse_proxy(url)

        assert "secret" not in str(refused.value)
        assert str(parse_proxy("http://u:secret@h:1")) == "h:1"


@loops
class TestRequests:
    def test_http_in_absolute_form(self, loop):
        """The proxy gets the whole URL, and resolves its name; no address is known of the server."""
        proxy, visits, names = Proxy(), Visits(), Names()

        async def go():
            async with behind(proxy, visits, names=names) as (http, options, port):
                return await http.fetch(f"http://far.test:{port}/a?b=1", options=options), port

        got, port = run(go(), loop)
        assert proxy.lines == [f"GET http://far.test:{port}/a?b=1 HTTP/1.1".encode()]
        assert f"\r\nHost: far.test:{port}\r\n".encode() in proxy.heads[0]
        assert (got.status, got.body, got.ip, names.requested) == (200, b"ok", "", [])

    def test_https_through_a_tunnel(self, loop, tmp_path):
        """Https goes through a tunnel, in which the server sees an ordinary request."""
        proxy = Proxy()

        async def go():
            async with behind(proxy, page, served_by=server_context(tmp_path, "far.test")) as (
                http,
                options,
                port,
            ):
                return await http.fetch(f"https://far.test:{port}/", options=options), port

        got, port = run(go(), loop)
        assert proxy.lines == [f"CONNECT far.test:{port} HTTP/1.1".encode()]
        assert got.request.startswith(b"GET / HTTP/1.1\r\n")
        assert (got.body, got.ip, got.flaws, got.tls[:3]) == (b"ok", "", (), "TLS")

    def test_the_certificate_must_be_the_servers(self, loop, tmp_path):
        """A verifying client checks the certificate behind the tunnel against the server's name."""
        context = server_context(tmp_path, "other.test")
        trusting = ssl.create_default_context(cafile=tmp_path / "server.pem")

        async def go():
            async with behind(Proxy(), page, served_by=context, tls=trusting) as (
                http,
                options,
                port,
            ):
                await http.fetch(f"https://far.test:{port}/", options=options)

        with pytest.raises(CertificateRefused):
            run(go(), loop)

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_credentials_go_to_the_proxy_alone(self, loop, scheme, tmp_path):
        """Credentials are sent to the proxy, and stand neither in the server's request nor in the
        exchange.
        """
        proxy, tls = (
            Proxy(auth=AUTH),
            server_context(tmp_path, "far.test") if scheme == "https" else None,
        )
        visits = Visits()

        async def go():
            async with behind(proxy, visits, served_by=tls) as (http, options, port):
                given = [(b"Proxy-Authorization", b"Basic other")]
                return await http.fetch(f"{scheme}://far.test:{port}/", given, options=options)

        got = run(go(), loop)
        assert got.status == 200
        assert proxy.heads[0].count(b"Proxy-Authorization: " + AUTH) == 1
        assert b"authorization" not in got.request.lower() + visits.requests[0].lower()

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_a_kept_connection_belongs_to_its_proxy(self, loop, scheme, tmp_path):
        """A kept connection serves the same host through the same proxy again, and no request by
        another way.
        """
        tls = server_context(tmp_path, "far.test") if scheme == "https" else None
        first, second = Proxy(), Proxy()
        visits = Visits() if scheme == "https" else Visits(close_after=1)

        async def go():
            async with behind(first, visits, served_by=tls, names=Names(far=["127.0.0.1"])) as (
                http,
                options,
                port,
            ):
                url = f"{scheme}://far.test:{port}/"
                await http.fetch(url, keep=5, options=options)
                await http.fetch(url, keep=5, options=options)
                async with serving(second) as at:
                    await http.fetch(url, keep=5, options=Options(proxy=Address("127.0.0.1", at)))
                await http.fetch(url, keep=5)
                return http.counters

        counters = run(go(), loop)
        assert (first.connections, second.connections, counters.opened, counters.reused) == (
            1,
            1,
            3,
            1,
        )


class TestWhatIsStillRefused:
    @pytest.mark.parametrize(
        ("url", "error"),
        [
            ("http://10.0.0.1/", AddressRefused),
            ("http://[::1]/", AddressRefused),
            ("https://169.254.169.254/", AddressRefused),
            ("http://0x7f.1/", DnsFailed),
            ("http://localhost/", AddressRefused),
            ("http://x.localhost./", AddressRefused),
            ("http://far.test:22/", PortRefused),
            ("https://far.test:25/", PortRefused),
        ],
    )
    def test_what_can_be_seen_to_lead_inside(self, url, error):
        """Inner addresses, this machine's own names and other services' ports are refused before
        the proxy is asked.
        """
        proxy = Proxy()

        async def go():
            async with behind(proxy, page, guard=Gate("127.0.0.1")) as (http, options, _):
                await http.fetch(url, options=options)

        with pytest.raises(error):
            run(go())
        assert proxy.connections == 0

    def test_the_proxy_itself_is_the_operators(self):
        """The guard does not look at the proxy's own address, nor Ports at its port."""

        async def go():
            async with behind(Proxy(), Visits(), guard=Gate("127.0.0.1")) as (http, options, port):
                return await http.fetch(f"http://far.test:{port}/", options=options)

        assert run(go()).status == 200

    def test_a_page_cannot_reach_the_proxys_address_directly(self):
        """Without the option, the same address is refused as ever."""

        async def go():
            async with behind(Proxy(), page, guard=Gate("127.0.0.1")) as (http, options, _):
                await http.fetch(f"http://127.0.0.1:{options.proxy.port}/")

        with pytest.raises(AddressRefused):
            run(go())


class TestFailures:
    def fetch(self, proxy, url="https://far.test/", **options):
        async def go():
            async with behind(proxy, page, **options) as (http, requested, _):
                await http.fetch(url, options=requested)

        run(go())

    def test_a_proxy_that_refuses_connections(self):
        """A proxy that cannot be reached charges nobody, and is not tried again before its pause is
        over.
        """

        async def go():
            async with serving(page) as free:
                pass
            async with client() as http:
                waits = []
                for _ in range(2):
                    with pytest.raises(ProxyFailed) as failed:
                        await http.fetch(
                            "http://far.test/", options=Options(proxy=Address("127.0.0.1", free))
                        )
                    waits.append(
                        (
                            failed.value.status,
                            failed.value.wait > 0,
                            "not used since it failed" in str(failed.value),
                        )
                    )
                return waits

        assert run(go()) == [(Status.UNTRIED, True, False), (Status.UNTRIED, True, True)]

    @pytest.mark.parametrize(
        "error", [socket.gaierror(-2, "unknown"), UnicodeError("label too long")]
    )
    def test_a_proxy_whose_name_has_no_address(self, monkeypatch, error):
        """A proxy without an address is a proxy that cannot be reached."""

        async def unknown(*_, **__):
            raise error

        async def go():
            async with client() as http:
                await http.fetch(
                    "http://far.test/", options=Options(proxy=Address("proxy.test", 1))
                )

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", unknown)
        with pytest.raises(ProxyFailed):
            run(go())

    @pytest.mark.parametrize("url", ["http://far.test/", "https://far.test/"])
    def test_credentials_that_it_does_not_take(self, url):
        """407 is the operator's fault: it charges nobody, and the proxy is away."""
        with pytest.raises(ProxyFailed, match="407"):
            self.fetch(Proxy(own={"far.test": DENIED}), url)

    @pytest.mark.parametrize("number", [408, 429, 500, 502, 503, 504])
    def test_a_tunnel_that_fails(self, number):
        """A proxy that cannot open a tunnel now charges nobody."""
        with pytest.raises(ProxyFailed, match=f"{number} to CONNECT far.test:443"):
            self.fetch(Proxy(own={"far.test": status(number)}))

    @pytest.mark.parametrize("number", [302, 403, 405])
    def test_a_tunnel_that_is_not_allowed(self, number):
        """A proxy whose rules do not let the crawl there ends the URL, as an exclusion."""
        with pytest.raises(TunnelRefused) as refused:
            self.fetch(Proxy(own={"far.test": status(number)}))

        assert refused.value.status == Status.EXCLUDED

    @pytest.mark.parametrize("own", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nexcess"])
    def test_what_is_no_proxy(self, own):
        """Garbage in place of a tunnel, or bytes before the handshake, charge nobody."""
        with pytest.raises(ProxyFailed):
            self.fetch(Proxy(own={"far.test": own}))

    @pytest.mark.parametrize("url", ["http://far.test/", "https://far.test/"])
    def test_a_proxy_that_says_nothing(self, url):
        """Silence up to the deadline charges nobody as long as the proxy has served nobody else."""

        async def silent(reader, _writer):
            await reader.read()

        silent.auth = b""
        with pytest.raises(ProxyFailed):
            self.fetch(silent, url, timeout=0.05)

    @pytest.mark.parametrize("own", [status(502), status(404)])
    def test_an_answer_is_an_answer(self, own):
        """Any other answer in absolute form may be the server's, and is taken as one."""

        async def go():
            async with behind(Proxy(own={"far.test": own}), page) as (http, options, _):
                return await http.fetch("http://far.test/", options=options)

        assert run(go()).body == b"self"

    def test_a_dead_host_behind_a_working_proxy(self):
        """A tunnel to one host that keeps failing while the proxy serves others is the host's
        failure.
        """
        proxy = Proxy(own={"dead.test": status(503)})
        ends = []

        async def go():
            async with behind(proxy, Visits()) as (http, options, port):
                for _ in range(module.DOUBTS):
                    try:
                        await http.fetch("https://dead.test/", options=options)
                    except (ProxyFailed, ConnectFailed) as error:
                        ends.append(type(error))
                    await http.fetch(f"http://far.test:{port}/", options=options)

        run(go())
        assert ends == [ProxyFailed] * (module.DOUBTS - 1) + [ConnectFailed]

    def test_tls_behind_a_tunnel_is_the_hosts(self):
        """A handshake that fails behind the tunnel is charged to the host, as it is without a
        proxy.
        """

        async def go():
            async with behind(Proxy(), Visits()) as (http, options, port):
                await http.fetch(f"https://far.test:{port}/", options=options)

        with pytest.raises(ConnectFailed):
            run(go())


class TestPauses:
    HERE = Address("127.0.0.1", 3128)

    def test_pauses_grow_until_it_works(self):
        """The pause is doubled with each failed try up to a minute, and starts anew once the proxy
        has worked.
        """
        clock = [0.0]
        proxies, waits = Proxies(lambda: clock[0]), []
        for _ in range(9):
            waits.append(proxies.failed(self.HERE, "refused").wait)
            clock[0] += waits[-1]
        proxies.worked(self.HERE, "far.test")

        assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert proxies.failed(self.HERE, "refused").wait == 1

    def test_requests_under_way_together_fail_as_one(self):
        """A hundred requests that fail at once make one pause and one line."""
        proxies = Proxies(lambda: 0.0)

        assert {proxies.failed(self.HERE, "refused").wait for _ in range(100)} == {1.0}

    def test_one_line_a_minute(self, caplog):
        """A proxy that stays away is named once a minute, without its credentials, and again when
        it works.
        """
        clock = [0.0]
        proxies, here = Proxies(lambda: clock[0]), Address("127.0.0.1", 3128, AUTH)
        with caplog.at_level("INFO"):
            for _ in range(130):
                proxies.failed(here, "refused")
                clock[0] += 1.0
            proxies.worked(here, "far.test")

        assert [record.getMessage().split(": ", 1)[1] for record in caplog.records] == [
            *[f"refused; it is not used for {wait} s" for wait in (1, 60, 60)],
            "works again",
        ]

    def test_a_proxy_works_again_that_was_said_to_be_away(self, caplog):
        """Each line that a proxy is away is taken back; a doubt is no such line, and hides none."""
        clock = [0.0]
        proxies = Proxies(lambda: clock[0])
        with caplog.at_level("INFO"):
            proxies.doubtful(self.HERE, "far.test", TimedOut("late"))
            proxies.worked(self.HERE, "near.test")
            for _ in range(2):  # within the minute
                proxies.failed(self.HERE, "refused")
                proxies.worked(self.HERE, "near.test")
                clock[0] += 1.0

        assert [record.getMessage().split(": ", 1)[1] for record in caplog.records] == [
            "late; the proxy failed, or far.test did",
            "refused; it is not used for 1 s",
            "works again",
        ]

    def test_what_is_remembered_is_bounded(self):
        """Proxies with a user name per session, and hosts that fail, are forgotten one by one."""
        proxies = Proxies(lambda: 0.0)
        users = [Address("h", 1, b"%d" % number) for number in range(3 * module.KNOWN)]
        for number, proxy in enumerate(users):
            proxies.failed(proxy, "refused")
            proxies.doubtful(self.HERE, f"{number}.test", TimedOut("late"))

        remembered = []
        for proxy in users:
            with suppress(ProxyFailed):
                proxies.check(proxy)
                continue
            remembered.append(proxy)
        assert remembered == users[1 - module.KNOWN :]
        assert len(proxies._failing[self.HERE].doubts) == module.KNOWN
