"""A Bloom filter's bits as a file, written whole and synced by a thread, then named by the next
checkpoint.

Layout: header, bits, crc32 of both. Bits set while the file is written may be missing in it: their
keys are in the key log, which the same checkpoint saves.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pybloom_live import BloomFilter

from webcrawl.store.disk import Disk, regular
from webcrawl.store.errors import DamagedFile

MAGIC = b"WCRLBLM\n"
VERSION = 1
HEADER = struct.Struct("<8sIdQQ")  # magic, version, error rate, capacity, bytes of bits
CRC = struct.Struct("<I")
# bytes written at once
PIECE = 1 << 20


def write_bits(disk: Disk, path: Path, bloom: BloomFilter) -> Path:
    """Write the bits; more may be set meanwhile."""
    bits = memoryview(bloom.bitarray)
    fd = disk.create(path)
    try:
        data = HEADER.pack(MAGIC, VERSION, bloom.error_rate, bloom.capacity, len(bits))
        disk.write(fd, data)
        crc = zlib.crc32(data)
        # A bit that is set meanwhile belongs to a key that was added before the checkpoint which
        # names the file, so no checkpoint has a key too many. A key too many would lose its URL for
        # ever after a rollback.
        for at in range(0, len(bits), PIECE):
            data = bytes(bits[at : at + PIECE])
            disk.write(fd, data)
            crc = zlib.crc32(data, crc)
        disk.write(fd, CRC.pack(crc))
        disk.sync(fd)
    finally:
        os.close(fd)
    disk.sync_folder(path.parent)
    return path


def read_bits(path: Path) -> BloomFilter:
    """Return the filter with its capacity and error rate, as it was written."""
    try:
        with regular(path) as file:
            return read_file(path, file)
    except FileNotFoundError as error:
        raise DamagedFile(path, 0, "the file is missing, though the checkpoint names it") from error


def read_file(path: Path, file: BinaryIO) -> BloomFilter:
    """Return the filter in an open file."""
    head, error_rate, capacity, size = _header(path, file)
    bloom = BloomFilter(capacity, error_rate)
    bits = memoryview(bloom.bitarray)
    if len(bits) != size:
        raise DamagedFile(
            path, 8, f"it has {size} bytes of bits, but its capacity needs {len(bits)}"
        )
    crc = zlib.crc32(head)
    for at in range(0, size, PIECE):
        bits[at : at + PIECE] = file.read(min(PIECE, size - at))
        crc = zlib.crc32(bits[at : at + PIECE], crc)
    if file.read() != CRC.pack(crc):
        raise DamagedFile(path, HEADER.size, "wrong checksum")
    return bloom


def _header(path: Path, file: BinaryIO) -> tuple[bytes, float, int, int]:
    """Return the header, the filter's error rate and capacity, and the number of bytes of bits."""
    head = file.read(HEADER.size)
    if not head.startswith(MAGIC) or len(head) < HEADER.size:
        raise DamagedFile(path, 0, "not a file of a Bloom filter")
    _, version, error_rate, capacity, size = HEADER.unpack(head)
    expected = HEADER.size + size + CRC.size
    has_length = os.fstat(file.fileno()).st_size == expected
    is_possible = 0 < error_rate < 1 <= capacity
    if version != VERSION or not has_length or not is_possible:
        raise DamagedFile(path, 8, "its header does not match its length")
    return head, error_rate, capacity, size


def check_file(path: Path, file: BinaryIO) -> Iterator[DamagedFile]:
    """Check an open file, without the filter's memory."""
    try:
        head, _, _, size = _header(path, file)
    except DamagedFile as damage:
        yield damage
        return
    crc = zlib.crc32(head)
    left = size
    while left and (piece := file.read(min(PIECE, left))):
        crc = zlib.crc32(piece, crc)
        left -= len(piece)
    if file.read() != CRC.pack(crc):
        yield DamagedFile(path, HEADER.size, "wrong checksum")
