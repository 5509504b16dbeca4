"""An HTTP proxy as a request names it, and what is said to it: CONNECT for https, the whole URL for http."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from webcrawl.net.errors import BadOption
from webcrawl.net.host_port import host_port
from webcrawl.net.http_answer import Answer
from webcrawl.net.http_message import Message
from webcrawl.net.http_request import Target

_PORT = 80  # as Scrapy has it
_VALUE = re.compile(rb"[ -~]*")


class Proxy(NamedTuple):
    """The proxy's address, and the credentials for it."""

    host: str
    port: int
    auth: bytes = b""  # the value of Proxy-Authorization

    def __str__(self) -> str:
        """Without the credentials: it is logged."""
        return host_port(self.host, self.port)


def parse_proxy(url: str, auth: bytes = b"") -> Proxy:
    """The proxy at this URL, whose scheme may be missing; credentials in it count if `auth` is empty."""
    scheme, separator, rest = url.rpartition("://")
    parts = urlsplit(f"http://{rest if separator else url.removeprefix('//')}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if scheme.lower() not in ("", "http"):
        raise BadOption(f"proxy {_shown(scheme, host, port)}: only http:// proxies are supported")
    if not host or not host.isascii() or port == 0:
        raise BadOption("proxy: not http://[user:password@]host[:port]")  # not shown: it may contain a password
    if parts.username and not auth:
        auth = b"Basic " + b64encode(f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode())
    if not _VALUE.fullmatch(auth):
        raise BadOption(f"proxy {host}: not credentials that can be sent")
    return Proxy(host, port or _PORT, auth)


def whole_url(target: Target) -> Target:
    """The target for a request line in absolute form (RFC 9112 3.2.2)."""
    secure, host, port, authority, path = target
    return Target(secure, host, port, authority, f"http://{authority}{path}")


def with_credentials(head: bytes, proxy: Proxy) -> bytes:
    """The head that the proxy gets; the archive has the one without."""
    return head[:-2] + b"Proxy-Authorization: %b\r\n\r\n" % proxy.auth if proxy.auth else head


def connect_head(target: Target, proxy: Proxy, user_agent: str) -> bytes:
    """Asks for a tunnel (RFC 9110 9.3.6)."""
    server = host_port(target.host, target.port)
    return with_credentials(
        f"CONNECT {server} HTTP/1.1\r\nHost: {server}\r\nUser-Agent: {user_agent}\r\n\r\n".encode(), proxy
    )


class TunnelAnswer(Answer):
    """The answer to CONNECT, which ends with its head. Its connection stays open if it is 2xx, even in HTTP/1.0."""

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
        self.complete, self.excess = message.complete, message.excess

    @property
    def reusable(self) -> bool:
        """True if the tunnel is open; bytes before the handshake can only be somebody else's."""
        return 200 <= self.head.status < 300 and not self.excess


def _shown(scheme: str, host: str | None, port: int | None) -> str:
    return f"{scheme}://{host or ''}{f':{port}' if port else ''}"
