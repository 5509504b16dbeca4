"""Holds back URLs of families that make nothing new, for all domains.

Learns from each page of the larger ones.

A folded family's URLs wait behind all others of their domain (`budgets.Budgets.fold`).
docs/urls-and-traps.md has the rules, docs/decisions/frontier-order.md why they are these.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.frontier.families.learning import Brings, DomainLearning, Said
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

# On hosts of twenty pages, where no trap can be, learning was a fifth of a page's cost.
START = 32  # pages of a domain before anything is learnt of it
FAMILIES = 16 << 10  # bytes of a domain's families, as objects; its memory comes to them
LEAST = 4  # domains in memory, whatever there is of it
META, MEMORY = "family/", "family memory/"  # before a domain's name, in the table `meta`
SAVED = 8  # part of a filter's room: with so many new entries it is written anew
TARGETS = 1 << 12  # of redirects in flight that are remembered
BATCH = 16  # domains that are written in one slice: about 2 ms


@dataclass(slots=True)
class PageLook:
    """What one page in flight was found to bring."""

    learning: DomainLearning
    keys: tuple[int, int, int, int]  # of its families
    said: Said
    leads: Brings = Brings.NOTHING
    blind: Sequence[int] = (0, 0, 0, 0)
    varying: int | None = None  # the family with new segments masked

    @property
    def brings(self) -> Brings | None:
        """The news that the page brought; None if that is not known."""
        if self.said.new is None:
            return None
        if self.said.new:
            return Brings.NEWS
        if self.said.title:
            return max(self.leads, Brings.DOUBT)
        return self.leads


class Families:
    """`waits` is asked for each URL whose turn has come.

    `read`, `heard` and `answered` are called for each page.
    """

    def __init__(self, db: CrawlDB, memory: int) -> None:
        self._db = db
        self._room = memory
        self._held = 0
        self._known: OrderedDict[str, DomainLearning] = OrderedDict()
        self._dirty: set[str] = set()
        # of pages in flight; None: it was not worth one
        self._looks: dict[str, PageLook | None] = {}
        # of answers in flight that name one URL, as redirects do
        self._targets: dict[str, str] = {}

    def waits(self, name: str, url: str) -> bool:
        """Return whether a URL of a domain is held back. Only asked of a domain that has had START pages."""
        return self._of(name).waits(url)

    def read(self, name: str, url: str, body: bytes) -> None:
        """Take note of a page whose body was not seen before."""
        learning = self._known.get(name)
        if learning is None:
            # Without a look, `answered` would count a new body as nothing new.
            self.pass_over(url)
            return
        keys = learning.families_of(url)
        if learning.wants(keys):
            varying = learning.varying_of(url)
            self._looks[url] = PageLook(learning, keys, learning.look(url, body), varying=varying)
        else:
            learning.passed(url)
            self._looks[url] = None

    def pass_over(self, url: str) -> None:
        """Take note of a page with such a body that is not looked at."""
        self._looks[url] = None

    def heard(self, url: str, links: Sequence[str]) -> None:
        """Take note of the links on a page, or of a redirect's target."""
        look = self._looks.get(url)
        if look is not None:
            said = look.said
            look.leads, look.blind = look.learning.follow(
                url, links, address=said.address, leads=said.new is False
            )
        elif len(links) == 1:
            if len(self._targets) >= TARGETS:
                self._targets.clear()
            self._targets[url] = links[0]

    def redirected(self, name: str, url: str) -> bool:
        """Book a redirect of a domain if it leads to a known URL of the same domain.

        Return whether it does.
        """
        target = self._targets.get(url)
        if target is None or not is_within(target, name):
            return False
        self._dirty.add(name)
        return self._of(name).redirected(url, target)

    def answered(self, name: str, link: Link, status: int) -> bool:
        """Book a page that is done, of a domain that has had START of them.

        Return whether URLs that wait may go on.
        """
        learning = self._of(name)
        look = self._looks.get(link.url)
        if look is None:
            was_passed_over = link.url in self._looks
            is_page = 200 <= status < 300
            if was_passed_over or not is_page:
                return False
            # A page without a new body says nothing new.
            look = PageLook(
                learning,
                learning.families_of(link.url),
                Said(new=False),
                varying=learning.varying_of(link.url),
            )
        self._dirty.add(name)
        brings = look.brings
        self._held += learning.memory.size - learning.counted
        learning.counted = learning.memory.size
        freed = learning.learn(look.keys, brings, look.blind, look.varying)
        redirected = link.path.endswith("R") and is_within(link.via, name)
        # A page counts for the URL that was redirected to it, too.
        if redirected and brings is not None:
            freed = learning.learn(learning.families_of(link.via), brings) or freed
        return freed

    def forget(self, url: str) -> None:
        """A page is no longer in flight."""
        self._looks.pop(url, None)
        self._targets.pop(url, None)

    def try_again(self, name: str, pages: int, *, unlimited: bool) -> int:
        """Return how many URLs of a domain that wait are tried once more, as there is nothing else
        to do.

        `pages`: what the domain has had. `unlimited`: it has no budget.
        """
        self._dirty.add(name)
        return self._of(name).try_again(pages, unlimited=unlimited)

    def _of(self, name: str) -> DomainLearning:
        learning = self._known.get(name)
        if learning is None:
            while self._held > self._room and len(self._known) >= LEAST:
                self._let_go()
            learning = self._known[name] = self._load(name)
            learning.counted = learning.memory.size
            self._held += learning.counted + FAMILIES
        else:
            self._known.move_to_end(name)
        return learning

    def _load(self, name: str) -> DomainLearning:
        data = self._db.get(META + name)
        if data is None:
            return DomainLearning()
        try:
            return DomainLearning.unpack(data, self._db.get(MEMORY + name))
        except (ValueError, TypeError) as error:
            raise DamagedFile(self._db.path, 0, f"table meta, {META}{name}: {error}") from error

    def _let_go(self) -> None:
        name, learning = self._known.popitem(last=False)
        self._held -= learning.counted + FAMILIES
        if name in self._dirty:
            self._write(name, learning, least=1)

    def _write(self, name: str, learning: DomainLearning, least: int) -> None:
        """Only what is folded is worth its bytes; all else is soon learnt again.

        `least`: entries that are.
        """
        self._dirty.discard(name)
        if learning.folded:
            self._db.set(META + name, learning.pack())
            if learning.memory.unsaved >= least:
                self._db.set(MEMORY + name, learning.memory.pack())
        else:
            self._db.execute("DELETE FROM meta WHERE name IN (?, ?)", (META + name, MEMORY + name))

    def prepare(self) -> Iterator[None]:
        """Write in slices what was learnt until now."""
        for at, name in enumerate([*self._dirty]):
            if name in self._dirty:
                learning = self._known[name]
                self._write(name, learning, least=learning.memory.room // SAVED)
            if at % BATCH == BATCH - 1:
                yield

    def save(self) -> None:
        for _ in self.prepare():
            pass


def is_within(url: str, name: str) -> bool:
    """Return whether a URL is of this registered domain."""
    host = host_of(url)
    return host == name or host.endswith(f".{name}")
