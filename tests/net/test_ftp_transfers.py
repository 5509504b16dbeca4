"""FTP data connections to servers that err, lie, stall and flood: what arrived is kept, and marked
as truncated.
"""

import asyncio
import socket
import struct

import pytest

from tests.support.net_ftp import Script, ask, client
from tests.support.net_http import Gate, connections_to, run, serving
from tests.support.waiting import eventually
from webcrawl.net.errors import ConnectFailed, ConnectionLost, FetchError


class TestTransfers:
    def test_pasv_of_another_address(self):
        """Only the server itself is connected to, whatever address PASV names."""
        visitors = []

        async def victim(reader, writer):
            visitors.append(writer)

        async def go():
            async with serving(victim, "127.0.0.99") as port:
                script = Script(
                    b"abc",
                    EPSV=b"500 no\r\n",
                    PASV=b"227 ok (127,0,0,99,%d,%d)\r\n" % divmod(port, 256),
                )
                gate = Gate("127.0.0.99")
                with pytest.raises(ConnectFailed):
                    await ask(script, guard=gate)
                return gate.checked, port

        checked, port = run(go())
        assert visitors == []
        assert checked[1:] == [("127.0.0.1", port)]

    def test_the_guard_stands_before_data(self):
        """The guard also checks the data connection; a refused one is not opened."""

        class Changed(Gate):
            def check(self, address, port):
                if self.checked:
                    self.shut = (address,)
                super().check(address, port)

        with pytest.raises(FetchError) as error:
            run(ask(Script(b"abc"), guard=Changed()))
        assert error.value.name == "address_refused"

    def test_data_that_stalls(self):
        """What arrived before the deadline is kept."""
        got = run(ask(Script(b"abc", stall=True), timeout=0.3))
        assert (got.status, got.body, got.truncated) == (200, b"abc", "time")

    def test_endless_data(self):
        """An endless transfer is truncated, and the connection closed."""
        sent = 0

        class Endless(Script):
            async def _transfer(self, reader, writer):
                nonlocal sent
                await self._go.wait()
                while True:
                    writer.write(b"drwxr-xr-x 1 a b 3 Jan  1 2000 again\r\n" * 1000)
                    sent += 38_000
                    await writer.drain()

        got = run(ask(Endless(stall=True), "/", truncate=100_000))
        assert (len(got.payload), got.truncated) == (100_000, "length")
        assert sent < 20_000_000

    def test_a_reset_within_the_data(self):
        """A data connection that is reset keeps what arrived, marked as truncated."""

        class Reset(Script):
            async def _transfer(self, reader, writer):
                await self._go.wait()
                writer.write(b"abc")
                await asyncio.sleep(0.02)
                sock = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()

        got = run(ask(Reset()))
        assert (got.body, got.truncated) == (b"abc", "disconnect")

    @pytest.mark.parametrize("end", [b"426 broken off\r\n", b"451 no\r\n", b"rubbish\r\n"])
    def test_a_transfer_that_the_server_calls_broken(self, end):
        """Only a final 2yz confirms that a transfer was complete."""
        got = run(ask(Script(b"abc", end=end)))
        assert (got.status, got.body, got.truncated) == (200, b"abc", "disconnect")

    @pytest.mark.parametrize(
        ("end", "status"), [(b"550 none\r\n", 404), (b"425 no\r\n", 500), (b"421 bye\r\n", 503)]
    )
    def test_a_refusal_in_place_of_data(self, end, status):
        """A refusal that follows 150 and no data means what it means without the 150."""
        got = run(ask(Script(b"", end=end, SIZE=b"213 3\r\n")))
        assert (got.status, got.truncated) == (status, "")
        assert got.headers == [(b"ftp-reply", end.strip())]

    def test_no_last_word(self):
        """A server that never confirms the transfer costs no more than the deadline."""
        got = run(ask(Script(b"abc", end=b""), timeout=0.3))
        assert (got.body, got.truncated) == (b"abc", "disconnect")

    def test_less_than_was_promised(self):
        """Fewer bytes than SIZE announced are a truncated file."""
        got = run(ask(Script(b"abc", SIZE=b"213 4\r\n")))
        assert (got.body, got.truncated) == (b"abc", "disconnect")

    def test_a_port_where_nobody_listens(self):
        """A refused data connection is a failed connection."""
        with pytest.raises(ConnectFailed):
            run(ask(Script(b"abc", EPSV=b"229 ok (|||1024|)\r\n")))

    def test_close_ends_a_visit(self):
        """close() ends running fetches and waits for their sockets."""

        async def go():
            script = Script(b"abc", PASS=b"")
            async with serving(script) as port, client() as ftp:
                visit = asyncio.create_task(ftp.fetch(f"ftp://a.test:{port}/x"))
                await eventually(lambda: "PASS" in script.verbs)
                await ftp.close()
                with pytest.raises(ConnectionLost):
                    await visit

        run(go())

    def test_cancelling_ends_a_visit(self):
        """A cancelled fetch leaves no connection behind."""

        async def go():
            script = Script(b"abc", stall=True)
            async with serving(script) as port, client() as ftp:
                visit = asyncio.create_task(ftp.fetch(f"ftp://a.test:{port}/x"))
                await eventually(lambda: "RETR" in script.verbs)
                visit.cancel()
                await asyncio.gather(visit, return_exceptions=True)
                await eventually(lambda: not connections_to(port))

        run(go())
