"""Where tokens are looked for: real servers on loopback, among them hostile ones."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.support.nameserver import SERVFAIL, TXT, NameServer
from tests.support.net_http import run
from webcrawl.net.dns_answer import Failure
from webcrawl.net.dns_records import TextRecords
from webcrawl.net.errors import DnsFailed, NoSocket
from webcrawl.net.guard import AddressGuard
from webcrawl.net.http import HttpClient
from webcrawl.net.protocols import Access, Bounds
from webcrawl.tools.optout import deciding as module
from webcrawl.tools.optout.deciding import LARGEST, Looking
from webcrawl.tools.optout.token import LABEL, PATH, subject_of
from webcrawl.urls.host_names import RegisteredDomains

DOMAINS = RegisteredDomains()
TOKEN = "webcrawl-leave-1-x"  # noqa: S105 - whatever is published
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n" + TOKEN.encode() + b"\n"


class Local:
    """Every name is this machine's."""

    async def resolve(self, host):
        return ["127.0.0.1"]

    async def others(self, host):
        return []


@asynccontextmanager
async def served(answer):
    """Serves bytes, or what a coroutine writes; yields the port and the heads of the requests."""
    heads = []

    async def serve(reader, writer):
        try:
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            await answer(writer) if callable(answer) else writer.write(answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()


async def none(_):
    return []


def looked(answer, *, allowed=("127.0.0.0/8",), text="http://one.test:{port}/"):
    """What is found with this server behind the name, and the requests that it had."""

    async def go():
        async with served(answer) as (port, heads):
            client = HttpClient(Access(Local(), AddressGuard(allowed)), Bounds(), user_agent="tester")
            try:
                subject = subject_of(text.format(port=port), DOMAINS)
                found = await Looking(client, none).look(subject)
                return [one for one in found if one.kind == "file"], heads
            finally:
                await client.close()

    return run(go())


class TestFiles:
    def test_its_lines(self):
        """The lines of the file at the authority are found, by one request that has nothing of the token in it."""
        (found,), heads = looked(OK)

        assert (found.lines, found.trouble) == ([TOKEN], "")
        assert heads[0].startswith(f"GET {PATH} HTTP/1.1\r\nHost: one.test:")
        assert "Connection: close" in heads[0]

    @pytest.mark.parametrize("place", ["http://127.0.0.1:1/", PATH, "https://two.test/", "//one.test/"])
    def test_redirects(self, place):
        """A redirect is not followed, wherever it leads: nobody is asked on behalf of another."""
        head = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 19\r\n\r\n{TOKEN}\n"
        (found,), heads = looked(head.encode())

        assert (found.lines, found.trouble) == ([], "redirects, which are not followed")
        assert len(heads) == 1

    @pytest.mark.parametrize("status", ["404 Not Found", "206 Partial Content", "500 Oops"])
    def test_other_statuses(self, status):
        """A token counts only in an answer with status 200: error pages may repeat anything."""
        (found,), _ = looked(OK.replace(b"200 OK", status.encode()))

        assert (found.lines, found.trouble) == ([], f"answers with status {status[:3]}")

    def test_a_huge_answer(self):
        """Of a long file no more than its beginning is read, and the connection is closed."""

        async def endless(writer):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + TOKEN.encode() + b"\n")
            for _ in range(10_000):
                writer.write(b"x" * 65_536)
                await writer.drain()
                sent.append(65_536)

        sent = []
        (found,), _ = looked(endless)

        assert found.lines[0] == TOKEN
        assert sum(map(len, found.lines)) < LARGEST
        assert len(sent) < 1000

    def test_an_answer_that_never_ends(self, monkeypatch):
        """Who sends a byte now and then has no more time than others: what came until then counts."""
        monkeypatch.setattr(module, "PLACE", module.Options(timeout=0.3, maxsize=LARGEST, cut=True))

        async def drip(writer):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + TOKEN.encode() + b"\n")
            while True:
                writer.write(b".")
                await writer.drain()
                await asyncio.sleep(0.02)

        (found,), _ = looked(drip)

        assert found.lines[0] == TOKEN

    def test_silence(self, monkeypatch):
        """Who answers nothing is no answer."""
        monkeypatch.setattr(module, "PLACE", module.Options(timeout=0.3, maxsize=LARGEST, cut=True))

        async def silent(_):
            await asyncio.sleep(30)

        (found,), _ = looked(silent)

        assert (found.lines, found.trouble) == ([], "no answer")

    def test_private_addresses(self):
        """A name that leads into a network which the crawl may not reach is not asked there."""
        (found,), heads = looked(OK, allowed=())

        assert found.trouble == "is at an address or port that this crawl does not ask"
        assert heads == []

    def test_ports(self):
        """No request goes to a port of another service."""
        (found,), heads = looked(OK, text="http://one.test:25/")

        assert found.trouble == "is at an address or port that this crawl does not ask"
        assert heads == []

    def test_how_a_connection_fails_is_not_said(self):
        """How a connection fails is not said: nobody scans ports through us."""

        async def reset(writer):
            writer.transport.abort()

        (found,), _ = looked(reset)
        (closed,), _ = looked(OK, text="http://one.test:1024/")

        assert found.trouble == closed.trouble == "no answer"

    @pytest.mark.parametrize("body", [b"\xff\xfe\x00" * 100, b"\xef\xbb\xbfwebcrawl-leave-1-x", b"", b"\n" * 4000])
    def test_a_file_of_any_bytes_is_read_as_lines(self, body):
        """Whatever a file has in it, it is read as lines, a byte order mark aside."""
        (found,), _ = looked(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        assert (TOKEN in found.lines) == (b"leave" in body)

    def test_the_last_of_many_lines(self):
        """A token counts wherever it stands in what is read: nobody has to put it above other lines."""
        body = b"#\n" * 2000 + TOKEN.encode()
        (found,), _ = looked(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        assert (found.lines[-1], found.trouble) == (TOKEN, "")

    def test_our_own_lack(self):
        """What this machine lacks is told apart: it is not the owner's fault."""

        class Lacks:
            async def fetch(self, url, headers=(), **_):
                raise NoSocket(Failure.NO_SOCKET.words)

        async def texts(name):
            raise NoSocket(name)

        subject = subject_of("http://one.test/", DOMAINS)

        assert [one.ours for one in run(Looking(Lacks(), none).look(subject))] == [True, False]
        assert [one.ours for one in run(Looking(Lacks(), texts).look(subject))] == [True, True]


class TestRecords:
    @pytest.mark.parametrize("fault", ["", "failed", "missing"])
    def test_of_a_name(self, fault):
        """The TXT records under the label are found, or it is said that nobody answered."""
        server = NameServer(codes={f"{LABEL}.one.test": SERVFAIL} if fault == "failed" else {})
        if not fault:
            server.add(f"{LABEL}.one.test", "something else", kind=TXT)
            server.add(f"{LABEL}.one.test", TOKEN, kind=TXT)

        async def go():
            async with server.running():
                texts = TextRecords([("127.0.0.1", server.port)], timeout=0.3, tries=1)
                return await Looking(None, texts.of).look(subject_of("ftp://one.test/", DOMAINS))

        (found,) = run(go())

        assert found.lines == ([] if fault else ["something else", TOKEN])
        assert found.trouble == ("no answer of the name servers" if fault == "failed" else "")
        assert {name for name, _, _ in server.questions} == {f"{LABEL}.one.test"}

    def test_of_an_address(self):
        """Nobody is asked for records of an address."""

        async def texts(name):
            raise AssertionError(name)

        class Web:
            async def fetch(self, url, headers=(), **_):
                raise DnsFailed("no such name", permanent=True)

        found = run(Looking(Web(), texts).look(subject_of("192.0.2.1", DOMAINS)))

        assert [one.trouble for one in found] == ["no address", "no address"]
