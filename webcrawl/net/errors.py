"""What can go wrong between a URL and its bytes: each error has a status for the log and a name for the stats."""

# ruff: noqa: N818 - an error is named after what happened, as the log and the stats name it

from __future__ import annotations

from typing import ClassVar

from webcrawl.model import Status


class FetchError(Exception):
    """A download that ended without an answer that could be used."""

    status: ClassVar[Status] = Status.UNEXPECTED
    name: ClassVar[str] = "unexpected"


class BadUrl(FetchError):
    """The URL, or a header asked for, cannot be sent as it is."""

    status = Status.UNSUPPORTED
    name = "bad_url"


class DnsFailed(FetchError):
    """The host's name has no address; `permanent` if the name servers say that there is none."""

    status = Status.DNS_FAILED
    name = "dns"

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class AddressRefused(FetchError):
    """The guard does not let us connect to this address."""

    status = Status.EXCLUDED
    name = "address_refused"


class NoSocket(FetchError):
    """No socket is left on our side: nothing the host is to blame for."""

    name = "no_socket"


class ConnectFailed(FetchError):
    """No address of the host took the connection."""

    status = Status.CONNECT_FAILED
    name = "connect"


class ConnectTimeout(ConnectFailed):
    """No address of the host answered in time."""

    name = "connect_timeout"


class TlsFailed(ConnectFailed):
    """The connection stood, the TLS handshake failed."""

    name = "tls"


class TlsTimeout(TlsFailed):
    """The TLS handshake did not end in time."""

    name = "tls_timeout"


class CertificateRefused(TlsFailed):
    """The certificate does not verify, and the crawl insists on it."""

    name = "certificate"


class TimedOut(FetchError):
    """The deadline passed before the answer's head was there."""

    status = Status.TIMEOUT
    name = "timeout"


class ConnectionLost(FetchError):
    """The connection ended within the answer's head."""

    status = Status.CONNECTION_LOST
    name = "lost"


class EmptyAnswer(ConnectionLost):
    """The connection ended before the answer's first byte."""

    name = "empty_answer"


class BadAnswer(FetchError):
    """What came cannot be read as an HTTP answer; Heritrix has no number of its own for it."""

    status = Status.CONNECTION_LOST
    name = "bad_answer"


class NotHttp(BadAnswer):
    """No status line: HTTP/0.9, another protocol, or rubbish."""

    name = "not_http"


class BadHead(BadAnswer):
    """A head that no reading makes sense of."""

    name = "bad_head"


class HeadTooLong(BadAnswer):
    """More bytes of head, or more fields in it, than any honest server sends."""

    name = "head_too_long"


class TooManyInterim(BadAnswer):
    """One 1xx answer after the other."""

    name = "too_many_interim"


class Upgraded(BadAnswer):
    """The server switches to a protocol that nobody asked for."""

    name = "upgraded"
