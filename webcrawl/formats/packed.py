"""Bodies that are gzip files, such as sitemap.xml.gz: unpacked within bounds."""

from __future__ import annotations

import zlib

MOST = 50 << 20  # bytes: sitemaps.org's limit
MAGIC = b"\x1f\x8b\x08"


def unpacked(body: bytes) -> bytes:
    """The first file of a gzip body, as far as it can be read and is not larger than MOST."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        return inflate.decompress(body, MOST)
    except zlib.error:
        return _salvaged(body)


def _salvaged(body: bytes) -> bytes:
    """What comes before the damage."""
    inflate, found, size = zlib.decompressobj(zlib.MAX_WBITS | 16), [], 0
    for at in range(0, len(body), 512):
        try:
            piece = inflate.decompress(body[at : at + 512], MOST - size)
        except zlib.error:
            break
        found.append(piece)
        size += len(piece)
        if inflate.eof or size >= MOST:
            break
    return b"".join(found)
