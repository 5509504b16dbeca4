"""Checks that seeds which came by command from standard input, and are not all read, are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgpack

from webcrawl.crawl.seeding import MORE
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.urls.seeds.seed_source import BELOW_JOBDIR


def check_added_seeds(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each file of seeds below the JOBDIR that the crawl still has to read and that is gone."""
    del found
    try:
        _, _, places = msgpack.unpackb(snapshot.get(MORE) or b"")
        names = [
            source.removeprefix(BELOW_JOBDIR)
            for source in places
            if source.startswith(BELOW_JOBDIR)
        ]
    except (ValueError, TypeError, AttributeError) as error:
        yield snapshot.damaged(f"table meta, {MORE}: {error!r}")
        return
    jobdir = snapshot.path.parent.parent
    for name in names:
        # Those of a hive are in its own folder, for all of its drones
        if not (jobdir / name).exists() and not (jobdir.parent / name).exists():
            yield DamagedFile(jobdir / name, 0, "missing, though not all of its seeds are read")
