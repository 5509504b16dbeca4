"""Everything that can go wrong in a fetch: each error has a status for the log and a name for the stats.

Each also has a Sign: what it says of our own network.
"""

# ruff: noqa: N818 - errors are named as in the log and the stats

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar

from webcrawl.base.model import Status


class Sign(Enum):
    """The evidence that an error is of our own network; each error class below has one."""

    NOTHING = "nothing: it never came to asking"
    LIFE = "the network is well: something came back from the host"
    DOUBT = "either the host is away or our network is"
    NO_ROUTE = "this machine has no route to the host"
    NO_NAME = "name servers deny the host or lead inside: doubt if it has answered before, else nothing"


DOUBTFUL = frozenset((Sign.DOUBT, Sign.NO_ROUTE, Sign.NO_NAME))


class FetchError(Exception):
    """A download that ended without a usable response."""

    status: ClassVar[Status] = Status.UNEXPECTED
    name: ClassVar[str] = "unexpected"
    permanent: bool = False  # whether it is pointless to try again soon
    sign: Sign = Sign.NOTHING  # what it says of our own network
    address = ""  # the one that failed, if it is known


class BadUrl(FetchError):
    """The URL, or a requested header, cannot be sent as it is."""

    status = Status.UNSUPPORTED
    name = "bad_url"


class BadOption(FetchError):
    """The request asks for something that this client does not have."""

    status = Status.UNSUPPORTED
    name = "bad_option"


class DnsFailed(FetchError):
    """The host's name has no address; `permanent` if the name servers say so."""

    status = Status.DNS_FAILED
    name = "dns"

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.sign = Sign.NO_NAME if permanent else Sign.DOUBT


class AddressRefused(FetchError):
    """The guard forbids connecting to this address."""

    status = Status.EXCLUDED
    name = "address_refused"
    permanent = True
    reason = ""  # what kind of address it is, if the guard of this machine refused it
    allowed: Sequence[str] = ()  # the networks that it was told to allow


class PortRefused(FetchError):
    """The port is not one that the crawl may use for this protocol."""

    status = Status.EXCLUDED
    name = "port_refused"


class Untried(FetchError):
    """The server was not asked, for a lack on our side: to be tried again after `wait` seconds, charged to nobody."""

    status = Status.UNTRIED
    name = "untried"

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class NoSocket(Untried):
    """Our machine lacks descriptors, ports or memory for a socket."""

    name = "no_socket"


class NoNameServer(Untried):
    """No name server answers, whatever the name."""

    name = "no_name_server"


class NoFamily(Untried):
    """The host has only addresses of a family, IPv6 or IPv4, that does not work here."""

    name = "no_family"


class NoNetwork(Untried):
    """Our own network is out."""

    name = "no_network"


class NotRunning(Untried):
    """The crawler's process did not run while the request was under way, which may be why it failed."""

    name = "not_running"


class ProxyFailed(Untried):
    """The proxy cannot be reached, wants other credentials, or does not get through."""

    name = "proxy"
    proxy: object = None  # whose address and credentials these are


class TunnelRefused(FetchError):
    """The proxy's rules do not let the crawl reach this server."""

    status = Status.EXCLUDED
    name = "tunnel_refused"


class TooLarge(FetchError):
    """The body is longer than allowed, and the request or the settings want such a body refused, not truncated."""

    status = Status.EXCLUDED
    name = "too_large"
    sign = Sign.LIFE


class ConnectFailed(FetchError):
    """No address of the host accepted the connection."""

    status = Status.CONNECT_FAILED
    name = "connect"
    sign = Sign.DOUBT


class ConnectTimeout(ConnectFailed):
    """No address of the host answered in time."""

    name = "connect_timeout"


class TlsFailed(ConnectFailed):
    """Connected, but the TLS handshake failed."""

    name = "tls"
    sign = Sign.LIFE


class TlsTimeout(TlsFailed):
    """The TLS handshake timed out."""

    name = "tls_timeout"
    sign = Sign.DOUBT


class CertificateRefused(TlsFailed):
    """The certificate does not verify, and the crawl requires it."""

    name = "certificate"
    permanent = True


class TimedOut(FetchError):
    """The deadline passed before the response's head was complete."""

    status = Status.TIMEOUT
    name = "timeout"
    sign = Sign.DOUBT


class ConnectionLost(FetchError):
    """The connection ended within the response's head."""

    status = Status.CONNECTION_LOST
    name = "lost"
    sign = Sign.DOUBT


class CutShort(ConnectionLost):
    """The connection ended within the response's body, or its chunks cannot be read, and a whole one is wanted."""

    name = "cut_short"


class CutLate(TimedOut):
    """The deadline passed within the response's body, and a whole one is wanted."""

    name = "cut_late"


class EmptyAnswer(ConnectionLost):
    """The connection ended before the response's first byte."""

    name = "empty_answer"


class Cancelled(FetchError):
    """Somebody else's handler has ended the download itself: the answer is larger than DOWNLOAD_MAXSIZE."""

    name = "cancelled"


class BadAnswer(FetchError):
    """Not a readable HTTP response; Heritrix has no code of its own for it."""

    status = Status.CONNECTION_LOST
    name = "bad_answer"
    sign = Sign.LIFE


class NotHttp(BadAnswer):
    """No status line: HTTP/0.9, another protocol, or garbage."""

    name = "not_http"


class BadHead(BadAnswer):
    """A head that cannot be parsed, even leniently."""

    name = "bad_head"


class HeadTooLong(BadAnswer):
    """A head with more bytes or fields than any honest server sends."""

    name = "head_too_long"


class TooManyInterim(BadAnswer):
    """Too many 1xx responses in a row."""

    name = "too_many_interim"


class Upgraded(BadAnswer):
    """The server switches to a protocol that was not requested."""

    name = "upgraded"


class Http2Only(FetchError):
    """The server speaks only HTTP/2, and the crawl does not."""

    status = Status.UNSUPPORTED
    name = "http2_only"
    permanent = True
    sign = Sign.LIFE
    off = False  # whether that is the setting's doing
