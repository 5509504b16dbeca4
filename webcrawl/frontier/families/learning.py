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

MOST = 128  # families of a domain
# Pages that bring nothing new before a family is folded: the closest, and the wider ones. Of
# Mercurial's pages, 16, 32 and 48 saved 190 of 1,680, and 127 of these had a text of their own.
FOLDS = (24, 48, 64, 96)
# Facets and tag pages show a new article on one page of ten as long as there are some.
PAYS = 4  # pages that a new one pays for
# The days of an archive come before their articles.
DOUBTS = 128  # pages that may have a link to something new, which is not known yet
CREDIT = 64  # pages at most that are paid for in advance
# Pages that lead to new ones of their family only, before it is folded as a labyrinth. Its text is
# all new, so only links show one: on a good site some lead back.
BLIND = 200
KNOWN = 8  # such pages that one pays for which leads to a known page of its family
GAP, GROWS, LONGEST = 16, 1.5, 1024  # URLs of a folded family between two that are tried
# of so many tries the last, so many new ones free it; one more each time, up to all of them
# One new page in five would free it again and again.
TRIED, FREES = 0b1111, 2
GOOD = 4  # pages by which a family is judged as a target of links
LAST = 32  # pages of a family by which it counts as good
# families of which no such number of pages is known, to which a link may lead to something new
AWAITED = 16
# Of more pages than these that are new in a row one in 2, 4, 8, and then in so many, is looked at.
# A look takes 0.5 to 0.9 ms. With one at nearly all pages, a page of large hosts took 1,463 us, and
# with the sample 900 to 980.
SURE, RAREST = 12, 8
# where so many pages of a domain in a row were new, after these of a family already
FAULTLESS, SOON_SURE = 32, 4
# families of a URL that a redirect counts for: a site of nothing but short links has pages all the
# same
NARROW = 2
WIDEST = 3  # families of a URL but that of its whole domain
AGAIN, ROUNDS = 8, 4  # URLs that are tried in the end at once, and how often
SMALL = 300  # pages of a domain, up to which those of folded families are fetched in the end
SAMPLE = 8  # links of a page to its own families that are looked at
LINKS = 256  # of a page, that are looked at
# Times the number of values that no page had before: part of the closest family's key. So URLs with
# new values are judged apart from copies of known pages.
FRESH = 0x5BD1E995
# Kinds of what is remembered: values, links, values of pages that were passed over. Seeds of a crc
# that differ in few bits would give the same number to short texts that differ in as many.
VALUE, LINK, PASSED = 4, 5, 0x9AC3D7E5


class Brings(IntEnum):
    """The news that a page brought, from the least to the most."""

    NOTHING = 0
    DOUBT = 1  # links that may lead to something new
    LINKS = 2  # links that do
    NEWS = 3  # it is new itself


class Said(NamedTuple):
    """The judgement on a page: whether it says something new; None if that is not known.

    `address`: nothing is new but its own address. `title`: it says nothing new under a title that
    no page had.
    """

    new: bool | None
    address: bool = False
    title: bool = False


