"""The FTP client against a real server."""

import asyncio
import os

import pytest

from tests.support.net_ftp import client, real
from tests.support.net_http import LOOPS, Gate, Names, connections_to, run, serving
from tests.support.waiting import eventually
from webcrawl.base.model import Timings
from webcrawl.crawl.page_links import ftp_links
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import AddressRefused, BadUrl, ConnectFailed, DnsFailed
from webcrawl.net.protocols import Access
from webcrawl.net.stream import Stream

pytestmark = pytest.mark.parametrize("loop", LOOPS)


@pytest.fixture(name="site")
def _site(tmp_path):
    """A folder with typical contents."""
    root = tmp_path / "site"
    (root / "pub" / "deep er").mkdir(parents=True)
    (root / "robots.txt").write_bytes(b"User-agent: *\nDisallow: /no/\n")
    (root / "pub" / "page.html").write_bytes(b"<a href=other.html>x</a>")
    (root / "pub" / "data.bin").write_bytes(bytes(range(256)) * 40)
    (root / "pub" / "empty").touch()
    (root / "pub" / "deep er" / "100% #1?.txt").write_bytes(b"odd")
    (root / "pub" / "caf\u00e9.txt").write_bytes(b"coffee")
    os.utime(root / "pub" / "page.html", (784111777, 784111777))
    return root


class TestFiles:
    def test_a_file_comes_whole(self, site, loop):
        """A file's bytes are its payload and its body; its type comes from its name, its date from
        the server.
        """
        with real(site) as (_, fetch):
            got = run(fetch("/pub/page.html"), loop)

        assert (got.status, got.body, got.truncated) == (200, b"<a href=other.html>x</a>", "")
        assert got.body is got.payload is got.wire
        assert (got.head, got.request, got.ip) == (b"", b"", "127.0.0.1")
        assert dict(got.headers) == {
            b"content-type": b"text/html",
            b"content-length": b"24",
            b"last-modified": b"Sun, 06 Nov 1994 08:49:37 GMT",
        }
        assert 0 < got.timings.first_byte <= got.timings.total

    def test_bytes_are_left_alone(self, site, loop):
        """A binary file is transferred unchanged, including line ends."""
        with real(site) as (_, fetch):
            assert run(fetch("/pub/data.bin"), loop).body == bytes(range(256)) * 40

    def test_an_empty_file(self, site, loop):
        """A file without bytes is complete."""
        with real(site) as (_, fetch):
            got = run(fetch("/pub/empty"), loop)
        assert (got.status, got.body, got.truncated) == (200, b"", "")

    def test_truncation(self, site, loop):
        """Of a file that is too long the first `truncate` bytes are kept."""
        with real(site) as (_, fetch):
            got = run(fetch("/pub/data.bin", truncate=1000), loop)
        assert (got.body, got.truncated) == ((bytes(range(256)) * 4)[:1000], "length")

    def test_what_is_not_there(self, site, loop):
        """A missing file, and a missing folder on the way, are 404; the server's reply is a header."""
        with real(site) as (_, fetch):
            for path in ("/pub/nothing", "/nothing/page.html", "/nothing/"):
                got = run(fetch(path), loop)
                assert (got.status, got.body, got.truncated) == (404, b"", "")
                assert got.headers[0][1].startswith(b"550 ")

    def test_a_folder_without_its_slash(self, site, loop):
        """A URL without a slash that is a folder redirects to the one with it, as on the web."""
        with real(site) as (server, fetch):
            got = run(fetch("/pub/deep%20er"), loop)
        assert got.status == 301
        assert dict(got.headers) == {b"location": b"ftp://a.test:%d/pub/deep%%20er/" % server.port}

    def test_pasv_where_there_is_no_epsv(self, site, loop):
        """PASV is sent to a server without EPSV; the address in its reply is ignored."""
        with real(site, without=["EPSV"], masquerade_address="127.9.9.9") as (_, fetch):
            gate = Gate()
            got = run(fetch("/pub/empty", guard=gate), loop)
        assert got.status == 200
        assert {address for address, _ in gate.checked} == {"127.0.0.1"}
        assert len(gate.checked) == 2

    def test_ipv6(self, site, loop):
        """A fetch works the same over IPv6."""

        class Six(Gate):
            def check(self, address, port):
                self.checked.append((address, port))

        with real(site, address="::1") as (server, _):

            async def go(guard):
                async with client(guard) as ftp:
                    return await ftp.fetch(f"ftp://six.test:{server.port}/pub/page.html")

            gate = Six()
            got = run(go(gate), loop)
        assert (got.status, got.ip, got.body[:2]) == (200, "::1", b"<a")
        assert {address for address, _ in gate.checked} == {"::1"}


class TestEnds:
    def test_nothing_is_left_open(self, site, loop):
        """However a fetch ends, its connections are closed afterwards without a further call."""

        async def go(port):
            async with client(truncate=100) as ftp:
                urls = [
                    f"ftp://a.test:{port}/pub/{name}"
                    for name in ("", "empty", "data.bin", "nothing", "deep%20er")
                ]
                statuses = [got.status for got in await asyncio.gather(*map(ftp.fetch, urls * 4))]
                await eventually(lambda: not connections_to(port))
                return statuses

        with real(site) as (server, _):
            assert run(go(server.port), loop) == [200, 200, 200, 404, 301] * 4


