"""Holds back URLs of families that make nothing new, for all domains; learns from each page of the larger ones.

A folded family's URLs wait behind all others of their domain (`budgets.Budgets.fold`). docs/frontier.md has the rules,
docs/decisions/frontier-order.md why they are these.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.frontier.families.learning import Brings, Learning
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

START = 32  # pages of a domain before anything is learnt of it
BYTES = 48 << 10  # of what is known of a domain, as objects: two filters of 16 KiB, and 128 families
LEAST = 4  # domains in memory, whatever there is of it
META = "family/"  # before a domain's name, in the table `meta`
BATCH = 16  # domains that are written in one slice: about 2 ms


@dataclass(slots=True)
class Look:
    """What one page in flight was found to bring."""

    learning: Learning
    new: bool | None  # None: only its links are looked at
    leads: Brings = Brings.NOTHING
    blind: Sequence[int] = (0, 0, 0, 0)


NOTHING = Look(Learning(), new=False)


class Families:
    """`waits` is asked for each URL whose turn has come; `read`, `heard` and `answered` are called for each page."""

    def __init__(self, db: CrawlDB, memory: int) -> None:
        self._db, self._room = db, max(memory // BYTES, LEAST)
        self._known: OrderedDict[str, Learning] = OrderedDict()
        self._dirty: set[str] = set()
        self._looks: dict[str, Look | None] = {}  # of pages in flight; None: it was not worth one

    def waits(self, name: str, url: str) -> bool:
        """True if a URL of a domain waits. Only of one that has had START pages."""
        return self._of(name).waits(url)

    def read(self, name: str, url: str, body: bytes) -> None:
        """A page has a body that was not seen before."""
        learning = self._known.get(name)
        if learning is not None and learning.wants(url):
            self._looks[url] = Look(learning, learning.has_new(url, body))
        elif learning is not None:  # its links are looked at all the same, if they may be a labyrinth's
            self._looks[url] = Look(learning, new=None) if learning.is_blind(url) else None

    def heard(self, url: str, links: Sequence[str]) -> None:
        """A page has these links."""
        look = self._looks.get(url)
        if look is not None:
            look.leads, look.blind = look.learning.follow(url, links)

    def answered(self, name: str, link: Link, status: int) -> bool:
        """A page of a domain that has had START of them is done. Returns whether URLs that wait may go on."""
        learning, look = self._of(name), self._looks.get(link.url)
        if look is None and (link.url in self._looks or not 200 <= status < 300):
            return False
        self._dirty.add(name)
        look = look or NOTHING
        brings = None if look.new is None else Brings.NEWS if look.new else look.leads
        freed = learning.learn(link.url, brings, look.blind)
        redirected = link.path.endswith("R") and host_of(link.via).endswith(name)
        if redirected and brings is not None:  # what leads to it is as good as it
            freed = learning.learn(link.via, brings) or freed
        return freed

    def forget(self, url: str) -> None:
        """A page is no longer in flight."""
        self._looks.pop(url, None)

    def try_again(self, name: str, pages: int) -> int:
        """The number of URLs of a domain that wait and are to be tried once more, as there is nothing else to do.

        `pages`: what the domain has had.
        """
        self._dirty.add(name)
        return self._of(name).try_again(pages)

    def _of(self, name: str) -> Learning:
        learning = self._known.get(name)
        if learning is None:
            if len(self._known) >= self._room:
                self._let_go()
            learning = self._known[name] = self._load(name)
        else:
            self._known.move_to_end(name)
        return learning

    def _load(self, name: str) -> Learning:
        data = self._db.get(META + name)
        try:
            return Learning.unpack(data) if data is not None else Learning()
        except (ValueError, TypeError) as error:
            raise DamagedFile(self._db.path, 0, f"table meta, {META}{name}: {error}") from error

    def _let_go(self) -> None:
        name, learning = self._known.popitem(last=False)
        if name in self._dirty:
            self._write(name, learning)

    def _write(self, name: str, learning: Learning) -> None:
        """Only what is folded is worth its bytes; all else is soon learnt again."""
        self._dirty.discard(name)
        if learning.folded:
            self._db.set(META + name, learning.pack())
        else:
            self._db.execute("DELETE FROM meta WHERE name = ?", (META + name,))

    def prepare(self) -> Iterator[None]:
        """Writes in slices what was learnt until now."""
        for at, name in enumerate([*self._dirty]):
            if name in self._dirty:
                self._write(name, self._known[name])
            if at % BATCH == BATCH - 1:
                yield

    def save(self) -> None:
        for _ in self.prepare():
            pass
