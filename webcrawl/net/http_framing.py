"""Where a response's body ends, and its codings: RFC 9112 6.3."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.net.http_head import Head

_TELLING = frozenset((b"content-length", b"transfer-encoding", b"content-encoding", b"connection"))


@dataclass(slots=True)
class Framing:
    """How to read the data after the head."""

    chunked: bool
    length: int | None  # None: until the connection closes, unless chunked
    codings: list[bytes]  # in the order they were applied
    persistent: bool  # whether the connection may be reused


def frame(head: Head, *, bodiless: bool = False) -> Framing:
    """The framing that this head declares; `bodiless`: the response to HEAD."""
    told: dict[bytes, list[bytes]] = {}
    for name, value in head.headers:
        if (lower := name.lower()) in _TELLING:
            tokens = _tokens(value)
            told[lower] = told[lower] + tokens if lower in told else tokens
    options = told.get(b"connection", ())
    persistent = b"close" not in options and (head.version == "1.1" or b"keep-alive" in options)
    codings = told.get(b"content-encoding", [])
    if bodiless or head.status in (204, 304):
        return Framing(chunked=False, length=0, codings=codings, persistent=persistent)
    if transfer := told.get(b"transfer-encoding"):
        chunked = transfer[-1] == b"chunked"
        while transfer[-1:] == [b"chunked"]:
            transfer.pop()
        # Transfer codings wrap the content codings and are decoded in the same way.
        codings = codings + transfer
        return Framing(chunked=chunked, length=None, codings=codings, persistent=persistent and chunked)
    lengths = told.get(b"content-length")
    length = int(lengths[0]) if lengths else None
    return Framing(chunked=False, length=length, codings=codings, persistent=persistent and length is not None)


def _tokens(value: bytes) -> list[bytes]:
    return [token for part in value.lower().split(b",") if (token := part.strip())]
