"""Answers slower than the least rate end as if their deadline had passed, which is an hour away in these tests."""

import asyncio

import pytest

from tests.support.net_http import LOOPS, answer, client, replay, run, serving
from webcrawl.net.errors import TimedOut

pytestmark = pytest.mark.parametrize("loop", LOOPS)

SLOW = {"timeout": 3600.0, "grace": 0.1, "rate": 10_000}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"H", b"HTTP/1.1 200 OK\r\nServer: x\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_head_that_is_not_complete_in_time(loop, sent):
    """A server that falls silent within the head has timed out."""
    with pytest.raises(TimedOut):
        run(answer(sent, hang=True, **SLOW), loop)


@pytest.mark.parametrize("body", [b"", b"begun"])
def test_a_body_that_stops(loop, body):
    """What came of the body is kept, as at the deadline."""
    got = run(answer(HEAD + body, hang=True, **SLOW), loop)

    assert (got.status, got.body, got.truncated) == (200, body, "time")


def test_a_body_that_drips(loop):
    """Bytes that come one by one do not keep a slow answer alive."""

    async def drip(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def fetch():
        async with serving(drip) as port, client(**SLOW) as http:
            return await http.fetch(f"http://127.0.0.1:{port}/")

    assert run(fetch(), loop).truncated == "time"


def test_no_rate(loop):
    """Without a least rate an answer may begin whenever it likes before its deadline."""

    async def late(reader, writer):
        await asyncio.sleep(0.3)
        await replay(HEAD + b"x" * 1000)(reader, writer)

    async def fetch():
        async with serving(late) as port, client(timeout=3600.0, grace=0.1, rate=0) as http:
            return await http.fetch(f"http://127.0.0.1:{port}/")

    assert len(run(fetch(), loop).body) == 1000


class Watch:
    source = None


def test_whoever_watches_sees_the_bytes(loop):
    """A fetch shows where its answer comes from, and how much has come."""
    watch = Watch()

    async def fetch():
        async with serving(replay(HEAD + b"x" * 500, hang=True)) as port, client(timeout=3600.0) as http:
            task = asyncio.create_task(http.fetch(f"http://127.0.0.1:{port}/", watch=watch))
            while watch.source is None or watch.source.received < 500:
                assert not task.done()
                await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return watch.source.received

    assert run(fetch(), loop) == 0  # afterwards nothing is waited for
