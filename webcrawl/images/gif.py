"""GIF (CompuServe, GIF89a specification): the logical screen, then blocks, of which images are frames."""

from __future__ import annotations

from webcrawl.images.image import Image

_EXTENSION, _IMAGE = 0x21, 0x2C  # what a block begins with


def read(data: bytes) -> Image | None:
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 11:
        return None
    width, height = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return Image("gif", width, height, max(_frames(data, 13 + _colours(data[10])), 1))


def _frames(data: bytes, at: int) -> int:
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
