"""Decides what an answer is: a plain function of its status, headers and body."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from webcrawl.base.model import header
from webcrawl.base.page_values import DENIAL, SCRIPT, UNKNOWN, WALL
from webcrawl.content.html import encodings
from webcrawl.content.html.encodings import encoding_of
from webcrawl.content.html.trees import document, markup
from webcrawl.content.recognise.denial import accuses, denies, may_deny
from webcrawl.content.recognise.marks import APART, CODED, GUARD, MOUNT, Glance, Mark, Marks, Part
from webcrawl.content.recognise.own_words import own_words
from webcrawl.content.recognise.probe import Probe
from webcrawl.content.recognise.shape import Shape

BEGINNING = 4096  # bytes that are searched for marks,
SMALL = 16_384  # in that of an error,
LEAN = 32_768  # and in all of a page of few links: there it may be far from the beginning
FEW = 12  # links
TITLE = 512  # bytes
BARE = 60  # characters that a page shows at most whose scripts make the rest,
SPARE = 160  # and where a framework's empty place says so
BRIEF = 120  # of prose, beside a title that says so
TERSE = 350  # characters: a page that says only why it is not the page,
LITTLE = 600  # and an error that does
WORDY = 1500  # a title that says so, and a vendor's mark, count up to here
# With a mark; what servers' packages and domain traders show may be of any length
ROOMS = {"wall": WORDY, "login": LITTLE, "consent": WORDY}
DOUBTED = ("ratelimit", "wall", "maintenance")  # whose names poems, films and firms have too
GONE = (404, 410)  # such an error says what it is
ASKED = (401, 407)  # for a password
ACCEPTED = 202  # with a page: challenges are sent like this
PARTS = re.compile(rf"[{APART}]| [-:] ")  # of a title
TOLD = re.compile(r": (\w+ \w+ \w.*)")  # what a title goes on about
OFFERED = re.compile(r"\S+\.\w+ is for sale\b", re.IGNORECASE)  # a title, by which a trader begins to describe a name
LOADING = re.compile(
    r"\b(load(ing)?|wait|javascript|geladen|laden|lädt|chargement|cargando|caricamento|carregando)\b"
    r"|загруз|加载|等待|読み込|로딩",
    re.IGNORECASE,
)
# What a script does on a page that has nothing else: it sets a cookie and asks again, or hides what it does
ASKS_AGAIN = re.compile(rb"document\.cookie ?=.*\blocation\b|\blocation\b.*document\.cookie ?=", re.DOTALL)
HIDDEN = re.compile(rb"eval\(function\(p,a,c,k,e|\b_0x[0-9a-f]{4,6}\b|\(!\+?\[\]\+")
CHECKING = re.compile(r"\b(check|verif|moment|wait|human|robot|bot\b|protect|redirect)", re.IGNORECASE)  # what it does
PAGE = ""
DENIED = "wall:999"  # no standard has this status, and nobody gives it to people
RATELIMIT, LOGIN, SOFT404, PARKED, SHELL = "ratelimit", "login", "soft404", "parked", "shell"

NINES = 999
BY_STATUS = {429: RATELIMIT, NINES: DENIED}  # of an answer that says nothing else
ANYWHERE = frozenset(("ratelimit", "maintenance", "wall", CODED, GUARD))  # hints that count with any status

Headers = list[tuple[bytes, bytes]]


class Recogniser:
    """Names what an answer is where it is not the page: `wall:VENDOR`, `soft404`, `shell` and others."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def recognise(
        self,
        status: int,
        headers: Headers,
        body: bytes,
        names: AbstractSet[bytes] | None = None,
        kind: str | None = None,
    ) -> str:
        """The name, empty for a page. `names`: of the headers in lower case; `kind`: their type, if they are known.

        Most answers cost one look at these names and one search.
        """
        marks: list[Mark] = []
        if names is None or not names.isdisjoint(self._marks.header_names):
            marks = [mark for mark in self._marks.of_headers(headers) if mark.fits(status)]
            if marks and not marks[0].bare:
                return marks[0].kind
        if kind is None:
            kind = (header(headers, b"content-type") or b"").decode("latin-1")
        if not body or not markup(kind, body):
            return self._bare_error(status, body) or BY_STATUS.get(status, PAGE)
        size = SMALL if status >= 400 else BEGINNING
        glance = self._glance(body[:size], body, kind)
        # Of a small page without hints it does not matter
        lean = len(body) <= LEAN and bool(len(body) > size or glance.hints) and _is_lean(body, glance.hints)
        if lean and len(body) > size:
            glance = self._glance(body, body, kind)
        marks += [mark for mark in glance.marks if mark.fits(status)]
        if status == NINES:
            return marks[0].kind if marks else DENIED
        if not marks and not self._is_worth_a_look(status, body, glance.hints, lean=lean):
            return PAGE
        shape = Shape.of(*document(body, kind, encoding_of(body, kind, "")))
        if shape is None:
            return next((mark.kind for mark in marks if not mark.bare), PAGE) if status >= 400 else PAGE
        found = self._marked(status, marks, shape) or self._said(status, shape) or _structure(status, shape, body)
        return SCRIPT if found == UNKNOWN and _asks_again(body, status, shape) else found

    def _bare_error(self, status: int, body: bytes) -> str:
        """By the mark of a denial that is no page: a line of text, or an object for a script."""
        if not body or not may_deny(status) or len(body) > SMALL:
            return PAGE
        found = self._marks.glance(body).marks if _is_utf8(body) else []
        return next((mark.kind for mark in found if mark.fits(status) and not mark.bare), PAGE)

    def probe(self, url: str, headers: Headers, body: bytes) -> Probe | None:
        """What a page shows, to be compared with what other URLs of its host show; None for what is no page."""
        kind = (header(headers, b"content-type") or b"").decode("latin-1")
        if not body or not markup(kind, body):
            return None
        shape = Shape.of(*document(body, kind, encoding_of(body, kind, "")))
        return Probe.of(url, shape.title, " ".join(shape.text.split())) if shape is not None else None

    def _glance(self, beginning: bytes, body: bytes, kind: str) -> Glance:
        if b"\0" in beginning or not (beginning.isascii() or _is_utf8(beginning)):
            beginning = encodings.decode(beginning, encoding_of(body, kind, "")).encode()
        return self._marks.glance(beginning)

    def _is_worth_a_look(self, status: int, body: bytes, hints: AbstractSet[str], *, lean: bool) -> bool:
        """Of a page without a mark, return whether it may be something else: then it is parsed."""
        if status == 429 or (may_deny(status) and len(body) <= LEAN):
            return True
        if hints and _is_hinted(status, body, hints) and (lean or SOFT404 in hints or self._titled(body)):
            return True
        return _has_a_page(status) and b"<a " not in body and b"<script" in body and b"<img" not in body

    def _titled(self, body: bytes) -> bool:
        """A title counts whatever the links of the page."""
        start = body.find(b"<title", 0, BEGINNING)
        return start >= 0 and bool(self._marks.kinds(body[start : body.find(b"</", start, start + TITLE)]))

    def _marked(self, status: int, marks: list[Mark], shape: Shape) -> str:
        """By its marks. Who writes about walls shows them to readers, and shows more than a wall does."""
        size, fine = len(shape.text), status < 400
        bare = size <= BARE and not shape.images + shape.textareas + shape.fields
        bare = bare and not (fine and shape.mounts)  # an application that loads the vendor's script
        marks = [one for one in marks if (bare if one.bare else size <= ROOMS.get(one.kind.partition(":")[0], size))]
        if not (marks and fine):
            return marks[0].kind if marks else PAGE
        linked = shape.links > 1 and any(mark.kind != PARKED for mark in marks)  # a trader's page is made of links
        if linked and shape.sites and len(shape.prose) > BRIEF:  # a site's own page, whatever it loads
            marks = [mark for mark in marks if not mark.kind.startswith(WALL)]
        shown = self._marks.shown(shape.text) if size > TERSE or linked or shape.sites else []
        titled = self._marks.shown(f"<title>{shape.title}</title><h1>{shape.heading}</h1>")
        if shape.sites or shape.codes:
            shown += [mark for mark in titled if mark.kind.startswith(WALL)]
        told = len(shape.prose) > LITTLE or own_words(shape.prose) is None
        if shape.published or (told and OFFERED.match(shape.title) is None):  # an article on such domains
            shown += [mark for mark in titled if mark.kind == PARKED]
        return next((mark.kind for mark in marks if mark not in shown), PAGE)

    def _said(self, status: int, shape: Shape) -> str:
        """By the title and headings of a page that shows little else."""
        size, said = len(shape.text), f"{shape.title}\n{shape.heading}"
        if size > WORDY:
            return PAGE
        lines = "\n".join((*PARTS.split(shape.title), shape.heading))
        error = status >= 400 and status not in GONE
        if size <= LITTLE and not shape.codes:  # who shows code speaks of errors
            said, lines = f"{said}\n{shape.headings}", f"{lines}\n{shape.headings}"
            if error or (shape.passwords and size <= TERSE):
                said += f"\n{shape.text}"
        own = "" if error else own_words(shape.prose)
        if own is None and not shape.passwords:
            return PAGE
        own = own or ""
        for kind in self._marks.kinds(said if error else f"{said}\n{own}"):
            if kind == "wall" and error:
                continue
            if _may_be(kind, shape, status) and self._is_said(kind, said, lines, own, shape, error=error):
                return UNKNOWN if kind == "wall" else kind
        if error:
            return self._denied(status, said, shape) or BY_STATUS.get(status, PAGE)
        return UNKNOWN if status < 300 and size <= LITTLE and accuses(self._marks, shape, f"{said}\n{own}") else PAGE

    def _denied(self, status: int, said: str, shape: Shape) -> str:
        """Of an error: whether it is a wall's. What a server says by itself of a URL that it does not show is none."""
        marks, walled = self._marks, self._marks.words("wall", said)
        if denies(marks, status, shape, walled=walled):
            return DENIAL
        if status in ASKED or not _may_be("wall", shape, status):
            return PAGE
        if walled:
            return UNKNOWN
        plain = shape.sites or marks.says(Part.RIGHTS, said) or marks.is_stock(said)
        return UNKNOWN if not plain and marks.names("wall", said, whole=False) else PAGE

    def _is_said(self, kind: str, said: str, lines: str, own: str, shape: Shape, *, error: bool) -> bool:
        """A title is not enough for a page that goes on about other things."""
        words, names = self._marks.words, self._marks.names
        if error or not (shape.text or shape.mounts):
            return words(kind, said) or names(kind, said, whole=False)
        spoken = words(kind, own)
        if shape.published or (kind == "wall" and shape.sites):
            return False
        if kind == "wall" and len(shape.prose) <= BRIEF:
            spoken = spoken or names(kind, own.partition("\n")[0], whole=True)
        if not spoken and self._goes_on(kind, own, shape):
            return False
        acts = spoken or shape.scripts + shape.forms + shape.refreshes > 0
        doubted = kind in DOUBTED and not (kind == "wall" and acts) and not spoken
        if not doubted and names(kind, lines, whole=True):
            return True
        if words(kind, said):
            return kind != "wall" or acts or words(kind, shape.headings) or len(shape.prose) <= FEW
        return spoken and len(shape.text) <= LITTLE and not shape.codes

    def _goes_on(self, kind: str, own: str, shape: Shape) -> bool:
        """Return whether a page, whose prose says nothing of the kind, is about other things."""
        if kind == SOFT404:
            more = TOLD.search(shape.title)
            if shape.textareas or (more is not None and not self._marks.words(SOFT404, more[1])):
                return True
        if kind == RATELIMIT and shape.sites:
            return True
        if kind == LOGIN or len(shape.prose) <= BRIEF:
            return False
        hints = kind in (SOFT404, "maintenance") and own and len(shape.prose) <= LITTLE
        return not (hints and self._is_titled(kind, shape))

    def _is_titled(self, kind: str, shape: Shape) -> bool:
        """Return whether title and heading both say so, whatever hints and menus follow."""
        titles = (one for one in (shape.title, shape.heading) if one)
        return all(
            self._marks.words(kind, one) or self._marks.names(kind, "\n".join(PARTS.split(one)), whole=True)
            for one in titles
        )


