"""The state of every seen store beside keys and records: the kind of store, positions and counters."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError

NAME = "seen.state"


@dataclass(slots=True)
class State:
    """Saved as JSON, so that it is readable in the sqlite3 shell."""

    store: str  # the kind of store: each kind reads the tables differently
    begin: int = 0  # ordinal of the first record not yet taken
    judged: int = 0  # ordinal up to which records are decided: new or not
    end: int = 0  # ordinal of the next record
    submitted: int = 0
    cache_hits: int = 0
    new: int = 0
    merges: int = 0
    merge_seconds: float = 0.0

    def save(self, db: CrawlDB, begin: int, judged: int, end: int) -> None:
        self.begin, self.judged, self.end = begin, judged, end
        db.set(NAME, json.dumps(asdict(self)).encode())

    def stats(self, *, waiting: int, keys: int, runs: int = 0) -> dict[str, int | float]:
        """The counters by name. A waiting record counts neither as new nor as a duplicate."""
        return {
            "submitted": self.submitted,
            "cache_hits": self.cache_hits,
            "cache_hit_rate": self.cache_hits / self.submitted if self.submitted else 0.0,
            "new": self.new,
            "duplicates": self.submitted - self.new - waiting,
            "merges": self.merges,
            "merge_seconds": self.merge_seconds,
            "waiting": waiting,
            "keys": keys,
            "runs": runs,
        }


def load(db: CrawlDB, store: str) -> State:
    """The state at the last checkpoint, or an initial one in a new crawl."""
    value = db.get(NAME)
    if value is None:
        return State(store)
    try:
        state = State(**json.loads(value))
    except (ValueError, TypeError) as error:
        raise DamagedFile(db.path, 0, f"table meta, {NAME}: {error}") from error
    if state.store != store:
        raise StoreError(f"{db.path}: this crawl was started with the seen store {state.store!r}, not {store!r}")
    return state
