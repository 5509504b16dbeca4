"""Who wants to be left alone, as crawls have it in their states, and what of theirs is to be forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgpack

from webcrawl.control.commands import checked
from webcrawl.control.in_force import META
from webcrawl.control.leaving import excluded
from webcrawl.control.optouts import saved_optouts
from webcrawl.control.row import Answer
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


class Saved:
    """The same, asked as a crawl that runs is. StoreError if a state cannot be read."""

    def __init__(self, jobdir: Path) -> None:
        crawls = [crawl for crawl in crawls_of(jobdir) if is_crawl(crawl)]
        self.found = bool(crawls)
        self._records = records_of(crawls)

    def __repr__(self) -> str:
        return f"<Saved {len(self._records)}>"

    def excluded(self) -> Sequence[OptOut]:
        return self._records

    def ask(self, *words: str) -> Answer:
        """What the command `excluded` says. Raises CommandError."""
        checked("excluded", *words)
        return excluded(self, *words)


def crawls_with(archives: Sequence[Path]) -> list[Path]:
    """The JOBDIRs in which these archive files lie, as far as they do."""
    return [*dict.fromkeys(path.parent.parent for path in archives if path.parent.name == "warc")]
