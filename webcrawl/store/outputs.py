"""Append-only output files. A checkpoint notes their lengths; recovery truncates them to these.

Each length is stored with the crc32 of that many bytes, which only `webcrawl verify` checks.
"""

from __future__ import annotations

import logging
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from webcrawl.base.errors import words_of
from webcrawl.base.program import program
from webcrawl.base.readable import count
from webcrawl.store import lock, rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import remove_unnamed
from webcrawl.store.errors import DamagedFile, StoreError, TakenAway
from webcrawl.store.lines import sort_lines
from webcrawl.store.output import OPEN, Mark, Output
from webcrawl.store.worker import side_by_side

logger = logging.getLogger(__name__)

NOTED = "SELECT path, length, bytes_crc, crc FROM output ORDER BY path"
NOTE = "INSERT OR REPLACE INTO output VALUES (?, ?, ?, ?)"
DELETE_OUTPUT = "DELETE FROM output WHERE path = ?"
DELETE_VALUE = "DELETE FROM meta WHERE name = ?"
BUFFER_BYTES = 1 << 18  # bytes buffered per file: in a crawl, 64 KiB at a time cost twice as much
FINISHED = "finished."  # before a file's name, in the table meta: the crawl needs it no more
STORED = "stored."  # before such a name, too: where a copy lies (record/objectstore/storing.py)
SORTED = ".cdxj"  # the ending of files whose lines are sorted when they get their final names
STREAMS = "stream/"  # the folder of batches that are removed once a receiver has them
NOTHING: Mark = 0, 0


