"""Scores pages and the words of their links, by a SCORER or by language, in a process of its own.

The scorer is made with the first request, which has no pages.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from webcrawl.base.loading import load
from webcrawl.base.model import Timings
from webcrawl.base.page_values import PageScores
from webcrawl.content.html.text_language import (
    LIKELY,
    MIN_CHARACTERS,
    SAME,
    contradicts,
    knows_languages,
    likely_language,
)
from webcrawl.content.page import Page
from webcrawl.content.worker import PROCESSOR_SHARES, DocumentWorker, Job, WorkerDied, command_of
from webcrawl.urls.canonical import canonical_links


@dataclass(frozen=True, slots=True)
class Document:
    """A page as its reader sees it. Of a link (`is_anchor`) there is nothing but the words."""

    text: str
    url: str = ""
    title: str = ""
    language: str = ""  # as its text shows, else as it declares; ISO 639
    is_anchor: bool = False


MOST = 1000  # links with hreflang


def subtag(declared: str) -> str:
    """Return the language of an IETF tag, under the detector's code."""
    code = declared.replace("_", "-").partition("-")[0].strip().lower()
    return SAME.get(code, code)


def language_of(text: str, declared: str) -> str:
    """Return the declared language, or the text's own if the text contradicts the declaration.

    The text's own counts also if none is declared; it is empty if the text is short or its language
    unlikely. The measure is that of `contradicts_language`.
    """
    said = subtag(declared)
    if len(text) < MIN_CHARACTERS or not knows_languages():
        return said
    if said and not contradicts(said, text):
        return said
    found, measure = likely_language(text)
    is_sure = bool(said) or measure <= LIKELY  # a text that contradicts is surely in another one
    return found if is_sure else ""


def fits(language: str, wanted: Collection[str]) -> float | None:
    """Return 1 for a wanted language, 0 for another; None if it is unknown, or none is wanted."""
    return float(language in wanted) if language and wanted else None


def tongues(html: bytes, base: str, wanted: Collection[str]) -> dict[str, float]:
    """Return whether links are in a wanted language by their hreflang, as 1 or 0 by canonical URL."""
    named: list[tuple[str, str]] = []
    for node in LexborHTMLParser(html).css("[hreflang][href]")[:MOST]:
        code = subtag(node.attributes.get("hreflang") or "")
        named.append((node.attributes.get("href") or "", code))
    found = canonical_links(base, [address for address, _ in named], Counter())
    scored: dict[str, float] = {}
    for address, code in named:
        url = found[address]
        # x-default is no language: it is for readers of any other
        if url and code not in ("", "x"):
            scored[url] = float(code in wanted)
    return scored


# seconds of processor time for a batch; the clock ends it long before, unless many threads work
CPU_SECONDS = 600.0
MAX_ANCHORS = 256  # links of a page whose words are scored
MAX_ANCHOR_CHARS = 200  # characters of these
MAX_KNOWN = 1 << 15  # words of links whose scores are remembered: menus come again and again
MAX_ERROR_CHARS = 200  # characters of what went wrong
Score = tuple[float | None, str]  # and why there is none
Scorer = Callable[[Sequence[Document]], Iterable[Any]]


def scores(scorer: Scorer, documents: Sequence[Document]) -> list[Score]:
    """Return a score for each document. After an error the documents are scored one by one."""
    if not documents:
        return []
    try:
        return [(score, "") for score in _checked_scores(scorer(documents), len(documents))]
    except Exception as error:  # noqa: BLE001 - the user's code
        if len(documents) == 1:
            return [(None, _words_of(error))]
    # One of them may have caused the error, and the others have scores
    return [scores(scorer, [one])[0] for one in documents]


def _checked_scores(returned: Iterable[Any], expected: int) -> list[float | None]:
    """Return a scorer's answer as numbers; None stays None.

    Raise ValueError if their number is not the `expected` one, or one is not from 0 to 1.
    """
    numbers = [None if one is None else float(one) for one in returned]
    if len(numbers) != expected:
        raise ValueError(f"the scorer returned {len(numbers)} scores for {expected} documents")
    for score in numbers:
        # nan is not between them either
        is_score = score is None or 0 <= score <= 1
        if not is_score:
            raise ValueError(f"{score} is not a score from 0 to 1")
    return numbers


