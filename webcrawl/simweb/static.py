"""What every host has besides its pages: style sheet, script, pictures, and the target of the search form."""

from __future__ import annotations

import re
import struct
import zlib
from functools import lru_cache

from webcrawl.simweb.answers import Answer, Ask

_PICTURE = re.compile(r"/static/picture-(\d{1,2})\.png")
_STYLE = b'@import url("/never/style"); body { font: 16px serif; color: #222 }\n'
_SCRIPT = b'document.title += "."; var later = "/never/app.js";\n'


def answer(ask: Ask) -> Answer | None:
    if ask.path == "/static/style.css":
        return Answer(body=_STYLE, type="text/css")
    if ask.path == "/static/app.js":
        return Answer(body=_SCRIPT, type="text/javascript")
    if ask.path.partition("?")[0] == "/search":
        return Answer(body=b"<!DOCTYPE html><title>Search</title><p>Nothing was found.</p>")
    picture = _PICTURE.fullmatch(ask.path)
    if picture is not None and int(picture[1]) < 16:
        return Answer(body=png(int(picture[1])), type="image/png")
    return None


@lru_cache(64)
def png(shade: int, side: int = 32) -> bytes:
    """A grey square as a PNG file."""
    rows = (b"\0" + bytes([shade * 16 % 256]) * side) * side
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
