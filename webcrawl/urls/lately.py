"""The URLs that passed lately: a cache before the filters, as the URL cache is one before the seen store.

Most links of a page are known already: with them, filters, fingerprint, record and submission are saved, 3 us of 4
(docs/decisions/urls-known-links.md).
"""

from __future__ import annotations

from collections.abc import Iterable


class Lately:
    """Remembers between half of `size` URLs and all of it, by Python's hashes: 64 bits, keyed anew in every process.

    Two generations: a full one becomes the old one, and what is met in the old one joins the new one. 100 bytes each.
    """

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self._new: set[int] = set()
        self._old: set[int] = set()

    def __repr__(self) -> str:
        return f"<Lately {len(self)} at most {2 * self._half}>"

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def unknown(self, urls: Iterable[str]) -> list[str]:
        """Those that are not remembered, in their order."""
        new = self._new
        missed = [url for url in urls if hash(url) not in new]
        if not missed or not self._old:
            return missed
        old = self._old
        self.add([url for url in missed if hash(url) in old])
        return [url for url in missed if hash(url) not in old]

    def add(self, urls: Iterable[str]) -> None:
        """These are remembered from now on."""
        for number in map(hash, urls):
            if len(self._new) >= self._half:
                self._old, self._new = self._new, set()
            self._new.add(number)