class Family:
    """The counts of one family.

    `stale`: pages that brought nothing new and are not paid for; if it is below 0, as many are paid
    for in advance.
    """

    __slots__ = (
        "blind",
        "doubts",
        "folded",
        "freed",
        "gap",
        "last",
        "new",
        "pages",
        "row",
        "stale",
        "tries",
        "turn",
    )

    def __init__(self) -> None:
        self.pages = 0
        self.new = 0  # of these pages
        self.row = 0  # new pages in a row
        self.last = 0  # a bit for each of the last pages, set if it was new
        self.stale = 0
        self.doubts = 0
        self.blind = 0
        self.folded = 0  # 1 if it is
        self.freed = 0  # how often it no longer was
        self.gap = 0  # URLs between two that are tried
        self.turn = 0  # URLs until the next that is tried
        self.tries = 0  # a bit for each of the last tries, set if it brought something new

    def pack(self) -> list[int]:
        counts = [self.pages, self.new, self.row, self.last, self.stale, self.doubts, self.blind]
        return [*counts, self.folded, self.gap, self.turn, self.tries, self.freed]

    @classmethod
    def unpack(cls, values: Sequence[int]) -> Self:
        family = cls()
        (
            family.pages,
            family.new,
            family.row,
            family.last,
            family.stale,
            family.doubts,
            family.blind,
        ) = values[:7]
        family.folded, family.gap, family.turn, family.tries, *freed = values[7:]
        family.freed = sum(freed)  # it was not in older records
        return family

    @property
    def good(self) -> bool:
        """Return whether half of its last pages, or more, were new."""
        return self.last.bit_count() * 2 >= min(self.pages, LAST)

    @property
    def brings_news(self) -> bool:
        """Return whether a link to the family leads to something new. It asks no other method:
        each link of a page calls it.
        """
        return not self.folded and self.last.bit_count() * 2 >= min(self.pages, LAST)

    def learn(self, fold: int, brings: Brings | None, blind: int) -> bool:
        """Book one more page; None: only its links were looked at.

        Return whether the family is freed by it.
        """
        if brings is None:
            self.blind = max(self.blind + blind, 0)
            self._fold(fold)
            return False
        new = brings is Brings.NEWS
        self.pages += 1
        self.new += new
        self.last = (self.last << 1 | new) & ((1 << LAST) - 1)
        self.row = self.row + 1 if new else 0
        self.blind = max(self.blind + blind, 0)
        if self.folded:
            is_good = brings >= Brings.LINKS and blind <= 0
            self.tries = (self.tries << 1 | is_good) & TRIED
            needed = min(FREES + self.freed, TRIED.bit_count())
            if self.tries.bit_count() < needed:
                return False
            self.freed += 1
            self.folded = 0
            self.stale = 0
            self.blind = 0
            return True
        if new:
            self.stale = max(self.stale - PAYS, -min(self.new, CREDIT))
        elif brings is Brings.LINKS:
            self.stale -= self.stale > 0
        elif brings is Brings.NOTHING or self.doubts >= DOUBTS:
            self.stale += 1
        else:
            self.doubts += 1
        self._fold(fold)
        return False

    def redirected(self, fold: int) -> None:
        """Book a URL that led to a known one.

        It is no page, so it says nothing of how many pages are new.
        """
        if self.folded:
            self.tries = (self.tries << 1) & TRIED
        else:
            self.stale += 1
            self._fold(fold)

    def _fold(self, fold: int) -> None:
        brings_nothing = self.stale >= fold or self.blind >= BLIND
        if not self.folded and brings_nothing:
            self.folded = 1
            self.gap = GAP
            self.turn = GAP
            self.tries = 0

    def waits(self) -> bool:
        """Return whether a URL of the folded family waits.

        Now and then one is tried, ever more rarely.
        """
        self.turn -= 1
        if self.turn > 0:
            return True
        self.gap = min(int(self.gap * GROWS), LONGEST)
        self.turn = self.gap
        return False


def _blindness(fresh: int, known: int, *, address: bool) -> int:
    """Return what a page with so many new and known links to a family adds to its blindness.

    It is 1 if the page leads on blindly.
    """
    if address and fresh:
        return 1
    if known:
        return -KNOWN
    return int(fresh > 1)


