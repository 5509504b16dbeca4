"""What the crawl needs of a frontier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webcrawl.model import Link, Packed


class Found(Protocol):
    """Gets all links of a page that pass the filters, or where it is redirected, instead of the seen store."""

    def __call__(self, page: Link, records: Sequence[Packed], /, *, redirect: bool) -> None: ...
