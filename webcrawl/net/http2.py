"""HTTP/2 on one connection, one request at a time.

Answers are put into HTTP/1.1's form, and read like all others.

`h2` knows the protocol's states, windows and compressed headers. Each answer is fed to the
AnswerParser that reads HTTP/1.1: bounds, truncation and errors are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    InformationalResponseReceived,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import DenialOfServiceError, H2Error, InvalidBodyLengthError
from h2.settings import SettingCodes, Settings

from webcrawl.net.errors import BadHead, EmptyAnswer, FetchError, HeadTooLong, NotHttp
from webcrawl.net.http_answer import AnswerParser, Message
from webcrawl.net.http_framing import MAX_HEAD, status_line

WINDOW = 1 << 18  # bytes of a body that the server may send before we have read any
# the stream with which a connection ends, as servers do it too: h2 remembers each for some bytes
LAST = 2001
# frames that an answer may have, and one more for so many bytes of body: each costs 30 us
FRAMES, EACH = 1000, 64
# bytes of compressed heads, which get shorter by it unless somebody wants them not to
HEADS = 2 * MAX_HEAD
# of a server: the standards know ten. h2 keeps each, whatever it means, for 6 us and 700 bytes
MOST_SETTINGS = 64

# RFC 9113 4.1, 4.2 and 6.5.1: bytes of a frame's head, of a frame at most unless more is allowed,
# and of a setting
_FRAME_HEAD, _FRAME_MOST, _SETTING = 9, 1 << 14, 6
# RFC 9113 6: types of frames
_DATA, _HEADERS, _SETTINGS, _GOAWAY, _CONTINUATION = 0, 1, 4, 7, 9
_PADDED, _END = 8, 1  # flags
_STREAM = 8  # the place of the last byte of a stream's number
_GOAWAY_LEAST = _FRAME_HEAD + 8
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_STATUS = re.compile(rb"[1-9][0-9]{2}")
_BREAKING = re.compile(rb"[\r\n\0]")
# Of one connection of HTTP/1.1. In HTTP/2 they mean nothing, and in an archive readers would
# believe them.
_OF_CONNECTION = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade")
)


class Http2Session:
    """One connection that speaks HTTP/2. `write` sends what belongs to no request."""

    __slots__ = (
        *(
            "_buffer",
            "_ended",
            "_frames",
            "_h2",
            "_heads",
            "_over",
            "_rest",
            "_settled",
            "_stream",
            "_write",
        ),
        "refused",
    )

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """`write` sends bytes that are no request; our settings go ahead of the first request."""
        self._write = write
        # Unvalidated: curl too had to accept what the standard forbids, such as blanks around
        # values.
        self._h2 = h2 = H2Connection(
            H2Configuration(header_encoding=None, validate_inbound_headers=False)
        )
        settings = {
            SettingCodes.ENABLE_PUSH: 0,
            SettingCodes.INITIAL_WINDOW_SIZE: WINDOW,
            SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEAD,
        }
        h2.local_settings = Settings(client=True, initial_values=settings)
        h2.initiate_connection()
        h2.increment_flow_control_window(WINDOW - 65_535)
        self._buffer = bytearray()
        self._stream = 0  # the number of the last one; 0: none has begun
        self._frames = 0  # since the last request
        self._heads = 0  # bytes of compressed heads since then
        self._rest = b""  # of the request's body, which waits for room
        self._settled = False  # whether the server's first frame has come
        self._ended = True  # whether the last stream has
        self._over = False  # whether there can be no other one
        self.refused = False  # whether the server wants HTTP/1.1 for this

    def reusable(self, message: Message) -> bool:
        """Return whether another request may follow this answer."""
        worn = self._stream >= LAST or len(self._h2.remote_settings) >= MOST_SETTINGS
        return message.complete and not self._over and not worn

    def request(self, head: bytes, body: bytes) -> bytes:
        """Return the frames for a request that is written in HTTP/1.1's form.

        Raise EmptyAnswer if there can be none.
        """
        h2 = self._h2
        self._frames = 0
        self._heads = 0
        try:
            if not self._ended:  # its body was complete: only its end is missing
                h2.reset_stream(self._stream, ErrorCodes.CANCEL)
            self._stream = h2.get_next_available_stream_id()
            self._ended = False
            self._rest = body
            h2.send_headers(self._stream, request_fields(head), end_stream=not body)
            self._send_rest()
        except H2Error as error:
            raise EmptyAnswer(f"no request can be sent: {error}") from error
        return h2.data_to_send()

    def feed(self, data: bytes, answer: AnswerParser) -> Message | None:
        """Read what arrived, and return the message once it is finished. Raise FetchError."""
        return self._feed(data, answer)

    def between(self, data: bytes) -> bool:
        """Read what arrived while no answer is waited for.

        Return whether the connection can still be used.
        """
        try:
            self._feed(data, None)
        except FetchError:
            self._over = True
        return not self._over

    def _feed(self, data: bytes, answer: AnswerParser | None) -> Message | None:
        self._buffer += data
        try:
            return self._read_frames(answer)
        finally:
            if self._stream and (out := self._h2.data_to_send()):
                self._write(out)

    def _read_frames(self, answer: AnswerParser | None) -> Message | None:
        """Read the frames that are whole, and return the message if they finish it.

        What follows the message is read for the connection's sake, unless the connection is over.
        """
        message: Message | None = None
        try:
            while message is None or not self._over:
                frame = self._next()
                if frame is None:
                    break
                found = self._read(frame, answer)
                if found is not None:
                    message = found
                    answer = None  # the frames behind the message are none of its own
        except _Broken as broken:
            self._over = True
            if answer is not None:
                return answer.break_off(broken.error)
        return message

    def _next(self) -> bytes | None:
        """Take the next whole frame out of the buffer; None if there is none yet.

        Raise _Broken for what is no HTTP/2.
        """
        buffer = self._buffer
        if len(buffer) < _FRAME_HEAD:
            return None
        size = int.from_bytes(buffer[:3])
        is_too_large = size > _FRAME_MOST
        # RFC 9113 3.4: the first frame of a server is SETTINGS.
        begins_as_http2 = buffer[3] == _SETTINGS and not is_too_large
        if not self._settled and not begins_as_http2:
            raise _Broken(NotHttp(f"the response starts with {bytes(buffer[:40])!r}"))
        if is_too_large:
            raise _Broken(
                BadHead(f"the server sent an HTTP/2 frame of {size} bytes, which is too large")
            )
        self._settled = True
        end = _FRAME_HEAD + size
        if len(buffer) < end:
            return None
        frame = bytes(buffer[:end])
        del buffer[:end]
        return frame

    def _read(self, frame: bytes, answer: AnswerParser | None) -> Message | None:
        """Feed one frame to h2, and return the message if it ends the answer."""
        self._count(frame, answer)
        # h2 refuses what follows a GOAWAY, and a server may still send the last answer.
        if frame[3] == _GOAWAY:
            return self._goes_away(frame, answer)
        # h2 gets one frame at a time. So what came before a broken one is kept, however the network
        # splits it, and frames can be counted.
        try:
            events: Iterable[Event] = self._h2.receive_data(frame)
        except InvalidBodyLengthError:
            return self._mismatch(frame, answer)
        except DenialOfServiceError as error:
            raise _Broken(HeadTooLong(str(error))) from error
        except H2Error as error:
            raise _Broken(BadHead(str(error))) from error
        message: Message | None = None
        for event in events:
            ended = self._hear(event, answer)
            if ended is not None:
                message = ended
                answer = None  # the events behind the message are none of its own
        return message

    def _count(self, frame: bytes, answer: AnswerParser | None) -> None:
        """Count a frame.

        Raise _Broken for too many, for too many bytes of heads, and for a stream that is pushed.
        """
        kind = frame[3]
        self._frames += 1
        # h2 keeps each setting, so each counts like a frame.
        if kind == _SETTINGS:
            self._frames += len(frame) // _SETTING
        allowed = FRAMES
        if answer is not None:
            allowed += answer.received // EACH
        if self._frames > allowed:
            raise _Broken(HeadTooLong(f"too many HTTP/2 frames: {self._frames}"))
        if kind not in (_HEADERS, _CONTINUATION):
            return
        is_ours = frame[_STREAM] & 1
        if not is_ours:  # h2 would open it, and look at all that are open with the next one
            raise _Broken(BadHead("the server opened an HTTP/2 stream by itself"))
        self._heads += len(frame)
        if self._heads > HEADS:
            raise _Broken(HeadTooLong(f"the head is too long: {self._heads} bytes so far"))

    def _hear(self, event: Event, answer: AnswerParser | None) -> Message | None:
        """Act on what h2 has read; return the message if that finishes it."""
        if isinstance(event, WindowUpdated | RemoteSettingsChanged):
            self._send_rest()
            return None
        if getattr(event, "stream_id", None) != self._stream:
            return None
        if isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, self._stream)
            return answer.feed(event.data) if answer is not None else None
        if isinstance(event, ResponseReceived | InformationalResponseReceived):
            return answer.feed(response_head(event.headers)) if answer is not None else None
        if isinstance(event, StreamEnded | StreamReset):
            return self._end_stream(event, answer)
        return None

    def _end_stream(
        self, event: StreamEnded | StreamReset, answer: AnswerParser | None
    ) -> Message | None:
        """Note that the stream has ended, and return the answer's message, if one is awaited."""
        was_answered_early = bool(self._rest)  # before the whole request was sent
        self._over = self._over or was_answered_early
        self._ended = True
        self._rest = b""
        self.refused = getattr(event, "error_code", None) == ErrorCodes.HTTP_1_1_REQUIRED
        if answer is None:
            return None
        return answer.lost(reset=isinstance(event, StreamReset))

    def _goes_away(self, frame: bytes, answer: AnswerParser | None) -> Message | None:
        """End the connection as the server does, after this stream or before it."""
        self._over = True
        if len(frame) < _GOAWAY_LEAST:
            raise _Broken(BadHead("the server sent an HTTP/2 frame that is too short"))
        last = int.from_bytes(frame[_FRAME_HEAD : _FRAME_HEAD + 4]) & 0x7FFF_FFFF
        # RFC 9113 6.8: the server has not looked at later streams than the last one that it names.
        was_read = last >= self._stream
        if answer is None or was_read:
            return None
        return answer.lost(reset=True)

    def _mismatch(self, frame: bytes, answer: AnswerParser | None) -> Message | None:
        """Go on with a body that is longer or shorter than its length.

        h2 refuses it, but HTTP/1.1's reader does not.
        """
        self._over = True
        if answer is None:
            return None
        body = frame[_FRAME_HEAD:]
        flags = frame[4]
        if flags & _PADDED:
            body = body[1 : len(body) - body[0]]
        message = answer.feed(body)
        if message is None and flags & _END:
            message = answer.lost(reset=False)
        return message

    def _send_rest(self) -> None:
        """Send as much of the request's body as there is room for."""
        h2 = self._h2
        stream = self._stream
        while self._rest:
            room = min(h2.local_flow_control_window(stream), h2.max_outbound_frame_size)
            if room <= 0:
                return
            part = self._rest[:room]
            self._rest = self._rest[room:]
            h2.send_data(stream, part, end_stream=not self._rest)


