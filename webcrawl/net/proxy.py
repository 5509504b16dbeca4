"""Proxies: the requests to one, and connections through it.

An HTTP proxy gets CONNECT for https, and the whole URL for http. What a SOCKS proxy gets is in
`socks`.

Reach the proxy, ask it for a tunnel, then TLS with the server. `Proxies` knows which proxies are
away, and whether a failure is the proxy's: no host is charged for that.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from base64 import b64encode
from collections import OrderedDict
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from webcrawl.base.doubling import DoublingWait, wait_after
from webcrawl.base.model import Timings
from webcrawl.net import socks
from webcrawl.net.connection import HttpConnection
from webcrawl.net.connection_open import Opener
from webcrawl.net.dns_answers import known_without_asking
from webcrawl.net.errors import (
    AddressRefused,
    BadOption,
    ConnectFailed,
    ConnectTimeout,
    DnsFailed,
    FetchError,
    NoSocket,
    PortRefused,
    ProxyFailed,
    Sign,
    TlsTimeout,
    TunnelRefused,
)
from webcrawl.net.http_answer import AnswerParser, Message
from webcrawl.net.http_request import RequestTarget, host_port
from webcrawl.net.protocols import Access, Clock, Options, Proxy
from webcrawl.net.shortage import is_ours
from webcrawl.net.socks import RESOLVED_HERE, SOCKS_PORT, credentials_of

logger = logging.getLogger(__name__)

_PORT = 80  # as Scrapy has it
_PORTS = {"http": _PORT, "socks5": SOCKS_PORT, "socks5h": SOCKS_PORT}
_VALUE = re.compile(rb"[ -~]*")


def parse_proxy(url: str, auth: bytes = b"", encoding: str = "utf-8") -> Proxy:
    """Return the proxy at this URL, whose scheme may be missing.

    Credentials in it count if `auth` is empty.

    They are sent in this encoding. Raise BadOption if the URL is not that of a proxy, or if its
    credentials cannot be sent.
    """
    scheme, separator, rest = url.rpartition("://")
    parts = urlsplit(f"http://{rest if separator else url.removeprefix('//')}")
    try:
        host = parts.hostname
        port = parts.port
        (host or "").encode("idna")  # as its look-up does, which would raise at `a..b`
    except ValueError:
        host, port = None, None
    scheme = scheme.lower() or "http"
    if scheme not in _PORTS:
        raise BadOption(
            f"proxy {_shown(scheme, host, port)}: must be http://, socks5:// or socks5h://"
        )
    # The URL is not shown, because it may contain a password.
    if not host or not host.isascii() or port == 0:
        raise BadOption(f"proxy: must have the form {scheme}://[user:password@]host[:port]")
    auth = auth or _basic(parts, encoding)
    if not _VALUE.fullmatch(auth):
        raise BadOption(f"proxy {host}: its user name or password cannot be sent")
    proxy = Proxy(host, port or _PORTS[scheme], auth, scheme)
    if proxy.is_socks:
        credentials_of(proxy)
    return proxy


def _basic(parts: SplitResult, encoding: str) -> bytes:
    """Return the credentials of a URL as Proxy-Authorization has them; empty if it has none."""
    if not (parts.username or parts.password):
        return b""
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return b"Basic " + b64encode(pair.encode(encoding))


def whole_url(target: RequestTarget) -> RequestTarget:
    """Return the target for a request line in absolute form (RFC 9112 3.2.2)."""
    secure, host, port, authority, path = target
    return RequestTarget(secure, host, port, authority, f"http://{authority}{path}")


def with_credentials(head: bytes, proxy: Proxy) -> bytes:
    """Return the head that the proxy gets; the archive has the one without."""
    return head[:-2] + b"Proxy-Authorization: %b\r\n\r\n" % proxy.auth if proxy.auth else head


def connect_head(target: RequestTarget, proxy: Proxy, user_agent: str) -> bytes:
    """Ask for a tunnel (RFC 9110 9.3.6)."""
    server = host_port(target.host, target.port)
    return with_credentials(
        f"CONNECT {server} HTTP/1.1\r\nHost: {server}\r\nUser-Agent: {user_agent}\r\n\r\n".encode(),
        proxy,
    )


class TunnelAnswer(AnswerParser):
    """The answer to CONNECT, which ends with its head.

    Its connection stays open if it is 2xx, even in HTTP/1.0.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0, bodiless=True)

    def feed(self, data: bytes) -> Message | None:
        message = super().feed(data)
        return _Tunnel(message) if message is not None else None


