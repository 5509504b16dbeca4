"""What a crawler fetched, by the server's own log."""

from __future__ import annotations

from pathlib import Path

from webcrawl.lab.simweb import World
from webcrawl.lab.simweb.request_log import Hit, read


def fetched(log: Path, world: World) -> tuple[int, int]:
    """Return how many pages were sent whole, and how many other requests there were.

    A page counts once. The others are robots.txt, pictures, and pages requested again.
    """
    hits = list(read(log))
    pages = {(hit.host, hit.path) for hit in hits if _is_page(hit, world)}
    return len(pages), len(hits) - len(pages)


def _is_page(hit: Hit, world: World) -> bool:
    host = world.number(hit.host)  # not the whole origin: Wget2's Host header has no port
    return (
        host is not None
        and world.page_at(host, hit.path) is not None
        and (hit.status, hit.outcome) == (200, "sent")
    )
