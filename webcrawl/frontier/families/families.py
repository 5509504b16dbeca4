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
PAGES_BEFORE_LEARNING = 32  # of a domain
FAMILIES_BYTES = 16 << 10  # of a domain's families as objects, without its memory
MIN_DOMAINS = 4  # that stay in memory, however little of it there is
# Before a domain's name, as keys in the table `meta`
META_PREFIX, MEMORY_PREFIX = "family/", "family memory/"
# A domain's memory is written anew once a filter has new entries for one part in so many of its
# room.
SAVED_PART = 8
MAX_TARGETS = 1 << 12  # of redirects in flight that are remembered
DOMAINS_PER_SLICE = 16  # that are written at once: about 2 ms


@dataclass(slots=True)
class PageLook:
    """What one page in flight was found to bring; booked by `Families.record_page`."""

    learning: DomainLearning  # of its domain
    keys: tuple[int, int, int, int]  # of its families
    said: Said  # by its body
    leads: Brings = Brings.NOTHING  # the news that its links bring, as far as they are heard
    blind: Sequence[int] = (0, 0, 0, 0)  # what it adds to the blindness of each family
    varying: int | None = None  # the family with new segments masked

    @property
    def brings(self) -> Brings | None:
        """The news that the page brought, by its body or its links; None if that is not known."""
        if self.said.new is None:
            return None
        if self.said.new:
            return Brings.NEWS
        if self.said.title:
            return max(self.leads, Brings.DOUBT)
        return self.leads


