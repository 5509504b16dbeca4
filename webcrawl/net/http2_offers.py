"""Which servers are offered HTTP/2: all, none, or those that speak nothing else."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

from webcrawl.base.loading import missing
from webcrawl.net.connection import Connection
from webcrawl.net.connection_pool import Key
from webcrawl.net.errors import EmptyAnswer, FetchError, Http2Only, TlsFailed
from webcrawl.net.http_request import Target
from webcrawl.net.tls import tls_context

if TYPE_CHECKING:
    from webcrawl.net.http2 import Session

logger = logging.getLogger(__name__)

OFF, NEEDED, PREFER = "off", "needed", "prefer"
H2 = "h2"  # in ALPN
PROTOCOLS = (H2, "http/1.1")
KNOWN, HOUR = 10_000, 3600.0  # servers that are remembered, and for how many seconds
SAFE = ("GET", "HEAD")  # may be asked again at once
ENDS = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)  # of a handshake, without a word
ALERTS = (
    "ALERT_HANDSHAKE_FAILURE",
    "ALERT_INTERNAL_ERROR",
)  # in place of RFC 7301's, by OpenSSL's names


def without_library() -> str:
    """The line that says what to install; empty if nothing is missing."""
    return "" if find_spec("h2") is not None else missing("h2")


def mend(*, secure: bool) -> str:
    """What is missing for HTTP/2, in words; empty if it is the setting."""
    return without_library() if secure else "without TLS HTTP/2 is not spoken here: https:// may be meant"


def session_of(connection: Connection) -> Session | None:
    """What speaks HTTP/2 on it; None without the library."""
    if without_library():
        return None
    from webcrawl.net.http2 import Session  # noqa: PLC0415 - 30 ms and 3 MB, where it is needed

    return Session(connection.write)


Recorded = Callable[..., bool]  # Frontier.http2


def unheard(_host: str, *, learned: bool = False, by_page: bool = False) -> bool:
    """The memory of a client that has no frontier."""
    return learned or by_page


class Http2Offers:
    """A server that ends the handshake for HTTP/1.1 gets a second one, with both protocols; the first request too."""

    def __init__(self, way: str = OFF, context: Callable[[], ssl.SSLContext] | None = None) -> None:
        """`context` makes that of a handshake which offers both."""
        self._way, self._make = way, context or (lambda: tls_context(protocols=PROTOCOLS))
        self._known: OrderedDict[Key, tuple[bool, float]] = OrderedDict()  # and until when
        self._turned_down: set[Key] = set()  # of them those that wanted HTTP/1.1 for one URL
        self._chose: OrderedDict[Key, float] = OrderedDict()  # of those that chose HTTP/1.1, until when it counts
        self._told = False
        self.recorded: Recorded = unheard  # what the host's record says, and says from now on

    @cached_property
    def context(self) -> ssl.SSLContext:
        return self._make()

    def offered(self, key: Key, host: str) -> bool:
        """Return whether a handshake offers HTTP/2."""
        if self._way == OFF or not key[0]:
            return False
        known = self._of(key)
        return (self._way == PREFER or self.recorded(host)) if known is None else known

    def may_help(self, key: Key, error: FetchError, connection: Connection | None = None) -> bool:
        """Return whether a server that failed so may answer to HTTP/2; `connection`: which was open by then."""
        if not self.may_be_spoken(key):
            return False
        if isinstance(error, Http2Only):
            return True
        if connection is not None:
            return isinstance(error, EmptyAnswer) and not connection.spoken
        cause = error.__cause__
        if key in self._chose and self._chose[key] > asyncio.get_running_loop().time():
            return False
        refuses = isinstance(cause, ENDS) or (isinstance(cause, ssl.SSLError) and str(cause.reason).endswith(ALERTS))
        return isinstance(error, TlsFailed) and refuses

    def may_be_spoken(self, key: Key) -> bool:
        """Return whether a second handshake may show that a server speaks HTTP/2."""
        return self._way != OFF and bool(key[0]) and (self._of(key) is None or key in self._turned_down)

    def waits(self, key: Key, host: str) -> bool:
        """Return whether the next request is soon enough: pages of the host have come by HTTP/1.1, one is in frames.

        If HTTP/1.1 was tried for another URL that wanted it, this one is innocent.
        """
        if key in self._turned_down or self.recorded(host, by_page=True):
            return False
        self.suspect(key)
        return True

    def _of(self, key: Key) -> bool | None:
        known = self._known.get(key)
        return known[0] if known is not None and known[1] > asyncio.get_running_loop().time() else None

    def turned_down(self, key: Key) -> None:
        """The server wants HTTP/1.1 for one URL; a handshake shows whether it speaks that at all."""
        self._note(key, speaks=False)
        self._turned_down.add(key)

    def learn(self, key: Key, host: str, *, speaks: bool, by_page: bool = False) -> None:
        """A second handshake has shown whether the server speaks HTTP/2; `by_page`: its answer to one URL led to it.

        If other pages have come by HTTP/1.1, that is so of the one URL alone.
        """
        if not speaks or self.recorded(host, learned=True, by_page=by_page):
            self._note(key, speaks=speaks)

    def declined(self, key: Key) -> None:
        """A server has chosen HTTP/1.1: a later handshake that ends without a word is no reason to change that."""
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
        """It was not found out: next time HTTP/2 is offered at once."""
        self._note(key, speaks=True)

    def chosen(self, key: Key, host: str) -> None:
        """A server has taken an offer that was made on suspicion, or because the host's record says so."""
        if self._way == NEEDED and not self.recorded(host):
            self.learn(key, host, speaks=True, by_page=True)

    def tell(self, target: Target, error: Http2Only) -> None:
        """A server has asked for HTTP/2: if this crawl does not speak it, a line says so, once."""
        error.off = self._way == OFF
        why = mend(secure=target.secure) or (f"HTTP2 = {OFF}" if error.off else "")
        if why and not self._told:
            self._told = True
            logger.warning("%s speaks only HTTP/2, as other hosts may: their URLs fail (%s)", target.host, why)
