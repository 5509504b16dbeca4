"""A connection that is read piece by piece."""

import asyncio

import pytest

from tests.support.net_http import LOOPS, Gate, Names, run, serving
from tests.support.waiting import eventually
from webcrawl.base.model import Timings
from webcrawl.net.connection_reach import Reach
from webcrawl.net.protocols import Access
from webcrawl.net.stream import Stream

pytestmark = pytest.mark.parametrize("loop", LOOPS)


async def opened(port):
    reach = Reach(Access(Names(a=["127.0.0.1"]), Gate()), Stream, "ftp")
    return reach, await reach.open("a.test", port, Timings())


class TestStream:
    def test_what_nobody_reads_is_bounded(self, loop):
        """A server that floods an unread connection has to wait; once read, all its data is there."""
        total = 20_000_000

        async def flood(reader, writer):
            for _ in range(200):
                writer.write(b"x" * (total // 200))
                await writer.drain()
            writer.close()
            await writer.wait_closed()  # the last of it is sent, too

        async def go():
            async with serving(flood) as port:
                reach, stream = await opened(port)
                await eventually(lambda: stream._buffer)
                await asyncio.sleep(0.2)
                held = len(stream._buffer)
                got = 0
                while piece := await stream.read():
                    got += len(piece)
                await reach.close()
                return held, got

        held, got = run(go(), loop)
        assert 0 < held < 1_000_000
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
