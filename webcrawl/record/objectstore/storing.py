"""Copies finished files to a store, during the crawl or after it (`export store`).

See docs/storage.md. A file is finished once a checkpoint has noted its end. A later checkpoint
notes that its copy was verified, and only after that COMMIT may the local file be removed: a crash
at any moment leaves the file in at least one place.
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
from webcrawl.record.objectstore.store_folder import StoreFolder, StoreRefusal
from webcrawl.record.objectstore.upload import UploadedFile, UploadThread
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN, STREAM
from webcrawl.store.outputs import SORTED, STORED, Outputs

# -- the files in a store: the rows `stored.NAME` of the table meta, part of every checkpoint
# (docs/on-disk.md)

ADDRESS_KEY = "store"  # in the same table: the address of the last run
# By folder: the files that are most of a crawl, and that it never reads again. Logs, texts, index
# and state are written to until its end.
STORED_ENDINGS = {"warc/": (".warc.gz", ".cdxj"), "tables/": (".parquet",)}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The verified copy of a finished file.

    If the address is empty, the owner removed the file before the crawl had a store.
    """

    address: str
    length: int = 0
    sha256: str = ""
    at: str = ""  # when it was verified
    by: str = ""  # how: `read back`, or the store's own `checksum`

    @property
    def is_taken(self) -> bool:
        return not self.address

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, data: bytes) -> StoredFile:
        """Return the file of a row. Raise ValueError, TypeError or KeyError if it is damaged."""
        values = json.loads(data)
        if not isinstance(values, dict):
            raise TypeError(f"not a valid record of a stored file: {data!r}")
        is_valid = isinstance(values["length"], int) and isinstance(values["address"], str)
        if not is_valid:
            raise TypeError(f"not a valid record of a stored file: {data!r}")
        return cls(**values)


def read_stored_files(rows: Iterable[tuple[str, bytes]]) -> dict[str, StoredFile]:
    """Return the stored files by name, from rows of the table meta.

    Raise ValueError, TypeError or KeyError if a row is damaged.
    """
    return {name.removeprefix(STORED): StoredFile.unpack(bytes(data)) for name, data in rows}


def belongs_in_store(name: str) -> bool:
    """Return whether a finished output of this name is copied to the store."""
    return any(
        name.startswith(folder) and name.endswith(endings)
        for folder, endings in STORED_ENDINGS.items()
    )


# Before an address among the figures of `webcrawl verify`: the number of files that only the store
# at this address has
IN_STORE = "in store "


def stored_files_at_checkpoint(snapshot: Snapshot) -> tuple[dict[str, StoredFile], str]:
    """Return the stored files by name, as of a checkpoint, and the address of the run's store.

    The address is empty if the run had no store. Raise DamagedFile if the rows are damaged.
    """
    rows = list(snapshot.rows("SELECT name, value FROM meta WHERE name GLOB ?", (f"{STORED}*",)))
    try:
        return read_stored_files(rows), (snapshot.get(ADDRESS_KEY) or b"").decode()
    except (ValueError, TypeError, KeyError) as error:
        raise snapshot.damaged(f"table meta, {STORED}*: {error!r}") from error


def stored_files_of_crawl(jobdir: Path) -> tuple[dict[str, StoredFile], str]:
    """Return what `stored_files_at_checkpoint` does of a crawl's last checkpoint.

    Return no files and an empty address if the folder is no crawl.
    """
    return JobDir(jobdir).read(stored_files_at_checkpoint) if is_crawl(jobdir) else ({}, "")


def addresses_of_absent_files(jobdir: Path) -> dict[str, str]:
    """Return the address of the store by file name, of each file that is missing in JOBDIR."""
    stored, _ = stored_files_of_crawl(jobdir)
    return {
        name: file.address
        for name, file in stored.items()
        if not file.is_taken and not (jobdir / name).exists()
    }


