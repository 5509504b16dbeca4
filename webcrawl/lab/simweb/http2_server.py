"""HTTP/2 before the synthetic web's server of HTTP/1.1, as many sites have it: frames are put into
its form and back.

So both give the same answers, take the same time for them, and write the same log.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from typing import Any

import httptools
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamReset
from h2.exceptions import H2Error

from webcrawl.lab.simweb.http_server import Connection, Desk

H2 = "h2"  # in ALPN
UNHEARD = (
    1 << 20
)  # bytes of an answer from which on nothing follows: its like in HTTP/1.1 ends with the client's patience
# bytes of a head: the time for its compression grows with the square of a field's length
HEAD = 1 << 15
_OF_CONNECTION = frozenset((b"connection", b"keep-alive", b"transfer-encoding"))


class Negotiated(asyncio.Protocol):
    """A TLS connection whose client and server have just agreed on what they speak."""

    def __init__(self, desk: Desk, only_h2: ssl.SSLContext) -> None:
        """`only_h2` is the TLS context of servers that close any connection that does not speak
        HTTP/2.
        """
        self._desk = desk
        self._only_h2 = only_h2

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        channel = transport.get_extra_info("ssl_object")
        spoken: Connection | Http2
        if channel.selected_alpn_protocol() == H2:
            spoken = Http2(self._desk)
        elif channel.context is self._only_h2:
            transport.close()
            return
        else:
            spoken = Connection(self._desk, "https")
        transport.set_protocol(spoken)
        spoken.connection_made(transport)


class Http2(asyncio.Protocol):
    """A connection of HTTP/2, and the transport of one of HTTP/1.1, which answers its requests one
    after the other.
    """

    def __init__(self, desk: Desk) -> None:
        config = H2Configuration(
            client_side=False,
            header_encoding=None,
            validate_inbound_headers=False,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self._h2 = H2Connection(config)
        self._inner = Connection(desk, "https")
        # streams that are not answered yet; whether it was with HEAD
        self._asked: deque[tuple[int, bool]] = deque()
        self._unheard = 0  # bytes of the answer that have led to nothing so far
        self._parser = httptools.HttpResponseParser(self)
        self._status = 0
        self._fields = list[tuple[bytes, bytes]]()
        self._head = 0
        # of the answer that is being sent
        self._sized = False
        self._complete = False
        self._body = bytearray()  # of it, for which the client has no room yet
        self._full = False  # the real transport is

    # -- asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # a stream server's always is one
        self._h2.initiate_connection()
        self._flush()
        self._inner.connection_made(self)  # type: ignore[arg-type]  # it has what that one needs of a transport

    def connection_lost(self, error: Exception | None) -> None:
        self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        self._full = True
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._full = False
        self._pump()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._h2.receive_data(data):
                self._hear(event)
            self._pump()
        except H2Error:
            self._flush()
            self._transport.close()

    def _hear(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            fields = dict(event.headers)
            method = fields[b":method"]
            self._asked.append((event.stream_id, method == b"HEAD"))
            lines = [
                b"%b %b HTTP/1.1" % (method, fields[b":path"]),
                b"Host: %b" % fields[b":authority"],
            ]
            lines += [b"%b: %b" % field for field in event.headers if field[0][:1] != b":"]
            self._inner.data_received(b"\r\n".join((*lines, b"", b"")))
        elif isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self._inner.data_received(event.data)
        elif isinstance(event, StreamReset) and event.stream_id in dict(self._asked):
            self._transport.abort()

    # -- the inner connection calls, as its transport

    def set_write_buffer_limits(self, high: int) -> None:
        self._transport.set_write_buffer_limits(high=high)

    def get_extra_info(self, name: str) -> Any:
        return self._transport.get_extra_info(name)

    def write(self, data: bytes) -> None:
        """Write a piece of an answer. One that HTTP/2 has no form for is broken off."""
        if not self._asked:
            return
        self._unheard += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._unheard = UNHEARD
        if self._status and self._asked[0][1]:
            self._complete = True
            self._parser = httptools.HttpResponseParser(self)
        if self._unheard >= UNHEARD:
            self._break_off()
        else:
            self._pump()

    def close(self) -> None:
        """Close after the answer.

        One without a length ends so, and one that is not whole is broken off.
        """
        if self._asked and self._status and not self._sized:
            self._complete = True
            self._pump()
        self._break_off()

    def abort(self) -> None:
        self._transport.abort()

    # -- the parser calls

    def on_message_begin(self) -> None:
        self._status = 0
        self._fields = []
        self._head = 0
        self._sized = False

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self._head += len(name) + len(value)
        self._sized = self._sized or name in (b"content-length", b"transfer-encoding")
        if name not in _OF_CONNECTION:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self._head > HEAD:
            raise ValueError("a head too long for HTTP/2")
        self._unheard = 0
        self._status = self._parser.get_status_code()
        self._h2.send_headers(
            self._asked[0][0], [(b":status", b"%d" % self._status), *self._fields]
        )

    def on_body(self, body: bytes) -> None:
        self._unheard = 0
        self._body += body

    def on_message_complete(self) -> None:
        self._complete = self._status >= 200

    # -- frames

    def _pump(self) -> None:
        """Send as much of the answer as there is room for; more of it is taken once all is sent."""
        h2 = self._h2
        while self._body and (room := self._room()):
            h2.send_data(self._asked[0][0], bytes(self._body[:room]))
            del self._body[:room]
        if self._complete and not self._body:
            h2.end_stream(self._asked.popleft()[0])
            self._complete = False
            self._status = 0
            self._unheard = 0
        self._flush()
        if self._body:
            self._inner.pause_writing()
        elif not self._full:
            self._inner.resume_writing()

    def _room(self) -> int:
        return min(
            self._h2.local_flow_control_window(self._asked[0][0]), self._h2.max_outbound_frame_size
        )

    def _break_off(self) -> None:
        for stream, _ in self._asked:
            self._h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
        self._asked.clear()
        self._body.clear()
        self._h2.close_connection()
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if out := self._h2.data_to_send():
            self._transport.write(out)
