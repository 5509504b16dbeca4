"""The purpose of a crawl, and the pages that owners therefore keep out of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from webcrawl.content.preferences.purpose_bits import ALL, NOARCHIVE, NOINDEX, Preferences, forbidden, mask


@dataclass(frozen=True, slots=True)
class Purpose:
    """PURPOSE, as bits, and which words of robots meta elements are obeyed."""

    declared: int = 0
    unheard: int = NOINDEX | NOARCHIVE  # of the words that are obeyed by settings, those that are not

    @classmethod
    def of(cls, purposes: Iterable[str], *, noindex: bool, noarchive: bool) -> Purpose:
        return cls(mask(purposes), (0 if noindex else NOINDEX) | (0 if noarchive else NOARCHIVE))

    @property
    def obeys_noarchive(self) -> bool:
        """Return whether bodies are kept out of the archive by a word of their owners."""
        return not self.unheard & NOARCHIVE

    @property
    def obeys_noindex(self) -> bool:
        """Return whether pages are kept out of the index."""
        return not self.unheard & NOINDEX

    def withholds(self, preferences: Preferences) -> bool:
        """Return whether the owner forbids the page for every purpose that the crawl has."""
        if not preferences.statements or not self.declared:
            return False
        return not self.declared & ~forbidden(preferences.said, but=self.unheard)

    def sources(self, preferences: Preferences) -> tuple[str, ...]:
        """Who has a part in that, such as `robots.txt` and `header`."""
        against = [one for one in preferences.statements if forbidden(one.said, but=self.unheard) & self.declared]
        return tuple(dict.fromkeys(one.source for one in against))

    def forbids(self, preferences: Preferences, purpose: str) -> bool:
        """Return whether that is not to be done with the page, whatever else the crawl is for."""
        if not preferences.statements:
            return False
        return bool(forbidden(preferences.said, but=self.unheard) & mask([purpose]) & ALL)
