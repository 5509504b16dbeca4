"""Brings finished files to a store, beside the crawl or after it (`export store`).

See docs/storage.md. A verified file may be removed here. A file is finished for good
when a checkpoint has noted its end. The verification of its copy is noted by a checkpoint, too, and
only after that COMMIT is the file removed: a crash at any moment leaves it in one place at least.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from webcrawl.base.dates import iso
from webcrawl.base.program import program
from webcrawl.base.readable import count
from webcrawl.record.objectstore.place import StoreFolder, StoreRefusal
from webcrawl.record.objectstore.upload import UploadedFile, UploadThread
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN
from webcrawl.store.outputs import SORTED, STORED, Outputs

# -- the files that lie in a store: the rows `stored.NAME` of the table meta, part of every
# checkpoint (docs/on-disk.md)

WHERE = "store"  # in the same table: the address of the last run
# Folder, endings: the bulk of a crawl, and files that it never reads again. Logs, texts, index and
# state are written to until its end.
KINDS = {"warc/": (".warc.gz", ".cdxj"), "tables/": (".parquet",)}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A finished file, and the copy of it that was verified.

    Without an address: its owner took it before.
    """

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
    def of(cls, data: bytes) -> StoredFile:
        """Return the file of a row. Raise ValueError, TypeError or KeyError if it is damaged."""
        found = json.loads(data)
        if not isinstance(found, dict):
            raise TypeError(f"not a valid record of a stored file: {data!r}")
        has_types = isinstance(found["length"], int) and isinstance(found["address"], str)
        if not has_types:
            raise TypeError(f"not a valid record of a stored file: {data!r}")
        return cls(**found)


def listing(rows: Iterable[tuple[str, bytes]]) -> dict[str, StoredFile]:
    """Return the stored files by name, from rows of meta."""
    return {name.removeprefix(STORED): StoredFile.of(bytes(data)) for name, data in rows}


def goes(name: str) -> bool:
    """Return whether a finished output of this name goes to the store."""
    return any(
        name.startswith(folder) and name.endswith(endings) for folder, endings in KINDS.items()
    )


# Stands before an address among the figures of `webcrawl verify`: files that are there and not here
IN_STORE = "in store "


def stored_in(snapshot: Snapshot) -> tuple[dict[str, StoredFile], str]:
    """Return files in a store as of the checkpoint, by name, and the address of the run's store.

    The address is empty if the run had none. Raise DamagedFile if the rows are damaged.
    """
    rows = list(snapshot.rows("SELECT name, value FROM meta WHERE name GLOB ?", (f"{STORED}*",)))
    try:
        return listing(rows), (snapshot.get(WHERE) or b"").decode()
    except (ValueError, TypeError, KeyError) as error:
        raise snapshot.damaged(f"table meta, {STORED}*: {error!r}") from error


def stored_of(jobdir: Path) -> tuple[dict[str, StoredFile], str]:
    """Return the files in a store, as `stored_in` does, of a crawl, running or not."""
    return JobDir(jobdir).read(stored_in) if is_crawl(jobdir) else ({}, "")


def elsewhere(jobdir: Path) -> dict[str, str]:
    """Return the files that a store has and JOBDIR has not, by name, with the store's address."""
    stored, _ = stored_of(jobdir)
    return {
        name: one.address
        for name, one in stored.items()
        if not one.is_taken and not (jobdir / name).exists()
    }


