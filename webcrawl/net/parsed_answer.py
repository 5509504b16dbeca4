"""An exchange made of what somebody else's client says of an answer, where the bytes of the wire are not known."""

from __future__ import annotations

import re
from dataclasses import dataclass

from webcrawl.base.model import Exchange, Timings
from webcrawl.net.codings import UnknownCoding, decoder, most_coded
from webcrawl.net.http_framing import status_line

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2, token
_BREAKING = re.compile(rb"[\r\n\0]+")
_FRAMING = frozenset((b"transfer-encoding", b"content-length"))  # of the wire; the payload has its own length


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The parts of an answer that a client gives: the payload without transfer coding, with its content coding."""

    url: str
    status: int
    headers: list[tuple[bytes, bytes]]
    payload: bytes
    ip: str = ""
    protocol: str = ""  # such as HTTP/1.1 or h2
    truncated: str = ""  # WARC's reasons

    def exchange(self, *, made_by: str, started: float, seconds: float, truncate: int) -> Exchange:
        """The exchange, with a head that is put together, and at most `truncate` bytes of a decoded body."""
        payload, body, truncated, flaws = _bounded(self.payload, _codings(self.headers), truncate)
        return Exchange(
            url=self.url,
            request=b"",  # what was sent is not known
            status=self.status,
            head=_head(self.status, self.headers, len(payload)),
            headers=self.headers,
            wire=payload,
            payload=payload,
            body=body,
            ip=self.ip,
            started=started,
            timings=Timings(total=seconds),
            truncated=self.truncated or truncated,
            flaws=flaws,
            made_by=made_by,
            protocol=self.protocol,
        )


def _bounded(payload: bytes, codings: list[bytes], limit: int) -> tuple[bytes, bytes, str, tuple[str, ...]]:
    """Payload and decoded body within bounds, why they are cut, and what was wrong."""
    flaws: list[str] = []
    try:
        decoding = decoder(codings, limit)
    except UnknownCoding:
        flaws.append("unknown_coding")
        decoding = None
    most = limit if decoding is None else most_coded(limit)
    cut, payload = len(payload) > most, payload[:most]
    if decoding is None or not payload:
        return payload, payload, "length" if cut else "", tuple(flaws)
    decoding.feed(payload)
    if not cut:
        decoding.finish()
    if decoding.broken:
        flaws.append("coding")
        if not decoding.started:  # a wrong label: it may still be text
            cut = cut or len(payload) > limit
            return payload, payload[:limit], "length" if cut else "", tuple(flaws)
    return payload, decoding.body, "length" if cut or decoding.full else "", tuple(flaws)


def _codings(headers: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Content codings in the order they were applied."""
    values = b",".join(value for name, value in headers if name.lower() == b"content-encoding")
    return [token for part in values.lower().split(b",") if (token := part.strip())]


def _head(status: int, headers: list[tuple[bytes, bytes]], length: int) -> bytes:
    """A head in HTTP/1.1's form, which all readers of archives know, whatever protocol was spoken."""
    lines = [status_line(status)]
    for name, value in headers:
        if _NAME.fullmatch(name) and name.lower() not in _FRAMING:
            lines.append(b"%b: %b\r\n" % (name, _BREAKING.sub(b" ", value)))
    return b"".join((*lines, b"Content-Length: %d\r\n\r\n" % length))
