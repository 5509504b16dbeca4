"""PNG and APNG (W3C, PNG third edition): IHDR comes first; acTL, before the pixels, says how many frames there are."""

from __future__ import annotations

from webcrawl.images.image import Image

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def read(data: bytes) -> Image | None:
    if not data.startswith(_SIGNATURE) or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    return Image("png", width, height, _frames(data))


def _frames(data: bytes) -> int:
    at = len(_SIGNATURE)
    while len(name := data[at + 4 : at + 8]) == 4 and name != b"IDAT":
        if name == b"acTL" and len(data) >= at + 12:
            return max(int.from_bytes(data[at + 8 : at + 12]), 1)
        at += 12 + int.from_bytes(data[at : at + 4])
    return 1
