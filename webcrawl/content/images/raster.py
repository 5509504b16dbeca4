"""Raster images by their headers: PNG, JPEG, GIF, WebP, BMP and ICO."""

from __future__ import annotations

from webcrawl.content.images.image import Image

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def read_png(data: bytes) -> Image | None:
    if not data.startswith(_SIGNATURE) or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    return Image("png", width, height, _png_frames(data))


def _png_frames(data: bytes) -> int:
    at = len(_SIGNATURE)
    while len(name := data[at + 4 : at + 8]) == 4 and name != b"IDAT":
        if name == b"acTL" and len(data) >= at + 12:
            return max(int.from_bytes(data[at + 8 : at + 12]), 1)
        at += 12 + int.from_bytes(data[at : at + 4])
    return 1


SEGMENTS = 2000  # before the frame header; profiles and thumbnails take a few hundred at most
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a segment: TEM, RST0 to 7, SOI
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SCAN, _END = 0xDA, 0xD9


def read_jpeg(data: bytes) -> Image | None:
    if data[:3] != b"\xff\xd8\xff":
        return None
    at, size = 2, len(data)
    for _ in range(SEGMENTS):
        while at + 1 < size and data[at] == data[at + 1] == 0xFF:  # fill bytes
            at += 1
        if at + 9 > size or data[at] != 0xFF or (marker := data[at + 1]) in (_SCAN, _END):
            return None
        if marker in _FRAMES:
            return Image("jpeg", int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7]))
        at += 2 if marker in _ALONE else 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


_EXTENSION, _IMAGE = 0x21, 0x2C  # what a block begins with


def read_gif(data: bytes) -> Image | None:
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 11:
        return None
    width, height = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return Image("gif", width, height, max(_gif_frames(data, 13 + _colours(data[10])), 1))


def _gif_frames(data: bytes, at: int) -> int:
    frames, size = 0, len(data)
    while at < size:
        if data[at] == _IMAGE:
            frames += 1
            if at + 9 >= size:
                break
            at += 11 + _colours(data[at + 9])  # descriptor, colours, and the code size of its pixels
        elif data[at] == _EXTENSION:
            at += 2
        else:  # the trailer, or no GIF any more
            break
        while at < size and (length := data[at]):  # sub-blocks
            at += 1 + length
        at += 1
    return frames


def _colours(flags: int) -> int:
    """The length of a colour table."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


_ANIMATED = 0x02  # flag of VP8X
_BITS = 0x3FFF


def read_webp(data: bytes) -> Image | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    name, body = data[12:16], data[20:30]
    if name == b"VP8X" and len(body) == 10:
        width, height = int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
        return Image("webp", width, height, max(_webp_frames(data), 1) if body[0] & _ANIMATED else 1)
    if name == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return Image("webp", (bits & _BITS) + 1, (bits >> 14 & _BITS) + 1)
    if name == b"VP8 " and body[3:6] == b"\x9d\x01\x2a" and len(body) == 10:
        width, height = int.from_bytes(body[6:8], "little"), int.from_bytes(body[8:10], "little")
        return Image("webp", width & _BITS, height & _BITS)
    return None


def _webp_frames(data: bytes) -> int:
    frames, at = 0, 12
    while at + 8 <= len(data):
        frames += data[at : at + 4] == b"ANMF"
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + length + (length & 1)
    return frames


_CORE = 12  # bytes of OS/2's header, whose sizes are of two bytes
_HEADERS = frozenset((_CORE, 16, 40, 52, 56, 64, 108, 124))  # bytes of the headers that there are


def read_icon(data: bytes) -> Image | None:
    if data[:2] == b"BM" and len(data) >= 26:
        return _bmp(data)
    if data[:4] == b"\0\0\1\0" and len(data) >= 22:
        return _ico(data)
    return None


def _bmp(data: bytes) -> Image | None:
    header = int.from_bytes(data[14:18], "little")
    if header not in _HEADERS:
        return None
    if header == _CORE:
        return Image("bmp", int.from_bytes(data[18:20], "little"), int.from_bytes(data[20:22], "little"))
    width, height = (int.from_bytes(data[at : at + 4], "little", signed=True) for at in (18, 22))
    return Image("bmp", abs(width), abs(height))  # a negative height: lines from the top


def _ico(data: bytes) -> Image | None:
    count = int.from_bytes(data[4:6], "little")
    if not count or len(data) < 6 + 16 * count:
        return None
    entries = [data[at : at + 2] for at in range(6, 6 + 16 * count, 16)]
    width, height = max(((entry[0] or 256, entry[1] or 256) for entry in entries), key=lambda size: size[0] * size[1])
    return Image("ico", width, height, count)
