"""Pages in the languages of FOCUS_LANGUAGES come first (docs/order-and-budgets.md#prefer-good-pages)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webcrawl.base.page_values import PageScores
from webcrawl.frontier.prioritizers.focus import ByFocus
from webcrawl.urls.url_languages import domain_languages, marked_language

PART = 0.75  # of a page's worth that is its language's, if a SCORER says what the rest is
MARK, DOMAIN = 1.0, 0.5  # what the URL itself says, beside a link of a page in a wanted language


class ByLanguage(ByFocus):
    """By the language of the pages that link to a URL, hreflang, its site's history, its path and
    top-level domain.
    """

    def __init__(self, levels: int) -> None:
        super().__init__(levels)
        self._wanted: frozenset[str] = frozenset()

    def focus(self, site: Callable[[str], str], languages: Sequence[str], /) -> None:
        super().focus(site, languages)
        self._wanted = frozenset(languages)

    def value(self, scored: PageScores, /) -> float | None:
        """Return a page's worth, by its language and its score as far as they are known."""
        if scored.fits is None:
            return scored.score
        if scored.score is None:
            return scored.fits
        return PART * scored.fits + (1 - PART) * scored.score

    def of_link(self, url: str, page: float, scored: PageScores, /) -> float:
        """Return what hreflang says of the link, or else what its page and words do."""
        tongue = scored.tongues.get(url)
        return super().of_link(url, page, scored) if tongue is None else tongue

    def worth(self, url: str, /) -> float:
        return super().worth(url) + self._own(url)

    def _own(self, url: str) -> float:
        """Return what the URL says itself.

        A domain of another country speaks less against it than one of ours for it.
        """
        marked = marked_language(url)
        if marked:
            return MARK if marked in self._wanted else -MARK
        spoken = domain_languages(url)
        if not spoken:
            return 0.0
        return DOMAIN if self._wanted.intersection(spoken) else -DOMAIN / 2
