"""Which files of a crawl are not here because verified copies lie in a store (docs/storage.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from webcrawl.objectstore.listing import WHERE, Stored, goes, listing
from webcrawl.objectstore.place import Place
from webcrawl.objectstore.upload import digest
from webcrawl.store.errors import StoreError
from webcrawl.store.output import OPEN
from webcrawl.store.outputs import FINISHED, STORED
from webcrawl.text.credentials import text_without_credentials
from webcrawl.text.quantities import count
from webcrawl.verify.snapshot import Snapshot

IN_STORE = "in store "  # before an address, among the figures of `scrapy verify`: files that lie there and not here


def stored_in(snapshot: Snapshot) -> tuple[dict[str, Stored], str]:
    """What the checkpoint says of files in a store, by name, and the address of its run's; empty: it had none.

    DamagedFile if the rows are damaged.
    """
    rows = list(snapshot.rows("SELECT name, value FROM meta WHERE name GLOB ?", (f"{STORED}*",)))
    try:
        return listing(rows), (snapshot.get(WHERE) or b"").decode()
    except (ValueError, TypeError, KeyError) as error:
        raise snapshot.damaged(f"table meta, {STORED}*: {error!r}") from error


def stored_of(jobdir: Path) -> tuple[dict[str, Stored], str]:
    """The same of a crawl, running or not."""
    if not (jobdir / "state" / "crawl.db").exists():
        return {}, ""
    with Snapshot(jobdir / "state") as snapshot:
        found = stored_in(snapshot)
        snapshot.check_still()
    return found


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
        yield f"{jobdir}/{folder}: {count(len(names), 'file')} in the store, not looked at (scrapy store -l says where)"


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
    if not (jobdir / "state" / "crawl.db").exists():
        raise StoreError(f"{jobdir}: not a crawl: state/crawl.db is missing")
    with Snapshot(jobdir / "state") as snapshot:
        stored, _ = stored_in(snapshot)
        rows = snapshot.rows("SELECT name FROM meta WHERE name GLOB ?", (f"{FINISHED}*",))
        finished = [name for (row,) in rows if goes(name := str(row).removeprefix(FINISHED))]
        snapshot.check_still()
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


def _compared(place: Place, name: str, stored: Stored) -> str:
    """What is wrong with the copy."""
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
