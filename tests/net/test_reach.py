"""Opening connections: close() never waits for one that failed to open."""

import asyncio

import pytest

from tests.support.net_http import LOOPS, Gate, Names, run
from webcrawl.base.model import Timings
from webcrawl.net.connection_reach import Reach
from webcrawl.net.protocols import Access


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
    """close() returns though a download was cancelled just as its connection opened: a crawl's process must end."""

    async def scenario():
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            return await _closed(server.sockets[0].getsockname()[1])

    assert run(scenario(), loop) == 0
