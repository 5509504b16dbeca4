"""Decides what an answer is, such as a page or a block page, by its status, headers and body."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from webcrawl.base.model import header
from webcrawl.base.page_values import BLOCK_PAGE, SCRIPT, UNKNOWN
from webcrawl.content.html import encodings
from webcrawl.content.html.encodings import encoding_of
from webcrawl.content.html.shown_text import shows_more
from webcrawl.content.html.trees import document, kept_tree, markup
from webcrawl.content.recognise.marks import CODED, GUARD, MOUNT, Mark, MarkSearchResult, MarkTable
from webcrawl.content.recognise.probe import Probe
from webcrawl.content.recognise.self_description import (
    BLOCKED,
    BY_STATUS,
    LOGIN,
    PAGE,
    SOFT404,
    SelfDescription,
    may_deny,
    own_words,
)
from webcrawl.content.recognise.shape import (
    MAX_CAPTION_CHARS,
    MAX_CHALLENGE_CHARS,
    MAX_ERROR_CHARS,
    MAX_LINKS,
    MAX_STATEMENT_CHARS,
    MAX_TITLED_CHARS,
    MISSING,
    DocumentShape,
    HtmlAnswer,
    tree_of,
)

# Sizes of bodies, in bytes. 4 KiB of all pages would miss 3 of 57 recorded block pages and 4 of 68
# soft 404s, whose words come after their styles. 16 KiB of lean pages would miss four answers.
SEARCHED_BYTES = 4096  # marks are searched in this much of a body,
SEARCHED_ERROR_BYTES = 16_384  # in this much of an error,
SEARCHED_LEAN_BYTES = 32_768  # and in the whole of a page up to this size that has few links
TITLE_BYTES = 512  # of a title that is searched for words
MAX_SHELL_CHARS = 160  # visible text of a page that its scripts have still to make
# Visible text of an answer with a vendor's mark, by kind. Parked domains and server defaults may
# have any length
MAX_MARKED_CHARS = {"wall": MAX_TITLED_CHARS, "login": MAX_ERROR_CHARS, "consent": MAX_TITLED_CHARS}
ACCEPTED = 202  # challenges are sent with this status and a page
# The title under which a domain trader offers a name
OFFERED = re.compile(r"\S+\.\w+ is for sale\b", re.IGNORECASE)
LOADING = re.compile(
    r"\b(load(ing)?|wait|javascript|geladen|laden|lädt|chargement|cargando|caricamento|carregando)\b"
    r"|загруз|加载|等待|読み込|로딩",
    re.IGNORECASE,
)
# A script that sets a cookie and asks for the page again
ASKS_AGAIN = re.compile(
    rb"document\.cookie ?=.*\blocation\b|\blocation\b.*document\.cookie ?=", re.DOTALL
)
# A script that is packed beyond reading
HIDDEN = re.compile(rb"eval\(function\(p,a,c,k,e|\b_0x[0-9a-f]{4,6}\b|\(!\+?\[\]\+")
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
# The words in which a challenge tells the reader what it does
CHECKING = re.compile(
    r"\b(check|verif|moment|wait|human|robot|bot\b|protect|redirect)", re.IGNORECASE
)
PARKED, SHELL = "parked", "shell"
# Hints that count with any status
ANYWHERE = frozenset(("ratelimit", "maintenance", "wall", CODED, GUARD))

Headers = list[tuple[bytes, bytes]]


class Recogniser:
    """Names the kind of an answer that is not the page: `wall:VENDOR`, `soft404`, `shell`."""

    def __init__(self, marks: MarkTable) -> None:
        self._marks = marks
        self._self_description = SelfDescription(marks)

    def recognise(
        self,
        status: int,
        headers: Headers,
        body: bytes,
        names: AbstractSet[bytes] | None = None,
        kind: str | None = None,
    ) -> str:
        """Return the name of the answer's kind, or PAGE.

        `names` are the names of the headers in lower case, and `kind` is their media type; without
        them both are read from the headers. Most answers cost one look at the names and one search.
        """
        marks: list[Mark] = []
        # This is one test of sets for most answers, as long as no mark names a field that most
        # have: a mark in `Server` once had the fields of every answer looked at
        may_have_header_marks = names is None or not names.isdisjoint(self._marks.header_names)
        if may_have_header_marks:
            marks = _fitting(self._marks.of_headers(headers), status)
            if marks and not marks[0].bare:  # a bare mark needs a look at the body
                return marks[0].kind
        if kind is None:
            kind = _content_type(headers)
        is_document = body and markup(kind, body)
        if not is_document:
            return self._kind_of_bare_error(status, body) or BY_STATUS.get(status, PAGE)
        return self._kind_of_markup(status, body, kind, marks)

    def _kind_of_markup(self, status: int, body: bytes, kind: str, marks: list[Mark]) -> str:
        """Return the kind of an answer that is a document. `marks`: those of its headers."""
        glance, is_lean = self._search_beginning(status, body, kind)
        if glance.marks:
            marks += _fitting(glance.marks, status)
        if status == BLOCKED:
            return marks[0].kind if marks else BY_STATUS[BLOCKED]
        # A parse takes 0.3 ms, and found nothing in most pages with few links
        is_parsed = marks or self._needs_parsing(status, body, glance.hints, lean=is_lean)
        if not is_parsed:
            return PAGE
        return self._kind_of_document(status, body, kind, marks)

    def _search_beginning(
        self, status: int, body: bytes, kind: str
    ) -> tuple[MarkSearchResult, bool]:
        """Search the beginning of a body, or the whole of a lean one, for marks and hints.

        Return what was found, and whether the body is lean.
        """
        size = SEARCHED_ERROR_BYTES if status >= 400 else SEARCHED_BYTES
        found = self._glance(body[:size], body, kind)
        is_searched = len(body) <= size
        if is_searched and not found.hints:
            return found, False  # whether it is lean matters only to hints
        is_lean = len(body) <= SEARCHED_LEAN_BYTES and _is_lean(body, found.hints)
        if is_lean and not is_searched:
            found = self._glance(body, body, kind)
        return found, is_lean

    def _kind_of_document(self, status: int, body: bytes, kind: str, marks: list[Mark]) -> str:
        """Parse a body of the media type `kind`, and return the kind of the answer, or PAGE."""
        html, form = document(body, kind, encoding_of(body, kind, ""))
        tree = tree_of(html, form)
        is_error = status >= 400
        if tree is None:
            return _first_sure_kind(marks) if is_error else PAGE
        needs_short_text = not is_error and all(map(_needs_short_text, marks))
        if needs_short_text and shows_more(tree.body, MAX_TITLED_CHARS):
            kept_tree().keep(html, tree)  # links are read from it
            return PAGE  # every rule that is left needs a shorter text, too
        return self._kind_of_answer(HtmlAnswer(status, DocumentShape.of(tree)), body, marks)

    def _kind_of_answer(self, answer: HtmlAnswer, body: bytes, marks: list[Mark]) -> str:
        """Return the kind of a parsed document: by its marks, its words or what it is made of."""
        kind = (
            self._kind_by_marks(answer, marks)
            or self._self_description.kind_of(answer)
            or _structure(answer.status, answer.shape, body)
        )
        is_script = kind == UNKNOWN and _asks_again(body, answer.status, answer.shape)
        return SCRIPT if is_script else kind

    def _kind_of_bare_error(self, status: int, body: bytes) -> str:
        """Return the kind of a denial that is a line of text, or an object for a script, or PAGE."""
        # An error without markup is searched for vendors' marks only
        may_be_denial = may_deny(status) and 0 < len(body) <= SEARCHED_ERROR_BYTES
        if not may_be_denial or not _is_utf8(body):
            return PAGE
        return _first_sure_kind(_fitting(self._marks.glance(body).marks, status))

    def probe(self, url: str, headers: Headers, body: bytes) -> Probe | None:
        """Return what a page shows, to compare it with its host's other URLs; None for no page."""
        kind = _content_type(headers)
        if not body or not markup(kind, body):
            return None
        tree = tree_of(*document(body, kind, encoding_of(body, kind, "")))
        if tree is None:
            return None
        shape = DocumentShape.of(tree)
        return Probe.of(url, shape.title, " ".join(shape.text.split()))

    def _glance(self, beginning: bytes, body: bytes, kind: str) -> MarkSearchResult:
        # The search is in UTF-8. Zeros are a sign of UTF-16
        if b"\0" in beginning or not (beginning.isascii() or _is_utf8(beginning)):
            beginning = encodings.decode(beginning, encoding_of(body, kind, "")).encode()
        return self._marks.glance(beginning)

    def _needs_parsing(
        self, status: int, body: bytes, hints: AbstractSet[str], *, lean: bool
    ) -> bool:
        """Return whether a document without a mark may be something else than a page, so that it is
        parsed.
        """
        # Without words of its own it is a rate limit by its status
        if status == 429:
            return True
        # A denial is known by its structure, for which it is parsed
        is_small_denial = may_deny(status) and len(body) <= SEARCHED_LEAN_BYTES
        if is_small_denial:
            return True
        is_hinted = hints and _is_hinted(status, body, hints)
        if is_hinted and self._hints_may_count(body, hints, lean=lean):
            return True
        return _has_a_page(status) and _is_left_to_scripts(body)

    def _hints_may_count(self, body: bytes, hints: AbstractSet[str], *, lean: bool) -> bool:
        """Return False for a page with many links, unless its title says that it is no page."""
        return lean or SOFT404 in hints or self._has_marked_title(body)

    def _has_marked_title(self, body: bytes) -> bool:
        """Return whether the title has words or names of a kind."""
        start = body.find(b"<title", 0, SEARCHED_BYTES)
        if start < 0:
            return False
        end = body.find(b"</", start, start + TITLE_BYTES)
        return bool(self._marks.kinds(body[start:end]))

    def _kind_by_marks(self, answer: HtmlAnswer, marks: list[Mark]) -> str:
        """Return the kind of the first mark that counts, or PAGE.

        A mark counts if the answer shows no more than such an answer shows. With a good status it
        must also be invisible: a challenge has its mark in scripts and attributes, an article about
        challenges in its text.
        """
        candidates = [mark for mark in marks if _has_fitting_size(mark, answer)]
        if not candidates:
            return PAGE
        if answer.is_error:
            return candidates[0].kind
        of_page = self._marks_of_page(answer, candidates)
        return next((mark.kind for mark in candidates if mark not in of_page), PAGE)

    def _marks_of_page(self, answer: HtmlAnswer, candidates: list[Mark]) -> list[Mark]:
        """Return the marks that do not count, because a page may have them."""
        # The pages of a domain trader consist of links, so links say nothing against PARKED
        has_links = answer.shape.links > 1 and any(mark.kind != PARKED for mark in candidates)
        of_page = self._visible_marks(answer, has_links=has_links)
        has_prose = answer.prose_chars > MAX_CAPTION_CHARS
        is_page_of_site = has_links and answer.is_part_of_site and has_prose
        if is_page_of_site:  # it loads a vendor's script, and is not the vendor's page
            of_page += filter(_is_block_page, candidates)
        return of_page

    def _visible_marks(self, answer: HtmlAnswer, *, has_links: bool) -> list[Mark]:
        """Return the marks that a reader sees, as on a page about block pages or parked domains."""
        in_title = self._marks.shown(
            f"<title>{answer.shape.title}</title><h1>{answer.shape.heading}</h1>"
        )
        is_more_than_a_statement = (
            answer.chars > MAX_STATEMENT_CHARS or has_links or answer.is_part_of_site
        )
        topics = _topics(answer)
        visible = [mark for mark in in_title if mark.kind.startswith(topics)]
        if is_more_than_a_statement:
            visible += self._marks.shown(answer.shape.text)
        return visible


