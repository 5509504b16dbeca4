"""URLs that were found and wait for a segment: sorted by domain and host, and of each host in the order of finding.

Links enter in memory, are sorted, and leave as a file of blocks. Reading merges all files. So links from other sites
come to their host's own when that host's turn is there, as in the Internet Archive's crawler.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from webcrawl.base.model import Packed
from webcrawl.crawl.segments import POOL as META
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.line_blocks import BlockReader, BlockWriter

MEMORY = 64 << 20  # bytes of lines that wait to be sorted
OBJECT = 41  # bytes that Python needs for each, beside the line
MOST_FILES = 64  # that are merged at once
Line = bytes
"""Domain, host with port, number, packed link; a blank after each of the first three, and the end of a line."""


class Pool(Part):
    """As a Part it is saved with every checkpoint: files are immutable, and the checkpoint names them."""

    def __init__(self, db: CrawlDB, folder: Path, domain_of: Callable[[str], str], memory: int = MEMORY) -> None:
        self._db, self._folder, self._domain_of, self._memory = db, folder, domain_of, memory
        state = json.loads(db.get(META) or b'{"files": [], "next": 0, "last": 0}')
        self._files: list[tuple[str, int, int]] = [tuple(one) for one in state["files"]]  # name, bytes, lines
        self._next, self._last = state["next"], state["last"]  # numbers, of links and of files
        self._lines: list[Line] = []
        self._size = 0
        self._sites: dict[bytes, bytes] = {}
        self._prepare_folder()
        db.join(self)

    def __len__(self) -> int:
        return sum(lines for _, _, lines in self._files) + len(self._lines)

    def _prepare_folder(self) -> None:
        """What an attempt that was interrupted left is removed."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            named = {name for name, _, _ in self._files}
            for path in self._folder.iterdir():
                if path.name not in named and path.name.startswith("pool-"):
                    self._db.disk.unlink(path)
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror or error}") from error
        for name, size, _ in self._files:
            path = self._folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise DamagedFile(path, 0, f"missing, or not of {size} bytes: URLs wait there for a segment")

    def add(self, records: Sequence[Packed]) -> None:
        """Links that are new."""
        for record in records:
            host = record.split(b"/", 3)[2]
            site = self._sites.get(host) or self._site(host)
            line = b"%b%016x %b\n" % (site, self._next, record)
            self._next += 1
            self._lines.append(line)
            self._size += len(line) + OBJECT
        if self._size >= self._memory:
            self.spill()

    def _site(self, host: bytes) -> bytes:
        """The beginning of the lines of a host."""
        if len(self._sites) > 100_000:
            self._sites.clear()
        name = host.rpartition(b"@")[2].decode()
        site = self._sites[host] = f"{self._domain_of(f'http://{name}/')} {name} ".encode()
        return site

    def spill(self) -> None:
        """Writes what is in memory."""
        if not self._lines:
            return
        self._lines.sort()
        with self.new_file() as file:
            file.write(self._lines)
        self._files.append(file.named)
        self._lines, self._size = [], 0
        if len(self._files) >= MOST_FILES:
            with self.new_file() as file:
                for lines in self.sorted():
                    file.write(lines)
            self.replace([file.named])

    def new_file(self) -> BlockWriter:
        """One that `replace` may name; no checkpoint does before."""
        self._last += 1
        return BlockWriter(self._db.disk, self._folder / f"pool-{self._last:08d}")

    def replace(self, files: Sequence[tuple[str, int, int]]) -> None:
        """These have what waits from now on; empty ones are not kept. The others go with the next checkpoint."""
        for name, _, _ in self._files:
            self._db.discard(self._folder / name)
        for name, _, lines in files:
            if not lines:
                self._db.discard(self._folder / name)
        self._files = [file for file in files if file[2]]

    def sorted(self) -> Iterator[list[Line]]:
        """All lines in their order, some thousand at a time; call `spill` before."""
        with ExitStack() as opened:
            readers = [opened.enter_context(BlockReader(self._folder / name)) for name, _, _ in self._files]
            yield from _merged(readers)

    def save(self) -> None:
        try:
            self.spill()
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror or error}") from error
        state = {"files": self._files, "next": self._next, "last": self._last}
        self._db.set(META, json.dumps(state).encode())


def _merged(readers: Sequence[Iterator[list[Line]]]) -> Iterator[list[Line]]:
    """Blocks up to the earliest end of those at hand are sorted together: sorting merges what is sorted, and in C."""
    held: list[list[Line]] = [[] for _ in readers]
    ended = [False] * len(readers)
    while True:
        for at, reader in enumerate(readers):
            while not (held[at] or ended[at]):
                block = next(reader, None)
                ended[at] = block is None
                held[at] = block or []
        bound = min((lines[-1] for lines in held if lines), default=None)
        if bound is None:
            return
        found: list[Line] = []
        for at, lines in enumerate(held):
            end = bisect_right(lines, bound)
            found += lines[:end]
            held[at] = lines[end:]
        found.sort()
        yield found
