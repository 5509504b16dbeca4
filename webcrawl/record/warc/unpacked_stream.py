"""Unpacks an archive file in bounded memory, whether it is packed by gzip, by zstd, or not at all.

A *member* is a gzip member or a zstd frame. A file that is not packed is a single member. There may
be a member for each record, or one for all. A *place* is where a record begins: the byte of the
file at which its member begins, and how many unpacked bytes of the member come before the record.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, cast

from isal import igzip_lib

from webcrawl.base.zstd_frame import zstd
from webcrawl.net.codings import MemberCoding

READ_BYTES = 1 << 14  # per read: a record has a few thousand
MAX_HEAD_BYTES = 1 << 20  # of a record's head; its longest fields are a few URLs
PIECE_BYTES = 1 << 16  # unpacked at a time
# In memory when a member begins: isal needs a header with optional fields in one piece
HEADER_BYTES = 1 << 12
# That may be read before anything is unpacked: a zstd block has 128 KiB, an optional field of a gzip
# header 64. Where a magic occurs by chance, the file would be read to its end.
BARREN_BYTES = 1 << 18
GZIP_MAGIC = b"\x1f\x8b\x08"
FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_FRAME = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)  # readers of zstd skip it
# The magic of a frame that holds the dictionary, at the beginning of the file
DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
MAX_DICTIONARY_BYTES = 1 << 26  # zstd's own tools make dictionaries of 112 KiB
# zstd's own tools unpack windows of 128 MiB without being asked to
ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
# The type hints of isal call IsalError an instance
UNPACKING_ERRORS = (cast("type[Exception]", igzip_lib.IsalError), zstd.ZstdError, EOFError)


class TornRecord(Exception):  # noqa: N818 - reads as what it is
    """A record cannot be read, or not to its end.

    `ends`: the file ends too early, perhaps because it is still being written. `within`: the end of
    the record is not known, so the next record may begin anywhere within this one.
    """

    def __init__(self, why: str, *, ends: bool = False, within: bool = False) -> None:
        super().__init__(why)
        self.ends = ends
        self.within = within or ends


class UnpackableMember(TornRecord):
    """The rest of a gzip member or zstd frame cannot be unpacked."""


class RecordStart(NamedTuple):
    """The beginning of a record."""

    offset: int  # of its member in the file
    skip: int  # unpacked bytes of the member before it

    def __str__(self) -> str:
        return f"{self.offset} + {self.skip}" if self.skip else str(self.offset)


class PlainCoding:
    """The coding of a file that is not packed. It makes no change, and has no end of its own."""

    eof, needs_input, unused_data = False, True, b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        del max_length  # the output is never longer than the input
        return data


class PackingForm(NamedTuple):
    """How a file is packed."""

    new: Callable[[], MemberCoding]  # makes the decompressor of a member
    magic: bytes  # the first bytes of each member; empty if the file is not packed
    begin: int = 0  # byte at which the first member begins


PLAIN = PackingForm(PlainCoding, b"")
GZIPPED = PackingForm(lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP), GZIP_MAGIC)


def form_of(file: BinaryIO, name: str) -> PackingForm | None:
    """Return how a file is packed, by its first bytes, or else by the end of its name.

    Return None if it is no archive file. Raise UnpackableMember if its zstd dictionary is damaged.
    """
    file.seek(0)
    start = file.read(8)
    if start.startswith(GZIP_MAGIC[:2]):
        return GZIPPED
    if start.startswith(FRAME_MAGIC) or SKIPPABLE_FRAME.match(start):
        return _zstd_form(file, start)
    if start.startswith((b"WARC/", b"filedesc")):  # or ARC's
        return PLAIN
    # The beginning may be damaged, and the rest sound
    if name.endswith(".gz"):
        return GZIPPED
    if name.endswith(".zst"):
        return PackingForm(zstd.ZstdDecompressor, FRAME_MAGIC)
    return PLAIN if name.endswith(".warc") else None


def _zstd_form(file: BinaryIO, start: bytes) -> PackingForm:
    """Return the form of a zstd file, with the dictionary at its beginning, if there is one.

    The dictionary itself may be packed by zstd, without a dictionary. Raise UnpackableMember if it
    cannot be used.
    """
    if not start.startswith(DICTIONARY_MAGIC):
        return PackingForm(lambda: zstd.ZstdDecompressor(options=ZSTD_OPTIONS), FRAME_MAGIC)
    size = int.from_bytes(start[4:8], "little")
    file.seek(8)
    data = file.read(size) if size <= MAX_DICTIONARY_BYTES else b""
    if len(data) < size or not size:
        raise UnpackableMember("its zstd dictionary cannot be read")
    try:
        if data.startswith(FRAME_MAGIC):
            data = zstd.ZstdDecompressor(options=ZSTD_OPTIONS).decompress(
                data, MAX_DICTIONARY_BYTES
            )
        dictionary = zstd.ZstdDict(data, is_raw=not data.startswith(b"\x37\xa4\x30\xec"))
        # A decompressor checks the dictionary
        zstd.ZstdDecompressor(dictionary, ZSTD_OPTIONS)
    except (*UNPACKING_ERRORS, ValueError) as error:
        raise UnpackableMember(f"its zstd dictionary cannot be used: {error}") from error
    return PackingForm(
        lambda: zstd.ZstdDecompressor(dictionary, ZSTD_OPTIONS), FRAME_MAGIC, 8 + size
    )


@dataclass(slots=True)
class _PendingBytes:
    """How many unpacked bytes of a member were consumed, and how many are left in memory."""

    offset: int  # of the member in the file
    consumed: int = 0
    left: int = 0


class UnpackedStream:
    """The unpacked bytes of a file from one place on, up to byte `end` of the file."""

    def __init__(self, file: BinaryIO, form: PackingForm, end: int) -> None:
        self._file = file
        self._form = form
        self._end = end
        self.position = 0  # unpacked bytes that were consumed
        self.seek(RecordStart(form.begin, 0))

    def seek(self, place: RecordStart) -> None:
        """Go to a place. Raise TornRecord if the file ends before it, or cannot be unpacked."""
        at, left = place if self._form.magic else (sum(place), 0)
        self._at = at  # up to here the file is read
        self._packed = b""  # read, and not unpacked
        self._data = b""  # unpacked, and not consumed
        self._coding: MemberCoding | None = None
        self._parts = [_PendingBytes(at)]  # the members of `_data`
        self._file.seek(at)
        short = at > self._end
        while left and not short:
            piece = self.read(min(left, PIECE_BYTES))
            short = not piece
            left -= len(piece)
        if short:
            raise TornRecord(
                "the file ends before the place at which reading should resume", ends=True
            )

    def go_back(self, place: RecordStart, position: int) -> None:
        """Go to the place at which `position` was this, unless it is here."""
        if self.position != position:
            self.seek(place)
            self.position = position

    @property
    def place(self) -> RecordStart:
        """Return the place of the next unpacked byte."""
        is_at_end = self._coding is not None and self._coding.eof
        # Then the next byte is in the next member
        if is_at_end and not self._data:
            return RecordStart(self._at - len(self._packed), 0)
        return RecordStart(self._parts[0].offset, self._parts[0].consumed)

    def unpack_more(self) -> bool:
        """Unpack some more bytes. Return False at the end of a member whose checksum is right.

        Raise UnpackableMember if the member is damaged, or if the file ends within it.
        """
        coding = self._coding
        if coding is None:
            return self.next_member() and self.unpack_more()
        barren = 0
        while not coding.eof:
            data = b""
            if coding.needs_input:
                data = self._packed or self._read()
                self._packed = b""
                if not data:
                    if not self._form.magic:
                        return False
                    raise UnpackableMember("the file ends within a record", ends=True)
                barren += len(data)
                if barren > BARREN_BYTES:
                    raise UnpackableMember(f"cannot be decompressed: {barren} bytes give nothing")
            try:
                made = coding.decompress(data, PIECE_BYTES)
            except UNPACKING_ERRORS as error:
                raise UnpackableMember(f"cannot be decompressed: {error}") from error
            if coding.eof:
                self._packed = coding.unused_data
            if made:
                self._data += made
                self._parts[-1].left += len(made)
                return True
        return False

    def next_member(self) -> bool:
        """Begin the next member. Return False at the end of the file.

        Raise UnpackableMember if no member begins here.
        """
        magic = self._form.magic
        # A file that is not compressed is one member
        is_plain = not magic
        if is_plain and self._coding is not None:
            return False
        self._fill_header()
        while magic == FRAME_MAGIC and SKIPPABLE_FRAME.match(self._packed):
            self._skip_frame()
            self._fill_header()
        if not self._packed:
            return False
        if not self._packed.startswith(magic):
            self._coding = None
            raise self._not_a_member(magic)
        part = _PendingBytes(self._at - len(self._packed))
        # Bytes of earlier members that were not consumed keep their places
        self._parts = [*(earlier for earlier in self._parts if earlier.left), part]
        self._coding = self._form.new()
        return True

    def _fill_header(self) -> None:
        if len(self._packed) < HEADER_BYTES:
            self._packed += self._read()

    def _not_a_member(self, magic: bytes) -> UnpackableMember:
        if magic.startswith(self._packed):
            return UnpackableMember("the file ends within a record", ends=True)
        return UnpackableMember("not a zstd frame" if magic == FRAME_MAGIC else "not a gzip member")

    def _skip_frame(self) -> None:
        """Go to the end of a skippable frame. Raise UnpackableMember if the file ends within it."""
        begin = self._at - len(self._packed)
        after = begin + 8 + int.from_bytes(self._packed[4:8], "little")
        if len(self._packed) < 8 or after > self._end:
            self._coding = None
            raise UnpackableMember("the file ends within a frame", ends=True)
        self._file.seek(after)
        self._packed = b""
        self._at = after

    def _read(self) -> bytes:
        data = self._file.read(max(0, min(READ_BYTES, self._end - self._at)))
        self._at += len(data)
        return data

    def skip_blank_lines(self) -> bool:
        """Skip empty lines between records. Return False at the end of the file."""
        while self.is_at_member_end():
            if not self.next_member():
                return False
        return True

    def find(self, mark: re.Pattern[bytes], most: int, longest: int) -> re.Match[bytes]:
        """Find this mark behind the next byte, in any number of members. Nothing is consumed.

        `longest`: bytes of the mark. Raise TornRecord if it is not within `most` bytes.
        """
        match = mark.search(self._data, 1)
        while match is None:
            if len(self._data) > most:
                raise TornRecord("the head of a record has no end", within=True)
            # The mark may begin in what was searched
            searched = max(1, len(self._data) - longest)
            if not self.unpack_more() and not self.next_member():
                raise TornRecord("the file ends within a record's head", ends=True)
            match = mark.search(self._data, searched)
        return match

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes, which were looked at already."""
        data = self._data[:size]
        self._consume(size)
        return data

    def begins_with(self, mark: re.Pattern[bytes], size: int) -> bool:
        """Return whether the next `size` bytes begin with this mark. They are not consumed."""
        while len(self._data) < size:
            if not self.unpack_more() and not self.next_member():
                break
        return mark.match(self._data) is not None

    def read(self, most: int) -> bytes:
        """Return up to `most` bytes of this member; none only at its end."""
        if not self._data and not self.unpack_more():
            return b""
        data = self._data[:most]
        self._consume(len(data))
        return data

    def is_at_member_end(self) -> bool:
        """Skip line ends. Return whether the member then ends, with the right checksum."""
        while True:
            data = self._data.lstrip(b"\r\n")
            self._consume(len(self._data) - len(data))
            if data:
                return False
            if not self.unpack_more():
                return True

    @property
    def unread_bytes(self) -> int:
        """Return the bytes of the file that are left, if it is not packed."""
        return self._end - self._at + len(self._packed) + len(self._data)

    def skip_to(self, mark: re.Pattern[bytes], size: int) -> bool:
        """Skip to the first group of the mark, which has at most `size` bytes.

        Return False if it is in none of the following members.
        """
        while True:
            match = mark.search(self._data)
            if match is not None:
                self._consume(match.start(1))
                return True
            self._consume(max(0, len(self._data) - size))
            if not self.unpack_more() and not self.next_member():
                return False

    def _consume(self, size: int) -> None:
        self.position += size
        self._data = self._data[size:]
        parts = self._parts
        while size > parts[0].left:
            size -= parts.pop(0).left
        parts[0].left -= size
        parts[0].consumed += size
        if not parts[0].left and len(parts) > 1:
            del parts[0]

    def find_member(self, at: int) -> int:
        """Return where the magic of a member next occurs, from byte `at` on, or the file's end."""
        tail = b""
        while at < self._end:
            self._file.seek(at)
            piece = self._file.read(min(PIECE_BYTES, self._end - at))
            if not piece:
                break
            position = (tail + piece).find(self._form.magic)
            if position >= 0:
                return at - len(tail) + position
            # The end of a piece may split the magic
            tail = (tail + piece)[1 - len(self._form.magic) :]
            at += len(piece)
        return self._end

    def find_record(self, at: int, mark: re.Pattern[bytes], size: int) -> int:
        """Return where the next member that begins with this mark lies, or the file's end.

        The search begins at byte `at`. The magic alone is not enough: that of gzip occurs by chance
        once in 16 million bytes.
        """
        at = self.find_member(at)
        while at < self._end:
            try:
                self.seek(RecordStart(at, 0))
                if self.begins_with(mark, size):
                    break
            except TornRecord:
                # The magic occurs here by chance, or begins another damaged member
                pass
            at = self.find_member(at + 1)
        return at
