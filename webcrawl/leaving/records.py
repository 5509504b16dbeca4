"""Who wants to be left alone, as crawls have it in their states, and what of theirs is to be forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgpack

from webcrawl.control.in_force import META
from webcrawl.control.optouts import saved_optouts
from webcrawl.store.jobdirs import crawls_of, is_crawl
from webcrawl.urls.optout import OptOut
from webcrawl.verify.snapshot import Snapshot


def records_of(crawls: Iterable[Path]) -> list[OptOut]:
    """All records of these JOBDIRs as of their last checkpoints, each once. StoreError if one cannot be read."""
    found: dict[OptOut, None] = {}
    for crawl in crawls:
        if is_crawl(crawl):
            with Snapshot(crawl / "state") as snapshot:
                data = snapshot.get(META)
                ordered: dict[str, Any] = msgpack.unpackb(data) if data is not None else {}
                found |= dict.fromkeys(saved_optouts(snapshot, ordered.get("excluded") or []))
                snapshot.check_still()
    return list(found)


def records_in(jobdir: Path) -> list[OptOut]:
    """The same of a crawl, or of all drones of a hive."""
    return records_of(crawls_of(jobdir))


def crawls_with(archives: Sequence[Path]) -> list[Path]:
    """The JOBDIRs in which these archive files lie, as far as they do."""
    return [*dict.fromkeys(path.parent.parent for path in archives if path.parent.name == "warc")]
