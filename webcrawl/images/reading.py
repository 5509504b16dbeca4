"""Format, size and frames of an image, by its bytes alone: what a server calls it is often wrong.

Nothing is decoded. Each reader goes from one header to the next, never beyond the body, and in time proportional to it.
"""

from __future__ import annotations

from webcrawl.images import boxes, gif, icons, jpeg, png, svg, webp
from webcrawl.images.image import Image, Reader

READERS: tuple[Reader, ...] = (gif.read, png.read, jpeg.read, webp.read, boxes.read, icons.read, svg.read)


def image_of(body: bytes) -> Image | None:
    """None for what is none of these formats, or ends before it has said its size. Never raises."""
    for read in READERS:
        image = read(body)
        if image is not None:
            return image
    return None
