"""Decides what an answer is: a plain function of its status, headers and body, and of a probe's text."""

from __future__ import annotations

from functools import cache

from webcrawl.base.model import header
from webcrawl.content.html.elements import document, markup
from webcrawl.content.html.encoding_sniffing import encoding_of
from webcrawl.content.neardup.near_duplicates import fingerprint
from webcrawl.content.recognise.marks import WORDS, Mark, Marks
from webcrawl.content.recognise.shape import Shape

BEGINNING = 4096  # bytes that are searched for marks,
SMALL = 16_384  # and in a body that shows little
LEAN = 32_768  # bytes: up to here a page of few links is looked at
FEW = 12  # links
TITLE = 512  # bytes
BARE = 60  # characters that a page shows at most whose scripts make the rest,
SPARE = 160  # and where a framework's empty place says so
LITTLE = 600  # characters: a page that says only why it is not the page
WORDY = 1500  # a title that says so counts up to here
NEAR = 3  # bits in which near-duplicates differ at most
PAGE = ""
UNKNOWN = "wall:unknown"
RATELIMIT, LOGIN, SOFT404, SHELL = "ratelimit", "login", "soft404", "shell"

Headers = list[tuple[bytes, bytes]]


class Recogniser:
    """Names what an answer is where it is not the page: `wall:VENDOR`, `soft404`, `shell` and others."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def recognise(self, status: int, headers: Headers, body: bytes, probe: str | None = None) -> str:
        """The name, empty for a page. `probe`: the visible text of the host's answer for what cannot exist."""
        marks = [mark for mark in self._marks.of_headers(headers) if mark.fits(status)]
        if marks and not marks[0].bare:
            return marks[0].kind
        kind = (header(headers, b"content-type") or b"").decode("latin-1")
        if not body or not markup(kind, body):
            return RATELIMIT if status == 429 else PAGE
        look = probe is not None or self._shows_little(status, body)
        marks += [mark for mark in self._marks.of_body(body[: SMALL if look else BEGINNING]) if mark.fits(status)]
        if not marks and not look:
            return PAGE  # most pages: they are not parsed for this
        shape = Shape.of(*document(body, kind, encoding_of(body, kind, "")))
        if shape is None:
            return next((mark.kind for mark in marks if not mark.bare), PAGE)
        return _marked(marks, shape) or self._said(status, shape) or _structure(status, shape, probe)

    def _shows_little(self, status: int, body: bytes) -> bool:
        """A glance, which may err: an error, a page of few links, or one whose title says what it is."""
        if status >= 400 or (len(body) <= LEAN and (body.count(b"<a ") <= FEW or b'"__next"' in body)):
            return True
        start = body.find(b"<title", 0, BEGINNING)
        return start >= 0 and self._marks.any_word(body[start : body.find(b"</", start, start + TITLE)])

    def _said(self, status: int, shape: Shape) -> str:
        """By the title and headings of a page that shows little else."""
        if len(shape.text) > WORDY:
            return PAGE
        heads = f"{shape.title}\n{shape.heading}"
        if len(shape.text) <= LITTLE:
            heads += f"\n{shape.headings}\n{shape.text}"
        for kind in WORDS:
            if self._marks.words(kind, heads) and _may_be(kind, shape, status):
                return UNKNOWN if kind == "wall" else kind
        return RATELIMIT if status == 429 else PAGE


def _marked(marks: list[Mark], shape: Shape) -> str:
    bare = len(shape.text) <= BARE
    return next((mark.kind for mark in marks if bare or not mark.bare), PAGE)


def _may_be(kind: str, shape: Shape, status: int) -> bool:
    """Return whether a page that says so can be of this kind."""
    if kind == LOGIN:
        return shape.passwords > 0
    if kind == SOFT404:
        return status < 300
    return shape.passwords == 0 and shape.links <= FEW


def _structure(status: int, shape: Shape, probe: str | None) -> str:
    """By what the page is made of."""
    if status >= 300:
        return PAGE
    if probe is not None and alike(shape.text, probe):
        return SOFT404
    if not shape.scripts or shape.frames or shape.refreshes:
        return PAGE
    if shape.mounts:
        return SHELL if len(shape.text) <= SPARE else PAGE
    return SHELL if len(shape.text) <= BARE and not shape.links and not shape.images else PAGE


def alike(text: str, other: str) -> bool:
    """Return whether two texts are near-duplicates; of very short ones, whether they are the same."""
    one, two = fingerprint(text), fingerprint(other)
    if one is None or two is None:
        return text == other
    return (one ^ two).bit_count() <= NEAR


def is_wall(recognised: str) -> bool:
    """Return whether a name is that of a wall that a mark of its vendor shows: words alone may err."""
    return recognised.startswith("wall:") and recognised != UNKNOWN


@cache
def recogniser() -> Recogniser:
    """With the package's own table of marks."""
    return Recogniser(Marks.read())
