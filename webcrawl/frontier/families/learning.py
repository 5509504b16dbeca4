"""The families of one registered domain: which of them bring new pages, and which are folded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Self
from zlib import crc32

import msgpack

from webcrawl.frontier.families.features import Features, words_of
from webcrawl.frontier.families.memory import Memory
from webcrawl.frontier.families.shapes import UrlShape, parts_of, shape_of

MAX_FAMILIES = 128  # of a domain
# Pages that bring nothing new before a family is folded: the closest family of a URL, and the three
# wider ones. Of Mercurial's pages, 16, 32 and 48 saved 190 of 1,680, and 127 of these had a text of
# their own.
FOLD_AFTER_PAGES = (24, 48, 64, 96)
# Facets and tag pages show a new article on one page of ten as long as there are some.
PAGES_PAID_BY_NEW_ONE = 4  # pages without news that a new one pays for
# Pages of a family that do not count, because their links may yet lead to something new: the days
# of an archive come before their articles.
MAX_DOUBTFUL_PAGES = 128
MAX_PAID_IN_ADVANCE = 64  # pages that new ones may have paid for in advance
# Pages that lead to new ones of their family only, before it is folded as a labyrinth. Its text is
# all new, so only links show one: on a good site some lead back.
FOLD_AFTER_BLIND_PAGES = 200
# Blind pages that are paid for by a page with links to known pages of its family
BLIND_PAID_BY_KNOWN_LINK = 8
# URLs of a folded family that wait between two that are tried
FIRST_TRY_GAP, TRY_GAP_GROWTH, LONGEST_TRY_GAP = 16, 1.5, 1024
# The last tries that count, as a mask of their bits, and how many of them must bring something new
# to free the family: one more each time that it was freed, up to all. One new page in five would
# free it again and again.
TRY_BITS, TRIES_THAT_FREE = 0b1111, 2
PAGES_TO_JUDGE_LINKS = 4  # of a family, before links to it are judged by its pages
LAST_PAGES = 32  # of a family, by which it counts as good
# Families with fewer pages than PAGES_TO_JUDGE_LINKS whose links are taken as doubtful news
MAX_AWAITED = 16
# After so many new pages of a family in a row, only one page in 2, 4, ... is looked at, down to one
# in RAREST_SAMPLE. A look takes 0.5 to 0.9 ms. With one at nearly all pages, a page of large hosts
# took 1,463 us, and with the sample 900 to 980.
NEW_PAGES_BEFORE_SAMPLING, RAREST_SAMPLE = 12, 8
# The same begins after so few pages of a family, if so many pages of its domain in a row were new.
FAULTLESS_DOMAIN_PAGES, SOONER_BEFORE_SAMPLING = 32, 4
# Families of a URL that a redirect counts for, from the closest: a site of nothing but short links
# has pages all the same.
FAMILIES_OF_REDIRECT = 2
FAMILIES_BELOW_DOMAIN = 3  # of a URL: all but that of its whole domain
# Folded URLs of a domain that are tried once more when there is nothing else, and how often
URLS_PER_ROUND, MAX_ROUNDS = 8, 4
SMALL_SITE_PAGES = 300  # a domain with fewer pages is fetched whole in the end, folded or not
MAX_OWN_LINKS = 8  # links of a page to its own families that are looked at
MAX_LINKS = 256  # of a page, that are looked at
# Times the number of fresh values, which no page had before: part of the closest family's key. So
# URLs with fresh values are judged apart from copies of known pages.
FRESH_FACTOR = 0x5BD1E995
# Seeds of the crc by which the memory keeps values, links, and values of pages that were passed
# over, apart. Seeds that differ in few bits would give the same number to short texts that differ
# in as many.
VALUE_SEED, LINK_SEED, PASSED_SEED = 4, 5, 0x9AC3D7E5


class Brings(IntEnum):
    """The news that a page brought, from the least to the most."""

    NOTHING = 0
    DOUBT = 1  # links that may lead to something new
    LINKS = 2  # links that do
    NEWS = 3  # it is new itself


class Said(NamedTuple):
    """The judgement on what a page says."""

    new: bool | None  # whether it says something new; None: that is not known
    address: bool = False  # nothing is new but words of its own address
    title: bool = False  # it says nothing new, under a title that no page had


class Family:
    """The counts of one family's pages, and whether the family is folded."""

    __slots__ = (
        "blind",
        "doubts",
        "folded",
        "last_pages",
        "last_tries",
        "new",
        "new_in_a_row",
        "pages",
        "stale",
        "times_freed",
        "urls_between_tries",
        "urls_until_try",
    )

    def __init__(self) -> None:
        self.pages = 0
        self.new = 0  # of these pages
        self.new_in_a_row = 0
        self.last_pages = 0  # a bit for each of the last pages, set if it was new
        # pages that brought nothing new and are not paid for; below 0: so many are paid in advance
        self.stale = 0
        self.doubts = 0  # pages with doubtful links, of which MAX_DOUBTFUL_PAGES do not count
        self.blind = 0  # pages that lead to new ones of their family only, and are not paid for
        self.folded = 0  # 1: its URLs wait
        self.times_freed = 0
        self.urls_between_tries = 0  # while it is folded: URLs that wait between two tries
        self.urls_until_try = 0
        self.last_tries = 0  # a bit for each of the last tries, set if it brought something new

    def pack(self) -> list[int]:
        """Return the counts in the order in which `unpack` and saved records have them."""
        counts = [
            self.pages,
            self.new,
            self.new_in_a_row,
            self.last_pages,
            self.stale,
            self.doubts,
            self.blind,
        ]
        return [
            *counts,
            self.folded,
            self.urls_between_tries,
            self.urls_until_try,
            self.last_tries,
            self.times_freed,
        ]

    @classmethod
    def unpack(cls, values: Sequence[int]) -> Self:
        """Return the family of these counts, which `pack` returned."""
        family = cls()
        (
            family.pages,
            family.new,
            family.new_in_a_row,
            family.last_pages,
            family.stale,
            family.doubts,
            family.blind,
        ) = values[:7]
        (
            family.folded,
            family.urls_between_tries,
            family.urls_until_try,
            family.last_tries,
            *freed,
        ) = values[7:]
        family.times_freed = sum(freed)  # absent in older records
        return family

    @property
    def good(self) -> bool:
        """Return whether half of its last pages, or more, were new."""
        return self.last_pages.bit_count() * 2 >= min(self.pages, LAST_PAGES)

    @property
    def brings_news(self) -> bool:
        """Return whether a link to the family leads to something new.

        Each link of a page calls it, so `good` is repeated here rather than called.
        """
        return not self.folded and self.last_pages.bit_count() * 2 >= min(self.pages, LAST_PAGES)

    def record_page(self, fold: int, brings: Brings | None, blind: int) -> bool:
        """Book one more page, and fold or free the family by it. Return whether it is freed.

        `fold`: stale pages at which it is folded. `brings`: the page's news; None: only its links
        were looked at. `blind`: what the page adds to the family's blindness, which may be
        negative.
        """
        if brings is None:
            self.blind = max(self.blind + blind, 0)
            self._fold_if_due(fold)
            return False
        new = brings is Brings.NEWS
        self.pages += 1
        self.new += new
        self.last_pages = (self.last_pages << 1 | new) & ((1 << LAST_PAGES) - 1)
        self.new_in_a_row = self.new_in_a_row + 1 if new else 0
        self.blind = max(self.blind + blind, 0)
        if self.folded:
            # The page was a try. Nothing else is counted while the family is folded.
            is_good = brings >= Brings.LINKS and blind <= 0
            self.last_tries = (self.last_tries << 1 | is_good) & TRY_BITS
            needed = min(TRIES_THAT_FREE + self.times_freed, TRY_BITS.bit_count())
            if self.last_tries.bit_count() < needed:
                return False
            self.times_freed += 1
            self.folded = 0
            self.stale = 0
            self.blind = 0
            return True
        if new:
            self.stale = max(
                self.stale - PAGES_PAID_BY_NEW_ONE, -min(self.new, MAX_PAID_IN_ADVANCE)
            )
        elif brings is Brings.LINKS:
            self.stale -= self.stale > 0  # it pays for one page, and for none in advance
        elif brings is Brings.NOTHING or self.doubts >= MAX_DOUBTFUL_PAGES:
            self.stale += 1
        else:
            self.doubts += 1
        self._fold_if_due(fold)
        return False

    def redirected(self, fold: int) -> None:
        """Book a URL of the family that redirects to a known one; `fold` is as for `record_page`.

        It is no page, so it does not count among the last pages, but is one more stale page or a
        try without news.
        """
        if self.folded:
            self.last_tries = (self.last_tries << 1) & TRY_BITS
        else:
            self.stale += 1
            self._fold_if_due(fold)

    def _fold_if_due(self, fold: int) -> None:
        """Fold the family if it has so many stale pages, or too many blind ones."""
        brings_nothing = self.stale >= fold or self.blind >= FOLD_AFTER_BLIND_PAGES
        if not self.folded and brings_nothing:
            self.folded = 1
            self.urls_between_tries = FIRST_TRY_GAP
            self.urls_until_try = FIRST_TRY_GAP
            self.last_tries = 0

    def waits(self) -> bool:
        """Return whether the next URL of the folded family waits, and count it.

        Now and then one does not, as a try; ever more rarely.
        """
        self.urls_until_try -= 1
        if self.urls_until_try > 0:
            return True
        self.urls_between_tries = min(
            int(self.urls_between_tries * TRY_GAP_GROWTH), LONGEST_TRY_GAP
        )
        self.urls_until_try = self.urls_between_tries
        return False


