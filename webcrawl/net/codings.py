"""Content codings, decoded while the body arrives, with a bound on every stage's output."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Protocol, cast

import brotli  # type: ignore[import-untyped]  # untyped
from isal import igzip_lib

from webcrawl.base.zstd_frame import zstd

ACCEPTED = b"gzip, deflate, br, zstd"
# isal's stubs declare its error class as an instance
ERRORS: tuple[type[Exception], ...] = (
    cast("type[Exception]", igzip_lib.IsalError),
    brotli.error,
    zstd.ZstdError,
    EOFError,
)

# per gzip or zstd stream; each costs some microseconds, and an empty one takes only 20 bytes
_MAX_MEMBERS = 1024
# RFC 9659: a receiver must support 8 MiB
_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
_TRAILER_SIZE = 8  # bytes: checksum and size at the end of a gzip member
_GZIP = b"\x1f\x8b\x08"  # the beginning of one (RFC 1952 2.3)
# bytes; the first is of one without optional fields
_SHORTEST_HEADER, _LONGEST_HEADER = 10, 128 << 10
_CHECKED, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16  # flags, in its fourth byte: these fields follow
_FIELDS = _CHECKED | _EXTRA | _NAME | _COMMENT
_REDONE = 256 << 10  # longest brotli stream decoded again to find its end: 18 times, 60 ms in all


class Coding(Protocol):
    """A decoder of one coding. This is bz2's interface, which igzip and zstd have already."""

    @property
    def eof(self) -> bool:
        """Return whether the coded stream is complete."""
        ...

    @property
    def needs_input(self) -> bool:
        """Return whether all output for the input so far has been returned."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Decode data into about max_length bytes at most; raises one of ERRORS."""
        ...


class MemberCoding(Coding, Protocol):
    """A decoder of one gzip member or zstd frame."""

    @property
    def unused_data(self) -> bytes:
        """Return the input behind the end."""
        ...


class Members:
    """A coding whose streams may be concatenated; data after the last one is ignored."""

    def __init__(
        self, new: Callable[[], MemberCoding], magic: re.Pattern[bytes], width: int
    ) -> None:
        """`new` makes the decoder of a member, which begins with `magic`, as `width` bytes show."""
        self._new = new
        self._magic = magic
        self._width = width
        self._inner = new()
        self._members = 1
        self._rest = b""  # input after the end of a member
        self._ended = False

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        if self._inner.eof:
            return self._ended or len(self._rest) < self._width
        return self._inner.needs_input

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return decoded bytes, `max_length` at most, of one member after the other."""
        if self._ended:
            return b""
        if self._inner.eof:
            data = self._rest + data
            self._rest = data
            if len(data) < self._width:
                return b""
            is_member = self._magic.match(data) is not None
            if not is_member or self._members == _MAX_MEMBERS:
                self._ended = True
                return b""
            self._inner = self._new()
            self._members += 1
        decoded = self._inner.decompress(data, max_length)
        if self._inner.eof:
            self._rest = self._inner.unused_data
        return decoded


class Frame:
    """A zstd frame.

    Its first byte is fed separately: libzstd gives nothing of a whole one with a wrong size.
    """

    def __init__(self) -> None:
        self._zstd = zstd.ZstdDecompressor(options=_WINDOW)
        self._begun = False

    @property
    def eof(self) -> bool:
        return self._zstd.eof

    @property
    def unused_data(self) -> bytes:
        return self._zstd.unused_data

    @property
    def needs_input(self) -> bool:
        return self._zstd.needs_input

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if not self._begun and data:
            self._begun = True
            self._zstd.decompress(data[:1])
            data = data[1:]
        return self._zstd.decompress(data, max_length)


class Gunzip:
    """A gzip member. Its last bytes are fed separately, so that a wrong checksum loses no content.

    Its header is fed whole: isal 1.9 fails on one with a checksum or several optional fields that
    arrives in pieces.
    """

    def __init__(self) -> None:
        self._igzip = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        self._header: bytes | None = b""  # what has arrived of it; None once it is complete
        self._last = b""

    @property
    def eof(self) -> bool:
        return self._igzip.eof

    @property
    def unused_data(self) -> bytes:
        return self._igzip.unused_data + self._last

    @property
    def needs_input(self) -> bool:
        return self._igzip.needs_input and not self._last

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return decoded bytes, `max_length` at most.

        The header is held back until it is whole, and the last bytes until more come, as they may
        be the trailer.
        """
        if not self._igzip.needs_input:
            return self._igzip.decompress(b"", max_length)
        data, self._last = self._last + data, b""
        if len(data) > _TRAILER_SIZE:
            data, self._last = data[:-_TRAILER_SIZE], data[-_TRAILER_SIZE:]
        if self._header is not None:
            data = self._header + data
            if not _header_is_whole(data):
                self._header = data
                return b""
            self._header = None
        return self._igzip.decompress(data, max_length)


