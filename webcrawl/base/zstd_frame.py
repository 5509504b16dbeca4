"""zstd: the standard library's binding, or its backport before Python 3.14; and data as one frame.

The frames that are made here say their size: a damaged one cannot ask for any amount of memory.
The package zstandard is not used: its decompressor has no bound for what it makes of its input, and
16 KB could become 500 MB.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ("BadFrame", "pack", "pack_checked", "unpack", "zstd")

# Both may be used by any thread: they have locks of their own.
_PLAIN = zstd.ZstdCompressor(level=1)
_CHECKED = zstd.ZstdCompressor(
    options={
        zstd.CompressionParameter.compression_level: 1,
        zstd.CompressionParameter.checksum_flag: 1,
    }
)


LARGEST = 1 << 30  # bytes: nothing that we pack is as large


class BadFrame(ValueError):  # noqa: N818 - reads as what it is
    """Bytes that are not one whole frame, or hold too much."""


def pack(data: bytes | bytearray) -> bytes:
    return _PLAIN.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)


def pack_checked(data: bytes | bytearray) -> bytes:
    """Return the data as a frame with a checksum of 4 bytes, for use where nothing else checks it."""
    return _CHECKED.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)


def unpack(frame: bytes, most: int = LARGEST) -> bytes:
    """Return the data of a frame, up to the limit.

    Raise BadFrame if these bytes are not one whole frame.
    """
    try:
        size = zstd.get_frame_info(frame).decompressed_size
        # Before anything is unpacked: the claimed size is the memory that unpacking takes
        if size is None:
            raise BadFrame("the zstd frame does not state its size")
        if size > most:
            raise BadFrame(f"the zstd frame claims {size} bytes, but at most {most} are possible")
        decompressor = zstd.ZstdDecompressor()
        # With room for one byte more it reads on to the checksum
        data = decompressor.decompress(frame, size + 1)
    except (zstd.ZstdError, TypeError) as error:
        # TypeError is raised for a value of another type, in a damaged row
        raise BadFrame(str(error)) from error
    if not decompressor.eof or decompressor.unused_data:
        raise BadFrame("the zstd frame is truncated, or other bytes follow it")
    return data
