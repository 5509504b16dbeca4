"""An FTP client for crawling: one file or listing per login, everything bounded.

See docs/network-inside.md#ftp-and-gopher.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from webcrawl.base.model import Exchange, Timings
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import BadOption, BadUrl, ConnectTimeout, FetchError, TimedOut, Untried
from webcrawl.net.ftp_listing import LISTING
from webcrawl.net.ftp_session import FtpRefused, FtpReply, FtpSession, http_date, refusal
from webcrawl.net.http_request import LINE_BREAKING, Headers, host_port_path, queryless
from webcrawl.net.protocols import PLAIN, Access, FetchLimits, FetchProgress, Options
from webcrawl.net.reading_limits import Claim, claim_of
from webcrawl.net.shortage import until
from webcrawl.net.stream import Stream, read_body, type_of

_URL = queryless("ftp")  # RFC 1738 has no query: a `?` is part of the name, as for curl
_TYPE = re.compile(r";type=([aidAID])$")
_MAX_FOLDERS = 100  # one round trip each


class FtpTarget(NamedTuple):
    """The server, the folders to enter one by one, and the file; names are bytes."""

    host: str
    port: int
    folders: list[bytes]
    name: bytes  # empty for a listing
    ascii: bool


def parse_ftp(url: str) -> FtpTarget:
    """Parse an absolute FTP URL. Raise BadUrl if it cannot be used."""
    host, port, path = host_port_path(url, _URL, 21)
    path, kind = split_type(path)
    *folders, name = [unquote_to_bytes(segment) for segment in path.split("/")]
    if LINE_BREAKING.search(b"".join((*folders, name))):
        raise BadUrl(f"the path cannot be sent by FTP: {url[:200]!r}")
    if kind == "d":
        folders = [*folders, name]
        name = b""
    if len(folders) > 1 and not folders[0]:
        # `//etc` is relative to the root, as for curl; other empty names are ignored
        folders[0] = b"/"
    folders = [folder for folder in folders if folder]
    if len(folders) > _MAX_FOLDERS:
        raise BadUrl(f"the path is {len(folders)} folders deep")
    return FtpTarget(host, port, folders, name, kind == "a")


def split_type(path: str) -> tuple[str, str]:
    """Return the path before `;type=`, and the letter after it in lower case, empty if there is
    none.
    """
    match = _TYPE.search(path)
    return (path[: match.start()], match[1].lower()) if match else (path, "")


def as_folder(url: str) -> str:
    """Return the URL of a folder, with a final `/` so that its entries can be relative to it."""
    return quote(split_type(url.partition("#")[0])[0], safe="!$%&'()*+,/:;=@[]~") + "/"


# seconds to wait for the server's confirmation after the last byte of a transfer
CONFIRMATION_TIMEOUT = 5.0


@dataclass(slots=True)
class _Visit:
    """The state of one fetch."""

    url: str
    target: FtpTarget
    started: float
    begun: float
    deadline: float
    bounds: FetchLimits
    timings: Timings = field(default_factory=Timings)
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    status: int = 200
    size: int | None = None  # as announced by the server
    ip: str = ""
    payload: bytes = b""
    truncated: str = ""
    claim: Claim | None = None  # on room for a large file

    def say(self, name: bytes, value: str) -> None:
        self.headers.append((name, value.encode("latin-1", "replace")))


class FtpClient:
    """Fetches ftp URLs. Concurrency and politeness are up to the caller."""

    def __init__(self, access: Access, bounds: FetchLimits, *, user_agent: str) -> None:
        """`user_agent` is the password of the anonymous login."""
        # RFC 1635: the password is a mail address; some servers check only for its @.
        agent = user_agent if "@" in user_agent else f"{user_agent}@"
        # A line end would begin another command.
        self._password = "".join(c if " " <= c <= "~" else " " for c in agent).encode()
        self._bounds = bounds
        self._clock = access.clock
        self._now = access.now
        self._bandwidth = access.bandwidth
        self._room = access.room
        self._reach: Reach[Stream] = Reach(access, Stream, "ftp")

    def use(self, bounds: FetchLimits) -> None:
        """Apply these limits to the following requests."""
        self._bounds = bounds

    async def fetch(
        self,
        url: str,
        headers: Headers = (),  # noqa: ARG002 - FTP has none
        *,
        keep: float = 0.0,  # noqa: ARG002 - one login per fetch: servers limit their sessions
        method: str = "GET",
        body: bytes = b"",  # noqa: ARG002
        options: Options = PLAIN,
        watch: FetchProgress | None = None,
    ) -> Exchange:
        """Fetch the file or listing that the URL names, within `timeout` seconds.

        Raise FetchError.
        """
        if method != "GET":
            raise BadUrl(f"ftp: only GET is possible, not {method}: {url[:200]!r}")
        if options.proxy is not None or options.bind is not None:
            raise BadOption(
                "ftp: neither a proxy nor a local address can be chosen for one request"
            )
        loop = asyncio.get_running_loop()
        bounds = self._bounds.for_request(options)
        deadline = loop.time() + bounds.timeout
        visit = _Visit(url, parse_ftp(url), self._now(), self._clock(), deadline, bounds)
        session: FtpSession | None = None
        try:
            async with until(visit.deadline):
                session = await self._call(visit)
            if watch is not None:
                watch.source = session
            async with until(min(visit.deadline, bounds.patience(loop.time(), 0))):
                data = await self._ask(session, visit)
            if watch is not None:
                watch.source = data
            await self._read(session, data, visit)
        except TimeoutError as error:
            kind = TimedOut if session is not None else ConnectTimeout
            raise kind("the server sent nothing in time") from error
        except FtpRefused as refused:
            visit.status = refused.status
            visit.headers = []  # those of the file, which did not come
            visit.say(b"ftp-reply", str(refused))
            if session is not None:
                session.quit()
        finally:
            if session is not None:
                session.abort()
        return self._exchange(visit)

    async def close(self) -> None:
        """Close all connections and wait until their sockets are closed."""
        await self._reach.close()

    async def _call(self, visit: _Visit) -> FtpSession:
        control = await self._reach.open(visit.target.host, visit.target.port, visit.timings)
        visit.ip = control.ip
        return FtpSession(control, self._reach)

    async def _ask(self, session: FtpSession, visit: _Visit) -> Stream | None:
        """Log in and start the transfer: its data connection, or None for a redirect."""
        requested_at = self._clock()
        await session.log_in(self._password)
        await session.change_folder(visit.target.folders)
        data = await (self._file(session, visit) if visit.target.name else _listing(session, visit))
        visit.timings.first_byte = self._clock() - requested_at
        return data

    async def _file(self, session: FtpSession, visit: _Visit) -> Stream | None:
        """Begin to download a file, and note its size, date and type in the visit.

        Return the connection for data, or None if the URL is a folder, to which the visit then
        redirects.
        """
        name = visit.target.name
        await session.command(b"TYPE A" if visit.target.ascii else b"TYPE I")
        size = await session.fact(b"SIZE " + name)
        when = await session.fact(b"MDTM " + name)
        await session.passive()
        try:
            data = await session.transfer(b"RETR " + name)
        except FtpRefused as refused:
            # A URL without the final slash may name a folder: only the server knows
            if refused.reply.kind != 5 or not await session.has_folder(name):
                raise
            # A redirect gives the listing one URL, to which its entries are relative.
            visit.status = 301
            visit.say(b"location", as_folder(visit.url))
            return None
        kind = type_of(name)
        if kind:
            visit.say(b"content-type", kind)
        # A server may send any text; so many digits fit a file's size in 64 bits
        is_number = size.isascii() and size.isdigit()
        if is_number and len(size) < 19:
            visit.size = int(size)
            visit.say(b"content-length", size)
        if modified := http_date(when):
            visit.say(b"last-modified", modified)
        return data

    async def _read(self, session: FtpSession, data: Stream | None, visit: _Visit) -> None:
        """Read the data into the visit, and note if it is truncated; `data` is None for a redirect.

        Raise FtpRefused if the server sends a refusal instead of data.
        """
        if data is None:
            session.quit()
            return
        claim = visit.claim = claim_of(self._room, visit.bounds.truncate)
        try:
            visit.payload, visit.truncated = await read_body(
                data,
                visit.bounds.truncate,
                visit.deadline,
                bounds=visit.bounds,
                bandwidth=self._bandwidth,
                claim=claim,
            )
        finally:
            if claim is not None:
                claim.loaded()
                # The wait for room is our doing, so it counts neither as slowness nor as time.
                visit.deadline += claim.held
                visit.begun += claim.held
        visit.bounds.check(visit.truncated)
        if visit.truncated:
            return
        reply = await _last_word(session, visit.deadline)
        # Some servers say 150 or 125 before they open the file, and 550 afterwards
        if reply is not None and reply.kind in (4, 5) and not visit.payload:
            raise refusal(reply)
        is_confirmed = reply is not None and reply.kind == 2
        # In ASCII the server writes line ends anew, so the sizes differ
        is_whole = visit.target.ascii or visit.size is None or len(visit.payload) >= visit.size
        if not is_confirmed or not is_whole:
            visit.truncated = "disconnect"
        session.quit()

    def _exchange(self, visit: _Visit) -> Exchange:
        """Return the exchange of a visit that is over."""
        visit.timings.total = self._clock() - visit.begun
        # The archive keeps a listing's bytes as they came, and digests are computed from them.
        payload = visit.payload
        body = payload
        # Half a line of a listing would be another name.
        is_truncated_listing = visit.truncated and not visit.target.name
        if is_truncated_listing:
            body = payload[: payload.rfind(b"\n") + 1]
        return Exchange(
            url=visit.url,
            request=b"",
            status=visit.status,
            head=b"",
            headers=visit.headers,
            wire=payload,
            payload=payload,
            body=body,
            ip=visit.ip,
            started=visit.started,
            timings=visit.timings,
            truncated=visit.truncated,
            claim=visit.claim,
        )


async def _listing(session: FtpSession, visit: _Visit) -> Stream:
    """Start the transfer of a listing.

    MLSD is machine-readable (RFC 3659 7); LIST is made for people, but every server knows it.
    """
    await session.passive()
    try:
        data = await session.transfer(b"MLSD")
    except FtpRefused as refused:
        # RFC 959 4.2.1: 4yz may pass, and 5yz stays. So the server does not know the command.
        if refused.reply.kind != 5:
            raise
    else:
        visit.say(b"content-type", f"{LISTING}; format=mlsd")
        return data
    await session.passive()
    data = await session.transfer(b"LIST")
    visit.say(b"content-type", f"{LISTING}; format=list")
    return data


async def _last_word(session: FtpSession, deadline: float) -> FtpReply | None:
    try:
        async with until(min(deadline, asyncio.get_running_loop().time() + CONFIRMATION_TIMEOUT)):
            return await session.end()
    except Untried:
        raise
    except (TimeoutError, FetchError):
        return None
