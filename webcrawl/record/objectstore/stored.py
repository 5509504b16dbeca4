"""The files of a crawl that lie in a store: the rows `stored.NAME` of the table meta, and how they compare.

Part of every checkpoint (docs/files.md, docs/outputs.md#object-storage).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from webcrawl.base.program import program
from webcrawl.base.readable import count, text_without_credentials
from webcrawl.record.objectstore.place import Place
from webcrawl.record.objectstore.upload import digest
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN
from webcrawl.store.outputs import FINISHED, STORED

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
    """The files that lie in a store and not in JOBDIR, by name, each with its address there."""
    stored, _ = stored_of(jobdir)
    return {
        name: f"{one.address}/{name}"
        for name, one in stored.items()
        if not one.is_taken and not (jobdir / name).exists()
    }


def not_looked_at(jobdir: Path, folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """A line, for those who read files of a folder, if some of them lie in a store."""
    names = [name for name in elsewhere(jobdir) if name.startswith(f"{folder}/") and name.endswith(endings)]
    if names:
        files = count(len(names), "file")
        yield f"{jobdir}/{folder}: {files} in the store, not looked at ({program()} export store -l says where)"


@dataclass(frozen=True, slots=True)
class Looked:
    """One finished file of a crawl that goes to a store: where it is, and whether that is as it should be."""

    path: Path
    here: bool
    stored: Stored | None
    wrong: str = ""

    @property
    def is_sound(self) -> bool:
        return not self.wrong

    def line(self) -> str:
        where = ["here"] if self.here else []
        if self.stored is not None and not self.stored.is_taken:
            where.append(f"in {self.stored.address}: {self.stored.length} bytes, {self.stored.at}, {self.stored.by}")
        return f"{self.path}: {self.wrong or ' and '.join(where) or 'taken away by its owner'}"

    def to_json(self) -> dict[str, Any]:
        about = asdict(self.stored) if self.stored is not None and not self.stored.is_taken else None
        return {"file": str(self.path), "here": self.here, "stored": about, "wrong": self.wrong or None}


def looked(jobdir: Path, open_place: Callable[[str], Place] | None) -> Iterator[Looked]:
    """Each finished file that goes to a store; copies are read and compared if somebody can open their stores."""
    stored, finished = JobDir.open(jobdir).read(_finished)
    places: dict[str, Place] = {}
    for name in sorted(finished):
        path, one = jobdir / name, stored.get(name)
        here, wrong = any(map(Path.exists, (path, Path(f"{path}{OPEN}")))), ""
        if one is None and not here:
            one = stored_of(jobdir)[0].get(name)  # stored and removed just now
        if one is None:
            wrong = "not stored yet" if here else "missing: neither here nor in a store"
        elif open_place is not None and not one.is_taken:
            if one.address not in places:
                places[one.address] = open_place(one.address)
            wrong = _compared(places[one.address], name, one)
        yield Looked(path, here, one, wrong)


def _finished(snapshot: Snapshot) -> tuple[dict[str, Stored], list[str]]:
    """The files that are stored, and the names of all finished files that go to a store."""
    rows = snapshot.rows("SELECT name FROM meta WHERE name GLOB ?", (f"{FINISHED}*",))
    return stored_in(snapshot)[0], [name for (row,) in rows if goes(name := str(row).removeprefix(FINISHED))]


def _compared(place: Place, name: str, stored: Stored) -> str:
    """The fault of the copy; empty if it has none."""
    try:
        size = place.size(name)
        if size is None:
            return f"gone from {stored.address}"
        if size != stored.length:
            return f"{size} bytes in {stored.address}, {stored.length} were stored"
        if digest(place, name, lambda: None) != stored.sha256:
            return f"damaged in {stored.address}"
    except Exception as error:  # noqa: BLE001 - the store's, of any kind
        return f"{stored.address}: {text_without_credentials(' '.join(str(error).split()))}"
    return ""
