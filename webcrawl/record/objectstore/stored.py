"""The files of a crawl that lie in a store: the rows `stored.NAME` of the table meta.

Part of every checkpoint (docs/files.md, docs/outputs.md#object-storage).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from webcrawl.base.readable import count
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.outputs import STORED

WHERE = "store"  # in the same table: the address of the last run
KINDS = {"warc/": (".warc.gz", ".cdxj"), "tables/": (".parquet",)}  # folder, endings


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished file, and the copy of it that was verified. Without an address: its owner took it before."""

    address: str
    length: int = 0
    sha256: str = ""
    at: str = ""  # when it was verified
    by: str = ""  # how: all of it was `read back`, or the store's own `checksum` was compared

    @property
    def is_taken(self) -> bool:
        return not self.address

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def of(cls, data: bytes) -> Stored:
        """ValueError, TypeError or KeyError if it is damaged."""
        found = json.loads(data)
        if not isinstance(found, dict) or not isinstance(found["length"], int) or not isinstance(found["address"], str):
            raise TypeError(f"not a stored file: {data!r}")
        return cls(**found)


def listing(rows: Iterable[tuple[str, bytes]]) -> dict[str, Stored]:
    """Stored files by name, from rows of meta."""
    return {name.removeprefix(STORED): Stored.of(bytes(data)) for name, data in rows}


def goes(name: str) -> bool:
    """True if a finished output of this name goes to the store."""
    return any(name.startswith(folder) and name.endswith(endings) for folder, endings in KINDS.items())


IN_STORE = "in store "  # before an address, among the figures of `scrapy verify`: files that lie there and not here


def stored_in(snapshot: Snapshot) -> tuple[dict[str, Stored], str]:
    """Files in a store as of the checkpoint, by name, and the address of its run's; empty: it had none.

    DamagedFile if the rows are damaged.
    """
    rows = list(snapshot.rows("SELECT name, value FROM meta WHERE name GLOB ?", (f"{STORED}*",)))
    try:
        return listing(rows), (snapshot.get(WHERE) or b"").decode()
    except (ValueError, TypeError, KeyError) as error:
        raise snapshot.damaged(f"table meta, {STORED}*: {error!r}") from error


def stored_of(jobdir: Path) -> tuple[dict[str, Stored], str]:
    """Files in a store, as `stored_in` gives them, of a crawl, running or not."""
    return JobDir(jobdir).read(stored_in) if is_crawl(jobdir) else ({}, "")


def elsewhere(jobdir: Path) -> dict[str, str]:
    """The files that lie in a store and not in JOBDIR, by name, each with the address of the store."""
    stored, _ = stored_of(jobdir)
    return {name: one.address for name, one in stored.items() if not one.is_taken and not (jobdir / name).exists()}


def not_looked_at(jobdir: Path, folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """A line, for those who read files of a folder, if some of them lie in a store."""
    found = [
        address
        for name, address in elsewhere(jobdir).items()
        if name.startswith(f"{folder}/") and name.endswith(endings)
    ]
    if found:
        yield f"{jobdir}/{folder}: {count(len(found), 'file')} in the store, not looked at: {addresses(found)}"


def addresses(found: Iterable[str]) -> str:
    """Return these addresses, each once: most crawls have one store."""
    return ", ".join(dict.fromkeys(found))