class _Tunnel(Message):
    __slots__ = ()

    def __init__(self, message: Message) -> None:
        super().__init__(message.head, 0, bodiless=True)
        self.complete = message.complete
        self.excess = message.excess

    @property
    def reusable(self) -> bool:
        """Return whether the tunnel is open.

        No bytes of the target can come before the handshake.
        """
        return 200 <= self.head.status < 300 and not self.excess


def _shown(scheme: str, host: str | None, port: int | None) -> str:
    return f"{scheme}://{host or ''}{f':{port}' if port else ''}"


# seconds until a proxy that is away is tried again, doubled each time
SHORTEST_RETRY_WAIT, LONGEST_RETRY_WAIT = 1.0, 60.0
# Failures for one host before they can be the host's. A dead host behind a proxy costs three more
# tunnels, about six seconds.
DOUBTS = 3
# proxies, and hosts per proxy, that are remembered: sessions may have a user name each
KNOWN = 1024


@dataclass(slots=True)
class _State:
    until: float = 0.0  # no request before that
    pause: DoublingWait = field(
        default_factory=lambda: DoublingWait(SHORTEST_RETRY_WAIT, LONGEST_RETRY_WAIT)
    )
    worked: float = 0.0  # when it last got an answer from a server
    told: float = float("-inf")  # when it was last said that it is away,
    doubted: float = float("-inf")  # and when, that it may have failed
    is_told: bool = False  # that it is away, and not that it works again
    # host: since when, how often
    doubts: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)


