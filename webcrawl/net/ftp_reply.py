"""Parses FTP replies on the control connection (RFC 959 4.2): bytes in, replies out, no I/O."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NamedTuple

from webcrawl.net.errors import BadAnswer

_MAX_REPLY = 64 * 1024  # bytes, the same as for an HTTP head
_LINE = re.compile(rb"([1-5][0-9]{2})(?:([ -])([^\n]*))?")
_EXTENDED = re.compile(r"\((.)\1\1([0-9]{1,5})\1\)")
_PASSIVE = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{1,3}){3},([0-9]{1,3}),([0-9]{1,3})(?![0-9,])")


class NotFtp(BadAnswer):
    """Not a valid FTP reply: another protocol, garbage, or a reply that makes no sense here."""

    name = "not_ftp"


class ReplyTooLong(BadAnswer):
    """A reply with more bytes than any honest server sends."""

    name = "reply_too_long"


class Reply(NamedTuple):
    """The code and the text of the last line."""

    code: int
    text: str

    @property
    def kind(self) -> int:
        """The first digit: 1 wait for more, 2 done, 3 continue, 4 try later, 5 no."""
        return self.code // 100


class ReplyReader:
    """Feed it what arrives; `take` returns the next reply once it is complete."""

    __slots__ = ("_at", "_buffer", "_opened", "_taken")

    def __init__(self) -> None:
        self._buffer = b""
        self._at = 0  # where the unread rest begins: slicing it off line by line would be quadratic
        self._opened = b""  # the code of a multi-line reply in progress
        self._taken = 0  # its bytes so far

    def feed(self, data: bytes) -> None:
        self._buffer, self._at = self._buffer[self._at :] + data, 0

    def take(self) -> Reply | None:
        """The next reply, None while it is incomplete; raises BadAnswer."""
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
        if self._opened:  # RFC 959 4.2: ends at the line that begins with the same code and a space
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
    """The port of a reply to PASV; raises NotFtp. Its address is ignored: it could be anyone's (RFC 2577 3)."""
    match = _PASSIVE.search(reply.text)
    return _port(int(match[1]) * 256 + int(match[2]) if match else 0, reply)


def _port(port: int, reply: Reply) -> int:
    if not 0 < port < 65536:
        raise NotFtp(f"no port in {reply.code} {reply.text[:100]!r}")
    return port


def http_date(when: str) -> str:
    """The date of an MDTM reply (RFC 3659 2.3) in HTTP format; empty if invalid."""
    try:
        return format_datetime(datetime.strptime(when[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC), usegmt=True)
    except ValueError:
        return ""