def _content_type(headers: Headers) -> str:
    return (header(headers, b"content-type") or b"").decode("latin-1")


def _fitting(marks: Iterable[Mark], status: int) -> list[Mark]:
    return [mark for mark in marks if mark.fits(status)]


def _first_sure_kind(marks: list[Mark]) -> str:
    """Return the kind of the first mark that counts whatever the answer shows, or PAGE."""
    return next((mark.kind for mark in marks if not mark.bare), PAGE)


def _has_fitting_size(mark: Mark, answer: HtmlAnswer) -> bool:
    """Return whether the answer shows as little as one that this mark identifies."""
    if mark.bare:
        return answer.shows_nothing and not answer.is_application
    family = mark.kind.partition(":")[0]
    return family not in MAX_MARKED_CHARS or answer.chars <= MAX_MARKED_CHARS[family]


def _needs_short_text(mark: Mark) -> bool:
    """Return whether the mark counts on no page that shows more than MAX_TITLED_CHARS."""
    return mark.bare or mark.kind.partition(":")[0] in MAX_MARKED_CHARS


def _is_block_page(mark: Mark) -> bool:
    return mark.kind.startswith(BLOCK_PAGE)


def _topics(answer: HtmlAnswer) -> tuple[str, ...]:
    """Return the kinds of marks that the page may be about."""
    topics = []
    if answer.is_part_of_site or answer.quotes_code:
        topics.append(BLOCK_PAGE)
    if answer.is_dated or _is_about_domains(answer):
        topics.append(PARKED)
    return tuple(topics)