class Families:
    """The families of all domains: decides which URLs wait, and learns from each page.

    The frontier calls `waits` for each URL whose turn has come, and for each page `read`,
    `record_links`, `record_page` and `forget`, in this order.
    """

    def __init__(self, db: CrawlDB, memory: int) -> None:
        self._db = db
        self._max_bytes = memory
        self._held_bytes = 0  # of the learnings in memory
        # by domain, the one used longest ago first
        self._learnings: OrderedDict[str, DomainLearning] = OrderedDict()
        self._unwritten: set[str] = set()  # domains whose learnings have changed
        # by URL, of pages in flight; None: the page was passed over
        self._looks: dict[str, PageLook | None] = {}
        # by URL, the only URL that an answer in flight names, as redirects do
        self._targets: dict[str, str] = {}

    def waits(self, name: str, url: str) -> bool:
        """Return whether a URL of a domain is held back, because its family is folded.

        Call it only for a domain that has had PAGES_BEFORE_LEARNING pages.
        """
        return self._learning_of(name).waits(url)

    def read(self, name: str, url: str, body: bytes) -> None:
        """Look at a page whose body was not seen before, or pass over it as one of a sample."""
        learning = self._learnings.get(name)
        if learning is None:
            # If the page were not noted, `record_page` would count its new body as nothing new.
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
        """Note a page with a new body that is not looked at, so that nothing is learnt from it."""
        self._looks[url] = None

    def record_links(self, url: str, links: Sequence[str]) -> None:
        """Add the links of a page to its look; without a look, note a redirect's only target."""
        look = self._looks.get(url)
        if look is not None:
            said = look.said
            look.leads, look.blind = look.learning.follow(
                url, links, address=said.address, leads=said.new is False
            )
        elif len(links) == 1:
            if len(self._targets) >= MAX_TARGETS:
                self._targets.clear()
            self._targets[url] = links[0]

    def redirected(self, name: str, url: str) -> bool:
        """Book a redirect in the URL's families if it leads to a known URL of the same domain.

        Return whether it does.
        """
        target = self._targets.get(url)
        if target is None or not is_within(target, name):
            return False
        self._unwritten.add(name)
        return self._learning_of(name).redirected(url, target)

    def record_page(self, name: str, link: Link, status: int) -> bool:
        """Book a page that is done, of a domain that has had PAGES_BEFORE_LEARNING pages.

        Return whether a family was freed by it, so that folded URLs may go on. A page without a
        look has a known body, unless it was passed over, and brings nothing new.
        """
        learning = self._learning_of(name)
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
        self._unwritten.add(name)
        brings = look.brings
        # A look may have made the domain's memory grow.
        self._held_bytes += learning.memory.size - learning.counted
        learning.counted = learning.memory.size
        freed = learning.record_page(look.keys, brings, look.blind, look.varying)
        redirected = link.path.endswith("R") and is_within(link.via, name)
        # A page counts for the URL that was redirected to it, too.
        if redirected and brings is not None:
            freed = learning.record_page(learning.families_of(link.via), brings) or freed
        return freed

    def forget(self, url: str) -> None:
        """Drop what is noted of a page that is no longer in flight."""
        self._looks.pop(url, None)
        self._targets.pop(url, None)

    def try_again(self, name: str, pages: int, *, unlimited: bool) -> int:
        """Return how many folded URLs of a domain are tried once more, as there are no others.

        `pages`: the number that the domain has had. `unlimited`: it has no budget.
        """
        self._unwritten.add(name)
        return self._learning_of(name).try_again(pages, unlimited=unlimited)

    def _learning_of(self, name: str) -> DomainLearning:
        """Return a domain's learning, loaded if need be; it is the last to be forgotten then.

        If memory is short, others are written and forgotten.
        """
        learning = self._learnings.get(name)
        if learning is None:
            while self._held_bytes > self._max_bytes and len(self._learnings) >= MIN_DOMAINS:
                self._forget_oldest()
            learning = self._learnings[name] = self._load(name)
            learning.counted = learning.memory.size
            self._held_bytes += learning.counted + FAMILIES_BYTES
        else:
            self._learnings.move_to_end(name)
        return learning

    def _load(self, name: str) -> DomainLearning:
        """Return the saved learning of a domain, or a new one. Raise DamagedFile if damaged."""
        data = self._db.get(META_PREFIX + name)
        if data is None:
            return DomainLearning()
        try:
            return DomainLearning.unpack(data, self._db.get(MEMORY_PREFIX + name))
        except (ValueError, TypeError) as error:
            raise DamagedFile(
                self._db.path, 0, f"table meta, {META_PREFIX}{name}: {error}"
            ) from error

    def _forget_oldest(self) -> None:
        """Write the learning that was used longest ago, if it has changed, and forget it."""
        name, learning = self._learnings.popitem(last=False)
        self._held_bytes -= learning.counted + FAMILIES_BYTES
        if name in self._unwritten:
            self._write(name, learning, min_unsaved=1)

    def _write(self, name: str, learning: DomainLearning, min_unsaved: int) -> None:
        """Write a learning with folded families, and delete any other: it is soon learnt again.

        `min_unsaved`: the unsaved entries from which its memory is written, too.
        """
        self._unwritten.discard(name)
        if learning.folded:
            self._db.set(META_PREFIX + name, learning.pack())
            if learning.memory.unsaved >= min_unsaved:
                self._db.set(MEMORY_PREFIX + name, learning.memory.pack())
        else:
            self._db.execute(
                "DELETE FROM meta WHERE name IN (?, ?)", (META_PREFIX + name, MEMORY_PREFIX + name)
            )

    def prepare(self) -> Iterator[None]:
        """Write what was learnt until now; yield between slices of DOMAINS_PER_SLICE domains."""
        for count, name in enumerate([*self._unwritten]):
            if name in self._unwritten:
                learning = self._learnings[name]
                self._write(name, learning, min_unsaved=learning.memory.room // SAVED_PART)
            if count % DOMAINS_PER_SLICE == DOMAINS_PER_SLICE - 1:
                yield

    def save(self) -> None:
        for _ in self.prepare():
            pass


def is_within(url: str, name: str) -> bool:
    """Return whether a URL is of this registered domain."""
    host = host_of(url)
    return host == name or host.endswith(f".{name}")
