"""WebP (RFC 9649): RIFF chunks; the first says the size, and in an animation each frame is a chunk ANMF."""

from __future__ import annotations

from webcrawl.images.image import Image

_ANIMATED = 0x02  # flag of VP8X
_BITS = 0x3FFF


def read(data: bytes) -> Image | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    name, body = data[12:16], data[20:30]
    if name == b"VP8X" and len(body) == 10:
        width, height = int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
        return Image("webp", width, height, max(_frames(data), 1) if body[0] & _ANIMATED else 1)
    if name == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return Image("webp", (bits & _BITS) + 1, (bits >> 14 & _BITS) + 1)
    if name == b"VP8 " and body[3:6] == b"\x9d\x01\x2a" and len(body) == 10:
        width, height = int.from_bytes(body[6:8], "little"), int.from_bytes(body[8:10], "little")
        return Image("webp", width & _BITS, height & _BITS)
    return None


def _frames(data: bytes) -> int:
    frames, at = 0, 12
    while at + 8 <= len(data):
        frames += data[at : at + 4] == b"ANMF"
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + length + (length & 1)
    return frames
