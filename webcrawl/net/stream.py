"""Connections read piece by piece, and bodies that last until they end, for FTP and Gopher."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from mimetypes import MimeTypes
from typing import cast

from webcrawl.net.connection_reach import Heard
from webcrawl.net.errors import Untried
from webcrawl.net.protocols import FetchLimits
from webcrawl.net.reading_limits import BYTES_WITHOUT_CLAIM, Bandwidth, Claim
from webcrawl.net.shortage import until

_TYPES = MimeTypes(())  # only Python's table: the system's differs between machines
_PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def type_of(name: bytes) -> str:
    """Return the content type for this file name.

    Empty if unknown, and then the body may be sniffed.
    """
    ending = name[-20:].rpartition(b"/")[2].decode("latin-1")
    kind, packing = _TYPES.guess_type(f"x{ending}")
    if packing:
        return _PACKED.get(packing, "application/octet-stream")
    return kind or ""


_MOST_UNREAD = 256 * 1024  # unread bytes at which the transport stops reading


class Stream(asyncio.Protocol):
    """Buffers what arrives, up to a bound, until it is read. One reader at a time."""

    __slots__ = (
        "_buffer",
        "_ended",
        "_lost",
        "_opened",
        "_paused",
        "_transport",
        "_waiter",
        "first_byte",
        "ip",
        "received",
        "reset",
    )

    def __init__(self, opened: Heard[Stream], lost: Heard[Stream]) -> None:
        """`opened` and `lost` are called when the connection begins and ends."""
        self._opened = opened
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._paused = False
        self.reset = False  # whether it ended uncleanly
        self.received = 0  # bytes
        self.first_byte = 0.0  # when it arrived, in the loop's time
        self.ip = ""

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def read(self) -> bytes:
        """Wait for data and return it; empty at the end, clean or not."""
        while not self._buffer and not self._ended:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = bytes(self._buffer)
        self._buffer.clear()
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    def abort(self) -> None:
        """Close the connection at once and drop pending data."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close the connection after sending what was written."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._opened(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes for the reader; if it does not keep up, stop reading from the socket."""
        if not self.first_byte:
            self.first_byte = asyncio.get_running_loop().time()
        self._buffer += data
        self.received += len(data)
        # What is not read fills the window of TCP, and the server sends no more.
        if len(self._buffer) > _MOST_UNREAD and self._transport is not None and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Note that the server has closed its side.

        The transport closes ours after sending what was written.
        """
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._transport = None
        self.reset = exc is not None
        self._wake()
        self._lost(self)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def read_body(
    stream: Stream,
    limit: int,
    deadline: float,
    *,
    complete: Callable[[bytes], bool] | None = None,
    patience: float = 0.0,
    bounds: FetchLimits | None = None,
    bandwidth: Bandwidth | None = None,
    claim: Claim | None = None,
) -> tuple[bytes, str]:
    """Return at most `limit` bytes of body, and why it is truncated, in WARC's words.

    `deadline` is in the loop's time.

    If `complete` recognises the last bytes as an end, the server has `patience` seconds to close or
    send more. With `bounds`, it must send as fast as they say. The bytes count against `bandwidth`,
    which does not hold them back. What is beyond the first 2 MiB waits for room by the `claim`.
    Raise Untried if the time is noticed to be up too late to judge the server.
    """
    loop = asyncio.get_running_loop()
    requested_at = loop.time()
    body = bytearray()
    # The first 2 MiB of a body need no room
    allowed = limit if claim is None else min(limit, BYTES_WITHOUT_CLAIM)
    while True:
        ended = complete is not None and complete(bytes(body[-16:]))
        end = deadline
        if bounds is not None:
            end = min(end, bounds.patience(requested_at, len(body)))
        if ended:
            end = min(end, loop.time() + patience)
        try:
            async with until(end):
                piece = await stream.read()
        except (TimeoutError, Untried) as error:
            # After the end it does not matter how late the time was noticed.
            if isinstance(error, Untried) and not ended:
                raise
            return bytes(body), "" if ended else "time"
        if not piece:
            is_truncated = stream.reset and not ended
            return bytes(body), "disconnect" if is_truncated else ""
        body += piece
        if bandwidth is not None:
            bandwidth.received(len(piece))
        if claim is not None and len(body) > allowed:
            allowed, waited = await _with_room(claim, len(body), allowed, limit)
            # Waiting for room is our doing: it counts neither as slowness nor against the time
            requested_at += waited
            deadline += waited
        if len(body) > allowed:
            return bytes(body[:allowed]), "length"


async def _with_room(claim: Claim, size: int, allowed: int, limit: int) -> tuple[int, float]:
    """Wait until there is room for `size` bytes of a body, if there may be.

    Return how many bytes it may have, and the seconds of waiting.
    """
    waited = 0.0
    while size > allowed and (claim.waits or allowed < limit):
        extra = claim.more()
        if extra:
            allowed += extra
        elif claim.waits:
            before = claim.held
            await claim.turn()
            waited += claim.held - before
        else:
            break
    return allowed, waited
