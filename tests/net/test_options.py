"""What one request may want otherwise: time, size, and where its connection comes from."""

import ssl

import pytest

from tests.net.test_http_tls import page, server_context
from tests.support.net_http import LOOPS, Names, Visits, client, replay, run, serving
from webcrawl.net.errors import BadOption, ConnectFailed, TimedOut, TlsFailed, TooLarge
from webcrawl.net.ftp import FtpClient
from webcrawl.net.gopher import GopherClient
from webcrawl.net.protocols import PLAIN, Access, FetchLimits, Options, Proxy, local_address
from webcrawl.net.tls import tls_context

LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + b"x" * 3000


def fetch(handler, options, loop="asyncio", names=None, **client_options):
    async def go():
        async with serving(handler) as port, client(names, **client_options) as http:
            return await http.fetch(f"http://127.0.0.1:{port}/", options=options)

    return run(go(), loop)


class TestBounds:
    @pytest.mark.parametrize(
        ("bounds", "options", "found"),
        [
            (FetchLimits(10, 5.0), PLAIN, FetchLimits(10, 5.0)),
            (FetchLimits(10, 5.0), Options(timeout=7.0), FetchLimits(10, 7.0)),
            (FetchLimits(10, 5.0), Options(maxsize=20), FetchLimits(20, 5.0, strict=True)),
            (FetchLimits(10, 5.0, strict=True), Options(truncates=True), FetchLimits(10, 5.0)),
        ],
    )
    def test_a_request_has_bounds_of_its_own(self, bounds, options, found):
        """What a request asks for takes the place of what the settings say."""
        assert bounds.for_request(options) == found

    def test_a_body_that_is_too_long(self):
        """With a size of its own, or strict bounds, a longer body is refused; a shorter one is
        whole.
        """
        with pytest.raises(TooLarge):
            fetch(replay(LARGE), Options(maxsize=2999))
        with pytest.raises(TooLarge):
            fetch(replay(LARGE), PLAIN, truncate=2999, strict=True)
        assert fetch(replay(LARGE), Options(maxsize=3000), truncate=100).truncated == ""
        assert fetch(replay(LARGE), PLAIN, truncate=2999).truncated == "length"

    def test_an_answer_that_is_late(self):
        """A request's own time ends its fetch."""
        with pytest.raises(TimedOut):
            fetch(replay(hang=True), Options(timeout=0.05))

    @pytest.mark.parametrize("kind", [FtpClient, GopherClient])
    def test_what_other_clients_lack(self, kind):
        """FTP and Gopher refuse a proxy rather than go without."""
        more = {"user_agent": "tests/1"} if kind is FtpClient else {}
        made = kind(Access(Names(), None), FetchLimits(), **more)

        with pytest.raises(BadOption):
            run(
                made.fetch(
                    f"{kind.__name__[:-6].lower()}://a.test/1x",
                    options=Options(proxy=Proxy("h", 1)),
                )
            )


class TestLocalAddress:
    @pytest.mark.parametrize("loop", LOOPS)
    @pytest.mark.parametrize("where", ["options", "access"])
    def test_connections_come_from_it(self, loop, where):
        """A local address, of a request or of all, is where the server sees the connection come
        from.
        """
        seen, bind = [], ("127.0.0.9", 0)

        async def look(reader, writer):
            seen.append(writer.get_extra_info("peername")[0])
            await replay(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(reader, writer)

        if where == "options":
            fetch(look, Options(bind=bind), loop)
        else:
            fetch(look, PLAIN, loop, bind=bind)
        assert seen == ["127.0.0.9"]

    def test_a_kept_connection_belongs_to_its_address(self):
        """A kept connection serves no request that is to come from elsewhere."""
        visits = Visits()

        async def go():
            async with serving(visits) as port, client() as http:
                for options in (PLAIN, Options(bind=("127.0.0.9", 0)), PLAIN):
                    await http.fetch(f"http://127.0.0.1:{port}/", keep=5, options=options)

        run(go())
        assert visits.connections == 2

    def test_the_other_family(self):
        """From an IPv4 address no IPv6 server is reached, as from a machine without IPv6."""

        async def go():
            async with client(Names(six=["::ffff:127.0.0.1"])) as http:
                await http.fetch("http://six.test/", options=Options(bind=("127.0.0.1", 0)))

        with pytest.raises(ConnectFailed, match="one is IPv4, the other IPv6"):
            run(go())

    @pytest.mark.parametrize("value", ["127.0.0.1", ("127.0.0.1", 0), ["127.0.0.1", 0]])
    def test_how_it_may_be_written(self, value):
        """As text, or as a pair with port 0."""
        assert local_address(value) == ("127.0.0.1", 0)

    @pytest.mark.parametrize("value", ["192.0.2.1", "lo", ("127.0.0.1", 5000), ("127.0.0.1",), 3.5])
    def test_what_is_no_address_of_ours_is_refused(self, value):
        """Addresses of other machines, names, and a port are refused with the reason."""
        with pytest.raises(ValueError, match=r"\S"):
            local_address(value)


class TestTls:
    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ({"least": "TLSv1.3"}, ssl.TLSVersion.TLSv1_2),
            ({"most": "TLSv1.1"}, ssl.TLSVersion.TLSv1_3),
        ],
    )
    def test_versions(self, tmp_path, ours, theirs):
        """A server that speaks none of the versions allowed is not spoken to."""
        context = server_context(tmp_path, "good.test")
        context.maximum_version = theirs

        async def go():
            async with serving(page, tls=context) as port, client(tls=tls_context(**ours)) as http:
                await http.fetch(f"https://127.0.0.1:{port}/")

        with pytest.raises(TlsFailed):
            run(go())

    def test_ciphers(self, tmp_path):
        """The cipher suites offered are those of the list."""

        async def go():
            context = server_context(tmp_path, "good.test")
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            chosen = tls_context(ciphers="ECDHE-ECDSA-AES256-GCM-SHA384")
            async with serving(page, tls=context) as port, client(tls=chosen) as http:
                return await http.fetch(f"https://127.0.0.1:{port}/")

        assert run(go()).tls == "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384"
