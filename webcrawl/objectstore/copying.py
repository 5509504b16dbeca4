"""Brings to the store what a crawl has finished and that does not run (`scrapy store`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from webcrawl.objectstore.listing import WHERE
from webcrawl.objectstore.place import Place
from webcrawl.objectstore.storing import Storing
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.output import OPEN
from webcrawl.store.outputs import Outputs
from webcrawl.text.quantities import count

PAUSE = 0.01  # seconds between two looks at the disk


class NoStore(StoreError):  # noqa: N818 - reads as what it is
    """Nobody says where the files go."""


def copied(
    jobdir: Path, address: str | None, *, keep: bool, open_place: Callable[[str], Place]
) -> Iterator[tuple[str, bool]]:
    """Copies all; yields what there is to say, and whether it is good news. Without an address: the last run's.

    StateLocked: the crawl runs, and does it itself.
    """
    with closing(CrawlDB(jobdir / "state")) as db, closing(Outputs(db, jobdir)) as outputs:
        where = address or (db.get(WHERE) or b"").decode()
        if not where:
            raise NoStore(f"{jobdir}: OUTPUT_STORE is not set, and the last run had none")
        storing = Storing(
            db,
            outputs,
            root=jobdir,
            address=where,
            keep=keep,
            place_of=partial(open_place, where),
            hurry=lambda: False,
            clock=time.monotonic,
            now=time.time,
        )
        with closing(storing):
            for pause in storing.rest():
                time.sleep(PAUSE if pause is None else pause)
            figures = storing.stats()
            yield (
                f"{where}: {count(figures['store/files'], 'file')} stored, {figures['store/bytes']} bytes"
                + (f"; {figures['store/waiting']} not" if storing.is_behind else ""),
                not storing.is_behind,
            )
    for path in sorted(jobdir.glob(f"warc/*.warc.gz{OPEN}")):
        yield f"{path}: not finished, because the crawl was killed: start it again, which finishes it", False