def _header_is_whole(data: bytes) -> bool:
    """Return whether a header with optional fields ends within these bytes.

    It also returns True if they are no such header.
    """
    if data[:3] != _GZIP[: len(data)]:
        return True
    if len(data) > 3 and not data[3] & _FIELDS:
        return True
    if len(data) < _SHORTEST_HEADER:
        return False
    if len(data) > _LONGEST_HEADER:
        return True
    return 0 < _header_end(data) <= len(data)


def _header_end(data: bytes) -> int:
    """Return where a header with optional fields ends; 0 if that is not known yet.

    The place may be behind these bytes.
    """
    flags = data[3]
    end = _SHORTEST_HEADER
    if flags & _EXTRA:
        end += 2 + int.from_bytes(data[end : end + 2], "little")
    for field in (_NAME, _COMMENT):
        if flags & field:
            end = data.find(b"\0", end) + 1
            if not end:
                return 0
    return end + 2 if flags & _CHECKED else end


class Inflate:
    """The coding that servers call deflate: zlib's format (RFC 9110), or raw as old servers do."""

    def __init__(self) -> None:
        self._start = b""
        self._inner: igzip_lib.IgzipDecompressor | None = None

    @property
    def eof(self) -> bool:
        return self._inner is not None and self._inner.eof

    @property
    def needs_input(self) -> bool:
        return self._inner is None or self._inner.eof or self._inner.needs_input

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return decoded bytes; the first two tell whether the stream has zlib's frame or none."""
        if self._inner is None:
            data = self._start = self._start + data
            if len(data) < 2:
                return b""
            # RFC 1950 2.2: the method is 8, and both bytes together a multiple of 31.
            is_method = data[0] & 15 == 8
            wrapped = is_method and (data[0] << 8 | data[1]) % 31 == 0
            flag = igzip_lib.DECOMP_ZLIB if wrapped else igzip_lib.DECOMP_DEFLATE
            self._inner = igzip_lib.IgzipDecompressor(flag=flag)
        return b"" if self._inner.eof else self._inner.decompress(data, max_length)