class TestFolders:
    @pytest.mark.parametrize("without", [(), ("MLSD",)], ids=["mlsd", "list"])
    def test_listings_have_the_links(self, site, loop, without):
        """By MLSD or by LIST, a folder's listing has all its entries as links, whatever bytes are
        in their names.
        """
        with real(site, without=without) as (_, fetch):
            got = run(fetch("/pub/"), loop)
            links = ftp_links(got.body, got.headers[0][1].decode(), got.url).links
            odd = run(fetch("/pub/deep%20er/"), loop)
            (name,) = [
                link
                for _, link, _, _ in ftp_links(odd.body, odd.headers[0][1].decode(), odd.url).links
            ]
            last = run(fetch(f"/pub/deep%20er/{name}"), loop)

        assert got.headers == [
            (b"content-type", b"text/x-ftp-listing; format=" + (b"list" if without else b"mlsd"))
        ]
        assert sorted(link for _, link, _, _ in links) == [
            "caf%C3%A9.txt", "data.bin", "deep%20er/", "empty", "page.html",
        ]  # fmt: skip
        assert (name, last.body) == ("100%25%20%231%3F.txt", b"odd")

    def test_names_beyond_ascii(self, site, loop):
        """A name is sent with the bytes that the listing had."""
        with real(site) as (_, fetch):
            assert run(fetch("/pub/caf%C3%A9.txt"), loop).body == b"coffee"

    def test_a_listing_that_is_truncated(self, site, loop):
        """Of a truncated listing the raw bytes are kept, and no partial line is parsed."""
        with real(site) as (_, fetch):
            got = run(fetch("/pub/", truncate=100), loop)
        assert (len(got.payload), got.truncated) == (100, "length")
        assert got.body == got.payload[: len(got.body)]
        assert got.body[-1:] in (b"", b"\n")

    def test_type_d_is_a_listing(self, site, loop):
        """`;type=d` requests a listing, whose links are relative to the folder (RFC 1738 3.2.2)."""
        with real(site) as (_, fetch):
            got = run(fetch("/pub;type=d"), loop)
        assert got.status == 200
        assert ftp_links(got.body, "text/x-ftp-listing; format=mlsd", got.url).base.endswith(
            "/pub/"
        )

    def test_the_root_by_its_name(self, site, loop):
        """`%2F` is the server's root, not the login folder."""
        with real(site) as (_, fetch):
            assert run(fetch("/%2Fpub/empty"), loop).status == 200


class TestRefusals:
    def test_the_guard_is_asked(self, site, loop):
        """No address that the guard refuses is connected to."""
        with real(site) as (server, fetch):
            with pytest.raises(AddressRefused):
                run(fetch("/", guard=Gate("127.0.0.1")), loop)
            assert server.requested == []

    def test_names_without_address(self, loop):
        """A name without address is a DNS error; a closed port is a failed connection."""

        async def go(host):
            async with client() as ftp:
                return await ftp.fetch(f"ftp://{host}/")

        with pytest.raises(DnsFailed):
            run(go("nowhere.test"), loop)
        with pytest.raises(ConnectFailed):
            run(go("a.test:2"), loop)

    @pytest.mark.parametrize(
        "url",
        [
            "http://a.test/",
            "ftp://",
            "ftp:///x",
            "ftp://a.test:0/",
            "ftp://a.test:99999/",
            "ftp://a.test/x%0D%0ADELE%20y",
            "ftp://a.test/x%0ay/",
            "ftp://a.test/x%00",
            "ftp://a.test/a b",
            "ftp://a.test/caf\u00e9",
            "ftp://a.test/" + "a/" * 101,
        ],
    )
    def test_urls_that_are_not_sent(self, loop, url):
        """An invalid ftp URL, or one that would inject a command, is refused before any request."""

        async def go():
            async with client() as ftp:
                await ftp.fetch(url)

        with pytest.raises(BadUrl):
            run(go(), loop)

    def test_nothing_but_get(self, loop):
        """Only GET is supported: the crawl changes nothing on a server."""

        async def go():
            async with client() as ftp:
                await ftp.fetch("ftp://a.test/", method="PUT", body=b"x")

        with pytest.raises(BadUrl):
            run(go(), loop)


async def opened(port):
    reach = Reach(Access(Names(a=["127.0.0.1"]), Gate()), Stream, "ftp")
    return reach, await reach.open("a.test", port, Timings())


class TestStream:
    def test_what_nobody_reads_is_bounded(self, loop):
        """A server that floods an unread connection has to wait; once read, all its data is there."""
        total, sent = 20_000_000, []

        async def flood(reader, writer):
            for _ in range(200):
                writer.write(b"x" * (total // 200))
                await writer.drain()
                sent.append(total // 200)
            writer.close()
            await writer.wait_closed()  # the last of it is sent, too

        async def go():
            async with serving(flood) as port:
                reach, stream = await opened(port)
                await eventually(lambda: sent)
                await asyncio.sleep(0.2)
                held, got = sum(sent), 0
                while piece := await stream.read():
                    got += len(piece)
                await reach.close()
                return held, got

        held, got = run(go(), loop)
        assert 0 < held < total  # what the kernel takes is most of it
        assert got == total

    def test_the_end(self, loop):
        """Data before the end is read first; after the end every read is empty."""

        async def say(reader, writer):
            writer.write(b"last words")
            writer.write_eof()
            await reader.read()

        async def go():
            async with serving(say) as port:
                reach, stream = await opened(port)
                await asyncio.sleep(0.05)
                found = [await stream.read() for _ in range(3)]
                stream.write(b"too late")
                stream.close()
                stream.abort()
                await reach.close()
                return found, stream.reset

        assert run(go(), loop) == ([b"last words", b"", b""], False)
