"""Size and frames of an image, as its headers say them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Image(NamedTuple):
    """Of an image that is cut off, `frames` are those that began."""

    format: str
    width: int  # pixels; 0 where the image does not say
    height: int
    frames: int = 1


Reader = Callable[[bytes], Image | None]