def _is_about_domains(answer: HtmlAnswer) -> bool:
    """Return whether the page is a text on the trade with domains, and does not offer one."""
    is_text = answer.prose_chars > MAX_ERROR_CHARS or own_words(answer.shape.prose) is None
    return is_text and OFFERED.match(answer.shape.title) is None


def _is_lean(body: bytes, hints: AbstractSet[str]) -> bool:
    """Return whether a page has few links, or is one that Next.js makes."""
    if MOUNT in hints and b'"__next"' in body:
        return True
    # Most pages have more links than this in their first part, where the splitting ends
    parts = body.split(b"<a ", MAX_LINKS + 1)
    return len(parts) <= MAX_LINKS + 1


def _is_left_to_scripts(body: bytes) -> bool:
    """Return whether a page has scripts but, outside comments, neither links nor images."""
    # Most pages have a link in their first part, where the search ends
    link = body.find(b"<a ")
    if link >= 0:
        is_in_comment = body.rfind(b"<!--", 0, link) > body.rfind(b"-->", 0, link)
        if not is_in_comment:
            return False
    if b"<script" not in body:
        return False
    if len(body) <= SEARCHED_LEAN_BYTES:
        body = COMMENT.sub(b"", body)
    return b"<a " not in body and b"<img" not in body


