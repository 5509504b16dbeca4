"""Opening connections: close() never waits for one that failed to open."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.support.net_ftp import Script
from tests.support.net_ftp import ask as ask_ftp
from tests.support.net_http import LOOPS, Gate, Names, run, serving
from webcrawl.base.model import Status, Timings
from webcrawl.base.url_text import Ports
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import PortRefused
from webcrawl.net.ftp import FtpClient
from webcrawl.net.gopher import GopherClient
from webcrawl.net.http import HttpClient
from webcrawl.net.protocols import Access, FetchLimits


class Unwanted(asyncio.Protocol):
    """A connection whose opener is cancelled at the very moment when it opens."""

    ip = ""

    def __init__(self, opened, lost, opener):
        self._opened, self._lost, self._opener, self._transport = opened, lost, opener, None

    def connection_made(self, transport):
        self._transport = transport
        self._opened(self)
        self._opener.cancel()

    def connection_lost(self, exc):
        self._lost(self)

    def abort(self):
        self._transport.abort()


async def _closed(port):
    """Opens one, and closes all; returns how many are left."""
    opener = None
    reach = Reach(Access(Names(), Gate()), lambda *heard: Unwanted(*heard, opener), "http")
    opener = asyncio.create_task(reach.open("127.0.0.1", port, Timings()))
    with pytest.raises(asyncio.CancelledError):
        await opener
    async with asyncio.timeout(5):
        await reach.close()
    return len(reach)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_dropped_while_it_was_opened_is_not_waited_for(loop):
    """close() returns though a download was cancelled just as its connection opened: a crawl's
    process must end.
    """

    async def shut(reader, writer):
        pass

    async def scenario():
        async with serving(shut) as port:
            return await _closed(port)

    assert run(scenario(), loop) == 0


CLIENTS = {
    "http": lambda access: HttpClient(access, FetchLimits(), user_agent="tests/1"),
    "https": lambda access: HttpClient(access, FetchLimits(), user_agent="tests/1"),
    "ftp": lambda access: FtpClient(access, FetchLimits(), user_agent="tests/1"),
    "gopher": lambda access: GopherClient(access, FetchLimits()),
}


@asynccontextmanager
async def watched(scheme, ports):
    """A client, and everything that it asks of resolver and guard."""
    names, gate = Names(a=["127.0.0.1"]), Gate()
    found = CLIENTS[scheme](Access(names, gate, ports=ports))
    try:
        yield found, names.requested, gate.checked
    finally:
        await found.close()


@pytest.mark.parametrize("scheme", CLIENTS)
def test_a_bad_port_ends_before_dns(scheme):
    """A fetch from a bad port is over before its host's name is looked up."""

    async def go():
        async with watched(scheme, Ports()) as (found, names, checked):
            with pytest.raises(PortRefused, match="port 25 is not allowed for") as error:
                await found.fetch(f"{scheme}://a.test:25/1x")
            return error.value, names, checked

    error, names, checked = run(go())
    assert (error.name, error.status) == ("port_refused", Status.EXCLUDED)
    assert (names, checked) == ([], [])


def test_gopher_sends_no_line_to_other_servers():
    """A server on a port that is not Gopher's gets neither a connection nor a line, until the port
    is allowed.
    """
    visits = []

    async def victim(reader, writer):
        visits.append(await reader.readline())
        writer.write(b".\r\n")

    async def go():
        async with serving(victim) as port:
            url = f"gopher://a.test:{port}/0QUIT"
            async with watched("gopher", Ports()) as (found, names, _):
                with pytest.raises(PortRefused):
                    await found.fetch(url)
                assert (visits, names) == ([], [])
            async with watched("gopher", Ports([range(port, port + 1)])) as (found, _, _):
                await found.fetch(url)

    run(go())
    assert visits == [b"QUIT\r\n"]


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param({"EPSV": b"229 ok (|||6667|)\r\n"}, id="EPSV, bad"),
        pytest.param({"EPSV": b"229 ok (|||1023|)\r\n"}, id="EPSV, system"),
        pytest.param(
            {"EPSV": b"500 no\r\n", "PASV": b"227 ok (10,1,2,3,26,11)\r\n"}, id="PASV, bad"
        ),
        pytest.param(
            {"EPSV": b"500 no\r\n", "PASV": b"227 ok (10,1,2,3,0,80)\r\n"}, id="PASV, system"
        ),
    ],
)
def test_an_ftp_server_cannot_send_the_crawl_elsewhere(replies):
    """A port below 1024 or a bad one in the answer to EPSV or PASV ends the visit; the guard is not
    even asked.
    """
    gate = Gate()
    with pytest.raises(PortRefused, match="is not allowed for an FTP transfer"):
        run(ask_ftp(Script(b"abc", **replies), guard=gate))
    assert len(gate.checked) == 1
