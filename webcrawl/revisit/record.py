"""What is kept of a page that is fetched again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class PageRecord:
    """One page; it is in a bucket, on its way through the frontier, or in flight."""

    url: str
    path: str = ""
    fetched: float = 0.0
    etag: bytes = b""
    modified: bytes = b""
    digest: int = 0
    text: int = 0
    shape: float = 0.0
    span: float = 0.0
    weight: float = 1.0
    visits: int = 0
    changes: int = 0
    gone: int = 0
    listed: bool = False