def _added_blindness(fresh: int, known: int, *, address: bool) -> int:
    """Return what a page adds to its family's blindness: 1 if it is blind, 0, or a negative number.

    `fresh` and `known`: the number of its links to new and known pages of the family. `address`:
    the page says nothing new but its address.
    """
    if address and fresh:
        return 1
    if known:
        return -BLIND_PAID_BY_KNOWN_LINK
    return int(fresh > 1)


class DomainLearning:
    """The families of a domain. Beyond MAX_FAMILIES the one without pages for longest goes."""

    def __init__(self) -> None:
        self.families: OrderedDict[int, Family] = OrderedDict()
        self.memory = Memory()
        # bytes of the memory that are counted already in the room of all domains
        self.counted = 0
        self.folded = 0  # the number of folded families; in a Family it is 0 or 1
        self.rounds = 0  # in which URLs were tried again since a family was freed
        # 1: in a crawl without budgets, as many folded URLs were let in as the domain had pages
        self.had_as_many = 0
        self._pages_of_good_families = 0  # for the sample that is looked at
        self._granted_urls = 0  # URLs that `waits` still lets go on, because they are tried again
        # closest families of which too little is known, whose links are taken as doubtful news
        self._awaited_families: set[int] = set()

    def pack(self) -> bytes:
        """Return all but the memory, as bytes."""
        families = [(key, *family.pack()) for key, family in self.families.items()]
        packed: bytes = msgpack.packb(
            (
                families,
                self.had_as_many,
                self._granted_urls,
                self.rounds,
                sorted(self._awaited_families),
            )
        )
        return packed

    @classmethod
    def unpack(cls, data: bytes, memory: bytes | None) -> Self:
        """Return the learning of these bytes, which `pack` returned, and of its memory's bytes.

        Raise ValueError or TypeError if the bytes are damaged.
        """
        found: Any = msgpack.unpackb(data)
        # In older records `more` is a memory, or empty.
        families, *more, rounds, awaited = found
        learning = cls()
        for key, *values in families:
            learning.families[key] = Family.unpack(values)
        if memory is not None:
            learning.memory = Memory.unpack(memory)
        learning.folded = sum(family.folded for family in learning.families.values())
        learning.rounds = rounds
        learning._awaited_families = set(awaited)
        if len(more) == 2:
            learning.had_as_many, learning._granted_urls = more
        return learning

    def try_again(self, pages: int, *, unlimited: bool = False) -> int:
        """Return how many of the folded URLs are tried once more, because there are no others.

        `waits` lets so many go on then. `pages`: the number that the domain has had; a small site
        is fetched whole. `unlimited`: the domain has no budget; then, once, as many URLs are tried
        as the domain has had pages. All others have MAX_ROUNDS rounds of URLS_PER_ROUND URLs.
        """
        # Real pages that only look like others are most often fewer than the site's pages, and a
        # trap costs no more than the site that it is on.
        if pages < SMALL_SITE_PAGES:
            self._granted_urls = SMALL_SITE_PAGES - pages
            return self._granted_urls
        if not self.folded:
            return URLS_PER_ROUND
        if unlimited and not self.had_as_many:
            self.had_as_many = 1
            self._granted_urls = pages
            return pages
        if self.rounds >= MAX_ROUNDS:
            return 0
        self.rounds += 1
        self._granted_urls = URLS_PER_ROUND
        return URLS_PER_ROUND

    def families_of(self, url: str) -> tuple[int, int, int, int]:
        """Return the families of a URL, from the closest to that of the whole domain.

        URLs of one shape have different closest families if the number of their values that no page
        of the domain had before differs.
        """
        shape = shape_of(url)
        close, wide, deep, whole = shape.families
        return close ^ FRESH_FACTOR * len(self._fresh_values(shape)), wide, deep, whole

    def varying_of(self, url: str) -> int | None:
        """Return the closest family with new segments masked, or None if there are none.

        A segment that no page of the domain had may be one of many, although it does not look so,
        such as a session's name of letters only.
        """
        shape = shape_of(url)
        fresh = self._fresh_values(shape)
        masked = shape.masked(fresh) if fresh else shape.families[0]
        return masked ^ FRESH_FACTOR * len(fresh) if masked != shape.families[0] else None

    def _fresh_values(self, shape: UrlShape) -> list[str]:
        """Return the values of a URL that no page of the domain had before."""
        has = self.memory.has
        return [value for value in shape.all if not has(crc32(value.encode(), VALUE_SEED))]

    def _is_known_from_now_on(self, value: str) -> bool:
        """Add a URL's value to the memory, with the parts of a list.

        Return whether a page of the domain had the value before, or each of its parts as a value.
        """
        add = self.memory.add
        if not add(crc32(value.encode(), VALUE_SEED)):
            return True
        parts, listed = parts_of(value)
        if listed:
            # Each part is added, so a list and no `all`, which would stop at the first known one.
            return sum([add(crc32(part.encode(), VALUE_SEED)) for part in parts]) == 0
        return bool(parts) and all(
            self.memory.has(crc32(part.encode(), VALUE_SEED)) for part in parts
        )

    def waits(self, url: str) -> bool:
        """Return whether this URL waits, because a family of it is folded. Its turn is counted.

        The closest known family decides.
        """
        if not self.folded:
            return False
        if self._granted_urls:
            self._granted_urls -= 1
            return False
        # The family with new segments masked only holds back: it never lets a URL go on.
        varying = self.varying_of(url)
        if varying is not None:
            family = self.families.get(varying)
            if family is not None and family.folded:
                return self._waits_in(varying, family)
        for key in self.families_of(url):
            family = self.families.get(key)
            if family is None:
                continue
            if family.folded:
                return self._waits_in(key, family)
            owes_nothing = family.stale <= 0 and not family.blind
            if owes_nothing and family.good:
                return False
        return False

    def _waits_in(self, key: int, family: Family) -> bool:
        """Return whether a URL of this folded family waits; the family is not forgotten soon."""
        self.families.move_to_end(key)
        return family.waits()

    def wants(self, keys: tuple[int, int, int, int]) -> bool:
        """Return whether a page of these families is to be looked at.

        Of a family whose last pages were all new, only a sample is, as a look costs as much as all
        else that is done for a page. A family without pages is judged by its domain's last pages:
        on a site of many small families most pages are the first of theirs.
        """
        close, *_, whole = keys
        domain = self.families.get(whole)
        if domain is None:
            return True
        family = self.families.get(close, domain)
        if family.stale > 0 or family.folded or self.is_blind(keys):
            return True
        # One page in `step` is looked at: 1 up to `sure` new pages in a row, then 2, 4, ...
        self._pages_of_good_families += 1
        # With a look at each page for as long as anything in the domain lacks news, most pages of
        # an ordinary site had one, which costs as much as all else that is done for a page.
        sure = (
            NEW_PAGES_BEFORE_SAMPLING
            if domain.new_in_a_row < FAULTLESS_DOMAIN_PAGES
            else SOONER_BEFORE_SAMPLING
        )
        step = min(1 << max(family.new_in_a_row - sure, 0), RAREST_SAMPLE)
        return self._pages_of_good_families % step == 0

    def is_blind(self, keys: Sequence[int]) -> bool:
        """Return whether one of these families has blind pages, which led to its new pages only."""
        for key in keys[:FAMILIES_BELOW_DOMAIN]:
            family = self.families.get(key)
            if family is not None and family.blind > 0:
                return True
        return False

    def passed(self, url: str) -> None:
        """Book a page that is not looked at: its values are noted as PASSED_SEED ones.

        Later pages with these values may say the same as this page.
        """
        add = self.memory.add
        for value in shape_of(url).values:
            if add(crc32(value.encode(), VALUE_SEED)):
                add(crc32(value.encode(), PASSED_SEED))

    def look(self, url: str, body: bytes) -> Said:
        """Judge whether a page says something that no page of the domain had before.

        That is a run of text, or something that it embeds. It is not known if a page with one of
        its values was passed over. The page says nothing but its address if all new runs are known
        with other words in place of the words of its URL.
        """
        shape = shape_of(url)
        add = self.memory.add
        # The words of values that came with other URLs before are no news.
        echo = [value for value in shape.all if self._is_known_from_now_on(value)]
        features = Features(body, words_of(shape.all), words_of(echo))
        new_parts = self._count_new_parts(features)
        new_own = self._new_runs_with_address(features.own)
        is_new_choice = add(features.whole)
        is_new_title = features.title is not None and add(features.title)
        # Where one value says which page it is, all words may be known, and only their choice new.
        is_of_one_value = len(shape.values) == 1 and shape.values[0] not in echo
        has_news = new_parts or new_own or (is_new_choice and is_of_one_value)
        if not has_news:
            return Said(new=False, title=is_new_title)
        if self._was_passed_over(echo):
            return Said(new=None)
        is_only_address = bool(new_own) and not new_parts and not any(new_own)
        return Said(new=True, address=is_only_address)

    def _was_passed_over(self, values: Iterable[str]) -> bool:
        """Return whether a page with one of these values was passed over without a look.

        What seems new on another page may have been on that one.
        """
        return any(self.memory.has(crc32(value.encode(), PASSED_SEED)) for value in values)

    def _count_new_parts(self, features: Features) -> int:
        """Add a page's runs of text and what it embeds to the memory; return how many are new.

        A run that echoes the URL is new if it is so with the echoing words and without them.
        """
        add = self.memory.add
        # A loop that stopped at the first new part would leave the others out of the memory. So
        # would `and` in the place of `&`.
        new = sum(map(add, features.parts))
        return new + sum(add(run) & add(rest_of_run) for run, rest_of_run in features.echoing)

    def _new_runs_with_address(self, own: Iterable[tuple[int, int | None]]) -> list[bool]:
        """Add the runs that have words of the page's URL to the memory.

        `own` has the number of each run, and its number without these words. Return for each new
        run whether it is new without these words, too.
        """
        are_new_without_address = []
        for run, rest_of_run in own:
            if self.memory.add(run):
                is_new = rest_of_run is not None and self.memory.add(rest_of_run)
                are_new_without_address.append(is_new)
        return are_new_without_address

    def follow(
        self, url: str, links: Sequence[str], *, address: bool = False, leads: bool = True
    ) -> tuple[Brings, list[int]]:
        """Return the news that a page's links bring, and what it adds to each family's blindness.

        `address`: the page says nothing new but its address; then any link to a new page of its
        family makes it blind. `leads`: the page is judged by where it leads; if not, only links to
        its own families are looked at.
        """
        own = shape_of(url).families
        add = self.memory.add
        below = url.rstrip("/") + "/"
        brings = Brings.NOTHING
        own_links = 0  # that were looked at, to families of the page
        # for each family of the page: its links to new and to known pages of that family
        fresh = [0] * len(own)
        known = [0] * len(own)
        for link in links[:MAX_LINKS]:
            if own_links >= MAX_OWN_LINKS and not leads:
                break
            shape = shape_of(link)
            news_of_target = None
            # The page's closest family cannot vouch for its own pages.
            if leads and shape.families[0] != own[0]:
                news_of_target = self._news_of_link(self.families_of(link)[:2], own[1])
            if link == url or (own_links >= MAX_OWN_LINKS and not news_of_target):
                continue
            below_domain = shape.families[:FAMILIES_BELOW_DOMAIN]
            shared = [at for at, key in enumerate(below_domain) if key == own[at]]  # their indexes
            own_links += bool(shared)
            new = add(crc32(link.encode(), LINK_SEED))
            for at in shared:
                if not new:
                    known[at] += 1
                # Numbered pages are not without end, and folders below a page are its contents.
                elif not (shape.is_numbered or link.startswith(below)):
                    fresh[at] += 1
            if new and news_of_target and brings is not Brings.LINKS:
                brings = news_of_target
        return brings, [
            _added_blindness(new_links, known_links, address=address)
            for new_links, known_links in zip(fresh, known, strict=True)
        ]

    def _family_with_pages(self, key: int) -> Family | None:
        """Return a family, or None if it has too few pages to say what its links bring."""
        family = self.families.get(key)
        return family if family is not None and family.pages >= PAGES_TO_JUDGE_LINKS else None

    def _news_of_link(self, keys: Sequence[int], own: int) -> Brings | None:
        """Return the news that a link brings, as far as its target's families show; None: none.

        `keys`: the target's closest family and the next wider one; `own`: the wider one of the
        page. A family that is awaited from now on brings a doubt.
        """
        close, wide = keys
        family = self._family_with_pages(close)
        if family is not None:
            return Brings.LINKS if family.brings_news else None
        # Where each folder is a family, nothing is known of the closest ones. But a page's own
        # relatives cannot vouch for it.
        wider = self._family_with_pages(wide) if wide != own else None
        if wider is not None and wider.brings_news:
            return Brings.LINKS
        if len(self._awaited_families) < MAX_AWAITED:
            self._awaited_families.add(close)
        return Brings.DOUBT if close in self._awaited_families else None

    def record_page(
        self,
        keys: Sequence[int],
        brings: Brings | None,
        blind: Sequence[int] = (0, 0, 0, 0),
        varying: int | None = None,
    ) -> bool:
        """Book a page in each of its families, which may be folded or freed by it.

        Return whether one was freed. `keys`: the families, from the closest on. `blind`: what the
        page adds to the blindness of each. `varying`: the family with new segments masked.
        """
        freed = False
        if varying is not None:
            family = self._family(varying)
            before = family.folded
            freed = family.record_page(FOLD_AFTER_PAGES[0], brings, 0)
            self.folded += family.folded - before
        for key, fold, added_blindness in zip(keys, FOLD_AFTER_PAGES, blind, strict=True):
            family = self._family(key)
            before = family.folded
            freed = family.record_page(fold, brings, added_blindness) or freed
            self.folded += family.folded - before
        if freed:
            self.rounds = 0
        return freed

    def redirected(self, url: str, target: str) -> bool:
        """Book a redirect to another URL of the domain, in the URL's families, if that is known.

        Return whether it was. Otherwise the target's own page will count for both URLs.
        """
        if self.memory.add(crc32(target.encode(), LINK_SEED)) and target != url:
            return False
        for key, fold in zip(
            self.families_of(url)[:FAMILIES_OF_REDIRECT], FOLD_AFTER_PAGES, strict=False
        ):
            family = self._family(key)
            before = family.folded
            family.redirected(fold)
            self.folded += family.folded - before
        return True

    def _family(self, key: int) -> Family:
        """Return the family of this key, or a new one; it is the last to be forgotten then."""
        family = self.families.get(key)
        if family is None:
            family = self.families[key] = Family()
            if len(self.families) > MAX_FAMILIES:
                self._forget_oldest()
        else:
            self.families.move_to_end(key)
        return family

    def _forget_oldest(self) -> None:
        _, family = self.families.popitem(last=False)
        self.folded -= family.folded
