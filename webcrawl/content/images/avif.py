"""AVIF and HEIF (ISO/IEC 14496-12, 23008-12): boxes within boxes.

The sizes of all items of a file stand in boxes `ispe`; the largest is the image, the others its tiles and thumbnails. A
rotation, which is a box of its own, is not applied. The frames of a sequence are the samples of its first track.
"""

from __future__ import annotations

from collections.abc import Iterator

from webcrawl.content.images.image import Image

BOXES = 1000  # looked at on each level
_FORMATS = {b"avif": "avif", b"avis": "avif", b"heic": "heif", b"heix": "heif", b"hevc": "heif", b"mif1": "heif"}
_SAMPLES = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsz")
_Span = tuple[int, int]  # where a box's content begins and ends


def read(data: bytes) -> Image | None:
    if data[4:8] != b"ftyp":
        return None
    end = min(int.from_bytes(data[:4]), len(data), 256)
    brands = [data[8:12], *(data[at : at + 4] for at in range(16, end - 3, 4))]
    name = next((_FORMATS[brand] for brand in brands if brand in _FORMATS), None)
    if name is None:
        return None
    largest = max(_sizes(data), key=lambda size: size[0] * size[1], default=None)
    if largest is None:
        return None
    return Image(name, *largest, _samples(data) if data[8:12] == b"avis" else 1)


def _sizes(data: bytes) -> Iterator[tuple[int, int]]:
    for name, meta in _boxes(data, (0, len(data))):
        if name == b"meta":
            for properties in _within(data, (meta[0] + 4, meta[1]), (b"iprp", b"ipco")):  # meta has a version
                for kind, (begin, end) in _boxes(data, properties):
                    if kind == b"ispe" and end - begin >= 12:
                        yield int.from_bytes(data[begin + 4 : begin + 8]), int.from_bytes(data[begin + 8 : begin + 12])


def _samples(data: bytes) -> int:
    for begin, end in _within(data, (0, len(data)), _SAMPLES):
        if end - begin >= 12:
            return max(int.from_bytes(data[begin + 8 : begin + 12]), 1)
    return 1


def _within(data: bytes, span: _Span, names: tuple[bytes, ...]) -> Iterator[_Span]:
    """The boxes on this path; of equal names the first."""
    for name in names:
        found = next((inner for kind, inner in _boxes(data, span) if kind == name), None)
        if found is None:
            return
        span = found
    yield span


def _boxes(data: bytes, span: _Span) -> Iterator[tuple[bytes, _Span]]:
    at, end = span
    for _ in range(BOXES):
        if at + 8 > end:
            return
        length, head = int.from_bytes(data[at : at + 4]), 8
        if length == 1:  # the length follows, in eight bytes
            length, head = int.from_bytes(data[at + 8 : at + 16]), 16
        elif length == 0:  # up to the end
            length = end - at
        if length < head:
            return
        yield data[at + 4 : at + 8], (min(at + head, end), min(at + length, end))
        at += length
