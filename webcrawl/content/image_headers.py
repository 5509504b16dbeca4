"""Format, size and frames of an image, by its headers alone: what a server calls it is often wrong.

In AVIF and HEIF (ISO/IEC 14496-12, 23008-12), boxes within boxes, the sizes of all items of a file stand in boxes
`ispe`; the largest is the image, the others its tiles and thumbnails. A rotation, which is a box of its own, is not
applied. The frames of a sequence are the samples of its first track. Lengths of an SVG become CSS pixels; others give
way to its viewBox.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Image(NamedTuple):
    """Of an image that is cut off, `frames` are those that began."""

    format: str
    width: int  # pixels; 0 where the image does not say
    height: int
    frames: int = 1


Reader = Callable[[bytes], Image | None]


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


BOXES = 1000  # looked at on each level
_FORMATS = {b"avif": "avif", b"avis": "avif", b"heic": "heif", b"heix": "heif", b"hevc": "heif", b"mif1": "heif"}
_SAMPLES = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsz")
_Span = tuple[int, int]  # where a box's content begins and ends


def read_avif(data: bytes) -> Image | None:
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


HEAD = 1 << 16  # bytes in which the element must begin and end
_DOCTYPE = r"<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?>"
_BEFORE = re.compile(rf"\ufeff?\s*+(?:(?:<\?[^>]*+>|<!--.*?-->|{_DOCTYPE})\s*+)*+", re.DOTALL)
_SVG = re.compile(r"<(?:[A-Za-z_][\w.-]*+:)?svg(?=[\s/>])")
_ATTRIBUTE = re.compile(r"""\s(width|height|viewBox)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_LENGTH = re.compile(r"\+?(\d{0,9}(?:\.\d{0,9})?)\s*+(px|pt|pc|mm|cm|in|Q|)", re.ASCII)
_PIXELS = {"": 1, "px": 1, "pt": 96 / 72, "pc": 16, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96, "Q": 96 / 101.6}
_BOX = re.compile(r"[\s,]+")


def read_svg(data: bytes) -> Image | None:
    head = data[:HEAD]
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = head.decode("utf-16" if wide else "latin-1", "replace").removeprefix("\xef\xbb\xbf")
    before = _BEFORE.match(text)
    begin = _SVG.match(text, before.end() if before else 0)
    if begin is None or (end := text.find(">", begin.end())) < 0:
        return None
    found = {name: one or two for name, one, two in _ATTRIBUTE.findall(text[begin.end() : end])}
    sizes = [_pixels(found.get(name, "")) for name in ("width", "height")]
    box = [_pixels(part) for part in _BOX.split(found.get("viewBox", "").strip())]
    if len(box) == 4:
        sizes = [size if size is not None else of_box for size, of_box in zip(sizes, box[2:], strict=True)]
    return Image("svg", *(round(size or 0) for size in sizes))


def _pixels(length: str) -> float | None:
    match = _LENGTH.fullmatch(length.strip())
    return float(match[1]) * _PIXELS[match[2]] if match and match[1].strip(".") else None


READERS: tuple[Reader, ...] = (
    read_gif,
    read_png,
    read_jpeg,
    read_webp,
    read_avif,
    read_icon,
    read_svg,
)


def image_of(body: bytes) -> Image | None:
    """None for what is none of these formats, or ends before it has said its size. Never raises."""
    for read in READERS:
        image = read(body)
        if image is not None:
            return image
    return None