def not_looked_at(jobdir: Path, folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield a line for readers of a folder if some of its files are in a store."""
    found = [
        address
        for name, address in elsewhere(jobdir).items()
        if name.startswith(f"{folder}/") and name.endswith(endings)
    ]
    if found:
        yield (
            f"{jobdir}/{folder}: {count(len(found), 'file')} in the store, which is not read: "
            f"{addresses(found)}"
        )


def addresses(found: Iterable[str]) -> str:
    """Return these addresses, each once: most crawls have one store."""
    return ", ".join(dict.fromkeys(found))


logger = logging.getLogger(__name__)

PATIENCE = 30.0  # seconds without any progress after which the end of a crawl waits no more
GRACE = 5.0  # seconds that it waits when it was told to stop
OFTEN = 5.0  # seconds between two checkpoints at the end
# Seconds between two looks at what has arrived. Each wakes the event loop, for half a minute if the
# store is away.
POLL = 0.1
LEFT = "%s: %s not sent or verified yet: run `%s export store %s`, or start the crawl again"
REFUSED = (
    "%s: %s refused for the reasons above: fix them, then run `%s export store %s`, or "
    "start the crawl again"
)


class FileStorage(Part):
    """A Part, and a follower of checkpoints. `hurry`: whether the crawl was told to stop."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        *,
        root: Path,
        address: str,
        keep: bool,
        place_of: Callable[[], StoreFolder],
        hurry: Callable[[], bool],
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._db = db
        self._outputs = outputs
        self._root = root
        self._address = address
        self._keep = keep
        self._hurry = hurry
        self._clock = clock
        self._now = now
        self._sender = UploadThread(address, place_of, clock)
        self._stored = listing(db.named(STORED))
        self._files = sum(not one.is_taken for one in self._stored.values())
        self._bytes = sum(one.length for one in self._stored.values() if not one.is_taken)
        # In the order in which they are done
        self._jobs: dict[str, Future[UploadedFile | None]] = {}
        self._removals: dict[str, Future[bool]] = {}
        self._waiting: dict[str, int] = {}  # files without a verified copy, with their lengths
        self._refused: set[str] = set()  # of these, in this run
        self._told = False
        # Files that are missing before the first run with a store cannot have been stored
        if db.get(WHERE) is None:
            self._except_taken()
        db.set(WHERE, address.encode())
        db.join(self)
        self._sender.look()
        self.committed()

    @property
    def is_behind(self) -> bool:
        """Return whether files that are finished have no copy in the store."""
        return bool(self._waiting)

    def stats(self) -> Mapping[str, int]:
        """Return files and bytes in the store, of all runs, and this run's waiting and failures."""
        return {
            "store/files": self._files,
            "store/bytes": self._bytes,
            "store/waiting": len(self._waiting),
            "store/failures": self._sender.failures,
        }

    @property
    def there(self) -> tuple[int, int]:
        """Return files and bytes at this address: earlier runs may have had others."""
        lengths = [one.length for one in self._stored.values() if one.address == self._address]
        return len(lengths), sum(lengths)

    def _except_taken(self) -> None:
        """Note the files that were removed before the crawl had a store, as taken by their owner."""
        for name, (length, _) in self._outputs.finished():
            is_unknown = goes(name) and name not in self._stored
            if is_unknown and not (self._root / name).exists():
                self._note(name, StoredFile("", length))

    def _note(self, name: str, stored: StoredFile) -> None:
        self._stored[name] = stored
        self._db.set(f"{STORED}{name}", stored.pack())

    # -- what is to be sent

    def committed(self) -> None:
        """Allow the files that a checkpoint has finished to be sent."""
        for name, (length, _) in self._outputs.finished():
            if goes(name) and self._lacks(name):
                self._waiting.setdefault(name, length)
        # A table of hosts is replaced by that of a later run
        for name in list(self._waiting):
            if not self._outputs.holds(name):
                del self._waiting[name]
        self._submit()

    def _lacks(self, name: str) -> bool:
        """Return True if a copy has to be verified: it is not known of, or the file here may go."""
        stored = self._stored.get(name)
        if stored is None:
            return True
        if self._keep or stored.is_taken:
            return False
        # An earlier run kept the file, or was killed before it had removed it
        return (self._root / name).exists()

    def _submit(self) -> None:
        """Hand the waiting files, and the removal of replaced ones, to the sender's thread."""
        if not self._sender.is_due:
            return
        marks = dict(self._outputs.finished())
        for name in sorted(self._waiting.keys() - self._jobs.keys() - self._refused):
            # An index is sorted after the checkpoint noted the checksum of its lines
            has_crc = name in marks and not name.endswith(SORTED)
            crc = marks[name][1] if has_crc else None
            self._jobs[name] = self._sender.send(name, self._root / name, crc)
        for name, stored in self._stored.items():
            # Copies at an earlier address stay there
            is_here = stored.address == self._address
            is_replaced = is_here and not self._outputs.holds(name)
            if is_replaced and name not in self._removals:
                self._removals[name] = self._sender.remove(name)

    # -- what came of it

    def save(self) -> None:
        """Note what was verified since; the files may go after this checkpoint."""
        self._harvest()

    def _harvest(self) -> bool:
        """Note what was sent; True if anything was."""
        before = self._files, len(self._stored)
        # One thread does the jobs, in the order in which they were submitted
        while self._jobs:
            name, job = next(iter(self._jobs.items()))
            if not self._sender.done(job):
                break
            del self._jobs[name]
            self._came_of(name, job)
        for name, removal in list(self._removals.items()):
            if not self._sender.done(removal):
                continue
            del self._removals[name]
            if removal.result():
                self._forget(name)
        return before != (self._files, len(self._stored))

    def _came_of(self, name: str, job: Future[UploadedFile | None]) -> None:
        # Another file has replaced it meanwhile
        if not self._outputs.holds(name):
            is_sent = job.exception() is None and job.result() is not None
            # Noted, so that `_submit` has it removed there, also after a kill
            if is_sent and name not in self._stored:
                self._note(name, StoredFile(self._address))
                self._files += 1
            return
        if isinstance(refused := job.exception(), StoreRefusal):
            self._refused.add(name)
            logger.error("%s", refused)
            return
        sent = job.result()
        if sent is None:
            return
        sums = sent.sums
        if name not in self._stored:
            self._files += 1
            self._bytes += sums.length
        at = iso(self._now(), fraction=False)
        self._note(name, StoredFile(self._address, sums.length, sums.sha256, at, sent.by))
        self._waiting.pop(name, None)
        logger.info("%s: stored, %d bytes, %s", name, sums.length, sent.by)
        # The file goes after the COMMIT that notes its copy
        if not self._keep:
            self._db.discard(self._root / name)

    def _forget(self, name: str) -> None:
        self._files -= 1
        self._bytes -= self._stored.pop(name).length
        self._db.delete(f"{STORED}{name}", f"{STORED}{name}\0")

    # -- the end

    def rest(self) -> Iterator[float | None]:
        """Send, after the last checkpoint, what is left, as long as it arrives; note it."""
        yield from self._commit()
        self.committed()
        if self._waiting:
            logger.info("%s: %s on the way", self._address, count(len(self._waiting), "file"))
        begun = noted = self._clock()
        while self._may_go_on(begun):
            if self._harvest() and self._clock() - noted > OFTEN:
                yield from self._commit()
                noted = self._clock()
            if not self._jobs:
                self._submit()
            yield POLL
        self._sender.stop()
        yield from self._commit()

    def _may_go_on(self, begun: float) -> bool:
        may_be_sent = self._waiting.keys() - self._refused
        if not self._jobs and not self._removals and not may_be_sent:
            return False
        now = self._clock()
        if self._hurry():
            return not self._sender.is_away and now - begun < GRACE
        # As long as pieces arrive, however long a file takes
        last_progress = max(begun, self._sender.moved)
        return now - last_progress < PATIENCE

    def _commit(self) -> Iterator[None]:
        """Take the checkpoint that gives files their final names: the one before noted their ends."""
        yield from self._db.prepare()
        self._db.checkpoint()

    def close(self) -> None:
        """Log what is left here, and stop. A second call does nothing."""
        self._sender.close()
        if not self._told:
            self._told = True
            self._tell(LEFT, self._waiting.keys() - self._refused)
            self._tell(REFUSED, self._waiting.keys() & self._refused)

    def _tell(self, line: str, names: Collection[str]) -> None:
        if names:
            size = sum(self._waiting[name] for name in names)
            left = f"{count(len(names), 'file')} ({size} bytes)"
            logger.warning(line, self._address, left, program(), self._root)


def forget_store(db: CrawlDB) -> None:
    """Begin a run without a store: files that are removed from now on were taken by their owner.

    Files that are stored stay noted.
    """
    if db.get(WHERE) is not None:
        db.delete(WHERE, f"{WHERE}\0")


PAUSE = 0.01  # seconds between two looks at the disk


class NoStore(StoreError):  # noqa: N818 - reads as what it is
    """Nobody says where the files go."""


def copied(
    jobdir: Path, address: str | None, *, keep: bool, open_place: Callable[[str], StoreFolder]
) -> Iterator[tuple[str, bool]]:
    """Copy all files; yield messages, and whether each is good news.

    Without an address, they go to the store of the last run. Raise StateLocked if the crawl runs,
    which copies its files itself.
    """
    with closing(CrawlDB(jobdir / "state")) as db, closing(Outputs(db, jobdir)) as outputs:
        where = address or (db.get(WHERE) or b"").decode()
        if not where:
            raise NoStore(f"{jobdir}: OUTPUT_STORE is not set, and the last run had none")
        storing = FileStorage(
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
            files, size = storing.there
            figures = storing.stats()
            message = f"{where}: {count(files, 'file')} stored, {size} bytes"
            before = figures["store/files"] - files
            if before:
                message += f"; {count(before, 'file')} at earlier addresses"
            if storing.is_behind:
                message += f"; {figures['store/waiting']} not sent or verified yet"
            yield message, not storing.is_behind
    for path in sorted(jobdir.glob(f"warc/*.warc.gz{OPEN}")):
        yield f"{path}: is not finished: start the crawl again to finish it", False
