"""Format and size of an image, by its headers alone: what a server calls it is often wrong.

The library imagesize reads most formats. Icons, which it does not know, and SVG, of which it reads
less, are read here: lengths of an SVG become CSS pixels; others give way to its viewBox.
"""

from __future__ import annotations

import io
import re
from typing import NamedTuple

import imagesize

from webcrawl.base.possessive import compile_possessive


class Image(NamedTuple):
    """A size in pixels, or 0 where the image does not say."""

    format: str
    width: int
    height: int


SIGNATURES = (
    ("gif", re.compile(rb"GIF8[79]a.{4}", re.DOTALL)),
    ("png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("jpeg", re.compile(rb"\xff\xd8\xff")),
    ("webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL)),
    # ISO 14496-12: the brand of a file follows its first box's length and name
    ("avif", re.compile(rb".{4}ftyp(?:avif|avis)", re.DOTALL)),
    ("heif", re.compile(rb".{4}ftyp(?:heic|heix|hevc|mif1)", re.DOTALL)),
    ("bmp", re.compile(rb"BM")),
    ("tiff", re.compile(rb"MM\0\*|II\*\0")),
)


def image_of(body: bytes) -> Image | None:
    """Return format and size of an image; None for other formats and truncated files. Never raise."""
    for name, signature in SIGNATURES:
        if signature.match(body):
            return _by_library(name, body)
    return _icon(body) or _svg(body)


def _by_library(name: str, body: bytes) -> Image | None:
    """Return name and size of an image of this format, as imagesize reads them; None for a damaged
    head.
    """
    try:
        width, height = imagesize.get(io.BytesIO(body), exif_rotation=False)
    except Exception:  # noqa: BLE001 - damaged headers raise whatever the reading of them raises
        return None
    if name == "gif":  # read as signed numbers
        width, height = width & 0xFFFF, height & 0xFFFF
    if min(width, height) < 0:
        return None
    return Image(name, width, height)


ICON_ENTRY_BYTES = 16


def _icon(data: bytes) -> Image | None:
    """Return the largest image of an icon file."""
    if not data.startswith(b"\0\0\1\0"):
        return None
    count = int.from_bytes(data[4:6], "little")
    end = 6 + ICON_ENTRY_BYTES * count
    is_whole = len(data) >= end
    if not count or not is_whole:
        return None
    # A byte has no room for 256, which is written as 0
    sizes = [(data[at] or 256, data[at + 1] or 256) for at in range(6, end, ICON_ENTRY_BYTES)]
    width, height = max(sizes, key=lambda size: size[0] * size[1])
    return Image("ico", width, height)


HEAD = 1 << 16  # bytes in which the element must begin and end
_DOCTYPE = r"<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?>"
_BEFORE = compile_possessive(
    rf"\ufeff?\s*+(?:(?:<\?[^>]*+>|<!--.*?-->|{_DOCTYPE})\s*+)*+", re.DOTALL
)
_SVG = re.compile(r"<(?:[A-Za-z_][\w.-]*+:)?svg(?=[\s/>])")
_ATTRIBUTE = re.compile(r"""\s(width|height|viewBox)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_LENGTH = re.compile(r"\+?(\d{0,9}(?:\.\d{0,9})?)\s*+(px|pt|pc|mm|cm|in|Q|)", re.ASCII)
# CSS has 96 pixels in an inch
_PIXELS = {
    "": 1,
    "px": 1,
    "pt": 96 / 72,
    "pc": 16,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "in": 96,
    "Q": 96 / 101.6,
}
_BOX = re.compile(r"[\s,]+")


def _svg(data: bytes) -> Image | None:
    """Return the size that the root element states, its viewBox's where it states none."""
    attributes = _root_attributes(data[:HEAD])
    if attributes is None:
        return None
    width = _pixels(attributes.get("width", ""))
    height = _pixels(attributes.get("height", ""))
    # Left, top, width and height
    box = [_pixels(part) for part in _BOX.split(attributes.get("viewBox", "").strip())]
    if len(box) == 4 and width is None:
        width = box[2]
    if len(box) == 4 and height is None:
        height = box[3]
    return Image("svg", round(width or 0), round(height or 0))


def _root_attributes(head: bytes) -> dict[str, str] | None:
    """Return width, height and viewBox of the root element, as far as given; None without <svg>."""
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = head.decode("utf-16" if is_wide else "latin-1", "replace").removeprefix("\xef\xbb\xbf")
    before = _BEFORE.match(text)
    begin = _SVG.match(text, before.end() if before else 0)
    if begin is None:
        return None
    end = text.find(">", begin.end())
    if end < 0:
        return None
    return {
        name: double or single
        for name, double, single in _ATTRIBUTE.findall(text[begin.end() : end])
    }


def _pixels(length: str) -> float | None:
    match = _LENGTH.fullmatch(length.strip())
    return float(match[1]) * _PIXELS[match[2]] if match and match[1].strip(".") else None
