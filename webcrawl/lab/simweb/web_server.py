"""The server of the synthetic web: sockets, connections, name server and log.

It also runs in a thread, for tests.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from webcrawl.lab.simweb import name_server, sockets
from webcrawl.lab.simweb.host_kinds import SCHEMES
from webcrawl.lab.simweb.http_server import Connection, HttpRequest, ServerState
from webcrawl.lab.simweb.kinds import KINDS
from webcrawl.lab.simweb.name_server import DnsReply, NameServer, Question, Tcp, Udp
from webcrawl.lab.simweb.outages import OutageSchedule
from webcrawl.lab.simweb.request_log import Log
from webcrawl.lab.simweb.sockets import OutageEnforcer, TcpListener, UdpListener
from webcrawl.lab.simweb.web_answers import WebAnswer, WebRequest
from webcrawl.lab.simweb.world import World, address


def server_contexts() -> dict[str, ssl.SSLContext]:
    """Return a context for each kind of SCHEMES, with a fresh P-256 key.

    Such a key is cheap, and what most servers of the web have.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "simweb")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("*.test")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    contexts = {kind: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) for kind in SCHEMES}
    with TemporaryDirectory() as folder:  # the ssl module reads keys only from files
        path = Path(folder) / "simweb.pem"
        path.touch(mode=0o600)
        path.write_bytes(secret + certificate.public_bytes(pem))
        for kind, context in contexts.items():
            context.load_cert_chain(path)
            context.set_alpn_protocols(SCHEMES[kind])
    return contexts


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 -- it does not exist for every system
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


COUNTED_PATHS = ("/robots.txt", *(f"/x/{name}/" for name, kind in KINDS.items() if kind.counted))
# Several, so that one can fail
NAME_SERVERS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


class _Closing(Protocol):
    """Can be ended with `stop`; `closed` is done when it has ended."""

    closed: asyncio.Future[None]

    def stop(self) -> None: ...