class _Broken(Exception):  # noqa: N818 - reads as what it is
    """The bytes received cannot be read. `error` is the one to raise if no head has come."""

    def __init__(self, error: FetchError) -> None:
        super().__init__(str(error))
        self.error = error


def request_fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """Return the fields of HTTP/2 for a request in HTTP/1.1's form."""
    line, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, path, _ = line.split(b" ")
    fields = [(name.lower(), value) for name, _, value in (one.partition(b": ") for one in lines)]
    authority = next(value for name, value in fields if name == b"host")
    pseudo = [
        (b":method", method),
        (b":scheme", b"https"),
        (b":authority", authority),
        (b":path", path),
    ]
    return pseudo + [one for one in fields if one[0] not in (b"host", b"connection")]


def response_head(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a head in HTTP/1.1's form, with the names as they came. Raise BadHead."""
    (name, status), *rest = [*fields] or [(b"", b"")]
    if name != b":status" or not _STATUS.fullmatch(status):
        raise BadHead(f"not a valid status: {name[:40]!r}: {status[:40]!r}")
    lines = [status_line(int(status))]
    for name, value in rest:
        if not _NAME.fullmatch(name) or _BREAKING.search(value):
            raise BadHead(f"not a valid header field: {name[:40]!r}: {value[:100]!r}")
        if name not in _OF_CONNECTION:
            lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join((*lines, b"\r\n"))
