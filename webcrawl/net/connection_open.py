"""Opens HTTP connections: connect, then TLS; flaws of certificates are noted, and accepted.

`Http2Offers` says which servers are offered HTTP/2: all, none, or those that speak nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING

from cryptography import x509

from webcrawl.base.errors import words_of
from webcrawl.base.model import Timings
from webcrawl.net.connection import HttpConnection
from webcrawl.net.connection_pool import Key
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import (
    CertificateRefused,
    EmptyAnswer,
    FetchError,
    Http2Only,
    TlsFailed,
    TlsTimeout,
)
from webcrawl.net.failure_words import lack_for_http2, without_http2_library
from webcrawl.net.http_request import RequestTarget
from webcrawl.net.protocols import Access, Bind
from webcrawl.net.shortage import is_ours, until
from webcrawl.net.tls import tls_context, verifying_context

if TYPE_CHECKING:
    from webcrawl.net.http2 import Http2Session

logger = logging.getLogger(__name__)

OFF, NEEDED, PREFER = "off", "needed", "prefer"
H2 = "h2"  # in ALPN
PROTOCOLS = (H2, "http/1.1")
KNOWN = 10_000  # servers that are remembered
HOUR = 3600.0  # seconds for which they are: a second handshake that did not help is not repeated
# may be requested again at once, though the server may have read the request
SAFE = ("GET", "HEAD")
ENDS = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)  # of a handshake, without a word
# in place of RFC 7301's, by OpenSSL's names
ALERTS = ("ALERT_HANDSHAKE_FAILURE", "ALERT_INTERNAL_ERROR")


def session_of(connection: HttpConnection) -> Http2Session | None:
    """Return what speaks HTTP/2 on this connection; None without the library."""
    if without_http2_library():
        return None
    from webcrawl.net.http2 import Http2Session  # noqa: PLC0415 - 30 ms and 3 MB, where it is needed

    return Http2Session(connection.write)


VerifyingContext = Callable[[tuple[str, ...]], ssl.SSLContext]  # by what ALPN offers
Recorded = Callable[..., bool]  # Frontier.http2


def unheard(_host: str, *, learned: bool = False, by_page: bool = False) -> bool:
    """Return the memory of a client that has no frontier."""
    return learned or by_page


def _refuses_handshake(cause: BaseException | None) -> bool:
    """Return whether a server has ended the handshake as if it speaks none that was offered."""
    if isinstance(cause, ssl.SSLError):
        # RFC 7301 3.2 has an alert of its own for it: NO_PROTOCOL
        return isinstance(cause, ENDS) or str(cause.reason).endswith(ALERTS)
    return isinstance(cause, ENDS)


class Http2Offers:
    """Offers a server that ends the handshake for HTTP/1.1 a second one, with both protocols.

    That is so for the first request, too.
    """

    def __init__(self, way: str = OFF, context: Callable[[], ssl.SSLContext] | None = None) -> None:
        """`context` makes that of a handshake which offers both."""
        self._way = way
        self._make = context or (lambda: tls_context(protocols=PROTOCOLS))
        self._known: OrderedDict[Key, tuple[bool, float]] = OrderedDict()  # and until when
        self._turned_down: set[Key] = set()  # of them those that wanted HTTP/1.1 for one URL
        # of those that chose HTTP/1.1, until when it counts
        self._chose: OrderedDict[Key, float] = OrderedDict()
        self._told = False
        self.recorded: Recorded = unheard  # what the host's record says, and says from now on

    @cached_property
    def context(self) -> ssl.SSLContext:
        return self._make()

    def offered(self, key: Key, host: str) -> bool:
        if self._way == OFF or not key[0]:
            return False
        known = self._of(key)
        if known is not None:
            return known
        # One request at a time gains nothing from HTTP/2, and loses the exact bytes of heads. A
        # page of 36 KB takes 900 us by it, and 176 by HTTP/1.1.
        return self._way == PREFER or self.recorded(host)

    def may_help(
        self, key: Key, error: FetchError, connection: HttpConnection | None = None
    ) -> bool:
        """Return whether a server that failed so may answer to HTTP/2.

        `connection`: the one that was open by then.
        """
        if not self.may_be_spoken(key):
            return False
        if isinstance(error, Http2Only):
            return True
        if connection is not None:
            return isinstance(error, EmptyAnswer) and not connection.spoken
        if not isinstance(error, TlsFailed):
            return False
        has_chosen = key in self._chose and self._chose[key] > asyncio.get_running_loop().time()
        return not has_chosen and _refuses_handshake(error.__cause__)

    def may_be_spoken(self, key: Key) -> bool:
        """Return whether a second handshake may show that a server speaks HTTP/2."""
        is_encrypted = bool(key[0])  # without TLS HTTP/2 is not spoken here
        if self._way == OFF or not is_encrypted:
            return False
        return self._of(key) is None or key in self._turned_down

    def waits(self, key: Key, host: str) -> bool:
        """Return whether the URL waits for its host's next turn, which then offers HTTP/2.

        So if the host has given other pages by HTTP/1.1, which makes one answer in frames no reason
        to hurry; but not if HTTP/1.1 was offered because another URL wanted that.
        """
        if key in self._turned_down or self.recorded(host, by_page=True):
            return False
        self.suspect(key)
        return True

    def _of(self, key: Key) -> bool | None:
        known = self._known.get(key)
        if known is None:
            return None
        speaks, until = known
        return speaks if until > asyncio.get_running_loop().time() else None

    def turned_down(self, key: Key) -> None:
        """Note that the server wants HTTP/1.1 for one URL.

        A handshake shows whether it speaks that at all.
        """
        self._note(key, speaks=False)
        self._turned_down.add(key)

    def record_support(self, key: Key, host: str, *, speaks: bool, by_page: bool = False) -> None:
        """Note whether the server speaks HTTP/2, as a second handshake has shown.

        `by_page`: its answer to one URL led to it.

        If other pages have come by HTTP/1.1, that is so of the one URL alone.
        """
        if not speaks or self.recorded(host, learned=True, by_page=by_page):
            self._note(key, speaks=speaks)

    def declined(self, key: Key) -> None:
        """Note that a server has chosen HTTP/1.1.

        A later handshake that ends without a word is no reason to change that.
        """
        if self._way != OFF:
            self._chose.pop(key, None)
            self._chose[key] = asyncio.get_running_loop().time() + HOUR
            if len(self._chose) > KNOWN:
                self._chose.popitem(last=False)

    def _note(self, key: Key, *, speaks: bool) -> None:
        self._known.pop(key, None)
        self._turned_down.discard(key)
        self._known[key] = speaks, asyncio.get_running_loop().time() + HOUR
        if len(self._known) > KNOWN:
            self._turned_down.discard(self._known.popitem(last=False)[0])

    def suspect(self, key: Key) -> None:
        """Offer HTTP/2 at once with the next request: it was not found out whether the server
        speaks it.
        """
        self._note(key, speaks=True)

    def chosen(self, key: Key, host: str) -> None:
        """Book that a server has taken an offer, made on suspicion or by the host's record."""
        if self._way == NEEDED and not self.recorded(host):
            self.record_support(key, host, speaks=True, by_page=True)

    def tell(self, target: RequestTarget, error: Http2Only) -> None:
        """Log once that a server has asked for HTTP/2, if this crawl does not speak it."""
        error.off = self._way == OFF
        why = lack_for_http2(secure=target.secure)
        if not why and error.off:
            why = f"HTTP2 = {OFF}"
        if why and not self._told:
            self._told = True
            logger.warning(
                "%s speaks only HTTP/2, so its URLs fail (%s); further hosts of this kind are not "
                "named",
                target.host,
                why,
            )