class Server:
    """Serves a world.

    Connections are accepted from the constructor on and answered after `await start()`.

    A port of 0 is any free one; the world gets the real one. There is an https server if the mix
    has https hosts. `outages` breaks it for a time; those given here are planned, counted from the
    start.
    """

    def __init__(
        self,
        world: World,
        *,
        dns_port: int = 0,
        latency: float = 0.0,
        log: Log | None = None,
        outages: Iterable[str] = (),
    ) -> None:
        """Open all sockets; the class describes the arguments.

        Raise OSError if a port is taken, and ValueError if an outage is impossible. `latency` is in
        seconds, before each answer. Without a `log`, all hits are kept in memory.
        """
        self.world = world
        self.log = log or Log()
        self.outages = OutageSchedule(target_exists=partial(_target_exists, world))
        for text in outages:
            self.outages.plan(text)
        self._sockets: list[socket.socket] = []
        # Each address by itself: a wildcard socket could be reached from outside
        served = [address(index) for index in range(world.addresses)]
        served.append(name_server.OUTSIDE)
        if name_server.IPV6_KINDS & world.mix.keys():
            served.append(name_server.LOOPBACK6)
        tls_port = 443
        self._https_sockets: list[socket.socket] = []
        try:
            self._http_sockets = self._register(sockets.listen(served, world.port))
            if SCHEMES.keys() & world.mix.keys():
                self._https_sockets = self._register(sockets.listen(served, world.tls_port))
                tls_port = self._https_sockets[0].getsockname()[1]
            pairs = sockets.listen_pairs(NAME_SERVERS, dns_port)
            self._udp_sockets = self._register([udp for udp, _ in pairs])
            self._tcp_sockets = self._register([tcp for _, tcp in pairs])
        except OSError:
            sockets.close(self._sockets)
            raise
        world.set_ports(self._http_sockets[0].getsockname()[1], tls_port)
        self.names = NameServer(self._reply)
        self._server_state = ServerState(self._answer, self.log.add, latency)
        self._attempts: Counter[str] = Counter()
        self._enforcer: OutageEnforcer | None = None
        self._clock_task: asyncio.Task[None] | None = None

    @property
    def nameserver(self) -> str:
        """Return the first name server's address, in the form of DNS_NAMESERVERS."""
        return self.nameservers.partition(",")[0]

    @property
    def nameservers(self) -> str:
        """Return the addresses of all name servers, which know the same."""
        return ",".join("{}:{}".format(*opened.getsockname()) for opened in self._tcp_sockets)

    @property
    def busy(self) -> int:
        """Return the number of requests that have arrived and are not in the log yet."""
        return self._server_state.requests_begun - self.log.count

    async def start(self) -> None:
        """Begin to answer. The times of planned outages count from here."""
        self._server_state.date = formatdate(usegmt=True)
        self._clock_task = asyncio.get_running_loop().create_task(self._every_second())
        self._server_state.heartbeat.start()
        host_listeners = [
            TcpListener(
                opened, partial(self._serve, partial(Connection, self._server_state, "http"), None)
            )
            for opened in self._http_sockets
        ]
        if self._https_sockets:
            serve = partial(self._serve, *self._tls())
            host_listeners += [TcpListener(opened, serve) for opened in self._https_sockets]
        name_listeners = [TcpListener(opened, self._serve_names) for opened in self._tcp_sockets]
        datagram_listeners = [
            UdpListener(opened, lambda: Udp(self.names)) for opened in self._udp_sockets
        ]
        self._enforcer = OutageEnforcer(
            self.world,
            self.outages,
            host_listeners,
            [*name_listeners, *datagram_listeners],
            self._server_state.connections,
        )
        await self._enforcer.start()

    async def close(self) -> None:
        """Stop at once. Requests in progress are logged as stopped."""
        if self._enforcer is not None:
            self._enforcer.stop()
        connections: list[_Closing] = [*self._server_state.connections, *self.names.connections]
        for connection in connections:
            connection.stop()
        await asyncio.gather(*(connection.closed for connection in connections))
        if self._clock_task is not None:
            self._clock_task.cancel()
        self._server_state.heartbeat.stop()
        sockets.close(self._sockets)
        self.log.close()

    def _register(self, opened: list[socket.socket]) -> list[socket.socket]:
        """Return these sockets, which are closed with the server."""
        self._sockets += opened
        return opened

    def _tls(self) -> tuple[Callable[[], asyncio.BaseProtocol], ssl.SSLContext]:
        """Return the factory of protocols for connections with TLS, and their first context.

        The context is replaced by that of the host when the client names it.
        """
        contexts = server_contexts()
        if not self.world.mix.keys() & {"https_h2", "https_both"}:
            return partial(Connection, self._server_state, "https"), contexts["https"]
        from webcrawl.lab.simweb.http2_server import Negotiated  # noqa: PLC0415 -- few webs need it

        def choose(channel: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            host = self.world.number(name or "")
            kind = self.world.kind("scheme", host) if host is not None else ""
            channel.context = contexts[kind or "https"]

        contexts["https"].sni_callback = choose
        return partial(Negotiated, self._server_state, contexts["https_h2"]), contexts["https"]

    async def _serve(
        self,
        connected: Callable[[], asyncio.BaseProtocol],
        context: ssl.SSLContext | None,
        opened: socket.socket,
    ) -> asyncio.Server:
        """Return a running server on this socket; `connected` makes the protocol of each
        connection.
        """
        loop = asyncio.get_running_loop()
        return await loop.create_server(
            connected, sock=opened, ssl=context, backlog=sockets.BACKLOG
        )

    async def _serve_names(self, opened: socket.socket) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(lambda: Tcp(self.names), sock=opened)

    async def _every_second(self) -> None:
        while True:
            await asyncio.sleep(1)
            # Formatted once a second, and not for each answer
            self._server_state.date = formatdate(usegmt=True)
            self.log.flush()

    def _reply(self, question: Question) -> DnsReply:
        return self.outages.of_question(question.name, question.server) or name_server.reply(
            self.world, question
        )

    def _answer(self, request: HttpRequest) -> tuple[WebAnswer, int, str]:
        """Return what `ServerState.answer` is to return for a request."""
        broken = self.outages.of_request(request.host, request.address, request.target)
        if broken is not None:
            answer, outage = broken
            return answer, 1, outage
        attempt = 1
        if request.target.startswith(COUNTED_PATHS):
            # Counted for few paths only: a web may have millions of pages
            self._attempts[request.url] += 1
            attempt = self._attempts[request.url]
        host = self.world.number(request.host)
        if host is None:
            # RFC 9110 15.5.20: not a server of this host
            return WebAnswer(421, b"<title>No such host</title>"), attempt, ""
        if request.method not in ("GET", "HEAD"):
            return WebAnswer(405, headers=("Allow: GET, HEAD",)), attempt, ""
        web_request = WebRequest(
            host,
            request.target,
            accept=request.notes.get("accept", ""),
            etag=request.notes.get("etag", ""),
            since=request.notes.get("since", ""),
            attempt=attempt,
            name=request.host,
        )
        return self.world.answer(web_request), attempt, ""


def _target_exists(world: World, what: str, target: str) -> bool:
    """Return whether the target of an outage of this sort exists."""
    if what == "nameserver":
        return target in NAME_SERVERS
    if what == "address":
        addresses = {name_server.LOOPBACK6, *map(address, range(world.addresses))}
        if target in addresses:
            return True
    return world.number(target) is not None  # outages of addresses take names of hosts too


def wait_until_idle(server: Server, seconds: float = 10.0) -> None:
    """Wait until every request is in the log: a client gets its answer a moment earlier.

    Raise TimeoutError if the server is still answering after that many seconds.
    """
    end = time.monotonic() + seconds
    while server.busy:
        if time.monotonic() > end:
            raise TimeoutError(f"still answering {server.busy} requests after {seconds} seconds")
        time.sleep(0.002)


@contextmanager
def running(
    world: World, *, latency: float = 0.0, log: Log | None = None, outages: Iterable[str] = ()
) -> Iterator[Server]:
    """Serve the world in a thread for the duration of the block; afterwards its log is complete.

    Raise what `Server` and `Server.start` raise.
    """
    server = Server(world, latency=latency, log=log, outages=outages)
    started: Future[None] = Future()
    loop, stop = new_event_loop(), asyncio.Event()

    async def serve() -> None:
        try:
            await server.start()
        except BaseException as error:  # noqa: BLE001 -- raised where the server is wanted
            started.set_exception(error)
        else:
            started.set_result(None)
        await stop.wait()
        await server.close()

    def work() -> None:
        loop.run_until_complete(serve())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    # A thread and not a process: a test begins outages and reads the log meanwhile
    thread = Thread(target=work, name="simweb", daemon=True)
    thread.start()
    try:
        started.result()
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
