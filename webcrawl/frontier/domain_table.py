"""The records of registered domains: a few thousand as objects, the others as rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from webcrawl.frontier.fifo import Fifo, Pool
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.domain_row import ONE, pack, read

BATCH = 256  # rows written or let go at once: about 1 ms
LEAST = 4  # objects, whatever the memory: the caller works with one
STORE = "INSERT OR REPLACE INTO domain VALUES (?, ?, ?, ?, ?)"
NAMES = "SELECT name FROM domain WHERE name > ? ORDER BY name LIMIT ?"
COUNT = (
    "SELECT count(*), coalesce(sum(waiting), 0) FROM domain WHERE waiting > 0 AND (name GLOB ?) = ?"
)
NEXT = (
    "SELECT name, rank FROM domain WHERE waiting > 0 AND rank <= ? AND (rank < ? OR name > ?) "
    "ORDER BY rank DESC, name LIMIT ?"
)
Place = tuple[int, str]  # rank and name of a domain with URLs that wait
TOP: Place = (2**31, "")
# after a domain's name, in the record of its URLs whose families make nothing new
FAMILIES = "/families"


@dataclass(slots=True, eq=False)
class Domain:
    """A registered domain: its pages, and the URLs for which it has none left.

    The folded URLs of a domain have a record of this kind, too, with FAMILIES behind the name.
    """

    name: str
    rank: int = 0  # other domains that link to it, when it was looked at last
    seed: bool = False
    used: int = 0  # pages that were let into the back-end
    # of these, how many are not answered yet, or had nothing new and are not paid for
    debt: int = 0
    old: int = 0  # of these, how many had nothing new
    queue: Fifo | None = None  # URLs that wait; never empty
    most: float = 0.0  # pages that it may have with its rank
    lead: float = 0.0  # pages that may be requested before new bodies have come back for them
    sure: float = 0.0  # of these, how many even if it has far more URLs than that
    dirty: bool = False

    @property
    def done(self) -> int:
        """The pages that are answered: a debt is one that is not, or one that had nothing new."""
        return self.used - self.debt + self.old


@dataclass(slots=True)
class WaitingCounts:
    """The number of domains with URLs that wait, and of these URLs."""

    domains: int
    urls: int


class DomainTable:
    """The table `domain`.

    Changes are written when an object has to make room, and before a checkpoint.
    """

    def __init__(self, db: CrawlDB, pool: Pool, room: int) -> None:
        self._db = db
        self._pool = pool
        self._room = max(room, LEAST)  # objects
        self._cached: OrderedDict[str, Domain] = OrderedDict()  # the one used longest ago first
        self._dirty: dict[str, Domain] = {}  # those of them that have changed
        # A queue that is spilled has another saved form, so its domain's row is old.
        pool.on_spill = self.touch
        # URLs over budget, and folded ones
        self.over = self._count(folded=False)
        self.folded = self._count(folded=True)

    def get(self, name: str) -> Domain:
        """Return the domain's record; `most` is 0 if it has just become an object.

        It is valid until the next call, which may write it and let it go.
        """
        found = self._cached.get(name)
        if found is not None:
            self._cached.move_to_end(name)
            return found
        if len(self._cached) >= self._room:
            self._let_go()
        rows = self._db.query(ONE, (name,))
        domain = self._cached[name] = self._unpack(rows[0]) if rows else Domain(name)
        return domain

    def rate_again(self) -> None:
        """Have the allowances of all domains computed anew, by `most` = 0.

        Those of domains that are no objects are computed anew anyway.
        """
        for domain in self._cached.values():
            domain.most = 0

    @property
    def held(self) -> int:
        """The number of URLs that wait."""
        return self.over.urls + self.folded.urls

    def _count(self, *, folded: bool) -> WaitingCounts:
        return WaitingCounts(*self._db.query(COUNT, (f"*{FAMILIES}", folded))[0])

    def _waiting(self, domain: Domain) -> WaitingCounts:
        return self.folded if domain.name.endswith(FAMILIES) else self.over

    def _unpack(self, row: tuple[str, int, int, bytes, int]) -> Domain:
        """Return the domain of a row. Raise DamagedFile if the row is damaged."""
        try:
            name, rank, waiting, seed, used, debt, old, queue = read(row)
        except ValueError as error:
            raise DamagedFile(self._db.path, 0, f"table domain, {row[0]}: {error}") from error
        domain = Domain(name, rank, seed, used, debt, old)
        if waiting:
            domain.queue = self._fifo(domain, queue)
        return domain

    def _fifo(self, domain: Domain, saved: bytes | None = None) -> Fifo:
        queue = self._pool.fifo(saved)
        queue.owner = domain
        return queue

    def queue_url(self, domain: Domain, record: bytes) -> None:
        """Put a URL at the end of the domain's queue."""
        waiting = self._waiting(domain)
        if domain.queue is None:
            domain.queue = self._fifo(domain)
            waiting.domains += 1
        domain.queue.push(record)
        waiting.urls += 1
        self.touch(domain)

    def release(self, domain: Domain) -> bytes | None:
        """Remove and return the first URL of the domain's queue, or None."""
        queue = domain.queue
        if queue is None:
            return None
        record = queue.pop()
        waiting = self._waiting(domain)
        waiting.urls -= 1
        if not queue.count:
            queue.close()
            domain.queue = None
            waiting.domains -= 1
        self.touch(domain)
        return record

    def names(self, after: str, most: int) -> list[str]:
        """Return at most so many names of written records, the next ones after `after` by name."""
        return [name for (name,) in self._db.query(NAMES, (after, most))]

    def forget(self, domain: Domain) -> None:
        """Remove a domain without URLs that wait: it belongs to another crawl now."""
        self._cached.pop(domain.name, None)
        self._dirty.pop(domain.name, None)
        self._db.execute("DELETE FROM domain WHERE name = ?", (domain.name,))

    def touch(self, domain: Domain) -> None:
        """Mark the domain as changed since it was last written."""
        if not domain.dirty:
            domain.dirty = True
            self._dirty[domain.name] = domain

    def _let_go(self) -> None:
        """Write the objects used longest ago, if they have changed, and forget them."""
        oldest = [self._cached.popitem(last=False)[1] for _ in range(min(BATCH, self._room // 2))]
        # A row names the blocks of its domain's queue, so it is written before the queue leaves
        # memory.
        self._write([domain for domain in oldest if domain.dirty])
        for domain in oldest:
            if domain.queue is not None:
                domain.queue.close()

    def _write(self, domains: Iterable[Domain]) -> None:
        rows = []
        for domain in sorted(domains, key=lambda one: one.name):
            rows.append(_row(domain))
            domain.dirty = False  # after packing, which may spill the queue and so touch it
            self._dirty.pop(domain.name, None)
        self._db.executemany(STORE, rows)

    def next(self, place: Place, most: int) -> list[Place]:
        """Return at most so many domains with URLs that wait, after `place`: by falling rank, then name.

        Records that are not written are not found.
        """
        return [(rank, name) for name, rank in self._db.query(NEXT, (place[0], *place, most))]

    def prepare(self) -> Iterator[None]:
        """Write in slices what has changed until now."""
        changed = [*self._dirty.values()]
        for at in range(0, len(changed), BATCH):
            self._write(domain for domain in changed[at : at + BATCH] if domain.dirty)
            yield

    def save(self) -> None:
        for _ in self.prepare():
            pass


def _row(domain: Domain) -> tuple[str, int, int, bytes, int]:
    """Return the row of a domain, with its checksum."""
    queue = domain.queue
    data = pack(
        (domain.seed, domain.used, domain.debt, domain.old, None if queue is None else queue.save())
    )
    row = domain.name, domain.rank, 0 if queue is None else queue.count, bytes(data)
    return (*row, rowcrc.domain(*row))
