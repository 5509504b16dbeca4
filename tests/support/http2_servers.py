"""Servers that speak only HTTP/2: a well-behaved one, one that sends exactly a test's frames, and
doors before them.
"""

import asyncio
import ssl
from contextlib import asynccontextmanager

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, StreamEnded
from hpack import Encoder
from hyperframe.frame import DataFrame, GoAwayFrame, HeadersFrame, RstStreamFrame, SettingsFrame

from tests.support.certificates import written
from tests.support.net_http import in_thread, serving, tunnel


def alert(code, level=2):
    """Return TLS's alert of this number, which ends a handshake."""
    return b"\x15\x03\x03\x00\x02" + bytes((level, code))


NO_PROTOCOL = alert(120)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def context(folder, *names, protocols=("h2",)):
    """Return the context of a server with a certificate for these names."""
    _, certificate, key = written(folder, *names)
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(certificate, key)
    if protocols:
        found.set_alpn_protocols(protocols)
    return found


class Http2Pages:
    """Answers each request with what `answer(authority, path, fields)` returns.

    That is status, fields and body, or None for a 404. `last` is the number of requests after which
    it says GOAWAY, as servers do.
    """

    def __init__(self, answer, last=0):
        self.answer, self.last = answer, last
        self.requested, self.connections = [], 0

    async def __call__(self, reader, writer):
        """Answer the requests of a connection until it ends."""
        self.connections += 1
        h2 = H2Connection(H2Configuration(client_side=False))
        h2.initiate_connection()
        bodies, fields, count = {}, {}, 0
        writer.write(h2.data_to_send())
        while data := await reader.read(65536):
            for event in h2.receive_data(data):
                if isinstance(event, RequestReceived):
                    fields[event.stream_id] = dict(event.headers)
                elif isinstance(event, DataReceived):
                    h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                elif isinstance(event, StreamEnded):
                    count += 1
                    found = self._answer(
                        fields.pop(event.stream_id), bodies.pop(event.stream_id, b"")
                    )
                    await self._send(h2, reader, writer, event.stream_id, *found)
                    if count == self.last:
                        writer.write(GoAwayFrame(0, last_stream_id=event.stream_id).serialize())
                elif isinstance(event, ConnectionTerminated):
                    return
            writer.write(h2.data_to_send())
            await writer.drain()

    def _answer(self, fields, body):
        requested = {name.decode(): value.decode() for name, value in fields.items()}
        self.requested.append((requested[":authority"], requested[":path"], requested, body))
        return self.answer(
            requested[":authority"].partition(":")[0], requested[":path"], requested
        ) or (
            404,
            [],
            b"",
        )

    async def _send(self, h2, reader, writer, stream, status, fields, body):
        """Send an answer, as the client's windows allow."""
        h2.send_headers(stream, [(":status", str(status)), *fields], end_stream=not body)
        while body:
            room = min(h2.local_flow_control_window(stream), h2.max_outbound_frame_size)
            if not room:
                writer.write(h2.data_to_send())
                data = await reader.read(65536)
                if not data:
                    return
                h2.receive_data(data)  # nothing but windows
                continue
            part, body = body[:room], body[room:]
            h2.send_data(stream, part, end_stream=not body)
        writer.write(h2.data_to_send())


# -- frames


def headers(*fields, end=False, status=b"200", stream=1, whole=True):
    """Return a HEADERS frame of an answer."""
    block = Encoder().encode([*([(b":status", status)] if status else []), *fields], huffman=False)
    flags = [name for name, on in (("END_HEADERS", whole), ("END_STREAM", end)) if on]
    return HeadersFrame(stream, block, flags=flags).serialize()


def data(body, *, end=False, stream=1):
    return DataFrame(stream, body, flags=["END_STREAM"] if end else []).serialize()


def reset(code=8, stream=1):
    return RstStreamFrame(stream, code).serialize()


def away(last=1, code=0):
    return GoAwayFrame(0, last, code).serialize()


SETTINGS = SettingsFrame(0).serialize()


def frames(*pieces, hang=False, first=SETTINGS, endless=b""):
    """Return a handler that reads a request and sends these pieces.

    Then it sends `endless` again and again, ends, or stays silent.
    """

    async def handler(reader, writer):
        """Read a request up to its HEADERS frame, and send the pieces."""
        await reader.readexactly(len(PREFACE))
        kind = None
        while kind != 1:  # HEADERS
            head = await reader.readexactly(9)
            kind = head[3]
            await reader.readexactly(int.from_bytes(head[:3]))
        writer.write(first)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if len(pieces) > 1:
                await asyncio.sleep(0.002)
        while endless:
            writer.write(endless)
            await writer.drain()
        if hang:
            await asyncio.sleep(60)
        writer.close()
        await writer.wait_closed()

    return handler


# -- doors


class Door:
    """Stands before a server with TLS, and looks at what clients offer.

    `shut` is sent to a client that does not offer h2; with None it gets in nevertheless.
    """

    def __init__(self, port, shut=NO_PROTOCOL):
        self.port, self.shut, self.hellos = port, shut, []

    async def __call__(self, reader, writer):
        """Carry a connection to the server, or shut it out."""
        head = await reader.readexactly(5)
        hello = head + await reader.readexactly(int.from_bytes(head[3:]))
        self.hellos.append(b"\x02h2" in hello)
        if not self.hellos[-1] and self.shut is not None:
            writer.write(self.shut)
            await writer.drain()
            writer.close()
            return
        await tunnel(reader, writer, self.port, hello)


@asynccontextmanager
async def behind_door(handler, tls, shut=NO_PROTOCOL, port=0):
    """Serve behind a door during the block; yield the door and its port."""
    async with serving(handler, tls=tls) as inner:
        door = Door(inner, shut)
        async with serving(door, port=port) as outer:
            yield door, outer


def http2_site(handler, tls, shut=NO_PROTOCOL):
    """The same in a thread of its own; gives the door and its port."""
    return in_thread(behind_door(handler, tls, shut))
