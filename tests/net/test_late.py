"""A time limit that this process notices late, because it was busy or stopped, is nobody's fault but its own."""

# Before this was fixed, a crawl on a busy machine charged hosts with `dns`, `connect_timeout` and `tls_timeout` though
# their answers were there: they had come while nothing of the crawl ran.

import asyncio
import socket
import time

import pytest

from tests.support import net_ftp as ftp
from tests.support.lookups import Told
from tests.support.net_http import EVERY_PORT, LOOPS, Gate, Names, bounds, client, run, serving
from webcrawl.net import shortage
from webcrawl.net.dns import CachingResolver
from webcrawl.net.errors import ConnectTimeout, DnsFailed, FetchError, TimedOut, TlsTimeout, Untried
from webcrawl.net.gopher import GopherClient
from webcrawl.net.protocols import Access
from webcrawl.net.shortage import until

SHORT, BUSY = 0.2, 0.6  # seconds of the limit, and of work in which nothing else of the process runs


async def name_server_is_silent():
    lookup = Told()
    lookup.gate = asyncio.Event()
    resolver = CachingResolver(lookup, timeout=SHORT)
    try:
        await resolver.resolve("silent.test")
    finally:
        await resolver.close()


async def host_does_not_accept():
    with socket.socket() as full, socket.socket() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)  # one connection may wait, and no other is answered
        waiting.connect(full.getsockname())
        async with client(connect_timeout=SHORT) as http:
            await http.fetch(f"http://127.0.0.1:{full.getsockname()[1]}/")


async def handshake_stalls():
    async with serving(lambda *_: asyncio.sleep(60)) as port, client(connect_timeout=SHORT) as http:
        await http.fetch(f"https://127.0.0.1:{port}/")


async def nothing_before_the_deadline():
    async with serving(lambda *_: asyncio.sleep(60)) as port, client(timeout=SHORT) as http:
        await http.fetch(f"https://127.0.0.1:{port}/")


async def ftp_does_not_greet():
    await ftp.ask(ftp.Script(greeting=b""), timeout=SHORT)


async def gopher_does_not_answer():
    async with serving(lambda *_: asyncio.sleep(60)) as port:
        gopher = GopherClient(Access(Names(), Gate(), ports=EVERY_PORT), bounds({"timeout": SHORT}))
        try:
            await gopher.fetch(f"gopher://127.0.0.1:{port}/")
        finally:
            await gopher.close()


ATTEMPTS = {
    name_server_is_silent: DnsFailed,
    host_does_not_accept: ConnectTimeout,
    handshake_stalls: TlsTimeout,
    nothing_before_the_deadline: ConnectTimeout,
    ftp_does_not_greet: TimedOut,
    gopher_does_not_answer: TimedOut,
}


def busy_in_time(monkeypatch):
    """Other work begins in this process when a time limit has begun, and goes on beyond it."""
    enter = until.__aenter__

    async def entered(self):
        asyncio.get_running_loop().call_later(SHORT / 2, time.sleep, BUSY)
        await enter(self)

    monkeypatch.setattr(until, "__aenter__", entered)


def error_of(attempt, loop):
    """What an attempt ends with."""

    async def scenario():
        with pytest.raises(FetchError) as caught:
            await attempt()
        return type(caught.value)

    return run(scenario(), loop)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
class TestAttempts:
    def test_a_busy_process_blames_nobody(self, monkeypatch, loop, attempt):
        """What ends because this process was busy is tried again, and charged to nobody."""
        monkeypatch.setattr(shortage, "LATE", BUSY / 2)
        busy_in_time(monkeypatch)

        assert error_of(attempt, loop) is Untried

    def test_otherwise_it_is_the_others_fault(self, monkeypatch, loop, attempt):
        """Who does not answer a process that listens is charged with it."""
        monkeypatch.setattr(shortage, "LATE", 60.0)

        assert error_of(attempt, loop) is ATTEMPTS[attempt]


@pytest.mark.parametrize("script", [{"stall": True}, {"end": b""}], ids=["data", "last word"])
def test_a_transfer_while_the_process_is_busy(monkeypatch, script):
    """What could not be read of a transfer, because this process was busy, is not missing: it is tried again."""
    monkeypatch.setattr(shortage, "LATE", BUSY / 2)
    busy_in_time(monkeypatch)

    with pytest.raises(Untried):
        run(ftp.ask(ftp.Script(b"abc", **script), timeout=SHORT))


def test_what_is_done_in_time_counts():
    """Within the limit nothing is changed; errors of its own, time-outs of the system among them, pass."""

    async def scenario(error):
        async with until(asyncio.get_running_loop().time() + 60):
            raise error

    for error in (TimeoutError("of the system"), ConnectionResetError()):
        with pytest.raises(type(error)) as caught:
            asyncio.run(scenario(error))
        assert caught.value is error
