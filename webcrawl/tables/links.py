"""The rows of the table `links` that the end of one URL brings: a page's links, or where it redirects to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webcrawl.html.found import FoundLink
from webcrawl.html.kinds import REDIRECT
from webcrawl.tables.ended import ROBOTS, Ended
from webcrawl.urls.canonical import MAX_LENGTH, canonical_links

BATCH = 8192  # rows; building one takes 4 ms
PIECE = 1000  # links of a page at once: one may have a hundred thousand, with URLs of 2,000 characters
REL = 200  # characters of a rel attribute
Rows = tuple[list[Any], ...]  # one list per column
Follows = frozenset[FoundLink] | None  # which links were followed; None: all


class LinkRows:
    """Rows of the links of one page after the other; `write` gets them as columns, some thousand at a time."""

    def __init__(
        self, write: Callable[[Rows], None], follows_redirect: Callable[[str], bool], max_length: int = MAX_LENGTH
    ) -> None:
        """`follows_redirect` says of a discovery path whether a redirect that ends it is followed."""
        self._write, self._follows_redirect, self._max_length = write, follows_redirect, max_length
        self._columns = _empty()

    def __len__(self) -> int:
        return len(self._columns[0])

    def flush(self) -> None:
        if len(self):
            columns, self._columns = self._columns, _empty()
            self._write(columns)

    def add(self, end: Ended) -> int:
        """Adds the links of a URL that has ended; returns their number.

        An address that is no URL the crawl could fetch (`mailto:`, `javascript:`) leads to nothing, and has no row.
        """
        if end.redirect is not None:
            if end.subset == ROBOTS:
                return 0
            return self._extend(end.link.url, [(end.redirect, REDIRECT, "", "", self._follows_redirect(end.link.path))])
        if end.page is None or end.found is None:
            return 0
        links, followed, added = end.found.links, end.page.followed, 0
        follows = None if followed is links else frozenset(followed)
        if len(links) <= PIECE and self._max_length == MAX_LENGTH:
            return self._add(end.link.url, links, end.page.targets, follows) if links else 0  # links.log has them, too
        for at in range(0, len(links), PIECE):
            piece = links[at : at + PIECE]
            targets = canonical_links(end.found.base, [link[1] for link in piece], Counter(), self._max_length)
            added += self._add(end.link.url, piece, targets, follows)
        return added

    def _add(self, url: str, found: list[FoundLink], targets: Mapping[str, str | None], follows: Follows) -> int:
        kinds, addresses, texts, rels = zip(*found, strict=True)
        if max(map(len, rels)) > REL:
            rels = tuple([rel[:REL] for rel in rels])
        followed = [True] * len(found) if follows is None else [link in follows for link in found]
        to = [targets[address] for address in addresses]
        if None in to:
            rows = zip(to, kinds, texts, rels, followed, strict=True)
            return self._extend(url, [row for row in rows if row[0] is not None])
        return self._put(url, (to, kinds, texts, rels, followed))

    def _extend(self, url: str, rows: list[tuple[Any, ...]]) -> int:
        return self._put(url, [*zip(*rows, strict=True)]) if rows else 0

    def _put(self, url: str, columns: Sequence[Sequence[Any]]) -> int:
        count = len(columns[0])
        self._columns[0].extend([url] * count)
        for column, values in zip(self._columns[1:], columns, strict=True):
            column.extend(values)
        if len(self) >= BATCH:
            self.flush()
        return count


def _empty() -> Rows:
    return [], [], [], [], [], []
