"""Content seen: the digests of all bodies, and the bodies seen before whose links are followed all
the same.

The 128-bit digests are looked up and added in one step, in bounded memory. On disk they are sorted
files like F's, with two columns: a digest's first eight bytes are the key, its last eight the
second value. New digests form a set in memory; a thread merges a full set into the files while the
next fills.

A page that was not translated is the same under `/da/` as under `/en/`, but its links lead to
`/da/…`. Such a copy is followed once in each folder. A body that is found below itself, over and
over, is a trap, and is not. A frameset, a page that redirects, "enter here", the start page of a
program: such a small body, which many sites have in common, is followed once on each new registered
domain, for its relative links lead to each site's own pages (docs/decisions/frontier-seen.md).
"""

from __future__ import annotations

import contextlib
import logging
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from enum import Enum
from threading import Event

import numpy as np

from webcrawl.base.readable import count
from webcrawl.frontier.seen.known_keys import Cancelled
from webcrawl.frontier.seen.sorted_keys import MergeResult, RunSet, ranges
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.runs import Keys, Run, RunWriter, between
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

NAME = "content.fresh"
SIZE = 16  # bytes of a digest
FRESH = 1 << 15  # digests per set at most: half a MiB to write at a checkpoint
# A look-up reads from every file, 7 us for 4 KiB around the digest's place, so there must be few:
# each is over four times as large as all smaller ones. 50 million digests take at most 5 files, and
# by the rule of F up to 10. The rewriting is affordable: one body comes where forty links come.
GROWTH = 4.0


