"""Unpacks an archive file in bounded memory: gzip, zstd, or not packed.

It may have a member per record, or one for all.

A *member* is a gzip member or a zstd frame; a file that is not packed is a single one. A *place* is
where a record begins: the byte of the file at which its member begins, and how many unpacked bytes
of the member come before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, cast

from isal import igzip_lib

from webcrawl.base.zstd_frame import zstd
from webcrawl.net.codings import MemberCoding

READ = 1 << 14  # bytes per read: a record has a few thousand
PIECE = 1 << 16  # bytes unpacked at a time
# Bytes at hand when a member begins: isal wants a header with optional fields in one piece
HEADER = 1 << 12
GZIP = b"\x1f\x8b\x08"
FRAME = b"\x28\xb5\x2f\xfd"
SKIPPED = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)  # frames that zstd's readers skip
# The magic of a frame that holds the dictionary, at the beginning of the file
DICTIONARY = b"\x5d\x2a\x4d\x18"
LARGEST = 1 << 26  # bytes of a dictionary: zstd's own tools make them of 112 KiB
# zstd's own tools unpack windows of 128 MiB without being asked to
OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
# isal's hints call it an instance
ERRORS = (cast("type[Exception]", igzip_lib.IsalError), zstd.ZstdError, EOFError)


class TornRecord(Exception):  # noqa: N818 - reads as what it is
    """The rest is damaged. `ends`: the file ends too early, so it may still be being written.

    `within`: where the record ends is not known, so the next one may begin within what was taken
    for this one.
    """

    def __init__(self, why: str, *, ends: bool = False, within: bool = False) -> None:
        super().__init__(why)
        self.ends = ends
        self.within = within or ends


class Unpackable(TornRecord):
    """Nothing more of this member can be unpacked."""


class RecordStart(NamedTuple):
    """The beginning of a record."""

    offset: int  # of its member in the file
    skip: int  # unpacked bytes of the member before it

    def __str__(self) -> str:
        return f"{self.offset} + {self.skip}" if self.skip else str(self.offset)


class Plain:
    """The coding of a file that is not packed, which ends with the file."""

    eof, needs_input, unused_data = False, True, b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        del max_length  # it makes nothing more of its input
        return data


class PackingForm(NamedTuple):
    """The packing of a file."""

    new: Callable[[], MemberCoding]
    magic: bytes  # how its members begin; none: it is not packed
    begin: int = 0  # where the first member lies


PLAIN = PackingForm(Plain, b"")
GZIPPED = PackingForm(lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP), GZIP)


def form_of(file: BinaryIO, name: str) -> PackingForm | None:
    """Return the form by the file's first bytes, or else by the end of its name.

    Return None if it is no archive.
    """
    file.seek(0)
    start = file.read(8)
    if start.startswith(GZIP[:2]):
        return GZIPPED
    if start.startswith(FRAME) or SKIPPED.match(start):
        return _zstd(file, start)
    if start.startswith((b"WARC/", b"filedesc")):  # or ARC's
        return PLAIN
    # The beginning is damaged: what follows may be sound
    if name.endswith(".gz"):
        return GZIPPED
    if name.endswith(".zst"):
        return PackingForm(zstd.ZstdDecompressor, FRAME)
    return PLAIN if name.endswith(".warc") else None


def _zstd(file: BinaryIO, start: bytes) -> PackingForm:
    """Return a decompressor, with the dictionary at the file's beginning, if there is one.

    The dictionary may itself be packed, by zstd without one.
    """
    if not start.startswith(DICTIONARY):
        return PackingForm(lambda: zstd.ZstdDecompressor(options=OPTIONS), FRAME)
    size = int.from_bytes(start[4:8], "little")
    file.seek(8)
    data = file.read(size) if size <= LARGEST else b""
    if len(data) < size or not size:
        raise Unpackable("its zstd dictionary cannot be read")
    try:
        if data.startswith(FRAME):
            data = zstd.ZstdDecompressor(options=OPTIONS).decompress(data, LARGEST)
        dictionary = zstd.ZstdDict(data, is_raw=not data.startswith(b"\x37\xa4\x30\xec"))
        # A decompressor looks into it
        zstd.ZstdDecompressor(dictionary, OPTIONS)
    except (*ERRORS, ValueError) as error:
        raise Unpackable(f"its zstd dictionary cannot be used: {error}") from error
    return PackingForm(lambda: zstd.ZstdDecompressor(dictionary, OPTIONS), FRAME, 8 + size)


@dataclass(slots=True)
class _Part:
    """The bytes unpacked of one member and not given yet."""

    offset: int  # of the member in the file
    given: int = 0
    left: int = 0


class UnpackedStream:
    """The unpacked bytes of a file from one place on, up to byte `end` of the file."""

    def __init__(self, file: BinaryIO, form: PackingForm, end: int) -> None:
        self._file = file
        self._form = form
        self._end = end
        self.seek(RecordStart(form.begin, 0))

    def seek(self, place: RecordStart) -> None:
        """Go to a place. Raise TornRecord if nothing can be unpacked there."""
        at, left = place if self._form.magic else (sum(place), 0)
        self._at = at  # behind what is read of the file
        self._packed = b""
        self._data = b""
        self._coding: MemberCoding | None = None
        self._parts = [_Part(at)]
        self._file.seek(at)
        short = at > self._end
        while left and not short:
            piece = self.read(min(left, PIECE))
            short = not piece
            left -= len(piece)
        if short:
            raise TornRecord(
                "the file ends before the place at which reading should resume", ends=True
            )

    @property
    def place(self) -> RecordStart:
        """Return the place of the next unpacked byte."""
        is_at_end = self._coding is not None and self._coding.eof
        # The next byte is in the next member
        if is_at_end and not self._data:
            return RecordStart(self._at - len(self._packed), 0)
        return RecordStart(self._parts[0].offset, self._parts[0].given)

    def more(self) -> bool:
        """Unpack some more; return False at the end of a member whose checksum is right."""
        coding = self._coding
        if coding is None:
            return self.cross() and self.more()
        while not coding.eof:
            data = b""
            if coding.needs_input:
                data = self._packed or self._read()
                self._packed = b""
                if not data:
                    if not self._form.magic:
                        return False
                    raise Unpackable("the file ends within a record", ends=True)
            try:
                made = coding.decompress(data, PIECE)
            except ERRORS as error:
                raise Unpackable(f"cannot be decompressed: {error}") from error
            if coding.eof:
                self._packed = coding.unused_data
            if made:
                self._data += made
                self._parts[-1].left += len(made)
                return True
        return False

    def cross(self) -> bool:
        """Begin the next member, and return True; False at the end of the file.

        Raise Unpackable if it is none.
        """
        magic = self._form.magic
        # A file that is not compressed is one member
        is_plain = not magic
        if is_plain and self._coding is not None:
            return False
        self._fill()
        while magic == FRAME and SKIPPED.match(self._packed):
            self._skip_frame()
            self._fill()
        if not self._packed:
            return False
        if not self._packed.startswith(magic):
            self._coding = None
            raise self._not_a_member(magic)
        part = _Part(self._at - len(self._packed))
        # Unread bytes of earlier members keep their places
        self._parts = [*(one for one in self._parts if one.left), part]
        self._coding = self._form.new()
        return True

    def _fill(self) -> None:
        if len(self._packed) < HEADER:
            self._packed += self._read()

    def _not_a_member(self, magic: bytes) -> Unpackable:
        if magic.startswith(self._packed):
            return Unpackable("the file ends within a record", ends=True)
        return Unpackable("not a zstd frame" if magic == FRAME else "not a gzip member")

    def _skip_frame(self) -> None:
        begin = self._at - len(self._packed)
        after = begin + 8 + int.from_bytes(self._packed[4:8], "little")
        if len(self._packed) < 8 or after > self._end:
            self._coding = None
            raise Unpackable("the file ends within a frame", ends=True)
        self._file.seek(after)
        self._packed = b""
        self._at = after

    def _read(self) -> bytes:
        data = self._file.read(max(0, min(READ, self._end - self._at)))
        self._at += len(data)
        return data

    def blank(self) -> bool:
        """Skip empty lines between records; False at the end of the file."""
        while self.ended():
            if not self.cross():
                return False
        return True

    def until(self, mark: re.Pattern[bytes], most: int) -> bytes:
        """Return the bytes up to this mark, and the mark.

        Raise TornRecord if the mark is not within `most` bytes.
        """
        found = mark.search(self._data)
        seen = 0
        while found is None:
            if len(self._data) > most:
                raise TornRecord("the head of a record has no end", within=True)
            # The mark may have begun in what was searched: the longest one has four bytes
            seen = max(0, len(self._data) - 4)
            if not self.more() and not self.cross():
                raise TornRecord("the file ends within a record's head", ends=True)
            found = mark.search(self._data, seen)
        data = self._data[: found.end()]
        self._give(found.end())
        return data

    def begins(self, mark: re.Pattern[bytes], size: int) -> bool:
        """Return whether the next bytes, `size` of them, have this mark; nothing is taken."""
        while len(self._data) < size and (self.more() or self.cross()):
            pass
        return mark.match(self._data) is not None

    def read(self, most: int) -> bytes:
        """Return up to `most` bytes, at least one before the end of the member; none at an end."""
        if not self._data and not self.more():
            return b""
        data = self._data[:most]
        self._give(len(data))
        return data

    def ended(self) -> bool:
        """Skip line ends; return whether the member has nothing else, and its checksum is right."""
        while True:
            data = self._data.lstrip(b"\r\n")
            self._give(len(self._data) - len(data))
            if data:
                return False
            if not self.more():
                return True

    @property
    def left(self) -> int:
        """Return the unread bytes of the file. No record of an unpacked file can have more."""
        return self._end - self._at + len(self._packed) + len(self._data)

    def find(self, mark: re.Pattern[bytes], size: int) -> bool:
        """Skip to the mark's first group; False if it is in none of the members that follow.

        It has `size` bytes.
        """
        while True:
            found = mark.search(self._data)
            if found is not None:
                self._give(found.start(1))
                return True
            self._give(max(0, len(self._data) - size))
            if not self.more() and not self.cross():
                return False

    def _give(self, size: int) -> None:
        self._data = self._data[size:]
        parts = self._parts
        while size > parts[0].left:
            size -= parts.pop(0).left
        parts[0].left -= size
        parts[0].given += size
        if not parts[0].left and len(parts) > 1:
            del parts[0]

    def find_member(self, at: int) -> int:
        """Return where the next member may begin, from byte `at` of the file on, or the file's end."""
        tail = b""
        while at < self._end:
            self._file.seek(at)
            piece = self._file.read(min(PIECE, self._end - at))
            if not piece:
                break
            found = (tail + piece).find(self._form.magic)
            if found >= 0:
                return at - len(tail) + found
            # The magic may be cut by the end of a piece
            tail = (tail + piece)[1 - len(self._form.magic) :]
            at += len(piece)
        return self._end

    def find_record(self, at: int, mark: re.Pattern[bytes], size: int) -> int:
        """Return where the next member with this mark begins, from byte `at` on, or the file's end.

        Gzip's magic occurs by chance every 16 million bytes, so more than that is looked at.
        """
        while (at := self.find_member(at)) < self._end:
            try:
                self.seek(RecordStart(at, 0))
                if self.begins(mark, size):
                    break
            except TornRecord:
                # The magic stood there by chance, or begins another damaged member
                pass
            at += 1
        return at