class DomainLearning:
    """The families of a domain. Those of which no page came for the longest are forgotten first."""

    def __init__(self) -> None:
        self.families: OrderedDict[int, Family] = OrderedDict()
        # bytes of the memory that count in the room of all domains
        self.memory = Memory()
        self.counted = 0
        self.folded = 0  # families
        self.rounds = 0  # of URLs that were tried again, since a family was freed
        # 1 if, without a budget, as many again were let in as the domain had had pages
        self.had_as_many = 0
        self._turn = 0  # of pages of families that bring new ones
        self._granted = 0  # URLs that go on because they are tried again
        self._awaited: set[int] = set()

    def pack(self) -> bytes:
        """Return all but the memory, as bytes."""
        families = [(key, *family.pack()) for key, family in self.families.items()]
        packed: bytes = msgpack.packb(
            (families, self.had_as_many, self._granted, self.rounds, sorted(self._awaited))
        )
        return packed

    @classmethod
    def unpack(cls, data: bytes, memory: bytes | None) -> Self:
        """Return the learning that `pack` gave these bytes and this memory for.

        Raise ValueError or TypeError if they are none.
        """
        found: Any = msgpack.unpackb(data)
        # older records have a memory between them, or nothing
        families, *more, rounds, awaited = found
        learning = cls()
        for key, *values in families:
            learning.families[key] = Family.unpack(values)
        if memory is not None:
            learning.memory = Memory.unpack(memory)
        learning.folded = sum(family.folded for family in learning.families.values())
        learning.rounds = rounds
        learning._awaited = set(awaited)
        if len(more) == 2:
            learning.had_as_many, learning._granted = more
        return learning

    def try_again(self, pages: int, *, unlimited: bool = False) -> int:
        """Return how many of the URLs that wait are tried once more, for want of others.

        `pages`: those that the domain has had. A small site is fetched whole, whatever its pages
        say. `unlimited`: the domain has no budget. Once, as many go on as it has had pages: real
        pages that only look like others are most often fewer than these, and a trap costs no more
        than the site that it is on.
        """
        if pages < SMALL:
            self._granted = SMALL - pages
            return self._granted
        if not self.folded:
            return AGAIN
        if unlimited and not self.had_as_many:
            self.had_as_many = 1
            self._granted = pages
            return pages
        if self.rounds >= ROUNDS:
            return 0
        self.rounds += 1
        self._granted = AGAIN
        return AGAIN

    def families_of(self, url: str) -> tuple[int, int, int, int]:
        """Return the families of its shape.

        The closest is divided by the number of values that no page of the domain had before.
        """
        shape = shape_of(url)
        close, wide, deep, whole = shape.families
        return close ^ FRESH * len(self._fresh(shape)), wide, deep, whole

    def varying_of(self, url: str) -> int | None:
        """Return the closest family with new segments masked, or None if there are none.

        A segment that no page had may be one of many, whatever it looks like: a session's name of
        letters only.
        """
        shape = shape_of(url)
        fresh = self._fresh(shape)
        masked = shape.masked(fresh) if fresh else shape.families[0]
        return masked ^ FRESH * len(fresh) if masked != shape.families[0] else None

    def _fresh(self, shape: UrlShape) -> list[str]:
        """Return the values that no page of the domain had before."""
        has = self.memory.has
        return [value for value in shape.all if not has(crc32(value.encode(), VALUE))]

    def _meets(self, value: str) -> bool:
        """Return whether a page of the domain had this value, or each of its parts as a value.

        From now on it is known, and so are the parts of a list.
        """
        add = self.memory.add
        if not add(crc32(value.encode(), VALUE)):
            return True
        parts, listed = parts_of(value)
        if listed:
            return sum([add(crc32(part.encode(), VALUE)) for part in parts]) == 0
        return bool(parts) and all(self.memory.has(crc32(part.encode(), VALUE)) for part in parts)

    def waits(self, url: str) -> bool:
        """Return whether this URL waits, because a family of it brings nothing new.

        The closest that is known decides.
        """
        if not self.folded:
            return False
        if self._granted:
            self._granted -= 1
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
        """Return whether a page of these families is worth a look.

        A look costs as much as all else that is done for the page. Of a family whose last pages
        were new a sample is; of one without pages, if its domain's last ones were. On a site of
        many small families most pages are the first of theirs: then four of each do, while nothing
        lacks news.
        """
        close, *_, whole = keys
        domain = self.families.get(whole)
        if domain is None:
            return True
        family = self.families.get(close, domain)
        if family.stale > 0 or family.folded or self.is_blind(keys):
            return True
        self._turn += 1
        # With a look at each page for as long as anything in the domain lacks news, most pages of
        # an ordinary site had one, which costs as much as all else that is done for a page.
        sure = SURE if domain.row < FAULTLESS else SOON_SURE
        return self._turn % min(1 << max(family.row - sure, 0), RAREST) == 0

    def is_blind(self, keys: Sequence[int]) -> bool:
        """Return whether pages of one of these families led to new ones of their family only."""
        for key in keys[:WIDEST]:
            family = self.families.get(key)
            if family is not None and family.blind > 0:
                return True
        return False

    def passed(self, url: str) -> None:
        """Book a page that is not looked at: what comes later with its values may say the same."""
        add = self.memory.add
        for value in shape_of(url).values:
            if add(crc32(value.encode(), VALUE)):
                add(crc32(value.encode(), PASSED))

    def look(self, url: str, body: bytes) -> Said:
        """Return whether a page has something that no page of the domain had before.

        That is a run of text, or something that it embeds. That is not known if a page with one of
        its values was passed over. It says nothing but its address if all that is new are runs that
        others have with other words in the place of its own.
        """
        shape = shape_of(url)
        add = self.memory.add
        # The words of values that came with other URLs before are no news
        echo = [value for value in shape.all if self._meets(value)]
        features = Features(body, words_of(shape.all), words_of(echo))
        new_parts = self._new_parts(features)
        new_own = self._new_own(features.own)
        is_new_choice = add(features.whole)
        is_new_title = features.title is not None and add(features.title)
        # Where one value says which page it is, the words may be known and only their choice new
        is_of_one_value = len(shape.values) == 1 and shape.values[0] not in echo
        has_news = new_parts or new_own or (is_new_choice and is_of_one_value)
        if not has_news:
            return Said(new=False, title=is_new_title)
        if self._may_be_passed(echo):
            return Said(new=None)
        is_only_address = bool(new_own) and not new_parts and not any(new_own)
        return Said(new=True, address=is_only_address)

    def _may_be_passed(self, values: Iterable[str]) -> bool:
        """Return whether a page with one of these values was not looked at.

        What is new here may have been on that page.
        """
        return any(self.memory.has(crc32(value.encode(), PASSED)) for value in values)

    def _new_parts(self, features: Features) -> int:
        """Add all runs of text and what is embedded; return how many of them are new."""
        add = self.memory.add
        # A loop that stopped at the first new part would leave the others out of the memory.
        new = sum(map(add, features.parts))
        return new + sum(add(run) & add(left) for run, left in features.echoing)

    def _new_own(self, own: Iterable[tuple[int, int | None]]) -> list[bool]:
        """Add the runs that have words of the page's URL.

        Return for each new one whether it is new without these words, too.
        """
        found = []
        for run, left in own:
            if self.memory.add(run):
                found.append(left is not None and self.memory.add(left))
        return found

    def follow(
        self, url: str, links: Sequence[str], *, address: bool = False, leads: bool = True
    ) -> tuple[Brings, list[int]]:
        """Return what the links of a page bring, and for each of its families its blindness.

        `address`: the page says nothing but its address. Then it leads on blindly if it leads on at
        all, wherever else it leads. `leads`: if not, the page is judged by what it says, and only
        its links to its own families are looked at.
        """
        own = shape_of(url).families
        add = self.memory.add
        below = url.rstrip("/") + "/"
        found = Brings.NOTHING
        looked = 0  # links to families of the page
        fresh = [0] * len(own)
        known = [0] * len(own)
        for link in links[:LINKS]:
            if looked >= SAMPLE and not leads:
                break
            shape = shape_of(link)
            target = None
            if leads and shape.families[0] != own[0]:
                target = self._may_be_new(self.families_of(link)[:2], own[1])
            if link == url or (looked >= SAMPLE and not target):
                continue
            same = [at for at, key in enumerate(shape.families[:WIDEST]) if key == own[at]]
            looked += bool(same)
            new = add(crc32(link.encode(), LINK))
            for at in same:
                if not new:
                    known[at] += 1
                elif not (shape.is_numbered or link.startswith(below)):
                    fresh[at] += 1
            if new and target and found is not Brings.LINKS:
                found = target
        return found, [
            _blindness(new, old, address=address) for new, old in zip(fresh, known, strict=True)
        ]

    def _judged(self, key: int) -> Family | None:
        """Return a family, or None if it has too few pages to say what its links bring."""
        family = self.families.get(key)
        return family if family is not None and family.pages >= GOOD else None

    def _may_be_new(self, keys: Sequence[int], own: int) -> Brings | None:
        """Return what a link to a family brings, as far as is known.

        `keys`: the family and the next wider one; `own`: that of the page.
        """
        close, wide = keys
        family = self._judged(close)
        if family is not None:
            return Brings.LINKS if family.brings_news else None
        # Where each folder is a family, nothing is known of the closest ones. But a page's own
        # relatives cannot vouch for it.
        wider = self._judged(wide) if wide != own else None
        if wider is not None and wider.brings_news:
            return Brings.LINKS
        if len(self._awaited) < AWAITED:
            self._awaited.add(close)
        return Brings.DOUBT if close in self._awaited else None

    def learn(
        self,
        keys: Sequence[int],
        brings: Brings | None,
        blind: Sequence[int] = (0, 0, 0, 0),
        varying: int | None = None,
    ) -> bool:
        """Book a page of these families; return whether one of them is freed.

        `varying`: the family with new segments masked, which only holds back.
        """
        freed = False
        if varying is not None:
            family = self._family(varying)
            before = family.folded
            freed = family.learn(FOLDS[0], brings, 0)
            self.folded += family.folded - before
        for key, fold, one in zip(keys, FOLDS, blind, strict=True):
            family = self._family(key)
            before = family.folded
            freed = family.learn(fold, brings, one) or freed
            self.folded += family.folded - before
        if freed:
            self.rounds = 0
        return freed

    def redirected(self, url: str, target: str) -> bool:
        """Book a redirect to another URL of the domain if that is known.

        If not, its own page will count for both.
        """
        if self.memory.add(crc32(target.encode(), LINK)) and target != url:
            return False
        for key, fold in zip(self.families_of(url)[:NARROW], FOLDS, strict=False):
            family = self._family(key)
            before = family.folded
            family.redirected(fold)
            self.folded += family.folded - before
        return True

    def _family(self, key: int) -> Family:
        """Return the family of this number, which is then the last to be forgotten."""
        family = self.families.get(key)
        if family is None:
            family = self.families[key] = Family()
            if len(self.families) > MOST:
                self._forget()
        else:
            self.families.move_to_end(key)
        return family

    def _forget(self) -> None:
        _, family = self.families.popitem(last=False)
        self.folded -= family.folded
