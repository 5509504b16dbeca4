"""Reads a body that lasts until the connection ends, within bounds of bytes and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from webcrawl.net.bandwidth import Bandwidth
from webcrawl.net.protocols import Bounds
from webcrawl.net.stream import Stream


async def read_body(
    stream: Stream,
    limit: int,
    deadline: float,
    *,
    complete: Callable[[bytes], bool] | None = None,
    patience: float = 0.0,
    bounds: Bounds | None = None,
    bandwidth: Bandwidth | None = None,
) -> tuple[bytes, str]:
    """At most `limit` bytes of body, and why it is truncated, in WARC's words; `deadline` is in the loop's time.

    If `complete` recognises the last bytes as an end, the server has `patience` seconds to close or send more. With
    `bounds`, it must send as fast as they say. The bytes count against `bandwidth`, which does not hold them back.
    """
    loop = asyncio.get_running_loop()
    asked = loop.time()
    body = bytearray()
    while True:
        ended = complete is not None and complete(bytes(body[-16:]))
        until = deadline if bounds is None else min(deadline, bounds.patience(asked, len(body)))
        until = min(until, loop.time() + patience) if ended else until
        try:
            async with asyncio.timeout_at(until):
                piece = await stream.read()
        except TimeoutError:
            return bytes(body), "" if ended else "time"
        if not piece:
            return bytes(body), "disconnect" if stream.reset and not ended else ""
        body += piece
        if bandwidth is not None:
            bandwidth.received(len(piece))
        if len(body) > limit:
            return bytes(body[:limit]), "length"