class ContentSeen:
    """The bodies that were seen. Not thread-safe."""

    def __init__(self, db: CrawlDB, *, memory: int) -> None:
        """`memory` in bytes: 81 per digest in each of the two sets, 100 per row in a merge."""
        self._db = db
        self._limit = max(1, min(FRESH, memory // 512))
        self._budget = max(1, memory // 1024)
        self._fresh = _stored(db)  # digests that no file has, nor `_frozen`
        self._frozen: set[bytes] = set()  # a full set, which a thread merges into the files
        self._changed = False  # the two sets, since the last checkpoint
        self._runs = RunSet(db, "content", 2, GROWTH)
        self._merging: Future[MergeResult] | None = None
        self._stop = Event()
        try:
            self._worker = Worker()
        except BaseException:
            self._runs.close()
            raise
        db.join(self)

    def __repr__(self) -> str:
        return f"<ContentSeen fresh={len(self._fresh)}+{len(self._frozen)} {self._runs!r}>"

    def __len__(self) -> int:
        return len(self._fresh) + len(self._frozen) + len(self._runs)

    def seen(self, digest: bytes) -> bool:
        """Add a digest, and return whether it was added before."""
        if self.holds(digest):
            return True
        self.add(digest)
        return False

    def add(self, digest: bytes) -> None:
        """Add a digest that is known not to have been added before."""
        if len(self._fresh) >= self._limit:
            self._adopt(wait=True)  # waits only if the last merge is slower than the next set fills
            self._freeze()
        self._fresh.add(digest)
        self._changed = True

    def holds(self, digest: bytes) -> bool:
        """Return whether a digest was added before."""
        if len(digest) != SIZE:
            raise ValueError(f"a digest must have {SIZE} bytes, not {len(digest)}")
        self._adopt(wait=False)
        return digest in self._fresh or digest in self._frozen or self._on_disk(digest)

    def _on_disk(self, digest: bytes) -> bool:
        """Return whether one of the files has a digest, whose two halves are key and second value."""
        runs = self._runs.runs
        if not runs:
            return False
        key = int.from_bytes(digest[:8], "big")
        second = int.from_bytes(digest[8:], "big")
        return any(run.holds(key, second) for run in runs)

    def _freeze(self) -> None:
        """Begin an empty set, and let a thread merge the full one. No merge may be under way."""
        self._frozen = self._fresh
        self._fresh = set()
        replaced = self._runs.plan(len(self._frozen))
        job = (self._frozen, replaced, self._runs.create, self._budget, self._stop)
        self._merging = self._worker.submit(_merge, *job)

    def _adopt(self, *, wait: bool) -> None:
        """Take over the result of a merge under way, if it has ended or `wait` is set."""
        if self._merging is None or not (wait or self._worker.done(self._merging)):
            return
        try:
            change = self._worker.result(self._merging)
        except OSError as error:
            raise StoreError(f"{self._runs.names.folder}: {error}") from error
        self._merging = None
        self._runs.adopt(change)
        self._changed = True
        merged = count(len(self._frozen), "digest")
        files = count(len(self._runs.runs), "file")
        logger.info("duplicate bodies: merged %s, now %s", merged, files)
        self._frozen = set()

    def stats(self) -> dict[str, int | float]:
        return {"keys": len(self), "runs": len(self._runs.runs)}

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        """Save as if a merge under way had not begun."""
        self._runs.save()
        if self._changed:
            self._db.set(NAME, b"".join(self._frozen) + b"".join(self._fresh))
            self._changed = False

    def close(self) -> None:
        self._stop.set()
        self._worker.close()
        if self._merging is not None:
            # The merge was told to stop, or has failed: no part of it is kept.
            with contextlib.suppress(Exception):
                self._worker.result(self._merging).close()
            self._merging = None
        self._runs.close()


def _stored(db: CrawlDB) -> set[bytes]:
    """Return the digests of the last checkpoint that no file has.

    Raise DamagedFile if one is truncated.
    """
    value = db.get(NAME) or b""
    if len(value) % SIZE:
        raise DamagedFile(
            db.path, 0, f"table meta, {NAME}: {len(value)} bytes are not a whole number of digests"
        )
    return {value[at : at + SIZE] for at in range(0, len(value), SIZE)}


def _merge(
    digests: Collection[bytes],
    replaced: list[Run],
    create: Callable[[], RunWriter],
    budget: int,
    stop: Event,
) -> MergeResult:
    """Write the digests, and the runs in `replaced`, as one new run. Runs in a thread.

    `budget`: rows that are in memory at once, i.e. in one range of keys. Raise Cancelled if `stop`
    is set; then, or after an error, the new file is removed.
    """
    # Two rows, keys and second values. Big-endian, as digests are bytes whose first counts most.
    fresh = np.frombuffer(b"".join(digests), ">u8").reshape(-1, 2).T.astype(np.uint64)
    fresh = fresh[:, np.argsort(fresh[0])]
    writer = create()
    try:
        for low, high in ranges(len(digests) + sum(run.count for run in replaced), budget):
            writer.append(*_range(fresh, replaced, low, high, stop))
    except BaseException:
        writer.abandon()
        raise
    writer.finish()
    return MergeResult(Run(writer.path), replaced)


def _range(fresh: Keys, replaced: list[Run], low: int, high: int, stop: Event) -> Keys:
    """Return all rows with low <= key <= high, by key. Raise Cancelled if `stop` is set."""
    if stop.is_set():
        raise Cancelled
    rows: Keys = np.concatenate(
        [between(fresh, low, high), *(run.between(low, high) for run in replaced)], axis=1
    )
    return rows[:, np.argsort(rows[0], kind="stable")]


# Folders of one host in which the links of a body are followed, besides the one where it was new
FOLDERS = 4096
# of these, folders that may be below another one that has the body, as `/da/` is below `/`
BELOW = 32
# Folders above a copy that may have the body. With more of them it leads into itself, without end.
LEVELS = 1


class Copy(Enum):
    """The fate of the links of a body that was seen before."""

    KNOWN = ""  # they were submitted, with this base
    FOLLOWED = "followed"
    ELSEWHERE = "elsewhere"  # left out: the site had no such page of its own, and may be a mirror
    NESTED = "nested"  # left out: the body leads to itself, in ever more folders


class Copies:
    """The choice of copies whose links are followed.

    A copy is a page with a body that was seen before. What is to be remembered is a *note*: the
    digest of a body with a folder, host or path, which the caller keeps among the digests of
    bodies. So this takes no memory, and is part of the same checkpoint.
    """

    def __init__(
        self,
        holds: Callable[[bytes], bool],
        digest: Callable[[bytes], bytes],
        *,
        sites: bool,
        aliases: bool,
    ) -> None:
        """`holds` says whether a digest is kept. `digest` is keyed, by the crawl.

        `sites`: a copy counts only on a site that had the body before. `aliases`: `www.` in front
        of a host's name makes no other site.
        """
        self._holds = holds
        self._digest = digest
        self._sites = sites
        self._aliases = aliases
        # It goes in front of what is digested here, so no page can have a body with that digest.
        secret = digest(b"copies")
        # the beginnings of the five kinds of notes
        self._in_folder = secret + b"in"
        self._on_host = secret + b"on"
        self._at_path = secret + b"at"
        self._folders = secret + b"folders"
        self._below = secret + b"below"

    def notes(self, body: bytes, url: str) -> list[bytes]:
        """Return the notes to keep of the body with this digest, if it is new, or new on its site.

        They say that it was found in the page's folder and, if sites count, on its host.
        """
        folder = self._folder(url)
        # without `_note`, which would be a call more for every page
        notes = [self._digest(self._in_folder + body + folder.encode())]
        if self._sites:
            notes.append(self._digest(self._on_host + body + folder.partition("/")[0].encode()))
        return notes

    def judge(self, body: bytes, url: str, *, by_query: bool) -> tuple[Copy, list[bytes]]:
        """Judge a copy of the body with this digest. Return also the notes to keep if it is followed.

        `by_query`: it has links that begin with a question mark, which lead elsewhere from each
        file of a folder.
        """
        folder = self._folder(url)
        host = folder.partition("/")[0]
        if self._sites and not self._holds(self._note(self._on_host, body, host)):
            return Copy.ELSEWHERE, []
        notes = [self._note(self._in_folder, body, folder)]
        if by_query:
            notes.append(self._note(self._at_path, body, self._path(url)))
        new_notes = [note for note in notes if not self._holds(note)]
        if not new_notes:
            return Copy.KNOWN, []
        count_on_host = self._next_count(self._folders, body, host, FOLDERS)
        if not count_on_host:
            return Copy.NESTED, []
        copies_above = self._copies_above(body, folder)
        if not copies_above:
            return Copy.FOLLOWED, [*new_notes, *count_on_host]
        count_below: list[bytes] = []
        if copies_above <= LEVELS:
            count_below = self._next_count(self._below, body, host, BELOW)
        if not count_below:
            return Copy.NESTED, []
        return Copy.FOLLOWED, [*new_notes, *count_on_host, *count_below]

    def _copies_above(self, body: bytes, folder: str) -> int:
        """Count the folders above this one that have the body, up to one more than LEVELS."""
        found = 0
        for above in _folders_above(folder):
            found += self._holds(self._note(self._in_folder, body, above))
            if found > LEVELS:
                break
        return found

    def _next_count(self, kind: bytes, body: bytes, host: str, most: int) -> list[bytes]:
        """Return the note that counts one more copy of this kind on a host, as a list.

        Empty if `most` copies were counted. Copies are counted by notes with the numbers 0, 1, ...,
        as a note can only be kept or not.
        """

        def note(number: int) -> bytes:
            """Return the note that is kept if more than `number` copies were followed."""
            return self._note(kind + number.to_bytes(2, "big"), body, host)

        # The first number that is not kept, found in a dozen look-ups: from it on the key is 1.
        copies_before = bisect_left(
            range(most), 1, key=lambda number: not self._holds(note(number))
        )
        return [note(copies_before)] if copies_before < most else []

    def _note(self, kind: bytes, body: bytes, place: str) -> bytes:
        return self._digest(kind + body + place.encode())

    def _path(self, url: str) -> str:
        """Return host and path: by another scheme a site is the same."""
        path = url.partition("?")[0].partition("://")[2]
        return path.removeprefix("www.") if self._aliases else path

    def _folder(self, url: str) -> str:
        return self._path(url).rpartition("/")[0] + "/"


def _folders_above(folder: str) -> Iterator[str]:
    """Yield the folders above this one, the closest first."""
    at = folder.rfind("/", 0, -1)
    while at >= 0:
        yield folder[: at + 1]
        at = folder.rfind("/", 0, at)


# Of 36 real sites that were mirrored on another domain, 0.6 pages beside the start page were
# fetched there with this bound; with 16 KiB 1.2, or 5.8 if each body is followed on every domain.
SHELL_SIZE = 4096  # bytes of a body: a larger one is a page of its own, which is skipped on mirrors
DOMAINS = 4096  # on so many a body is followed, besides the one where it was new


class Shells:
    """The choice of small bodies, common to many sites, that are followed although they were seen.

    Such a shell is a frameset, or a page that says "enter here". What is to be remembered are
    digests that the caller keeps among those of bodies. So this takes no memory, and is part of the
    same checkpoint.
    """

    def __init__(
        self,
        holds: Callable[[bytes], bool],
        digest: Callable[[bytes], bytes],
        domain: Callable[[str], str],
    ) -> None:
        """`holds` says whether a digest is kept.

        `digest` is keyed, and `domain` gives a URL's registered domain.
        """
        self._holds = holds
        self._digest = digest
        self._domain = domain
        # It goes in front of what is digested here, so no page can have a body with that digest.
        self._secret = digest(b"shells")

    def follows(self, body: bytes, url: str, redirects: int) -> list[bytes]:
        """Return the digests to keep if the body with this digest is followed; else nothing.

        `redirects`: so many in a row led to the page. One shell per domain is followed, and what
        that one redirects to: a mirror of a whole site is not crawled.
        """
        domain = self._domain(url)
        if self._holds(self._of_domain(domain, redirects)):
            return []
        # as in `Copies._next_count`: domains are counted by digests with the numbers 0, 1, ...
        domains_before = bisect_left(
            range(DOMAINS), 1, key=lambda number: not self._holds(self._of_body(body, number))
        )
        if domains_before == DOMAINS:
            return []
        # A shell after fewer redirects would be the same site's, so it is ruled out as well.
        return [
            self._of_body(body, domains_before),
            *(self._of_domain(domain, hops) for hops in range(redirects + 1)),
        ]

    def _of_domain(self, domain: str, redirects: int) -> bytes:
        """Return the digest that is kept if a shell behind so many redirects was followed there."""
        return self._digest(self._secret + b"%d " % redirects + domain.encode())

    def _of_body(self, body: bytes, number: int) -> bytes:
        """Return the digest that is kept if the body was followed on more than `number` domains."""
        return self._digest(self._secret + body + number.to_bytes(2, "big"))
