"""The errors of a fetch: each has a status for the log and a name for the stats.

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
    NO_NAME = (
        "name servers deny the host or lead inside: doubt if it has answered before, else nothing"
    )


DOUBTFUL = frozenset((Sign.DOUBT, Sign.NO_ROUTE, Sign.NO_NAME))


class FetchError(Exception):
    """A download that ended without a usable response; under this name, a bug in the crawler."""

    status: ClassVar[Status] = Status.UNEXPECTED
    name: ClassVar[str] = "unexpected"
    permanent: bool = False  # whether it is pointless to try again soon
    sign: Sign = Sign.NOTHING  # what it says of our own network
    address = ""  # the one that failed, if it is known

    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        status: Status | None = None,
        sign: Sign | None = None,
        permanent: bool | None = None,
    ) -> None:
        """Take the fields of a kind of error from its class statement, which reads as a table."""
        cls.name = cls.name if name is None else name
        cls.status = cls.status if status is None else status
        cls.sign = cls.sign if sign is None else sign
        cls.permanent = cls.permanent if permanent is None else permanent


class BadUrl(FetchError, name="bad_url", status=Status.UNSUPPORTED):
    """The URL, or a requested header, cannot be sent as it is."""


class BadOption(FetchError, name="bad_option", status=Status.UNSUPPORTED):
    """The request asks for something that this client does not have."""


class DnsFailed(FetchError, name="dns", status=Status.DNS_FAILED):
    """The host's name has no address; `permanent` if the name servers say so."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.sign = Sign.NO_NAME if permanent else Sign.DOUBT


class AddressRefused(FetchError, name="address_refused", status=Status.EXCLUDED, permanent=True):
    """The guard forbids connecting to this address."""

    reason = ""  # what kind of address it is, if the guard of this machine refused it
    allowed: Sequence[str] = ()  # the networks that it was told to allow


class PortRefused(FetchError, name="port_refused", status=Status.EXCLUDED):
    """The port is not one that the crawl may use for this protocol."""


class Untried(FetchError, name="untried", status=Status.UNTRIED):
    """The request was not sent, for a local reason.

    It is tried again after `wait` seconds, and counts against no host.
    """

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class NoSocket(Untried, name="no_socket"):
    """Our machine lacks descriptors, ports or memory for a socket."""


class NoNameServer(Untried, name="no_name_server"):
    """No name server answers, whatever the name."""


class NoFamily(Untried, name="no_family"):
    """The host has only addresses of a family, IPv6 or IPv4, that does not work here."""


class NoNetwork(Untried, name="no_network"):
    """Our own network is out."""


class NotRunning(Untried, name="not_running"):
    """The crawler's process did not run during the request, which may be why it failed."""


class ProxyFailed(Untried, name="proxy"):
    """The proxy cannot be reached, wants other credentials, or cannot reach the server."""

    proxy: object = None  # whose address and credentials these are


class TunnelRefused(FetchError, name="tunnel_refused", status=Status.EXCLUDED):
    """The proxy's rules do not let the crawl reach this server."""


class TooLarge(FetchError, name="too_large", status=Status.EXCLUDED, sign=Sign.LIFE):
    """The body is longer than allowed.

    The request or the settings want such a body refused, not truncated.
    """


class ConnectFailed(FetchError, name="connect", status=Status.CONNECT_FAILED, sign=Sign.DOUBT):
    """No address of the host accepted the connection."""


class ConnectTimeout(ConnectFailed, name="connect_timeout"):
    """No address of the host answered in time."""


class TlsFailed(ConnectFailed, name="tls", sign=Sign.LIFE):
    """Connected, but the TLS handshake failed."""


class TlsTimeout(TlsFailed, name="tls_timeout", sign=Sign.DOUBT):
    """The TLS handshake timed out."""


class CertificateRefused(TlsFailed, name="certificate", permanent=True):
    """The certificate does not verify, and the crawl requires it."""


class TimedOut(FetchError, name="timeout", status=Status.TIMEOUT, sign=Sign.DOUBT):
    """The deadline passed before the response's head was complete."""


class ConnectionLost(FetchError, name="lost", status=Status.CONNECTION_LOST, sign=Sign.DOUBT):
    """The connection ended within the response's head."""


# "cut_short" and "cut_late" are names of counters, which crawls have in their states.
class BodyTruncated(ConnectionLost, name="cut_short"):
    """The connection ended within the response's body, or its chunks cannot be read.

    It is raised where a whole body is wanted.
    """


class BodyTimedOut(TimedOut, name="cut_late"):
    """The deadline passed within the response's body, and the whole body is required."""


class EmptyAnswer(ConnectionLost, name="empty_answer"):
    """The connection ended before the response's first byte."""


class Cancelled(FetchError, name="cancelled"):
    """A download handler of another package found the answer larger than DOWNLOAD_MAXSIZE."""


class BadAnswer(FetchError, name="bad_answer", status=Status.CONNECTION_LOST, sign=Sign.LIFE):
    """Not a readable HTTP response; Heritrix has no code of its own for it."""


class NotHttp(BadAnswer, name="not_http"):
    """No status line: HTTP/0.9, another protocol, or garbage."""


class BadHead(BadAnswer, name="bad_head"):
    """A head that cannot be parsed, even leniently."""


class HeadTooLong(BadAnswer, name="head_too_long"):
    """A head with more bytes or fields than any honest server sends."""


class TooManyInterim(BadAnswer, name="too_many_interim"):
    """Too many 1xx responses in a row."""


class Upgraded(BadAnswer, name="upgraded"):
    """The server switches to a protocol that was not requested."""


class Http2Only(
    FetchError, name="http2_only", status=Status.UNSUPPORTED, sign=Sign.LIFE, permanent=True
):
    """The server speaks only HTTP/2, and the crawl does not."""

    off = False  # whether that is the setting's doing
