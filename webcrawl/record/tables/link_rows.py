"""The rows of the table `links` that the end of one URL brings: a page's links, or where it redirects to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, compress
from operator import itemgetter
from typing import Any

from webcrawl.content.html.found_links import FoundLink, LinkColumns
from webcrawl.content.html.link_kinds import REDIRECT
from webcrawl.record.tables.ended import ROBOTS, Ended
from webcrawl.record.tables.parquet import Repeated
from webcrawl.urls.canonical import MAX_LENGTH, canonical_links

BATCH = 8192  # rows; building one takes 4 ms
PIECE = 1000  # links of a page at once: one may have a hundred thousand, with URLs of 2,000 characters
ROOM = 8 << 20  # characters in the rows of one page; the piece that takes the last of it is whole
REL = 200  # characters of a rel attribute
_KIND = itemgetter(0)
Rows = list[list[Any]]  # one list per column


class LinkRows:
    """Rows of the links of one page after the other; `write` gets them as columns, some thousand at a time."""

    def __init__(
        self,
        write: Callable[[Repeated, Rows], None],
        follows_redirect: Callable[[str], bool],
        max_length: int = MAX_LENGTH,
        left_out: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`follows_redirect` says of a discovery path whether a redirect that ends it is followed.

        `left_out` is told how many links of a page have no rows because those of its first links have taken all room.
        """
        self._write, self._follows_redirect, self._max_length = write, follows_redirect, max_length
        self._left_out = left_out
        self._begin()

    def __len__(self) -> int:
        return len(self._columns[0])

    def _begin(self) -> None:
        self._urls = Repeated([], [])
        self._columns: Rows = [[], [], [], [], []]

    def flush(self) -> None:
        if len(self):
            urls, columns = self._urls, self._columns
            self._begin()
            self._write(urls, columns)

    def add(self, end: Ended) -> int:
        """Adds the links of a URL that has ended; returns their number.

        An address that is no URL the crawl could fetch (`mailto:`, `javascript:`) leads to nothing, and has no row.
        """
        if end.redirect is not None:
            if end.subset == ROBOTS:
                return 0
            follows = self._follows_redirect(end.link.path)
            return self._put(end.link.url, ([end.redirect], [REDIRECT], [""], [""], [follows]))
        if end.page is None or end.found is None or not end.found.links:
            return 0
        url, links, added = end.link.url, end.found.links, 0
        known = end.page.flags if end.found is end.page.found else None
        followed = _are_followed(links, end.page.followed) if known is None else known
        if len(links) <= PIECE and self._max_length == MAX_LENGTH:
            return self._add(url, end.page.columns, followed)  # links.log has them, too
        room = ROOM
        for at in range(0, len(links), PIECE):
            if room <= 0:
                self._left_out(len(links) - at)
                break
            kinds, addresses, texts, rels = zip(*links[at : at + PIECE], strict=True)
            targets = canonical_links(end.found.base, addresses, Counter(), self._max_length)
            piece = LinkColumns(kinds, addresses, texts, rels, [targets[address] or "" for address in addresses])
            added += self._add(url, piece, followed[at : at + PIECE])
            room -= sum(map(len, chain(piece.targets, texts, rels))) + len(url) * len(kinds)
        return added

    def _add(self, url: str, found: LinkColumns, followed: Sequence[bool]) -> int:
        kinds, _, texts, rels, targets = found
        if len("".join(rels)) > REL:  # else none is longer
            rels = [rel[:REL] for rel in rels]
        return self._put(url, (targets, kinds, texts, rels, followed))

    def _put(self, url: str, columns: Sequence[Sequence[Any]]) -> int:
        """Adds rows, but not those without a target: of 50 links of a page one or two, so these are taken out again."""
        place = start = len(self)
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)
        for _ in range(columns[0].count("")):
            place = self._columns[0].index("", place)
            for column in self._columns:
                del column[place]
        count = len(self) - start
        self._urls.values.append(url)
        self._urls.times.append(count)
        if len(self) >= BATCH:
            self.flush()
        return count


def _are_followed(links: Sequence[FoundLink], followed: Sequence[FoundLink]) -> list[bool]:
    """For each link, whether it was followed: by its kind, if that explains it; hashing all links takes longer."""
    if followed is links:
        return [True] * len(links)
    kinds = set(map(_KIND, followed))
    flags = list(map(kinds.__contains__, map(_KIND, links)))
    if list(compress(links, flags)) == followed:
        return flags
    chosen = frozenset(followed)
    return [link in chosen for link in links]
