"""One anonymous visit to an FTP server: what is said, in which order, and what a refusal means."""

from __future__ import annotations

from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import ConnectionLost, EmptyAnswer
from webcrawl.net.ftp_reply import NotFtp, Reply, ReplyReader, extended_port, passive_port
from webcrawl.net.stream import Stream

# What HTTP would say, so that frontier, robots.txt rules and log readers need no second table. Others by the hundred.
STATUSES = {
    120: 503,  # ready in nnn minutes
    332: 403,  # an account is wanted
    421: 503,  # closing down, or too many visitors
    530: 403,  # not logged in
    532: 403,
    550: 404,  # not there, or not for us: servers do not say which
    551: 404,
    553: 404,
}
BY_HUNDRED = {4: 500, 5: 400}


class FtpRefused(Exception):  # noqa: N818 - an ordinary answer, no error
    """The server says no; an answer like any other."""

    def __init__(self, reply: Reply, status: int) -> None:
        super().__init__(f"{reply.code} {reply.text}")
        self.reply, self.status = reply, status


class FtpSession:
    """Its methods raise FetchError or FtpRefused; deadlines are the caller's, who also calls `quit` or `abort`."""

    def __init__(self, control: Stream, reach: Reach[Stream]) -> None:
        self._control, self._reach = control, reach
        self._replies = ReplyReader()
        self._heard = self._left = False
        self._extended = True  # EPSV, until it is refused
        self._data: Stream | None = None
        self._final: Reply | None = None

    async def log_in(self, password: bytes) -> None:
        """As anonymous; RFC 1635 wants to know who comes."""
        _accept(await self._reply())
        reply = await self.command(b"USER anonymous")
        if reply.code == 331:
            reply = await self.command(b"PASS " + password)
        _accept(reply)

    async def enter(self, folders: list[bytes]) -> None:
        """Folder by folder, as RFC 1738 3.2.2 has it: only the server knows what joins two names."""
        for folder in folders:
            _accept(await self.command(b"CWD " + folder))

    async def has_folder(self, name: bytes) -> bool:
        return (await self.command(b"CWD " + name)).kind == 2

    async def fact(self, command: bytes) -> str:
        """What SIZE or MDTM say (RFC 3659); many servers know neither."""
        reply = await self.command(command)
        return reply.text.strip() if reply.code == 213 else ""

    async def transfer(self, command: bytes) -> Stream:
        """The data connection, `passive`'s last one, on which now comes what the command asks for."""
        data = self._data
        if data is None:
            raise RuntimeError("no data connection was made")
        reply = await self.command(command)
        if reply.kind == 2:  # a short one, over before its beginning was told
            self._final = reply
        elif reply.kind != 1:
            data.abort()
            raise refusal(reply)
        return data

    async def end(self) -> Reply:
        """The server's last word on a transfer: only this says that it was whole."""
        while self._final is None or self._final.kind == 1:
            self._final = await self._reply()
        return self._final

    def quit(self) -> None:
        """Leave politely; nobody waits for the answer."""
        self._control.write(b"QUIT\r\n")
        self._control.close()
        self._left = True

    def abort(self) -> None:
        """End at once what has not been left: an abort drops what is still to be written."""
        if not self._left:
            self._control.abort()
        if self._data is not None:
            self._data.abort()

    async def command(self, line: bytes) -> Reply:
        self._control.write(line + b"\r\n")
        reply = await self._reply()
        if reply.code == 421:  # RFC 959 5.4: may come to any command, and is the last word
            raise refusal(reply)
        return reply

    async def passive(self) -> None:
        """Make a data connection, always to the server that we talk to: what PASV says of an address is ignored."""
        if self._extended:
            reply = await self.command(b"EPSV")
            if reply.kind == 2:
                self._data = await self._reach.connect(self._control.ip, extended_port(reply))
                return
            self._extended = False
        reply = await self.command(b"PASV")
        _accept(reply)
        self._data = await self._reach.connect(self._control.ip, passive_port(reply))

    async def _reply(self) -> Reply:
        while (reply := self._replies.take()) is None:
            data = await self._control.read()
            if not data:
                raise ConnectionLost("within the talk") if self._heard else EmptyAnswer("no word of greeting")
            self._heard = True
            self._replies.feed(data)
        return reply


def refusal(reply: Reply) -> FtpRefused:
    """What a reply means that is no yes; raises NotFtp if it cannot be one to what was said."""
    status = STATUSES.get(reply.code) or BY_HUNDRED.get(reply.kind)
    if status is None:
        raise NotFtp(f"{reply.code} has no place here")
    return FtpRefused(reply, status)


def _accept(reply: Reply) -> None:
    if reply.kind != 2:
        raise refusal(reply)