class Brotli:
    """Brotli's decoder behind the Protocol.

    The library fails if anything follows the stream's end in the same piece, and withholds the
    output of that piece. Then we search for the end and decode the stream again up to there.
    """

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        # it accepts input while output is pending; only a short result says there is none left
        self._drained = True
        self._fed: list[bytes] = []  # all input, up to _REDONE
        self._came = 0
        self._made = 0

    @property
    def eof(self) -> bool:
        return bool(self._decoder.is_finished())

    @property
    def needs_input(self) -> bool:
        return bool(
            self._decoder.is_finished() or (self._drained and self._decoder.can_accept_more_data())
        )

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return decoded bytes, `max_length` at most. Raise brotli.error for a damaged stream."""
        if self._decoder.is_finished():
            return b""
        self._keep(data)
        try:
            decoded = bytes(self._decoder.process(data, output_buffer_limit=max_length))
        except brotli.error:
            decoded = self._again()
            if not self._decoder.is_finished():
                raise
        self._drained = len(decoded) < max_length
        self._made += len(decoded)
        return decoded

    def _keep(self, data: bytes) -> None:
        self._came += len(data)
        if self._came > _REDONE:
            self._fed.clear()
        elif data:
            self._fed.append(data)

    def _again(self) -> bytes:
        """Return output that was not returned yet, of all that can be decoded."""
        coded = b"".join(self._fed)
        before = len(coded) - len(self._fed[-1]) if self._fed else 0
        sizes = range(len(coded))
        end = bisect_left(sizes, x=True, lo=before, key=lambda size: _is_refused(coded[:size])) - 1
        self._decoder = brotli.Decompressor()
        return bytes(self._decoder.process(coded[: max(end, 0)]))[self._made :]


def _is_refused(coded: bytes) -> bool:
    try:
        brotli.Decompressor().process(coded)
    except brotli.error:
        return True
    return False


def _gzip() -> Coding:
    return Members(Gunzip, re.compile(re.escape(_GZIP)), len(_GZIP))


def _zstd() -> Coding:
    return Members(Frame, re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), 4)


CODINGS: dict[bytes, Callable[[], Coding]] = {
    b"gzip": _gzip,
    b"x-gzip": _gzip,  # RFC 9110 8.4.1.3: the same as gzip
    b"deflate": Inflate,
    b"br": Brotli,
    b"zstd": _zstd,
}


# A bomb of 64 MiB is unpacked up to the limit and one piece more.
_PIECE_SIZE = 65536  # bytes decoded at a time
_CHECKSUM = 8  # bytes, and the size; of gzip, whose is the longest
_MAX_CODINGS = 4  # nested; more is a bomb, not a page
_NOTHING = frozenset((b"identity", b"none", b""))  # labels that mean no coding


_SLACK = 65536  # bytes that a coding may take beyond what it contains


def most_coded(decoded: int) -> int:
    """Return how many bytes of coded data are read at most for a limit of decoded bytes.

    Junk may be larger.
    """
    return 2 * decoded + _SLACK


class UnknownCoding(Exception):  # noqa: N818 - a label, not a failure
    """An unknown coding, or too many of them."""


class Decoder:
    """Decodes piece by piece; holds at most `limit` bytes and one piece.

    An intermediate stage may output at most twice `limit`: otherwise gzip in gzip could expand a
    megabyte to a terabyte on the way to an empty page.
    """

    __slots__ = ("_limit", "_made", "_out", "_stages", "broken", "full", "truncated")

    def __init__(self, codings: Sequence[bytes], limit: int) -> None:
        self._stages: list[Coding] = [CODINGS[name]() for name in reversed(codings)]
        self._made = [0] * len(codings)
        self._limit = limit
        self._out = bytearray()
        self.full = False  # the output exceeds `limit`
        self.broken = False  # the data is not in the coding that its label names
        self.truncated = False  # the data ends before the coded stream does

    def feed(self, data: bytes) -> None:
        """Decode what arrived; ignored once full or broken."""
        if self.full or self.broken:
            return
        try:
            self._pump(0, data)
        except ERRORS:
            self.broken = True

    def finish(self) -> None:
        """Mark the body as complete.

        A coded stream that has not ended is broken, and truncated if content is missing.
        """
        unended = next((stage for stage in self._stages if not stage.eof), None)
        has_stopped = self.full or self.broken
        if unended is not None and not has_stopped:
            self.broken = True
            self.truncated = not _lacks_checksum(unended)

    def grow(self, extra: int) -> None:
        """Raise the limit by these bytes and continue.

        Works with one coding only, whose stage keeps what it has not decoded.
        """
        self._limit += extra
        if self.full:
            self.full = False
            self.feed(b"")

    @property
    def can_grow(self) -> bool:
        return len(self._stages) == 1

    @property
    def started(self) -> bool:
        return bool(self._out)

    @property
    def body(self) -> bytes:
        return bytes(self._out[: self._limit])

    def _pump(self, index: int, data: bytes) -> None:
        """Decode data by this stage and all later ones, until it is used up or the body is full."""
        stage = self._stages[index]
        last = index + 1 == len(self._stages)
        while not self.full:
            piece = stage.decompress(data, _PIECE_SIZE)
            self._made[index] += len(piece)
            if last:
                self._out += piece
                self.full = len(self._out) > self._limit
            elif piece:
                self.full = self._made[index] > 2 * self._limit + _PIECE_SIZE
                self._pump(index + 1, piece)
            if stage.needs_input:
                return
            data = b""


def _lacks_checksum(stage: Coding) -> bool:
    """Return whether only the checksum behind the content is missing, as some servers leave it out."""
    try:
        stage.decompress(bytes(_CHECKSUM), _PIECE_SIZE)
    except ERRORS as error:
        return "checksum" in str(error)
    return stage.eof


def decoder(codings: Sequence[bytes], limit: int) -> Decoder | None:
    """Return a decoder for these codings, None if there is nothing to decode.

    Raise UnknownCoding.
    """
    names = [name for name in codings if name not in _NOTHING]
    if len(names) > _MAX_CODINGS or not CODINGS.keys() >= set(names):
        raise UnknownCoding(b", ".join(names[:10]).decode("latin-1"))
    return Decoder(names, limit) if names else None
