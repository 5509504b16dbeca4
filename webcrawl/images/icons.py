"""BMP and ICO (Microsoft): fixed headers. An icon is as large as the largest of its images, its frames."""

from __future__ import annotations

from webcrawl.images.image import Image

_CORE = 12  # bytes of OS/2's header, whose sizes are of two bytes
_HEADERS = frozenset((_CORE, 16, 40, 52, 56, 64, 108, 124))  # bytes of the headers that there are


def read(data: bytes) -> Image | None:
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