def notices_of_unread_files(jobdir: Path, folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield a line that says how many files of a folder are only in the store, if there are any."""
    addresses = [
        address
        for name, address in addresses_of_absent_files(jobdir).items()
        if name.startswith(f"{folder}/") and name.endswith(endings)
    ]
    if addresses:
        yield (
            f"{jobdir}/{folder}: {count(len(addresses), 'file')} in the store, which is not read: "
            f"{distinct_addresses(addresses)}"
        )


def distinct_addresses(addresses: Iterable[str]) -> str:
    """Return a list of these addresses for a message, each once: most crawls have one store."""
    return ", ".join(dict.fromkeys(addresses))


logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 30.0  # that the end of a crawl waits for the store without any progress
GRACE_SECONDS = 5.0  # that it waits at most if the operator has stopped the crawl
COMMIT_SECONDS = 5.0  # between two checkpoints at the end
# Between two checks of what has arrived. Each wakes the event loop, for half a minute if the store
# is unreachable.
POLL_SECONDS = 0.1
LEFT_MESSAGE = "%s: %s not sent or verified yet: run `%s export store %s`, or start the crawl again"
REFUSED_MESSAGE = (
    "%s: %s refused for the reasons above: fix them, then run `%s export store %s`, or "
    "start the crawl again"
)


class FileStorage(Part):
    """Copies the finished files of a crawl to a store, as a Part and a follower of checkpoints."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        *,
        root: Path,
        address: str,
        keep: bool,
        open_folder: Callable[[], StoreFolder],
        is_stopping: Callable[[], bool],
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        """Check the store, and begin to send what earlier runs have left. Nothing is waited for.

        `root`: the JOBDIR, under which the files lie.
        `address`: of the store, for messages.
        `keep`: whether the local files stay.
        `open_folder`: opens the store; it is called in the thread that sends.
        `is_stopping`: whether the operator has stopped the crawl.
        `clock`: measures intervals.
        `now`: the time, in seconds since 1970.
        """
        self._db = db
        self._outputs = outputs
        self._root = root
        self._address = address
        self._keep = keep
        self._is_stopping = is_stopping
        self._clock = clock
        self._now = now
        self._sender = UploadThread(address, open_folder, clock)
        self._stored = read_stored_files(db.named(STORED))
        copies = [file for file in self._stored.values() if not file.is_taken]
        self._files = len(copies)
        self._bytes = sum(file.length for file in copies)
        # By name, in the order in which the thread does them
        self._jobs: dict[str, Future[UploadedFile | None]] = {}
        self._removals: dict[str, Future[bool]] = {}
        self._waiting: dict[str, int] = {}  # files without a verified copy, and their lengths
        self._refused: set[str] = set()  # those of them that the store refused in this run
        self._has_warned = False
        # No run had a store before: the files that are missing now cannot have been stored
        if db.get(ADDRESS_KEY) is None:
            self._note_files_taken_before()
        db.set(ADDRESS_KEY, address.encode())
        db.join(self)
        self._sender.check()
        self.committed()

    @property
    def is_behind(self) -> bool:
        """Return whether a finished file has no verified copy in the store."""
        return bool(self._waiting)

    def stats(self) -> Mapping[str, int]:
        """Return files and bytes in the store, of all runs; waiting files and failures, of this."""
        return {
            "store/files": self._files,
            "store/bytes": self._bytes,
            "store/waiting": len(self._waiting),
            "store/failures": self._sender.failures,
        }

    def files_and_bytes_at_address(self) -> tuple[int, int]:
        """Return files and bytes at this run's address: earlier runs may have had others."""
        lengths = [file.length for file in self._stored.values() if file.address == self._address]
        return len(lengths), sum(lengths)

    def _note_files_taken_before(self) -> None:
        """Note that the owner removed the missing files before the crawl had a store."""
        for name, (length, _) in self._outputs.finished():
            is_unknown = belongs_in_store(name) and name not in self._stored
            if is_unknown and not (self._root / name).exists():
                self._note(name, StoredFile("", length))

    def _note(self, name: str, stored: StoredFile) -> None:
        self._stored[name] = stored
        self._db.set(f"{STORED}{name}", stored.pack())

    # -- what is to be sent

    def committed(self) -> None:
        """Allow the files that a checkpoint has finished to be sent."""
        for name, (length, _) in self._outputs.finished():
            if belongs_in_store(name) and self._needs_copy(name):
                self._waiting.setdefault(name, length)
        # A table of hosts is replaced by that of a later run
        for name in list(self._waiting):
            if not self._outputs.holds(name):
                del self._waiting[name]
        self._submit()

    def _needs_copy(self, name: str) -> bool:
        """Return whether a file must be sent or verified: its copy is unknown, or it may go now."""
        stored = self._stored.get(name)
        if stored is None:
            return True
        if self._keep or stored.is_taken:
            return False
        # An earlier run kept the local file, or was killed before it removed it
        return (self._root / name).exists()

    def _submit(self) -> None:
        """Have the thread send the waiting files, and remove replaced ones from the store."""
        if self._sender.is_due:
            self._submit_uploads()
            self._submit_removals()

    def _submit_uploads(self) -> None:
        marks = dict(self._outputs.finished())
        for name in sorted(self._waiting.keys() - self._jobs.keys() - self._refused):
            # An index is sorted after the checkpoint has noted its checksum, which is then outdated
            has_crc = name in marks and not name.endswith(SORTED)
            crc = marks[name][1] if has_crc else None
            self._jobs[name] = self._sender.send(name, self._root / name, crc)

    def _submit_removals(self) -> None:
        for name, stored in self._stored.items():
            # Copies at another run's address stay there
            is_at_address = stored.address == self._address
            is_replaced = is_at_address and not self._outputs.holds(name)
            if is_replaced and name not in self._removals:
                self._removals[name] = self._sender.remove(name)

    # -- what was sent

    def save(self) -> None:
        """Note the copies that were verified; their files may be removed after this checkpoint."""
        self._note_finished_jobs()

    def _note_finished_jobs(self) -> bool:
        """Note what the thread has sent and removed, and return whether that was anything."""
        before = self._files, len(self._stored)
        # One thread does the jobs, in the order in which they were submitted
        while self._jobs:
            name, job = next(iter(self._jobs.items()))
            if not self._sender.done(job):
                break
            del self._jobs[name]
            self._note_upload(name, job)
        for name, removal in list(self._removals.items()):
            if not self._sender.done(removal):
                continue
            del self._removals[name]
            if removal.result():
                self._note_removal(name)
        return before != (self._files, len(self._stored))

    def _note_upload(self, name: str, job: Future[UploadedFile | None]) -> None:
        """Note the end of a job that sends a file: the copy, the refusal, or neither for a retry."""
        if not self._outputs.holds(name):
            self._note_obsolete_upload(name, job)
            return
        error = job.exception()
        if isinstance(error, StoreRefusal):
            self._refused.add(name)
            logger.error("%s", error)
            return
        uploaded = job.result()
        if uploaded is None:
            return
        sums = uploaded.sums
        if name not in self._stored:
            self._files += 1
            self._bytes += sums.length
        at = iso(self._now(), fraction=False)
        self._note(name, StoredFile(self._address, sums.length, sums.sha256, at, uploaded.by))
        self._waiting.pop(name, None)
        logger.info("%s: stored, %d bytes, %s", name, sums.length, uploaded.by)
        # The local file goes after the COMMIT that notes its copy
        if not self._keep:
            self._db.discard(self._root / name)

    def _note_obsolete_upload(self, name: str, job: Future[UploadedFile | None]) -> None:
        """Note the copy of a file that another one has replaced meanwhile.

        Then `_submit` has the copy removed, also after a kill.
        """
        is_sent = job.exception() is None and job.result() is not None
        if is_sent and name not in self._stored:
            self._note(name, StoredFile(self._address))
            self._files += 1

    def _note_removal(self, name: str) -> None:
        self._files -= 1
        self._bytes -= self._stored.pop(name).length
        self._db.delete(f"{STORED}{name}", f"{STORED}{name}\0")

    # -- the end

    def finish_work(self) -> Iterator[float | None]:
        """Send what is left after the last checkpoint, and note it, while the store takes it.

        Yield the seconds after which to continue, or None while a checkpoint is being written.
        """
        yield from self._commit()
        self.committed()
        if self._waiting:
            logger.info("%s: %s on the way", self._address, count(len(self._waiting), "file"))
        begun = noted = self._clock()
        while self._is_worth_waiting(begun):
            if self._note_finished_jobs() and self._clock() - noted > COMMIT_SECONDS:
                yield from self._commit()
                noted = self._clock()
            if not self._jobs:
                self._submit()
            yield POLL_SECONDS
        self._sender.stop()
        yield from self._commit()

    def _is_worth_waiting(self, begun: float) -> bool:
        """Return whether the end of the crawl, which began at this time, still waits for the store."""
        has_jobs = bool(self._jobs or self._removals)
        may_be_sent = self._waiting.keys() - self._refused
        if not has_jobs and not may_be_sent:
            return False
        now = self._clock()
        if self._is_stopping():
            return not self._sender.is_away and now - begun < GRACE_SECONDS
        # While pieces arrive, a file may take any time
        last_progress = max(begun, self._sender.progressed_at)
        return now - last_progress < PATIENCE_SECONDS

    def _commit(self) -> Iterator[None]:
        """Take a checkpoint. It gives their final names to files whose end the last one noted."""
        yield from self._db.prepare()
        self._db.checkpoint()

    def close(self) -> None:
        """Stop the thread, and log what is not stored. A second call does nothing."""
        self._sender.close()
        if not self._has_warned:
            self._has_warned = True
            self._warn(LEFT_MESSAGE, self._waiting.keys() - self._refused)
            self._warn(REFUSED_MESSAGE, self._waiting.keys() & self._refused)

    def _warn(self, line: str, names: Collection[str]) -> None:
        if names:
            size = sum(self._waiting[name] for name in names)
            left = f"{count(len(names), 'file')} ({size} bytes)"
            logger.warning(line, self._address, left, program(), self._root)


def forget_store(db: CrawlDB) -> None:
    """Note that this run has no store: files that vanish from now on were removed by their owner.

    The files that earlier runs have stored stay noted.
    """
    if db.get(ADDRESS_KEY) is not None:
        db.delete(ADDRESS_KEY, f"{ADDRESS_KEY}\0")


DISK_POLL_SECONDS = 0.01  # between two checks whether a checkpoint is on disk


class NoStore(StoreError):  # noqa: N818 - reads as what it is
    """Neither the call nor the last run has the address of a store."""


def copy_to_store(
    jobdir: Path, address: str | None, *, keep: bool, open_folder: Callable[[str], StoreFolder]
) -> Iterator[tuple[str, bool]]:
    """Copy all finished files to a store; yield messages, and whether each reports a success.

    Without an address, the files go to the store of the last run. Raise NoStore if that had none.
    Raise StateLocked if the crawl is running: it copies its files itself.
    """
    with closing(CrawlDB(jobdir / "state")) as db, closing(Outputs(db, jobdir)) as outputs:
        where = address or (db.get(ADDRESS_KEY) or b"").decode()
        if not where:
            raise NoStore(f"{jobdir}: OUTPUT_STORE is not set, and the last run had none")
        storing = FileStorage(
            db,
            outputs,
            root=jobdir,
            address=where,
            keep=keep,
            open_folder=partial(open_folder, where),
            is_stopping=lambda: False,
            clock=time.monotonic,
            now=time.time,
        )
        with closing(storing):
            for pause in storing.finish_work():
                time.sleep(DISK_POLL_SECONDS if pause is None else pause)
            files, size = storing.files_and_bytes_at_address()
            figures = storing.stats()
            message = f"{where}: {count(files, 'file')} stored, {size} bytes"
            before = figures["store/files"] - files
            if before:
                message += f"; {count(before, 'file')} at earlier addresses"
            if storing.is_behind:
                message += f"; {figures['store/waiting']} not sent or verified yet"
            yield message, not storing.is_behind
    unfinished = [*jobdir.glob(f"tables/*{STREAM}"), *jobdir.glob(f"warc/*.warc.gz{OPEN}")]
    for path in sorted(unfinished):
        yield f"{path}: is not finished: start the crawl again to finish it", False