# OpenSSL's words for the alert (RFC 7301 3.2): Python 3.11 has no name of it. OpenSSL 3.0.13, which
# Ubuntu 24.04 has, has no words for it, but for all other alerts of a server; 3.0.19 has them.
NO_PROTOCOL = (
    "no application protocol" if ssl.OPENSSL_VERSION_INFO >= (3, 0, 0, 19) else "unknown error"
)


class Opener:
    """Opens HTTP connections, with TLS for https."""

    def __init__(
        self,
        access: Access,
        tls: ssl.SSLContext,
        http2: Http2Offers,
        gets_secret: Callable[[RequestTarget], bool] = lambda _: False,
        verifying: VerifyingContext = verifying_context,
    ) -> None:
        """`gets_secret`: whether requests to a server have a login. `verifying`: for those."""
        self._tls = tls
        self._http2 = http2
        self._gets_secret = gets_secret
        self._verifying = cache(verifying)
        self._timeout = access.connect_timeout
        self._clock = access.clock
        self._now = access.now
        self._shortage = access.shortage
        self.reach: Reach[HttpConnection] = Reach(
            access,
            lambda opened, lost: HttpConnection(
                asyncio.get_running_loop(), access.clock, opened, lost
            ),
            "http",
        )

    def __len__(self) -> int:
        return len(self.reach)

    async def open(
        self,
        target: RequestTarget,
        timings: Timings,
        bind: Bind | None = None,
        *,
        http2: bool = False,
    ) -> HttpConnection:
        """Connect to the first address that accepts; raises FetchError.

        `http2` offers it beside HTTP/1.1.
        """
        connection = await self.reach.open(target.host, target.port, timings, bind)
        if target.secure:
            try:
                await self.secure(connection, target, timings, http2=http2)
            except TlsFailed as error:
                error.address = connection.ip
                raise
        return connection

    async def secure(
        self,
        connection: HttpConnection,
        target: RequestTarget,
        timings: Timings,
        *,
        http2: bool = False,
    ) -> None:
        """Start TLS with the target, on a connection to it or to a proxy. Raise FetchError."""
        start = self._clock()
        try:
            # The server may send its first frame before we know of the handshake's end.
            if http2:
                connection.http2 = session_of(connection)
            await self._encrypt(connection, target.host, self._context(target, http2=http2))
        except BaseException:
            connection.abort()
            # asyncio does not report a connection dropped in its handshake
            self.reach.lost(connection)
            raise
        timings.tls = self._clock() - start

    async def close(self) -> None:
        """Close all connections; return when their sockets are closed."""
        await self.reach.close()

    def _context(self, target: RequestTarget, *, http2: bool) -> ssl.SSLContext:
        if self._gets_secret(target):
            return self._verifying(PROTOCOLS if http2 else PROTOCOLS[1:])
        return self._http2.context if http2 else self._tls

    async def _encrypt(
        self, connection: HttpConnection, host: str, context: ssl.SSLContext
    ) -> None:
        """Make the TLS handshake, and note its result in the connection. Raise FetchError."""
        try:
            async with until(asyncio.get_running_loop().time() + self._timeout):
                channel = await connection.encrypt(context, _server_name(host))
        except TimeoutError as error:
            raise TlsTimeout(f"the handshake was not complete within {self._timeout} s") from error
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(error.verify_message) from error
        except OSError as error:
            if is_ours(error):
                raise self._shortage.begins(error) from error
            if NO_PROTOCOL in str(error):
                raise Http2Only("the server does not accept HTTP/1.1") from error
            raise TlsFailed(words_of(error)) from error
        connection.spoken = channel.selected_alpn_protocol() or ""
        if connection.spoken != H2:
            connection.http2 = None
        elif connection.http2 is None:
            raise Http2Only(f"the server chose HTTP/2: {without_http2_library()}")
        cipher = channel.cipher()
        connection.tls = f"{channel.version()} {cipher[0] if cipher else ''}"
        der = channel.getpeercert(binary_form=True)
        if der is None:
            return
        connection.certificate = fingerprint(der)
        # A page behind a bad certificate is a page: a crawler sends no secrets
        if context.verify_mode is ssl.CERT_NONE:
            connection.flaws = certificate_flaws(der, host, self._now())


