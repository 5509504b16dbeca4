"""FTP servers: a real one in a thread, and a scripted one in the test's own loop."""

import asyncio
import warnings
from contextlib import asynccontextmanager, contextmanager
from threading import Event, Thread

from tests.support.net_http import Gate, Names, bounds, serving
from webcrawl.net.ftp import FtpClient
from webcrawl.net.protocols import Access

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it uses asyncore
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler
    from pyftpdlib.ioloop import IOLoop
    from pyftpdlib.servers import FTPServer


class RealServer:
    """pyftpdlib on a folder; `without` are commands that it does not know."""

    def __init__(self, folder, address="127.0.0.1", port=0, *, without=(), **options):
        """Open the server, which serves while used as a context."""
        authorizer = DummyAuthorizer()
        authorizer.add_anonymous(str(folder))
        commands = {
            name: about for name, about in FTPHandler.proto_cmds.items() if name not in without
        }
        self.requested = []
        options = {
            "authorizer": authorizer,
            "proto_cmds": commands,
            "banner": "ready.",
            "auth_failed_timeout": 0,
        }
        requested = self.requested

        def log_cmd(handler, cmd, arg, respcode, respstr):
            requested.append((cmd, arg))

        self._handler = type("Handler", (FTPHandler,), {**options, "log_cmd": log_cmd})
        self._place, self._loop = (address, port), IOLoop()
        self._stop, self._started = Event(), Event()
        self._server = FTPServer(self._place, self._handler, ioloop=self._loop)
        self.port = self._server.address[1]
        self._thread = Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._stop.is_set():
            self._server.serve_forever(timeout=0.02, blocking=False)
        self._server.close_all()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


class Script:
    """A regular server, except for scripted replies: a verb gets these bytes as its reply.

    An empty reply is silence; None ends the connection. Every transfer sends `data`.
    """

    def __init__(
        self, data=b"", greeting=b"220 hello\r\n", end=b"226 done\r\n", *, stall=False, **replies
    ):
        """Prepare the server; `end` follows a transfer, which never ends if `stall`."""
        self.data = data
        self.greeting = greeting
        self.end = end
        self.stall = stall
        self.replies = replies
        self.requested = []
        self._go, self.quit = asyncio.Event(), asyncio.Event()

    async def __call__(self, reader, writer):
        """Reply to the commands of a connection."""
        writer.write(self.greeting)
        async with serving(self._transfer, writer.get_extra_info("sockname")[0]) as port:
            usual = {
                "USER": b"331 password?\r\n",
                "PASS": b"230 in\r\n",
                "TYPE": b"200 ok\r\n",
                "CWD": b"250 ok\r\n",
                "EPSV": b"229 ok (|||%d|)\r\n" % port,
                "PASV": b"227 ok (10,1,2,3,%d,%d)\r\n" % divmod(port, 256),
                "QUIT": b"221 bye\r\n",
            }
            while line := await reader.readline():
                self.requested.append(line)
                verb = line.split()[0].decode("latin-1") if line.split() else ""
                if verb == "QUIT":
                    self.quit.set()
                begins = verb in ("RETR", "MLSD", "LIST")
                otherwise = b"150 now\r\n" if begins else b"500 what?\r\n"
                reply = self.replies.get(verb, usual.get(verb, otherwise))
                if reply is None:
                    return
                writer.write(reply.replace(b"PORT", b"%d" % port))
                if begins and reply.startswith(b"1"):
                    self._go.set()
                    await asyncio.sleep(0.01)
                    if not self.stall:
                        writer.write(self.end)

    async def _transfer(self, reader, writer):
        await self._go.wait()
        self._go.clear()
        writer.write(self.data)
        await writer.drain()
        if self.stall:
            await asyncio.sleep(60)

    @property
    def verbs(self):
        return [line.split()[0].decode() for line in self.requested]


@asynccontextmanager
async def client(guard=None, **options):
    """Yield a client with short deadlines, which is closed at the end."""
    names = Names(a=["127.0.0.1"], six=["::1"], b=["127.0.0.2", "127.0.0.1"])
    ftp = FtpClient(
        Access(names, guard or Gate()), bounds(options), **{"user_agent": "tests/1", **options}
    )
    try:
        yield ftp
    finally:
        await ftp.close()
        assert len(ftp._reach) == 0


async def ask(script, path="/file", guard=None, **options):
    """The exchange with a scripted server."""
    async with serving(script) as port, client(guard, **options) as ftp:
        return await ftp.fetch(f"ftp://a.test:{port}{path}")


@contextmanager
def real(folder, **options):
    """A real server, and a function that fetches a path of it."""
    with RealServer(folder, **options) as server:

        async def fetch(path, **more):
            async with client(**more) as ftp:
                return await ftp.fetch(f"ftp://a.test:{server.port}{path}")

        yield server, fetch