class PageScoring:
    """Reads pages, and has them and the words of their links scored."""

    def __init__(self, scorer: str, languages: Sequence[str]) -> None:
        """Load the scorer. Without one the language decides, and links have no scores of their own."""
        self._wanted = frozenset(languages)
        self._scorer: Scorer | None = None
        self._known: dict[str, float | None] = {}
        if scorer:
            found = load(scorer)
            self._scorer = found() if isinstance(found, type) else found

    def scored(self, pages: Sequence[Page]) -> list[list[Any]]:
        """Return the fields of a `PageScores` for each page."""
        documents = [self._read(page) for page in pages]
        fitting = [fits(document.language, self._wanted) for document, _ in documents]
        if self._scorer is None:
            found: list[Score] = [(fit, "") for fit in fitting]
            words: list[dict[str, float]] = [{} for _ in documents]
        else:
            found = scores(self._scorer, [document for document, _ in documents])
            words = self._anchors(self._scorer, pages)
        return [
            [score, document.language, fit, anchors, language_scores, flaw]
            for (document, language_scores), fit, (score, flaw), anchors in zip(
                documents, fitting, found, words, strict=True
            )
        ]

    def _read(self, page: Page) -> tuple[Document, dict[str, float]]:
        found = page.all_found
        language = language_of(page.visible_text, page.language)
        named: dict[str, float] = {}
        if self._wanted and found.links:
            named = tongues(page.body, found.base, self._wanted)
        return Document(page.visible_text, page.url, found.title, language), named

    def _anchors(self, scorer: Scorer, pages: Sequence[Page]) -> list[dict[str, float]]:
        """Return the scores of each page's anchor texts, by the URLs of the links."""
        anchors = [*map(_anchor_texts, pages)]
        # Pages of one site have most of them in common
        texts = dict.fromkeys(chain.from_iterable(one.values() for one in anchors))
        self._score_unknown(scorer, texts)
        return [*map(self._known_scores, anchors)]

    def _score_unknown(self, scorer: Scorer, texts: Iterable[str]) -> None:
        """Score the texts that have no known score, and remember at most MAX_KNOWN scores."""
        wanted = [*texts]
        new = [text for text in wanted if text not in self._known]
        if len(self._known) + len(new) > MAX_KNOWN:
            self._known.clear()
            # The old scores are gone, so those that were known are scored again
            new = wanted
        given = scores(scorer, [Document(text, is_anchor=True) for text in new])
        for text, (score, _) in zip(new, given, strict=True):
            self._known[text] = score

    def _known_scores(self, texts: Mapping[str, str]) -> dict[str, float]:
        """Return the known scores of these texts by their URLs."""
        found = {url: self._known[text] for url, text in texts.items()}
        return {url: score for url, score in found.items() if score is not None}


def _anchor_texts(page: Page) -> dict[str, str]:
    """Return the anchor texts of a page's first MAX_ANCHORS linked URLs, of each URL the last one."""
    columns = page.columns
    texts: dict[str, str] = {}
    for kind, url, text in zip(columns.kinds, columns.targets, columns.texts, strict=True):
        is_anchor = kind == "a" and url
        if is_anchor and text.strip():
            texts[url] = text[:MAX_ANCHOR_CHARS]
    return dict(islice(texts.items(), MAX_ANCHORS))


def page_of(url: str, content_type: str, body: bytes) -> Page:
    """Return a page with this body for the scorer; what it does not know of the answer is empty."""
    headers = [(b"content-type", content_type.encode("latin-1", "replace"))]
    return Page(
        url,
        200,
        headers,
        body,
        content_type.partition(";")[0].strip().lower(),
        0,
        "",
        "",
        0.0,
        Timings(),
        0,
    )


JOB = "webcrawl.content.scoring:score_job"


def score_job(path: str, languages: str) -> Job:
    """Return the job that scores batches.

    A batch is a line of JSON with URL, Content-Type and length of each page, and then the bodies.
    """
    scoring: PageScoring | None = None

    def read(data: bytes) -> Any:
        """Return the fields of the scores of each page of a batch, or what is wrong with the
        scorer.

        The scorer is made with the first batch, which has no pages.
        """
        nonlocal scoring
        if scoring is None:
            try:
                scoring = PageScoring(path, [one for one in languages.split(",") if one])
            except Exception as error:  # noqa: BLE001 - the user's code
                return _words_of(error)
        head, _, rest = data.partition(b"\n")
        pages, at = [], 0
        for url, content_type, size in json.loads(head):
            pages.append(page_of(url, content_type, rest[at : at + size]))
            at += size
        return scoring.scored(pages)

    return Job(read, memory=None, seconds=CPU_SECONDS)


def _words_of(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_ERROR_CHARS]


WALL, START = 20.0, 120.0  # seconds for a batch, and for a scorer to load what it needs
MAX_DEATHS = 2  # of the process over one batch, after which the rest of it has no score
DIED = PageScores(None, flaw="the scorer's process died, or took too long")


class ScoredBody(NamedTuple):
    """An answer to be scored."""

    url: str
    content_type: str
    data: bytes


class ScoreProcess(DocumentWorker):
    """Scores one batch at a time. Raises OSError if the scorer cannot be made."""

    tries = 1

    def __init__(self, scorer: str, languages: Sequence[str], *, wall: float = WALL) -> None:
        super().__init__(
            "pages to score them",
            command_of(JOB, scorer, ",".join(languages)),
            wall / PROCESSOR_SHARES,
        )
        self._of_batch = wall

    def scored(self, bodies: Sequence[ScoredBody]) -> list[PageScores]:
        """Return the scores of each body.

        If the process dies, each body is tried by itself, to find the one that caused it.
        """
        try:
            return self._scored(bodies)
        except WorkerDied:
            if len(bodies) == 1:
                return [DIED]
        deaths = 1
        found: list[PageScores] = []
        for body in bodies:
            # A scorer that dies of every body would take a start for each
            if deaths > MAX_DEATHS:
                found.append(DIED)
                continue
            try:
                found += self._scored([body])
            except WorkerDied:
                deaths += 1
                found.append(DIED)
        return found

    def _scored(self, bodies: Sequence[ScoredBody]) -> list[PageScores]:
        head = json.dumps([(one.url, one.content_type, len(one.data)) for one in bodies]).encode()
        found = self.ask(b"\n".join((head, b"".join(one.data for one in bodies))), _read)
        if len(found) != len(bodies):
            raise WorkerDied(self._what)
        return found

    def _start_process(self) -> None:
        """Start a process, and send an empty batch, whose answer tells what the scorer lacks."""
        super()._start_process()
        self._answer_seconds = START
        try:
            answer = self._exchange(b"[]\n")
        finally:
            self._answer_seconds = self._of_batch
        if isinstance(answer, str):
            raise OSError(answer)


def _read(answer: Any) -> list[PageScores]:
    return [PageScores(*one) for one in answer]
