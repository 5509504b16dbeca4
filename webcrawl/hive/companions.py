"""What a drone knows of the others, in its checkpoint: a server that was emptied hears it again.

So a drone that lost its folder is not taken for the one that it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgpack

from webcrawl.hive.session import Session
from webcrawl.store.crawldb import CrawlDB

META = "hive/companions"


class Companions:
    """A part of the checkpoint."""

    def __init__(self, db: CrawlDB, server: Session) -> None:
        self._db, self._server = db, server
        self._saved = db.get(META)
        db.join(self)

    def known(self) -> dict[str, Any]:
        """For a Member that joins."""
        if self._saved is None:
            return {}
        founded, others, gone = msgpack.unpackb(self._saved, strict_map_key=False)
        return {"founded": founded, "others": others, "gone": frozenset(gone)}

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        me = self._server.member
        if me is None or me.key is None:  # the server was not there in this run
            return
        known = msgpack.packb((me.founded, dict(sorted(me.others.items())), sorted(me.gone)))
        if known != self._saved:
            self._db.set(META, known)
            self._saved = known
