"""Format, size and frames of an image, by its bytes alone: what a server calls it is often wrong."""

from __future__ import annotations

from webcrawl.content.images import avif, raster, svg
from webcrawl.content.images.image import Image, Reader

READERS: tuple[Reader, ...] = (
    raster.read_gif,
    raster.read_png,
    raster.read_jpeg,
    raster.read_webp,
    avif.read,
    raster.read_icon,
    svg.read,
)


def image_of(body: bytes) -> Image | None:
    """None for what is none of these formats, or ends before it has said its size. Never raises."""
    for read in READERS:
        image = read(body)
        if image is not None:
            return image
    return None
