"""JPEG (ITU-T T.81, annex B): segments, of which a frame header (SOF) has the size."""

from __future__ import annotations

from webcrawl.images.image import Image

SEGMENTS = 2000  # before the frame header; profiles and thumbnails take a few hundred at most
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a segment: TEM, RST0 to 7, SOI
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SCAN, _END = 0xDA, 0xD9


def read(data: bytes) -> Image | None:
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
