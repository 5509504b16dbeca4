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

from webcrawl.lab.simweb.http_server import Connection, ServerState

H2 = "h2"  # in ALPN
# Bytes of an answer in a row of which nothing can be sent in frames, such as endless interim heads.
# In HTTP/1.1 such an answer ends when the client loses patience; here it is broken off
MAX_SILENT_BYTES = 1 << 20
# The time for compressing a head grows with the square of a field's length
MAX_HEAD_BYTES = 1 << 15
_CONNECTION_FIELDS = frozenset((b"connection", b"keep-alive", b"transfer-encoding"))


class Negotiated(asyncio.Protocol):
    """A TLS connection whose client and server have just agreed on what they speak."""

    def __init__(self, server_state: ServerState, h2_only_context: ssl.SSLContext) -> None:
        """`h2_only_context` is the TLS context of servers that close any connection that does not speak
        HTTP/2.
        """
        self._server_state = server_state
        self._h2_only_context = h2_only_context

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hand the connection to the protocol that was agreed on.

        Close it if its host speaks HTTP/2 alone and the client does not.
        """
        channel = transport.get_extra_info("ssl_object")
        protocol: Connection | Http2
        if channel.selected_alpn_protocol() == H2:
            protocol = Http2(self._server_state)
        elif channel.context is self._h2_only_context:
            transport.close()
            return
        else:
            protocol = Connection(self._server_state, "https")
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class Http2(asyncio.Protocol):
    """A connection of HTTP/2 that has its requests answered by one of HTTP/1.1.

    Towards the client it is a protocol. Towards the inner connection it is the transport: it writes
    the requests of all streams there, one after the other, and parses the answers into frames.
    """

    def __init__(self, server_state: ServerState) -> None:
        """Create the protocol of a new connection, and its inner one."""
        config = H2Configuration(
            client_side=False,
            header_encoding=None,
            validate_inbound_headers=False,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self._h2 = H2Connection(config)
        self._inner = Connection(server_state, "https")
        # the streams that are not answered yet, and whether each is a request with HEAD
        self._unanswered: deque[tuple[int, bool]] = deque()
        self._silent_bytes = 0  # of the answer, since something of it could last be sent
        self._parser = httptools.HttpResponseParser(self)
        self._status = 0
        self._fields = list[tuple[bytes, bytes]]()
        self._head_bytes = 0
        # of the answer that is being sent
        self._has_length = False
        self._complete = False
        self._body = bytearray()  # the part for which the client has no room yet
        self._transport_is_full = False

    # -- asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # a stream server's always is one
        self._h2.initiate_connection()
        self._flush()
        self._inner.connection_made(self)  # type: ignore[arg-type]  # it has what that one needs of a transport

    def connection_lost(self, error: Exception | None) -> None:
        self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        self._transport_is_full = True
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._transport_is_full = False
        self._send_body()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._h2.receive_data(data):
                self._handle(event)
            self._send_body()
        except H2Error:
            self._flush()
            self._transport.close()

    def _handle(self, event: Event) -> None:
        """Pass a request on to the inner connection, in the form of HTTP/1.1."""
        if isinstance(event, RequestReceived):
            fields = dict(event.headers)
            method = fields[b":method"]
            self._unanswered.append((event.stream_id, method == b"HEAD"))
            lines = [
                b"%b %b HTTP/1.1" % (method, fields[b":path"]),
                b"Host: %b" % fields[b":authority"],
            ]
            lines += [b"%b: %b" % field for field in event.headers if field[0][:1] != b":"]
            self._inner.data_received(b"\r\n".join((*lines, b"", b"")))
        elif isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self._inner.data_received(event.data)
        elif isinstance(event, StreamReset) and event.stream_id in dict(self._unanswered):
            self._transport.abort()

    # -- the inner connection calls, as its transport

    def set_write_buffer_limits(self, high: int) -> None:
        self._transport.set_write_buffer_limits(high=high)

    def get_extra_info(self, name: str) -> Any:
        return self._transport.get_extra_info(name)

    def write(self, data: bytes) -> None:
        """Take a piece of an answer in HTTP/1.1, and send what it says in frames.

        An answer that cannot be said in HTTP/2 is broken off.
        """
        if not self._unanswered:
            return
        self._silent_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._silent_bytes = MAX_SILENT_BYTES
        _, is_with_head = self._unanswered[0]
        if self._status and is_with_head:  # its answer has no body, whatever length the head says
            self._complete = True
            self._parser = httptools.HttpResponseParser(self)
        if self._silent_bytes >= MAX_SILENT_BYTES:
            self._break_off()
        else:
            self._send_body()

    def close(self) -> None:
        """End the answer and close the connection.

        For an answer without a length this is its regular end. Any other that is not complete is
        broken off.
        """
        if self._unanswered and self._status and not self._has_length:
            self._complete = True
            self._send_body()
        self._break_off()

    def abort(self) -> None:
        self._transport.abort()

    # -- the parser calls

    def on_message_begin(self) -> None:
        self._status = 0
        self._fields = []
        self._head_bytes = 0
        self._has_length = False

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self._head_bytes += len(name) + len(value)
        self._has_length = self._has_length or name in (b"content-length", b"transfer-encoding")
        if name not in _CONNECTION_FIELDS:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self._head_bytes > MAX_HEAD_BYTES:
            raise ValueError("a head too long for HTTP/2")
        self._silent_bytes = 0
        self._status = self._parser.get_status_code()
        self._h2.send_headers(
            self._unanswered[0][0], [(b":status", b"%d" % self._status), *self._fields]
        )

    def on_body(self, body: bytes) -> None:
        self._silent_bytes = 0
        self._body += body

    def on_message_complete(self) -> None:
        self._complete = self._status >= 200

    # -- frames

    def _send_body(self) -> None:
        """Send as much of the body as the client has room for, and end the stream if it is complete.

        The inner connection is paused while a part of the body waits.
        """
        h2 = self._h2
        while self._body:
            room = self._room_bytes()
            if not room:
                break
            h2.send_data(self._unanswered[0][0], bytes(self._body[:room]))
            del self._body[:room]
        if self._complete and not self._body:
            h2.end_stream(self._unanswered.popleft()[0])
            self._complete = False
            self._status = 0
            self._silent_bytes = 0
        self._flush()
        if self._body:
            self._inner.pause_writing()
        elif not self._transport_is_full:
            self._inner.resume_writing()

    def _room_bytes(self) -> int:
        """Return how many bytes the next frame of the body can have."""
        return min(
            self._h2.local_flow_control_window(self._unanswered[0][0]),
            self._h2.max_outbound_frame_size,
        )

    def _break_off(self) -> None:
        """Reset all streams that are not answered, and close the connection."""
        for stream, _ in self._unanswered:
            self._h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
        self._unanswered.clear()
        self._body.clear()
        self._h2.close_connection()
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        frames = self._h2.data_to_send()
        if frames:
            self._transport.write(frames)
