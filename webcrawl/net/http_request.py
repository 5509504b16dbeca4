"""Parses URLs for connections and request lines, and writes the heads of HTTP requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from webcrawl.net.codings import ACCEPTED
from webcrawl.net.errors import BadUrl

# Printable ASCII only. Userinfo is never sent: the crawl is anonymous.
_USERINFO = r"[!\"$-.0->@-\[\]-~]*@"
_HOST = r"\[[0-9A-Fa-f:.]+\]|[!\"$-.0-9;->A-Z^-~]+"

AUTHORITY = rf"(?:{_USERINFO})?({_HOST})(?::([0-9]{{0,5}}))?"
"""Its two groups are the host and the port."""
LINE_BREAKING = re.compile(rb"[\r\n\0]")
"""In a name or selector these would end the line sent and begin another."""


def host_port(host: str, port: int) -> str:
    """Return `host:port`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def queryless(scheme: str) -> re.Pattern[str]:
    """Return the expression for URLs of a scheme that has no query: a `?` is part of the path."""
    return re.compile(rf"(?i:{scheme})://{AUTHORITY}(/[!-\"$-~]*)?(?:#.*)?", re.DOTALL | re.ASCII)


def host_port_path(url: str, pattern: re.Pattern[str], default: int) -> tuple[str, int, str]:
    """Return host, port and path, without its first `/`, of a URL that `queryless` matches.

    Raise BadUrl.
    """
    match = pattern.fullmatch(url)
    if match is None:
        raise BadUrl(f"not a URL that can be requested: {url[:200]!r}")
    host, digits, path = match.groups()
    port = int(digits) if digits else default
    if not 0 < port < 65536:
        raise BadUrl(f"port {port} does not exist")
    return host.lower().strip("[]"), port, (path or "/")[1:]


# Printable ASCII only: no CR, LF, NUL or space can reach the request line.
_URL = re.compile(
    r"([Hh][Tt][Tt][Pp][Ss]?)://"
    rf"{AUTHORITY}"
    r"(/[!-\"$->@-~]*)?(\?[!-\"$-~]*)?"  # printable without # and, in the path, without ?
    r"(?:#.*)?",
    re.DOTALL,
)
_PORTS = {"http": 80, "https": 443}


class RequestTarget(NamedTuple):
    """The server and what to request; userinfo and fragment are never sent."""

    secure: bool
    host: str  # a name or a literal address, without brackets
    port: int
    authority: str  # the Host header
    path: str  # and query: the request line's origin-form


def parse_target(url: str) -> RequestTarget:
    """Parse an absolute http or https URL; raises BadUrl."""
    match = _URL.fullmatch(url)
    if match is None:
        raise BadUrl(f"not a URL that can be requested: {url[:200]!r}")
    scheme, host, digits, path, query = match.groups()
    scheme = scheme.lower()
    host = host.lower()
    port = int(digits) if digits else _PORTS[scheme]
    if not 0 < port < 65536:
        raise BadUrl(f"port {port} does not exist")
    authority = host if port == _PORTS[scheme] else f"{host}:{port}"
    target = (path or "/") + (query or "")
    return RequestTarget(scheme == "https", host.strip("[]"), port, authority, target)


Headers = Iterable[tuple[bytes, bytes]]

_METHOD = re.compile(r"[A-Z]{1,20}")
FIELD_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2, token
FIELD_VALUE = re.compile(rb"[\t -~\x80-\xff]*")  # RFC 9110 5.5: no CR, LF, NUL
# Framing headers are always ours. Scrapy's middleware adds proxy headers if the environment names a
# proxy: this client uses none, and would send the proxy's password to every server.
_FRAMING = (b"host", b"connection", b"content-length", b"transfer-encoding", b"te", b"upgrade")
_OURS = frozenset((*_FRAMING, b"proxy-authorization", b"proxy-connection"))
# RFC 9110 8.6: without any they say so, or some servers send a 411
_HAVE_CONTENT = frozenset(("PATCH", "POST", "PUT"))
# ours if requests are signed
_SIGNATURE = frozenset((b"signature", b"signature-input", b"signature-agent"))
OF_CLIENT = _OURS | _SIGNATURE | {b"user-agent", b"accept", b"accept-encoding", b"from"}
"""The headers that the crawl itself sets in every request, or may set."""


class RequestWriter:
    """Writes heads that mostly differ only in their target."""

    def __init__(self, user_agent: str, contact: str = "", *, signed: bool = False) -> None:
        """`contact`: an e-mail address to send as From.

        `signed`: the fields of a signature are added later.
        """
        self._defaults = [
            (b"User-Agent", user_agent.encode()),
            (b"Accept", b"text/html,application/xhtml+xml,*/*;q=0.8"),
            (b"Accept-Encoding", ACCEPTED),
            *([(b"From", contact.encode())] if contact else ()),
        ]
        self._ours = _OURS | _SIGNATURE if signed else _OURS
        self._usual = b"".join(_line(name, value) for name, value in self._defaults)

    def head(
        self,
        target: RequestTarget,
        headers: Headers = (),
        *,
        method: str = "GET",
        keep: bool,
        length: int = 0,
    ) -> bytes:
        """Return the head for this target.

        `headers` replace the defaults, except those that frame the message.
        """
        if not _METHOD.fullmatch(method):
            raise BadUrl(f"not a valid HTTP method: {method[:40]!r}")
        parts = [f"{method} {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n".encode("ascii")]
        parts.append(self._fields(list(headers)) if headers else self._usual)
        if length or method in _HAVE_CONTENT:
            parts.append(b"Content-Length: %d\r\n" % length)
        parts.append(b"\r\n" if keep else b"Connection: close\r\n\r\n")
        return b"".join(parts)

    def _fields(self, given: list[tuple[bytes, bytes]]) -> bytes:
        names = {name.lower() for name, _ in given}
        fields = [(name, value) for name, value in self._defaults if name.lower() not in names]
        fields += [(name, value) for name, value in given if name.lower() not in self._ours]
        return b"".join(_line(name, value) for name, value in fields)


def with_fields(head: bytes, fields: bytes) -> bytes:
    """Return the head with more fields, each with its line's end."""
    return head[:-2] + fields + b"\r\n"


def _line(name: bytes, value: bytes) -> bytes:
    if not FIELD_NAME.fullmatch(name) or not FIELD_VALUE.fullmatch(value):
        raise BadUrl(f"a header that cannot be sent: {name[:40]!r}: {value[:200]!r}")
    return b"%b: %b\r\n" % (name, value)
