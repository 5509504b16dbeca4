"""The process that scores pages: `python -m webcrawl.content.scoring.score_worker SCORER LANGUAGES`.

Whatever the scorer does stays in here. It is made with the first request, which has no pages.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from webcrawl.base.loading import load
from webcrawl.base.model import Timings
from webcrawl.content.formats.reader_worker import serve
from webcrawl.content.page import Page
from webcrawl.content.scoring import page_language
from webcrawl.content.scoring.document import Document

HARD = 600.0  # seconds of processor time for a batch; the clock ends it long before, unless many threads work
ANCHORS = 256  # links of a page whose words are scored
WORDS = 200  # characters of these
KNOWN = 1 << 15  # words of links whose scores are remembered: menus come again and again
LONGEST = 200  # characters of what went wrong
Score = tuple[float | None, str]  # and why there is none
Scorer = Callable[[Sequence[Document]], Iterable[Any]]


def scores(scorer: Scorer, documents: Sequence[Document]) -> list[Score]:
    """A score for each document, as far as the scorer can be brought to say one: after an error, one by one."""
    try:
        return [(one, "") for one in _checked(scorer(documents), len(documents))] if documents else []
    except Exception as error:  # noqa: BLE001 - the user's code
        if len(documents) == 1:
            return [(None, f"{type(error).__name__}: {' '.join(str(error).split())}"[:LONGEST])]
    return [scores(scorer, [one])[0] for one in documents]


def _checked(given: Iterable[Any], wanted: int) -> list[float | None]:
    found = [None if one is None else float(one) for one in given]
    if len(found) != wanted:
        raise ValueError(f"{len(found)} scores for {wanted} documents")
    for one in found:
        if one is not None and not 0 <= one <= 1:  # nan is not, either
            raise ValueError(f"{one} is no score from 0 to 1")
    return found


class Scoring:
    """Reads pages, and has them and the words of their links scored."""

    def __init__(self, scorer: str, languages: Sequence[str]) -> None:
        """Without a scorer the language decides, and links have no scores of their own."""
        self._wanted = frozenset(languages)
        self._scorer: Scorer | None = None
        self._known: dict[str, float | None] = {}
        if scorer:
            found = load(scorer)
            self._scorer = found() if isinstance(found, type) else found

    def scored(self, pages: Sequence[Page]) -> list[list[Any]]:
        """The fields of a `Scored` for each."""
        read = [self._read(page) for page in pages]
        fits = [page_language.fits(one.language, self._wanted) for one, _ in read]
        if self._scorer is None:
            found: list[Score] = [(fit, "") for fit in fits]
            words: list[dict[str, float]] = [{} for _ in read]
        else:
            found = scores(self._scorer, [one for one, _ in read])
            words = self._anchors(self._scorer, pages)
        rest = zip(read, fits, found, words, strict=True)
        return [
            [score, one.language, fit, anchors, tongues, flaw] for (one, tongues), fit, (score, flaw), anchors in rest
        ]

    def _read(self, page: Page) -> tuple[Document, dict[str, float]]:
        found = page.all_found
        language = page_language.language_of(page.visible_text, page.language)
        named = page_language.tongues(page.body, found.base, self._wanted) if self._wanted and found.links else {}
        return Document(page.visible_text, page.url, found.title, language), named

    def _anchors(self, scorer: Scorer, pages: Sequence[Page]) -> list[dict[str, float]]:
        each: list[dict[str, str]] = []
        for page in pages:
            columns = page.columns
            links = zip(columns.kinds, columns.targets, columns.texts, strict=True)
            each.append({url: text[:WORDS] for kind, url, text in links if kind == "a" and url and text.strip()})
        some = [dict([*one.items()][:ANCHORS]) for one in each]
        new = [*dict.fromkeys(text for one in some for text in one.values() if text not in self._known)]
        if len(self._known) + len(new) > KNOWN:
            self._known.clear()
            new = [*dict.fromkeys(text for one in some for text in one.values())]
        given = scores(scorer, [Document(text, is_anchor=True) for text in new])
        self._known.update((text, score) for text, (score, _) in zip(new, given, strict=True))
        return [{url: score for url, text in one.items() if (score := self._known[text]) is not None} for one in some]


def page_of(url: str, content_type: str, body: bytes) -> Page:
    """An answer as a page."""
    headers = [(b"content-type", content_type.encode("latin-1", "replace"))]
    return Page(url, 200, headers, body, content_type.partition(";")[0].strip().lower(), 0, "", "", 0.0, Timings(), 0)


def main() -> None:
    """Scores one batch after the other: a line of JSON with URL, Content-Type and length of each page, and bodies."""
    path, languages = sys.argv[1], [one for one in sys.argv[2].split(",") if one]
    scoring: Scoring | None = None

    def read(data: bytes) -> Any:
        nonlocal scoring
        if scoring is None:
            try:
                scoring = Scoring(path, languages)
            except Exception as error:  # noqa: BLE001 - the user's code
                return f"{type(error).__name__}: {' '.join(str(error).split())}"[:LONGEST]
        head, _, rest = data.partition(b"\n")
        pages, at = [], 0
        for url, content_type, size in json.loads(head):
            pages.append(page_of(url, content_type, rest[at : at + size]))
            at += size
        return scoring.scored(pages)

    serve(read, memory=None, seconds=HARD)


if __name__ == "__main__":
    main()
