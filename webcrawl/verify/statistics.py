"""Checks that the statistics heard of every line of crawl.log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

import msgpack

from webcrawl.store.errors import DamagedFile
from webcrawl.verify.lines import CRAWL_LOG
from webcrawl.verify.snapshot import Snapshot

META = "statistics"


def check_statistics(
    snapshot: Snapshot, jobdir: Path, damaged: AbstractSet[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Those that were kept from the crawl's beginning on, unless the log itself is `damaged`."""
    value = snapshot.get(META)
    if value is None or jobdir / CRAWL_LOG in damaged:
        return
    try:
        saved = msgpack.unpackb(value, strict_map_key=False)
        lines, since = int(saved["lines"]), int(saved["since"])
    except (ValueError, TypeError, KeyError) as error:
        yield snapshot.damaged(f"table meta, {META}: {error!r}")
        return
    if not since and lines != found[CRAWL_LOG]:
        yield snapshot.damaged(f"table meta, {META}: of {lines} URLs, {CRAWL_LOG} has {found[CRAWL_LOG]} lines")
