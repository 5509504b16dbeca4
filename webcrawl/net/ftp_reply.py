"""What an FTP server says on the control connection (RFC 959 4.2): bytes in, replies out, no I/O."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NamedTuple

from webcrawl.net.errors import BadAnswer

_MAX_REPLY = 64 * 1024  # bytes; as much as a head of HTTP may have
_LINE = re.compile(rb"([1-5][0-9]{2})(?:([ -])([^\n]*))?")
_EXTENDED = re.compile(r"\((.)\1\1([0-9]{1,5})\1\)")
_PASSIVE = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{1,3}){3},([0-9]{1,3}),([0-9]{1,3})(?![0-9,])")


class NotFtp(BadAnswer):
    """No reply of FTP: another protocol, rubbish, or a reply that makes no sense here."""

    name = "not_ftp"


class ReplyTooLong(BadAnswer):
    """A reply with more bytes than any honest server sends."""

    name = "reply_too_long"


class Reply(NamedTuple):
    """The code, and the text of the last line."""

    code: int
    text: str

    @property
    def kind(self) -> int:
        """1 go on waiting, 2 done, 3 say more, 4 not now, 5 no."""
        return self.code // 100


class ReplyReader:
    """Feed it what arrives; `take` gives the next reply, once it is there whole."""

    __slots__ = ("_at", "_buffer", "_opened", "_taken")

    def __init__(self) -> None:
        self._buffer = b""
        self._at = 0  # where the rest begins: to cut it off line by line would cost the square of their number
        self._opened = b""  # the code of the reply of several lines that has begun
        self._taken = 0  # bytes of it

    def feed(self, data: bytes) -> None:
        self._buffer, self._at = self._buffer[self._at :] + data, 0

    def take(self) -> Reply | None:
        """The next reply, None while it is not there whole; raises BadAnswer."""
        while True:
            start = self._at
            end = self._buffer.find(b"\n", start)
            if self._taken + (end if end >= 0 else len(self._buffer)) - start > _MAX_REPLY:
                raise ReplyTooLong(f"more than {_MAX_REPLY} bytes")
            if end < 0:
                return None
            self._at = end + 1
            self._taken += self._at - start
            reply = self._read(self._buffer[start:end].rstrip(b"\r"))
            if reply is not None:
                self._opened, self._taken = b"", 0
                return reply

    def _read(self, line: bytes) -> Reply | None:
        match = _LINE.match(line)
        if self._opened:  # RFC 959 4.2: ends with the line that begins with the same code and a space
            last = match is not None and match[1] == self._opened and line[3:4] in (b"", b" ")
            if match is None or not last:
                return None
        elif match is None or match.end() != len(line):
            raise NotFtp(repr(line[:100]))
        elif match[2] == b"-":
            self._opened = match[1]
            return None
        return Reply(int(match[1]), (match[3] or b"").decode("latin-1"))


def extended_port(reply: Reply) -> int:
    """The port of a reply to EPSV (RFC 2428 3); raises NotFtp."""
    match = _EXTENDED.search(reply.text)
    return _port(int(match[2]) if match else 0, reply)


def passive_port(reply: Reply) -> int:
    """The port of a reply to PASV; raises NotFtp. Its address is not even read: it may be anybody's (RFC 2577 3)."""
    match = _PASSIVE.search(reply.text)
    return _port(int(match[1]) * 256 + int(match[2]) if match else 0, reply)


def _port(port: int, reply: Reply) -> int:
    if not 0 < port < 65536:
        raise NotFtp(f"no port in {reply.code} {reply.text[:100]!r}")
    return port


def http_date(when: str) -> str:
    """The date of a MDTM (RFC 3659 2.3) as HTTP writes it; empty if it is none."""
    try:
        return format_datetime(datetime.strptime(when[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC), usegmt=True)
    except ValueError:
        return ""
