"""One anonymous FTP session: the commands, their order, and what a refusal means.

Replies on the control connection (RFC 959 4.2) are parsed without I/O: bytes in, replies out.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NamedTuple

from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import BadAnswer, ConnectionLost, EmptyAnswer
from webcrawl.net.stream import Stream

_MAX_REPLY = 64 * 1024  # bytes, the same as for an HTTP head
_LINE = re.compile(rb"([1-5][0-9]{2})(?:([ -])([^\n]*))?")
# RFC 2428 3: the character between the fields may be any
_EXTENDED = re.compile(r"\((.)\1\1([0-9]{1,5})\1\)")
# RFC 1123 4.1.2.6: the six numbers are somewhere in the text, with or without parentheses
_PASSIVE = re.compile(
    r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{1,3}){3},([0-9]{1,3}),([0-9]{1,3})(?![0-9,])"
)


class NotFtp(BadAnswer, name="not_ftp"):
    """Not a valid FTP reply: another protocol, garbage, or a reply that makes no sense here."""


class ReplyTooLong(BadAnswer, name="reply_too_long"):
    """A reply with more bytes than any honest server sends."""


class FtpReply(NamedTuple):
    """The code and the text of the last line."""

    code: int
    text: str

    @property
    def kind(self) -> int:
        """Return the first digit: 1 wait for more, 2 done, 3 continue, 4 try later, 5 no."""
        return self.code // 100


class ReplyReader:
    """Feed it what arrives; `next_reply` returns the next reply once it is complete."""

    __slots__ = ("_at", "_buffer", "_opened", "_taken")

    def __init__(self) -> None:
        self._buffer = b""
        self._at = 0  # where the unread rest begins: slicing it off line by line would be quadratic
        self._opened = b""  # the code of a multi-line reply in progress
        self._taken = 0  # its bytes so far

    def feed(self, data: bytes) -> None:
        self._buffer = self._buffer[self._at :] + data
        self._at = 0

    def next_reply(self) -> FtpReply | None:
        """Return the next reply, None while it is incomplete; raises BadAnswer."""
        while True:
            start = self._at
            end = self._buffer.find(b"\n", start)
            so_far = end if end >= 0 else len(self._buffer)
            if self._taken + so_far - start > _MAX_REPLY:
                raise ReplyTooLong(f"the FTP reply has more than {_MAX_REPLY} bytes")
            if end < 0:
                return None
            self._at = end + 1
            self._taken += self._at - start
            reply = self._read(self._buffer[start:end].rstrip(b"\r"))
            if reply is not None:
                self._opened = b""
                self._taken = 0
                return reply

    def _read(self, line: bytes) -> FtpReply | None:
        """Return the reply that this line ends, or None within a reply of several lines."""
        match = _LINE.match(line)
        if self._opened:
            if match is None or not self._ends(line, match[1]):
                return None
        elif match is None or match.end() != len(line):
            raise NotFtp(repr(line[:100]))
        elif match[2] == b"-":
            self._opened = match[1]
            return None
        return FtpReply(int(match[1]), (match[3] or b"").decode("latin-1"))

    def _ends(self, line: bytes, code: bytes) -> bool:
        """Return whether a line ends a reply of several lines: it begins with the same code and a
        space (RFC 959 4.2).
        """
        return code == self._opened and line[3:4] in (b"", b" ")


def extended_port(reply: FtpReply) -> int:
    """Return the port of a reply to EPSV (RFC 2428 3); raises NotFtp."""
    match = _EXTENDED.search(reply.text)
    return _port(int(match[2]) if match else 0, reply)


def passive_port(reply: FtpReply) -> int:
    """Return the port of a reply to PASV; raises NotFtp.

    Its address is ignored: it could be anyone's (RFC 2577 3).
    """
    match = _PASSIVE.search(reply.text)
    return _port(int(match[1]) * 256 + int(match[2]) if match else 0, reply)


def _port(port: int, reply: FtpReply) -> int:
    if not 0 < port < 65536:
        raise NotFtp(f"the FTP reply names no port: {reply.code} {reply.text[:100]!r}")
    return port


def http_date(when: str) -> str:
    """Return the date of an MDTM reply (RFC 3659 2.3) in HTTP format; empty if invalid."""
    try:
        return format_datetime(
            datetime.strptime(when[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC), usegmt=True
        )
    except ValueError:
        return ""


# FTP codes as HTTP statuses, so that frontier, robots.txt rules and log readers need no second
# table.
STATUSES = {
    120: 503,  # ready in nnn minutes
    332: 403,  # needs an account
    421: 503,  # shutting down, or too many sessions
    530: 403,  # not logged in
    532: 403,
    550: 404,  # missing or forbidden: servers do not say which
    551: 404,
    553: 404,
}
BY_HUNDRED = {4: 500, 5: 400}
# A login that is refused for now, by some of the words in lftp's `ftp:retry-530`. A 403 would lose
# the page, and for robots.txt it would allow everything.
_CROWDED = re.compile(
    r"too many|overloaded|try (?:again |back )?later|maximum number|already connected|simultaneous",
    re.IGNORECASE,
)


class FtpRefused(Exception):  # noqa: N818 - an ordinary answer, not an error
    """The server refused; `status` is the HTTP status that this means."""

    def __init__(self, reply: FtpReply, status: int) -> None:
        super().__init__(f"{reply.code} {reply.text}")
        self.reply = reply
        self.status = status


class FtpSession:
    """Methods raise FetchError or FtpRefused.

    The caller sets deadlines and ends with `quit` or `abort`.
    """

    def __init__(self, control: Stream, reach: Reach[Stream]) -> None:
        self._control = control
        self._reach = reach
        self._replies = ReplyReader()
        self._heard = False
        self._left = False
        self._extended = True  # use EPSV, until the server refuses it
        self._data: Stream | None = None
        self._final: FtpReply | None = None

    @property
    def received(self) -> int:
        """Return the bytes of the answer: none as long as there is no connection for them."""
        return 0

    async def log_in(self, password: bytes) -> None:
        """Log in as anonymous; by RFC 1635 the password identifies the crawler."""
        _accept(await self._reply())
        reply = await self.command(b"USER anonymous")
        # A server may want no password
        if reply.code == 331:
            reply = await self.command(b"PASS " + password)
        _accept(reply)

    async def change_folder(self, folders: list[bytes]) -> None:
        """Change folder by folder (RFC 1738 3.2.2): only the server knows its path separator."""
        for folder in folders:
            _accept(await self.command(b"CWD " + folder))

    async def has_folder(self, name: bytes) -> bool:
        return (await self.command(b"CWD " + name)).kind == 2

    async def fact(self, command: bytes) -> str:
        """Return the reply to SIZE or MDTM (RFC 3659), empty if refused.

        Many servers know neither.
        """
        reply = await self.command(command)
        return reply.text.strip() if reply.code == 213 else ""

    async def transfer(self, command: bytes) -> Stream:
        """Send the command; the data connection that `passive` opened, on which its data arrives."""
        data = self._data
        if data is None:
            raise RuntimeError("no data connection: call passive() first")
        reply = await self.command(command)
        if reply.kind == 2:  # a short transfer, over before its start was announced
            self._final = reply
        elif reply.kind != 1:
            data.abort()
            raise refusal(reply)
        return data

    async def end(self) -> FtpReply:
        """Wait for the server's final reply to a transfer, the only proof that it was complete."""
        while self._final is None or self._final.kind == 1:
            self._final = await self._reply()
        return self._final

    def quit(self) -> None:
        """Send QUIT and close, without waiting for the reply."""
        self._control.write(b"QUIT\r\n")
        self._control.close()
        self._left = True

    def abort(self) -> None:
        """Close at once.

        After `quit` the control connection is left alone: an abort would drop unsent data.
        """
        if not self._left:
            self._control.abort()
        if self._data is not None:
            self._data.abort()

    async def command(self, line: bytes) -> FtpReply:
        self._control.write(line + b"\r\n")
        reply = await self._reply()
        if reply.code == 421:  # RFC 959 5.4: may answer any command, and ends the session
            raise refusal(reply)
        return reply

    async def passive(self) -> None:
        """Open a data connection, always to the same server.

        The address in a PASV reply is ignored.
        """
        if self._extended:
            reply = await self.command(b"EPSV")
            if reply.kind == 2:
                self._data = await self._reach.open_data(self._control.ip, extended_port(reply))
                return
            self._extended = False  # an old server: it is not asked again
        reply = await self.command(b"PASV")
        _accept(reply)
        self._data = await self._reach.open_data(self._control.ip, passive_port(reply))

    async def _reply(self) -> FtpReply:
        """Return the server's next reply. Raise FetchError if the connection ends."""
        while (reply := self._replies.next_reply()) is None:
            data = await self._control.read()
            if not data and self._heard:
                raise ConnectionLost("within the session")
            if not data:
                raise EmptyAnswer("the FTP server sent no greeting")
            self._heard = True
            self._replies.feed(data)
        return reply


def refusal(reply: FtpReply) -> FtpRefused:
    """Return the error that a negative reply means.

    Raise NotFtp if the reply makes no sense here.
    """
    status = STATUSES.get(reply.code) or BY_HUNDRED.get(reply.kind)
    if reply.code == 530 and _CROWDED.search(reply.text):
        status = STATUSES[421]
    if status is None:
        raise NotFtp(f"unexpected FTP reply {reply.code}")
    return FtpRefused(reply, status)


def _accept(reply: FtpReply) -> None:
    if reply.kind != 2:
        raise refusal(reply)