class Outputs:
    """All outputs of a crawl, below `root`. As a Part it notes lengths after syncing the bytes.

    Opening truncates every file to its noted length. If one is shorter than noted, or missing, that
    is DamagedFile and nothing is truncated. A finished file is noted under its final name and
    renamed after that COMMIT: until then, and after a crash in between, it still has its `.open`.
    From then on it is its owner's, who may take it away.

    One that ends in SORTED is not renamed: its lines are written, sorted, under the final name.
    """

    def __init__(self, db: CrawlDB, root: Path, at_once: int = BUFFER_BYTES) -> None:
        """Read which files the last checkpoint has noted, check them, and truncate each to its
        length.

        Finished ones that still have `.open` get their final names. Raise DamagedFile before
        anything is truncated if a file is missing or too short. `at_once`: the bytes buffered per
        file.
        """
        self._db = db
        self._root = root
        self._at_once = at_once
        db.own(root)
        # open files, and closed ones until the next checkpoint has noted them
        self._by_name: dict[str, Output] = {}
        self._syncing: Future[None] | None = None  # in the worker's thread, begun by `prepare`
        self._error: OSError | MemoryError | None = None  # of that, raised by `save`
        self._noted: dict[str, Mark] = {}  # files that the last checkpoint counts as outputs
        # names of files that are finished, without `.open`
        self._finished = {name.removeprefix(FINISHED) for name, _ in db.named(FINISHED)}
        for row in db.query(NOTED):
            if not rowcrc.agrees(rowcrc.output, row):
                raise DamagedFile(db.path, 0, f"table output, {row[0]}: wrong checksum")
            self._noted[row[0]] = row[1:3]
        # No file is truncated before: if one has lost its end, the others must stay as they are
        damages = list(self.check())
        if damages:
            raise damages[0]
        self._told_missing: set[str] = set()  # files of which a warning was logged
        # what the next checkpoint has to note as finished, and what it has to note no longer
        self._adopted: dict[str, Mark] = {}
        self._replaced: set[str] = set()
        self._folders_synced: set[str] = set()  # new files whose folders were synced ahead
        self._before_close: list[Callable[[], None]] = []
        self._before_show: list[Callable[[], None]] = []
        present = {name for name in self._noted if self._present_path(name).exists()}
        # those still with .open
        self._waiting_for_names = {name for name in present if not (root / name).exists()}
        for name in present:
            self._truncate(self._present_path(name), self._noted[name][0])
        self._tell_missing(
            self._noted.keys()
            - present
            - {name.removeprefix(STORED) for name, _ in db.named(STORED)},
            present,
        )
        self._give_committed_names()
        db.join(self)

    def __repr__(self) -> str:
        return f"<Outputs {self._root} open={len(self._by_name)} noted={len(self._noted)}>"

    def _tell_missing(self, gone: AbstractSet[str], here: AbstractSet[str]) -> None:
        """Log how many finished files are gone, and warn of indexes without which archives are
        here.

        Archives may be moved with their indexes. If only an index is gone, that was hardly meant.
        """
        if gone:
            files = count(len(gone), "finished file")
            logger.info("%s: %s missing; `%s verify` lists them", self._root, files, program())
        lone_indexes = _indexes_without(gone, here)
        if lone_indexes:
            line = (
                "%s: missing, though its archive is there (%d such): tools that use the index will "
                "not find its pages"
            )
            logger.warning(line, self._root / lone_indexes[0], len(lone_indexes))

    def _present_path(self, name: str) -> Path:
        """Return the present path of a noted file."""
        path = self._root / name
        if path.exists():
            return path
        # A crash between a COMMIT and the rename after it leaves the file with `.open`
        unfinished = self._root / f"{name}{OPEN}"
        return unfinished if unfinished.exists() else path

    def _give_committed_names(self) -> None:
        """Give finished files their final names if a COMMIT has noted them.

        A failed rename is retried later. Raise TakenAway if a file is missing or truncated.
        """
        if self._waiting_for_names and self._has_committed():
            self._give_names(sorted(self._waiting_for_names))

    def _give_names(self, names: list[str]) -> None:
        """Give files their final names, at once where possible.

        Lines are sorted of one file after the other, for that takes memory.
        """
        plain = [name for name in names if not name.endswith(SORTED)]
        side_by_side([partial(self._give_name, name) for name in plain])
        for name in names:
            if name.endswith(SORTED):
                self._give_name(name)

    def _give_name(self, name: str) -> None:
        """Give one file, which a COMMIT has noted as finished, its final name, with its lines
        sorted if need be.

        Without the rights or the room it keeps its `.open`, with a warning, until the next attempt.
        Raise TakenAway if it was moved or truncated meanwhile.
        """
        path = self._root / f"{name}{OPEN}"
        final = self._root / name
        if not final.exists():  # if it does, the last attempt failed when it was done
            # The file is the crawl's until it has its final name, and its owner's from then on
            change = lock.changed(path, self._noted[name][0])
            if change is not None:
                raise TakenAway(path, change)
            try:
                if name.endswith(SORTED):
                    sort_lines(self._db.disk, path, final)
                else:
                    self._db.disk.rename(path, final)
            except OSError as error:
                logger.warning("%s: still has %s at the end of its name: %s", final, OPEN, error)
                return
        if name.endswith(SORTED):
            remove_unnamed(self._db.disk, path)
        else:
            logger.info("%s: finished, %d bytes", final.name, self._noted[name][0])
        self._waiting_for_names.discard(name)

    def _warn_of_needed_files(self) -> None:
        """Warn once of each noted file of a pipeline that does not run now, if it is gone.

        A later run with that pipeline would need it.
        """
        for name in self._noted.keys() - self._by_name.keys() - self._finished - self._told_missing:
            if not (self._root / name).exists():
                self._told_missing.add(name)
                logger.warning(
                    "%s: moved or removed, but the crawl cannot be resumed without it: put it back",
                    self._root / name,
                )

    def _has_committed(self) -> bool:
        """Return whether the COMMIT after the last `save` succeeded."""
        # After a failed one the database refuses all calls
        try:
            self._db.query("SELECT 1")
        except StoreError:
            return False
        return True

    def _truncate(self, path: Path, length: int) -> None:
        """Truncate a file to this length, unless it has it. Raise StoreError if that fails."""
        if path.stat().st_size == length:
            return
        try:
            self._db.disk.truncate_file(path, length)
        except OSError as error:
            raise StoreError(f"{path}: {error}") from error

    def open(self, path: str) -> Output:
        """Open `path`, relative to the root, for appending.

        A file that no checkpoint has noted is emptied first.
        """
        output = self._by_name.get(path)
        if output is not None and not output.closed:
            raise ValueError(f"{output.path}: is already open")
        is_finished = output is not None and output.finished
        waits_for_its_name = path.removesuffix(OPEN) in self._waiting_for_names
        if is_finished or waits_for_its_name:
            raise ValueError(f"{self._root / path}: is already finished")
        if output is not None:
            # Its descriptor stays open until the next checkpoint has noted it
            output.closed = False
            return output
        full = self._root / path
        # in a root that was moved the folders would be created again, where it was
        self._db.presence.check()
        try:
            full.parent.mkdir(parents=True, exist_ok=True)
            if path not in self._noted and full.exists():
                self._truncate(full, 0)
            mark = self._noted.get(path, NOTHING)
            output = self._by_name[path] = Output(
                self._db.disk, full, mark, self._at_once, self._db.worker
            )
            self._db.presence.add(full)
        except OSError as error:
            raise StoreError(f"{full}: {error}") from error
        return output

    def holds(self, path: str) -> bool:
        """Return whether a checkpoint has noted this file."""
        return path in self._noted

    def finished(self) -> Iterator[tuple[str, Mark]]:
        """Yield the finished files that a checkpoint has noted and that have their final names.

        Some may be gone.
        """
        for name in self._finished:
            if name in self._noted and name not in self._waiting_for_names:
                yield name, self._noted[name]

    @property
    def unfinished(self) -> bool:
        """Return whether a noted file waits for its end, or a batch of a stream to be sent.

        That is so after a kill right before the end of the crawl.
        """
        return any(name.endswith(OPEN) or name.startswith(STREAMS) for name in self._noted)

    def length(self, path: str) -> int:
        """Return the length of an open file, buffered bytes included."""
        return self._by_name[path].tell()

    def on_close(self, call: Callable[[], None]) -> None:
        """Register a function to be called first when the outputs are closed.

        A thread may still write files beside them.
        """
        self._before_close.append(call)

    def adopt(self, path: str, mark: Mark, instead: str = "") -> None:
        """Take a whole, synced file that was written beside, at `path` with `.open`, as finished.

        The next checkpoint notes it, and no longer the file `instead`, which is removed then.
        """
        self._adopted[path] = mark
        if instead:
            self._replaced.add(instead)

    def remove(self, path: str) -> None:
        """Have the next checkpoint no longer note a closed file, which is removed then."""
        self._replaced.add(path)

    def on_show(self, call: Callable[[], None]) -> None:
        """Register a function to be called before files are shown: lines may be on their way."""
        self._before_show.append(call)

    def show(self) -> None:
        """Write what is buffered and what is on its way, so that readers who follow a file see it."""
        for call in self._before_show:
            call()
        self.flush()

    def flush(self) -> None:
        """Write what is buffered."""
        for output in self._by_name.values():
            output.flush()

    def sweep(self, pattern: str) -> None:
        """Remove files that match `pattern` and that no checkpoint has noted.

        Their names are not opened again.
        """
        for path in self._root.glob(pattern):
            name = path.relative_to(self._root).as_posix()
            waits_for_its_name = name.removesuffix(OPEN) in self._waiting_for_names
            if name in self._noted or name in self._by_name or waits_for_its_name:
                continue
            try:
                self._db.disk.unlink(path)
            except OSError as error:
                raise StoreError(f"{path}: {error}") from error

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Give finished files their names, and sync what is written, in the worker's thread.

        `save` syncs the little that is written meanwhile.
        """
        self._warn_of_needed_files()
        self.flush()
        ready = [output for output in self._by_name.values() if output.unsynced]
        unnamed = (
            sorted(self._waiting_for_names)
            if self._waiting_for_names and self._has_committed()
            else []
        )
        new_names = self._by_name.keys() - self._noted.keys() - self._folders_synced
        # A new file's name is in its folder: without a sync of that, a power failure takes the name
        folders = self._folders_of(new_names)
        self._folders_synced |= new_names
        self._syncing = self._db.worker.submit(self._sync, ready, unnamed, folders)
        yield from self._db.worker.until_done(self._syncing)

    def _sync(self, outputs: list[Output], unnamed: list[str], folders: list[Path]) -> None:
        """Give these files their names, then sync outputs and folders. Runs in the worker's thread."""
        self._give_names(unnamed)
        try:
            self._sync_all(outputs, folders)
        except (OSError, MemoryError) as error:
            # a second fsync would report success: the error must be kept
            self._error = error

    def save(self) -> None:
        """Write and sync what has come since `prepare`, and note the lengths in the open
        transaction.

        Descriptors of closed files are closed. Raise StoreError if a sync has failed, also that of
        `prepare`.
        """
        if self._syncing is not None:
            self._db.worker.result(self._syncing)
        if self._error is not None:
            raise StoreError(f"{self._root}: {words_of(self._error)}") from self._error
        # Pages that ended while the thread synced have written more since
        self.flush()
        unsynced = [output for output in self._by_name.values() if output.unsynced]
        self._sync_all(
            unsynced,
            self._folders_of(self._by_name.keys() - self._noted.keys() - self._folders_synced),
        )
        for output in self._by_name.values():
            # A file that is shorter from now on lacks bytes that a checkpoint has
            self._db.presence.lengthen(output.path, output.mark()[0])
        self._note_lengths()
        self._folders_synced.clear()
        self._forget_closed()

    def _forget_closed(self) -> None:
        """Close the descriptors of closed files, whose lengths are noted now.

        Raise TakenAway if one was moved or removed.
        """
        closed = [name for name, output in self._by_name.items() if output.closed]
        if not closed:
            return
        self._db.presence.check()  # for the last time of these
        for name in closed:
            output = self._by_name.pop(name)
            self._db.presence.forget(output.path)
            output.release()

    def _note_lengths(self) -> None:
        """Note how far each open file is the checkpoint's.

        A finished file has its final name from now on.
        """
        marks = {name: output.mark() for name, output in self._by_name.items()}
        finished = [name for name, output in self._by_name.items() if output.finished]
        for name in finished:
            self._note_as_finished(name, marks)
        self._note_replacements(marks)
        if finished:
            self._db.executemany(DELETE_OUTPUT, [(name,) for name in finished])
        self._write_changed_marks(marks)
        self._waiting_for_names.update(name.removesuffix(OPEN) for name in finished)

    def _note_as_finished(self, name: str, marks: dict[str, Mark]) -> None:
        """Note a finished file under its final name."""
        # The rename follows: after a crash in between the next start finds the file with `.open`
        final = name.removesuffix(OPEN)
        self._noted.pop(name, None)
        marks[final] = marks.pop(name)
        self._finished.add(final)
        self._db.set(FINISHED + final, b"")

    def _write_changed_marks(self, marks: dict[str, Mark]) -> None:
        changed = {name: mark for name, mark in marks.items() if mark != self._noted.get(name)}
        rows = [(name, *mark, rowcrc.output(name, *mark)) for name, mark in changed.items()]
        self._db.executemany(NOTE, rows)
        self._noted.update(changed)

    def _note_replacements(self, marks: dict[str, Mark]) -> None:
        """Note adopted files under their final names; the others are removed after the COMMIT."""
        for name in self._replaced:
            marks.pop(name, None)
            self._noted.pop(name, None)
            self._finished.discard(name)
            self._waiting_for_names.discard(name)
            self._db.execute(DELETE_OUTPUT, (name,))
            self._db.execute(DELETE_VALUE, (FINISHED + name,))
            # Not yet: a crash before the COMMIT goes back to a checkpoint that names it
            self._db.discard(self._present_path(name))
        for name, mark in self._adopted.items():
            marks[name] = mark
            self._finished.add(name)
            self._db.set(FINISHED + name, b"")
            self._waiting_for_names.add(name)
        self._replaced.clear()
        self._adopted.clear()

    def _sync_all(self, outputs: Sequence[Output], folders: Sequence[Path]) -> None:
        """Sync files and folders, many at once.

        Where a sync takes seconds, one after the other would hold up the crawl's end for minutes.
        """
        side_by_side([output.sync for output in outputs])
        side_by_side([partial(self._db.disk.sync_folder, folder) for folder in folders])

    def _folders_of(self, names: Iterable[str]) -> list[Path]:
        """Return the folders from these files up to the root, each once: all of them may be new."""
        found: dict[Path, None] = {}
        for name in sorted(names):
            folder = (self._root / name).parent
            while folder not in found:
                found[folder] = None
                # The second is the file system's root, whose parent it is itself
                if folder in (self._root, folder.parent):
                    break
                folder = folder.parent
        return list(found)

    def close(self) -> None:
        """Close all files. The next start truncates what no checkpoint has noted."""
        for call in self._before_close:
            call()
        try:
            if self._syncing is not None:
                self._db.worker.result(self._syncing)
        finally:
            for output in self._by_name.values():
                output.release()
            self._by_name.clear()
        self._give_committed_names()  # what the last checkpoint has noted as finished

    def check(self) -> Iterator[DamagedFile]:
        """Yield each output that is shorter than noted, or missing although it is not finished."""
        for name, (length, _) in self._noted.items():
            path = self._present_path(name)
            if not path.exists():
                if name in self._finished:
                    continue
                yield DamagedFile(path, 0, f"missing, {length} bytes are noted")
            elif path.stat().st_size < length:
                yield DamagedFile(
                    path, path.stat().st_size, f"the file ends early, {length} bytes are noted"
                )


def _indexes_without(gone: AbstractSet[str], here: AbstractSet[str]) -> list[str]:
    """Return the indexes among the files that are gone whose archives are among those that are
    here.
    """
    names = sorted(here)
    lone_indexes = []
    for name in sorted(gone):
        if not name.endswith(SORTED):
            continue
        # The archive of `a.cdxj` is `a.warc.gz`: the first name after `a.` shows whether it is here
        stem = f"{name.removesuffix(SORTED)}."
        next_name = bisect(names, stem)
        if next_name < len(names) and names[next_name].startswith(stem):
            lone_indexes.append(name)
    return lone_indexes