def _is_lean(body: bytes, hints: AbstractSet[str]) -> bool:
    """Return whether a page has few links. Most have more in their first part, where the count ends."""
    return (MOUNT in hints and b'"__next"' in body) or len(body.split(b"<a ", FEW + 1)) <= FEW + 1


def _is_hinted(status: int, body: bytes, hints: AbstractSet[str]) -> bool:
    """Return whether any of the hints may count on a page with this status."""
    if not hints.isdisjoint(ANYWHERE):
        return True
    if status < 300 and (SOFT404 in hints or (MOUNT in hints and b"<script" in body)):
        return True
    return LOGIN in hints and b"password" in body


def _is_utf8(beginning: bytes) -> bool:
    """Return whether it is, as far as its last character is whole."""
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(beginning) - 3
    return True


def _may_be(kind: str, shape: Shape, status: int) -> bool:
    """Return whether a page that says so can be of this kind."""
    if kind == LOGIN:
        return shape.passwords > 0
    if kind == SOFT404:
        return status < 300
    return (shape.passwords == 0 or status >= 500) and shape.links <= FEW and not shape.textareas


def _structure(status: int, shape: Shape, body: bytes) -> str:
    """By what the page is made of."""
    if not shape.scripts or shape.frames or not _has_a_page(status):
        return PAGE
    shown = shape.links + shape.images + shape.players + shape.mounts + shape.fields + shape.buttons + shape.refreshes
    bare = len(shape.text) <= BARE and not shown and (not shape.heading or LOADING.search(shape.heading) is not None)
    if (shape.blank and _is_gate(status, body)) or (bare and _asks_again(body, status, shape)):
        return UNKNOWN
    if status >= 300 or shape.refreshes:
        return PAGE
    loading = not shape.text or LOADING.search(shape.text) is not None
    if shape.mounts:
        empty = loading or not shape.filled
        return SHELL if len(shape.text) <= SPARE and empty and (shape.text or shape.filled <= 1) else PAGE
    shows = shape.links + shape.images + shape.players
    return SHELL if len(shape.text) <= BARE and loading and not shows else PAGE


def _has_a_page(status: int) -> bool:
    """Return whether a body without words says more than this status does: of a redirect it is nobody's page."""
    return not 300 <= status < 400 and status not in GONE


def _is_gate(status: int, body: bytes) -> bool:
    """Return whether scripts without anything else let nobody else through: errors of a site have words."""
    return status == ACCEPTED or status >= 400 or ASKS_AGAIN.search(body) is not None or HIDDEN.search(body) is not None


def _asks_again(body: bytes, status: int, shape: Shape) -> bool:
    """Return whether a script sets a cookie and asks for the same page, or is packed so that nobody reads it.

    A packed one of a page with words or places of its own may serve these, unless text or title says what it does.
    """
    if b"location.reload" in body and ASKS_AGAIN.search(body) is not None:
        return True
    says = CHECKING.search(f"{shape.title}\n{shape.text}") or LOADING.search(shape.text)
    return (status == ACCEPTED or status >= 400 or shape.blank or says is not None) and HIDDEN.search(body) is not None


@cache
def recogniser(*tables: Path) -> Recogniser:
    """With these tables of marks, and the package's own after them."""
    return Recogniser(Marks.read(*tables))
