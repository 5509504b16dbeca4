"""SVG: the attributes of the first element, if that is `svg`. Lengths become CSS pixels; others give way to viewBox."""

from __future__ import annotations

import re

from webcrawl.content.images.image import Image

HEAD = 1 << 16  # bytes in which the element must begin and end
_DOCTYPE = r"<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?>"
_BEFORE = re.compile(rf"\ufeff?\s*+(?:(?:<\?[^>]*+>|<!--.*?-->|{_DOCTYPE})\s*+)*+", re.DOTALL)
_SVG = re.compile(r"<(?:[A-Za-z_][\w.-]*+:)?svg(?=[\s/>])")
_ATTRIBUTE = re.compile(r"""\s(width|height|viewBox)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_LENGTH = re.compile(r"\+?(\d{0,9}(?:\.\d{0,9})?)\s*+(px|pt|pc|mm|cm|in|Q|)", re.ASCII)
_PIXELS = {"": 1, "px": 1, "pt": 96 / 72, "pc": 16, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96, "Q": 96 / 101.6}
_BOX = re.compile(r"[\s,]+")


def read(data: bytes) -> Image | None:
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