class Proxies:
    """Knows the proxies that have failed.

    URLs that need one wait for it: their errors say for how many seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failing: OrderedDict[Proxy, _State] = OrderedDict()

    def check(self, proxy: Proxy) -> None:
        """Raise ProxyFailed while the proxy is away."""
        state = self._failing.get(proxy)
        if state is None:
            return
        rest = state.until - self._clock()
        if rest > 0:
            raise _failed(proxy, "not used since it failed", rest)

    def failed(self, proxy: Proxy, why: object) -> ProxyFailed:
        """Let all that needs the proxy wait: it cannot be reached, or wants other credentials."""
        state = self._state(proxy)
        now = self._clock()
        # Requests that were under way together fail together, and lengthen the pause once.
        if now < state.until:
            return _failed(proxy, why, state.until - now)
        state.until = now + state.pause.next()
        if now - state.told >= LONGEST_RETRY_WAIT:
            state.told = now
            state.is_told = True
            logger.warning("proxy %s: %s; it is not used for %g s", proxy, why, state.pause.last)
        return _failed(proxy, why, state.until - now)

    def doubtful(self, proxy: Proxy, host: str, error: FetchError) -> FetchError:
        """Return the error to raise for a failure that may be the proxy's or the host's.

        A failure that comes again while the proxy gets answers from other hosts is the host's.
        """
        state = self._state(proxy)
        now = self._clock()
        since, count = state.doubts.pop(host, (now, 0))
        count += 1
        # Put back for ever, one dead host would keep the crawl from ending: Squid says 503 for it
        if count >= DOUBTS and state.worked > since:
            return error
        state.doubts[host] = (since, count)
        while len(state.doubts) > KNOWN:
            state.doubts.popitem(last=False)
        if now - state.doubted >= LONGEST_RETRY_WAIT:
            state.doubted = now
            logger.warning("proxy %s: %s; the proxy failed, or %s did", proxy, error, host)
        return _failed(proxy, error, wait_after(count, 2 * SHORTEST_RETRY_WAIT, LONGEST_RETRY_WAIT))

    def worked(self, proxy: Proxy, host: str) -> None:
        """Note that a server has answered through this proxy."""
        state = self._failing.get(proxy)
        if state is None:
            return
        if state.is_told:
            logger.info("proxy %s: works again", proxy)
        state.pause.reset()
        state.until = 0.0
        state.is_told = False
        state.worked = self._clock()
        state.doubts.pop(host, None)

    def _state(self, proxy: Proxy) -> _State:
        state = self._failing.setdefault(proxy, _State())
        self._failing.move_to_end(proxy)
        while len(self._failing) > KNOWN:
            self._failing.popitem(last=False)
        return state


def _failed(proxy: Proxy, why: object, wait: float) -> ProxyFailed:
    error = ProxyFailed(f"proxy {proxy}: {why}", wait=wait)
    error.proxy = proxy
    return error


PASSING_STATUSES = frozenset((408, 429))  # of a proxy: also later, as all 5xx
# The answer is the proxy's, or that of the server behind it, and does not say which.
_GATEWAY = frozenset((502, 503, 504))


class ProxiedOpener:
    """Opens connections to servers through a proxy, which resolves their names (docs/scrapy-compatibility.md)."""

    def __init__(self, access: Access, opener: Opener, user_agent: str) -> None:
        self._access = access
        self._opener = opener
        self._user_agent = user_agent
        self._proxies = Proxies(access.clock)

    async def open(
        self,
        proxy: Proxy,
        target: RequestTarget,
        options: Options,
        timings: Timings,
        deadline: float,
        *,
        http2: bool = False,
    ) -> HttpConnection:
        """Connect through the proxy.

        Raise FetchError; a ProxyFailed does not count against the host.
        """
        self._check(target)
        self._proxies.check(proxy)
        begun = self._access.clock()
        if proxy.is_socks:
            connection = await self._by_socks(proxy, target, options, timings, deadline)
        else:
            connection = await self._dial(proxy, options, deadline)
            if target.secure:
                await self._tunnel(connection, proxy, target, deadline)
            connection.ip = ""  # the proxy's is not the server's
        timings.connect = self._access.clock() - begun - timings.dns
        if target.secure:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._opener.secure(connection, target, timings, http2=http2)
            except TimeoutError as error:
                raise TlsTimeout("no handshake within the deadline") from error
        return connection

    def check_answer(self, proxy: Proxy, target: RequestTarget, status: int) -> None:
        """Judge an answer: raise ProxyFailed if it is the proxy's demand for other credentials."""
        is_tunnel = proxy.is_tunnel(secure=target.secure)
        # Within a tunnel a 407 is the server's own
        if status == 407 and not is_tunnel:
            raise self._proxies.failed(proxy, "407 to a request")
        if is_tunnel or status not in _GATEWAY:
            self._proxies.worked(proxy, target.host)

    def unanswered(self, proxy: Proxy, target: RequestTarget, error: FetchError) -> FetchError:
        """Return the error to raise where no answer has come. Within a tunnel it is the server's."""
        if proxy.is_tunnel(secure=target.secure):
            return error
        return self._proxies.doubtful(proxy, target.host, error)

    def _check(self, target: RequestTarget) -> None:
        """Refuse what can be seen to lead inside.

        That is ports of other services, addresses, and this machine's own name.
        """
        if not self._access.ports.allow("https" if target.secure else "http", target.port):
            raise PortRefused(f"port {target.port} is not for a web server")
        name = target.host.rstrip(".")
        known = known_without_asking(name)
        if known is not None and known.failure is not None:
            raise DnsFailed(f"{target.host}: {known.failure.words}", permanent=True)
        for address in known.addresses if known is not None else ():
            self._access.guard.check(address, target.port)

    async def _dial(self, proxy: Proxy, options: Options, deadline: float) -> HttpConnection:
        """Return a connection to the proxy itself. Raise what `failed` makes of a failure."""
        # The guard does not look at the proxy's address, because only an operator can name a proxy.
        # PRIVATE_NETWORKS_ALLOWED would open that address to every page.
        try:
            async with asyncio.timeout_at(deadline):
                addresses = await _addresses(proxy)
                return await self._opener.reach.open_trusted(addresses, proxy.port, options.bind)
        except TimeoutError as error:
            raise self._proxies.failed(proxy, "no connection within the deadline") from error
        except (OSError, UnicodeError, ConnectFailed) as error:
            raise self._proxies.failed(proxy, error) from error

    async def _by_socks(
        self,
        proxy: Proxy,
        target: RequestTarget,
        options: Options,
        timings: Timings,
        deadline: float,
    ) -> HttpConnection:
        """Return a connection to the server through a SOCKS proxy. Raise FetchError."""
        error: FetchError
        try:
            async with asyncio.timeout_at(deadline):
                hosts = [target.host]
                if proxy.scheme == RESOLVED_HERE:
                    hosts = await self._guarded_addresses(target, timings)
                addresses = await _addresses(proxy)
                bind = options.bind or self._access.bind
                channel, host = await socks.connect(proxy, addresses, hosts, target.port, bind)
                connection = await self._opener.reach.take_over(channel)
        except TimeoutError:
            error = ConnectTimeout(f"no connection to {target.host} within the deadline")
        except socks.ProxyUnusable as failed:
            raise self._proxies.failed(proxy, failed) from failed
        except socks.Refused as refused:
            if refused.code == socks.FORBIDDEN:
                raise TunnelRefused(f"proxy {proxy}: {refused}") from refused
            if refused.code == socks.CONNECTION_REFUSED:  # by the server: the proxy has reached it
                raise ConnectFailed(f"proxy {proxy}: {refused}") from refused
            error = ConnectFailed(str(refused))
        except OSError as lack:
            if is_ours(lack):
                raise self._access.shortage.begins(lack) from lack
            raise self._proxies.failed(proxy, lack) from lack
        else:
            connection.ip = host if proxy.scheme == RESOLVED_HERE else ""
            self._proxies.worked(proxy, target.host)
            return connection
        raise self._proxies.doubtful(proxy, target.host, error)

    async def _guarded_addresses(self, target: RequestTarget, timings: Timings) -> list[str]:
        """Return the addresses of the server that the crawl may connect to. Raise FetchError."""
        start = self._access.clock()
        try:
            found = await self._access.resolver.resolve(target.host)
        except NoSocket as error:
            raise self._access.shortage.begins(error) from error
        timings.dns = self._access.clock() - start
        allowed = []
        refusal: FetchError = ConnectFailed("the name has no address")
        for address in found:
            try:
                self._access.guard.check(address, target.port)
            except AddressRefused as error:
                refusal = error
                refusal.sign = Sign.NO_NAME
            else:
                allowed.append(address)
        if not allowed:
            raise refusal
        return allowed

    async def _tunnel(
        self, connection: HttpConnection, proxy: Proxy, target: RequestTarget, deadline: float
    ) -> None:
        """Have the proxy connect to the target, and note whether it did.

        Raise TunnelRefused if its rules forbid it; else an error that is the proxy's or the host's.
        """
        head = connect_head(target, proxy, self._user_agent)
        why = f"CONNECT {target.host}:{target.port}"
        error: FetchError
        try:
            async with asyncio.timeout_at(deadline):
                message = await connection.ask(head, TunnelAnswer())
        except TimeoutError:
            error = ConnectTimeout(f"no answer to {why} within the deadline")
        except FetchError as failed:
            error = ConnectFailed(f"{failed} to {why}")
        else:
            status = message.head.status
            if message.reusable:
                self._proxies.worked(proxy, target.host)
                return
            connection.abort()
            if status == 407:
                # Its demand for other credentials: no URL gets through, so none is charged
                raise self._proxies.failed(proxy, f"407 to {why}")
            # The proxy's rules forbid it: asking again would not help
            if 300 <= status < 500 and status not in PASSING_STATUSES:
                raise TunnelRefused(f"proxy {proxy}: {status} to {why}")
            error = ConnectFailed(f"{status} to {why}")
        raise self._proxies.doubtful(proxy, target.host, error)


async def _addresses(proxy: Proxy) -> list[str]:
    """Resolve the proxy's name as other programs do, by the system.

    The proxy is the operator's, not the web's.
    """
    try:
        return [str(ip_address(proxy.host))]
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(
            proxy.host, proxy.port, type=socket.SOCK_STREAM
        )
        return list(dict.fromkeys(str(address[0]) for *_, address in found))