def _is_hinted(status: int, body: bytes, hints: AbstractSet[str]) -> bool:
    """Return whether any of the hints may count on a page with this status."""
    if not hints.isdisjoint(ANYWHERE):
        return True
    # An error is taken at its word: neither a soft 404 nor a shell
    if status < 300:
        if SOFT404 in hints:
            return True
        if MOUNT in hints and b"<script" in body:
            return True
    return LOGIN in hints and b"password" in body


def _is_utf8(beginning: bytes) -> bool:
    """Return whether a beginning is UTF-8. It may end within a character."""
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(beginning) - 3
    return True


def _structure(status: int, shape: DocumentShape, body: bytes) -> str:
    """Return the kind of a page by what it is made of, or PAGE."""
    # A frame shows another document in the page
    if not shape.scripts or shape.frames:
        return PAGE
    if not _has_a_page(status):
        return PAGE
    if _is_challenge(status, shape, body):
        return UNKNOWN
    if status >= 300 or shape.refreshes:
        return PAGE
    return SHELL if _is_shell(shape) else PAGE


def _is_challenge(status: int, shape: DocumentShape, body: bytes) -> bool:
    """Return whether the page shows nothing, and its scripts decide who gets the real one."""
    if shape.blank and _is_gate(status, body):
        return True
    if len(shape.text) > MAX_CHALLENGE_CHARS:
        return False
    # Each of these makes it a page, also a framework's place for one
    links_and_media = shape.links + shape.images + shape.players + shape.mounts
    shown = links_and_media + shape.fields + shape.buttons + shape.refreshes
    if shown:
        return False
    # So does a heading of its own
    names_something = shape.heading != "" and LOADING.search(shape.heading) is None
    return not names_something and _asks_again(body, status, shape)


def _is_shell(shape: DocumentShape) -> bool:
    """Return whether the page shows nothing until its scripts have run."""
    is_loading = not shape.text or LOADING.search(shape.text) is not None
    if not shape.mounts:
        shows_more = shape.links + shape.images + shape.players > 0
        is_short = len(shape.text) <= MAX_CHALLENGE_CHARS
        return is_short and is_loading and not shows_more
    if len(shape.text) > MAX_SHELL_CHARS:
        return False
    is_empty = is_loading or not shape.filled
    # Several elements of content without a text, such as pictures, are a page
    has_one_part = shape.text != "" or shape.filled <= 1
    return is_empty and has_one_part


def _has_a_page(status: int) -> bool:
    """Return whether an answer with this status has a body that says more than the status.

    The body of a redirect is not a page.
    """
    return not 300 <= status < 400 and status not in MISSING


def _is_gate(status: int, body: bytes) -> bool:
    """Return whether a document without words is a challenge. A site's own errors have words."""
    has_status_of_challenge = status == ACCEPTED or status >= 400
    if has_status_of_challenge:
        return True
    return ASKS_AGAIN.search(body) is not None or HIDDEN.search(body) is not None


def _asks_again(body: bytes, status: int, shape: DocumentShape) -> bool:
    """Return whether a script sets a cookie and asks for the same page, or hides what it does."""
    if b"location.reload" in body and ASKS_AGAIN.search(body) is not None:
        return True
    # A hidden script may serve the page, if the page has words or places of its own
    has_status_of_challenge = status == ACCEPTED or status >= 400
    may_be_challenge = has_status_of_challenge or shape.blank or _speaks_of_checking(shape)
    return may_be_challenge and HIDDEN.search(body) is not None


def _speaks_of_checking(shape: DocumentShape) -> bool:
    """Return whether the page tells its reader that it checks or loads something."""
    if CHECKING.search(f"{shape.title}\n{shape.text}") is not None:
        return True
    return LOADING.search(shape.text) is not None


@cache
def recogniser(*tables: Path) -> Recogniser:
    """Return a recogniser with these tables of marks, and the package's own after them."""
    return Recogniser(MarkTable.read(*tables))