def _server_name(host: str) -> str:
    name = host.rstrip(".")  # RFC 6066 3: without a trailing dot
    if not all(0 < len(label) < 64 for label in name.split(".")):
        raise TlsFailed(f"the host's name cannot be sent in TLS: {host[:100]!r}")
    return name


# What the library raises for malformed fields: TypeError for a bit string as a name's part. It
# parses lazily, so any access may raise.
_UNREADABLE = (
    ValueError,
    TypeError,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)


@dataclass(frozen=True, slots=True)
class _Certificate:
    """The fields that are checked."""

    begins: datetime
    ends: datetime
    names: tuple[str, ...]
    self_issued: bool


def fingerprint(der: bytes) -> str:
    """Return the fingerprint of a certificate, as browsers and certificate logs show it."""
    return f"sha256:{sha256(der).hexdigest()}"


def certificate_flaws(der: bytes, host: str, now: float) -> tuple[str, ...]:
    """Return the flaws that a browser would complain about: dates, names, self-issued.

    The chain is not verified.
    """
    certificate = _read(der)
    if certificate is None:
        return ("certificate_unreadable",)
    return tuple(_flaws(certificate, host, now))


@lru_cache(256)
def _read(der: bytes) -> _Certificate | None:
    """Parse a certificate.

    The result is cached: parsing takes 25 us, and a provider serves one certificate for hundreds
    of hosts.
    """
    try:
        with warnings.catch_warnings():
            # about malformed fields, which are parsed when they are read
            warnings.simplefilter("ignore")
            found = x509.load_der_x509_certificate(der)
            names = tuple(_names(found))
            is_self_issued = found.issuer == found.subject
        begins = found.not_valid_before_utc
        ends = found.not_valid_after_utc
        return _Certificate(begins, ends, names, self_issued=is_self_issued)
    except _UNREADABLE:
        return None


def _flaws(certificate: _Certificate, host: str, now: float) -> Iterator[str]:
    if not certificate.begins <= datetime.fromtimestamp(now, UTC) <= certificate.ends:
        yield "certificate_date"
    if not any(_matches(name, host) for name in certificate.names):
        yield "certificate_name"
    if certificate.self_issued:
        yield "certificate_self_issued"


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        alternative = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
    except x509.ExtensionNotFound:
        return []
    names = [name.lower() for name in alternative.get_values_for_type(x509.DNSName)]
    return names + [str(address) for address in alternative.get_values_for_type(x509.IPAddress)]


def _matches(name: str, host: str) -> bool:
    host = host.rstrip(".")
    if ":" in host:
        return name == str(ip_address(host))
    if name == host:
        return True
    # RFC 6125 6.4.3: a wildcard matches exactly the leftmost label
    _, dot, rest = host.partition(".")
    return dot != "" and name == f"*.{rest}"
