"""The contract of protocol clients: the parts they are given, and the methods they must offer."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, NamedTuple, Protocol

from webcrawl.base.model import Exchange, Timings
from webcrawl.base.url_text import Ports
from webcrawl.net.addresses import AddressFamilies
from webcrawl.net.dns import CachingResolver
from webcrawl.net.errors import TooLarge
from webcrawl.net.guard import AddressGuard
from webcrawl.net.http_request import Headers, host_port
from webcrawl.net.reading_limits import Bandwidth, BodyRoom
from webcrawl.net.shortage import Shortage

Clock = Callable[[], float]  # seconds since some fixed time


class Proxy(NamedTuple):
    """A proxy as a request names it: its address, and the credentials for it."""

    host: str
    port: int
    auth: bytes = b""  # the value of Proxy-Authorization, for a SOCKS proxy too
    scheme: str = "http"

    @property
    def is_socks(self) -> bool:
        return self.scheme != "http"

    def is_tunnel(self, *, secure: bool) -> bool:
        """Return whether the proxy passes bytes on unread, so that all answers are the server's."""
        return secure or self.is_socks

    def __str__(self) -> str:
        """Return the proxy without its credentials: it is logged."""
        return host_port(self.host, self.port)


Bind = tuple[str, int]  # a local address, and 0 for any port


@dataclass(frozen=True, slots=True)
class Options:
    """The settings that one request overrides."""

    timeout: float = 0.0  # seconds in all; 0: as the settings say
    maxsize: int = 0  # bytes of a decoded body above which it is refused; 0: as the settings say
    proxy: Proxy | None = None
    bind: Bind | None = None
    long: bool = False  # the body may be longer than the settings say, if there is room
    # a longer body is truncated, whatever the settings say: what matters is its beginning
    truncates: bool = False


PLAIN = Options()


@dataclass(frozen=True, slots=True)
class Access:
    """The parts with which every client connects."""

    resolver: CachingResolver
    guard: AddressGuard
    ports: Ports = field(default_factory=Ports, kw_only=True)
    connect_timeout: float = 10.0  # seconds for one address, and for a TLS handshake
    # where connections come from; None: the system chooses
    bind: Bind | None = field(default=None, kw_only=True)
    clock: Clock = time.monotonic  # measures
    now: Clock = time.time  # seconds since 1970
    shortage: Shortage = field(default_factory=Shortage, kw_only=True)
    families: AddressFamilies = field(default_factory=AddressFamilies, kw_only=True)
    bandwidth: Bandwidth = field(default_factory=Bandwidth, kw_only=True)
    room: BodyRoom = field(default_factory=BodyRoom, kw_only=True)  # in memory, for large bodies


# Seconds after the request in which nothing need have come: for so long a silent host holds a slot
# (docs/decisions/frontier-hosts.md).
SILENCE_GRACE = 15.0


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of one fetch."""

    truncate: int = 2 * 2**20  # bytes of a decoded body
    timeout: float = 60.0  # seconds in all
    strict: bool = False  # a longer body is an error
    grace: float = SILENCE_GRACE
    rate: float = 0.0  # bytes per second that must have come on average since then; 0: any

    def for_request(self, options: Options) -> FetchLimits:
        limit, strict = (options.maxsize, True) if options.maxsize else (self.truncate, self.strict)
        strict = strict and not options.truncates
        timeout = options.timeout or self.timeout
        # Nearly every robots.txt has the usual limits.
        if (limit, timeout, strict) == (self.truncate, self.timeout, self.strict):
            return self
        return replace(self, truncate=limit, timeout=timeout, strict=strict)

    def check(self, truncated: str) -> None:
        """Raise TooLarge for a body that was truncated although it should not be.

        The argument is WARC's reason.
        """
        if self.strict and truncated == "length":
            raise TooLarge(f"the body has more than {self.truncate} bytes")

    def patience(self, requested_at: float, received: int) -> float:
        """Return the time at which an answer with only these bytes is too slow.

        `requested_at` is when the request was sent.
        """
        if not self.rate:
            return float("inf")
        return requested_at + self.grace + received / self.rate


class AnswerSource(Protocol):
    """A connection that an answer comes by."""

    @property
    def received(self) -> int:
        """Return the bytes of the answer so far."""
        ...


class FetchProgress(Protocol):
    """Follows a fetch from outside: the client notes here where the answer comes from.

    It also notes how far the answer has got.
    """

    source: AnswerSource | None
    timings: Timings | None

    @property
    def spare(self) -> bool:
        """Return whether no further request to the server is known.

        Others' connections are kept rather than this one.
        """
        ...


class ProtocolModule(Protocol):
    """A client of one protocol (Mercator 2), used by a download handler.

    It ignores arguments that mean nothing in its protocol.

    For an option that it does not support, however, it must raise BadOption. The `options` argument
    may be omitted.
    """

    async def fetch(
        self,
        url: str,
        headers: Headers = (),
        *,
        keep: float = 0.0,
        method: str = "GET",
        body: bytes = b"",
        options: Options = PLAIN,
        watch: FetchProgress | None = None,
    ) -> Exchange:
        """Return the answer, whatever its status, within bounds of bytes and time.

        Raise FetchError.
        """
        ...


def local_address(value: Any) -> Bind:
    """Return the address as `bindaddress` has it: text, or a pair with port 0.

    Raise ValueError with the reason.
    """
    host, port = value if isinstance(value, list | tuple) and len(value) == 2 else (value, 0)
    if port:
        raise ValueError("a port of one's own serves only one connection: it must be 0")
    address = ip_address(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        raise ValueError(
            f"{address} is not an address of this machine: {error.strerror}"
        ) from error
    return str(address), 0
