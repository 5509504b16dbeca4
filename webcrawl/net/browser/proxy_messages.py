"""The HTTP/1.1 heads of a browser's requests to a proxy and of the answers, within bounds."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass

Headers = list[tuple[bytes, bytes]]

# Of one connection, or made anew by whoever sends the message on (RFC 9110 7.6.1).
_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade", b"content-length"),
    )
)
# The crawl says itself who it is and what it can decode, and has no older copy of anything.
_ASKED = _HOP | {b"host", b"user-agent", b"accept-encoding", b"if-none-match", b"if-modified-since"}
_ANSWERED = _HOP | {b"content-encoding", b"alt-svc"}  # the body is decoded; other ways to the server are closed
_HINTS = b"sec-ch-"  # client hints: they describe the browser, not the crawler


class BadMessage(Exception):  # noqa: N818 - as in net/errors.py
    """Not a request that a proxy can read."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request of a browser's."""

    method: str
    target: str
    headers: Headers

    def header(self, name: bytes) -> bytes:
        """The first value of a header, by its name in lower case; empty if there is none."""
        return next((value for given, value in self.headers if given.lower() == name), b"")

    @property
    def password(self) -> str:
        """The one of its Proxy-Authorization; empty if there is none."""
        scheme, _, word = self.header(b"proxy-authorization").partition(b" ")
        if scheme.lower() != b"basic":
            return ""
        try:
            return b64decode(word.strip(), validate=True).decode("ascii").partition(":")[2]
        except ValueError:
            return ""

    def onward(self) -> Headers:
        """The headers that go to the server."""
        return [
            (name, value)
            for name, value in self.headers
            if name.lower() not in _ASKED and not name.lower().startswith(_HINTS)
        ]


@dataclass(frozen=True, slots=True)
class Told:
    """The answer that a browser gets."""

    status: int
    headers: Headers
    body: bytes = b""

    def encode(self, *, bodiless: bool = False) -> bytes:
        """The message. A header that could end its line is left out."""
        lines = [b"HTTP/1.1 %d \r\n" % self.status]
        lines += [b"%b: %b\r\n" % (name, value) for name, value in self.headers if _may_pass(name, value)]
        lines.append(b"Content-Length: %d\r\n\r\n" % len(self.body))
        return b"".join(lines) if bodiless else b"".join((*lines, self.body))


def refusal(status: int, why: str) -> Told:
    """An answer of the proxy's own."""
    return Told(status, [(b"Content-Type", b"text/plain; charset=utf-8")], why.encode())


def read_ask(head: bytes) -> Ask:
    """The request that this head is; raises BadMessage."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        raise BadMessage(f"not a request line: {first[:100]!r}")
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip():
            raise BadMessage(f"not a header: {line[:100]!r}")
        headers.append((name, value.strip()))
    try:
        return Ask(words[0].decode("ascii"), words[1].decode("ascii"), headers)
    except UnicodeDecodeError as error:
        raise BadMessage("not ASCII") from error


def _may_pass(name: bytes, value: bytes) -> bool:
    return name.lower() not in _ANSWERED and not any(byte in name + value for byte in b"\r\n\0")
