"""Recognises answers that say what they are: "Too many requests", "Page not found", "Log in".

Only a page's own words count: quotations, conditionals and questions do not, and neither do the
words of a person. A denial is recognised by its structure, too: it is an error that turns away the
client, and not the URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from webcrawl.base.page_values import DENIAL, UNKNOWN
from webcrawl.content.recognise.marks import APART, ErrorMarks, MarkTable
from webcrawl.content.recognise.shape import (
    MAX_CAPTION_CHARS,
    MAX_ERROR_CHARS,
    MAX_STATEMENT_CHARS,
    MAX_TITLED_CHARS,
    DocumentShape,
    HtmlAnswer,
)

QUOTED = re.compile(r"[\"“”„«「『][^\"“”„«»」』\n]{3,300}[\"“”»」』]")
# Statements that are looked at: an answer that is not the page says so at once
MAX_STATEMENTS = 6
INNER = re.compile(r"(?<=\w)\.(?=\w)")  # a dot within a host's name or a number
ENDS = re.compile(r"(?<=[.!?])\s+|[。！\n]|(?<=？)| [-\N{EN DASH}] ")  # noqa: RUF001
# The label of a challenge's checkbox
BOX = re.compile(
    r"\b(I['’]m|I am|ich bin|je (ne )?suis|no soy|soy|non sono|sono|não sou|я)\s(not |kein |pas |не )?"  # noqa: RUF001
    r"(an? |un |uno |um )?\b((ro|ро)?(bot|бот)(er)?|human|person)\b",  # noqa: RUF001
    re.IGNORECASE,
)
# Servers say "we". Words with another meaning are left out: "mon" is a day, "je" is "you" in Dutch
PERSON = re.compile(
    r"\bI(['’](m|ve|ll|d)| (am|was|had|have|think|thought|know|found|see|saw|get|got|wrote|use|used|tried|want|would"  # noqa: RUF001
    r"|will|can|could|did|do|don['’]t|run|ran|made|write|need|like|love|hope|wonder|keep|spent|learned|built))\b"  # noqa: RUF001
    r"|\b(?i:my(?! account\b)|myself|ich|mein(e[mnrs]?)?|mir|mich|j['’]ai|yo|я|мне|меня|мой|моя)\b"  # noqa: RUF001
)
SUPPOSED = re.compile(
    r"[?？]$|^(how|why|wie|warum|comment|pourquoi|cómo|come|как|почему)\b"  # noqa: RUF001
    r"|\b(if|when|whenever|wenn|falls|quand|cuando|quando|если|когда"
    r"|will be (closed|offline|down|unavailable)|says?|said|shows?|shown|means?|indicates?|heißt|qué"
    r"|users?|visitors?|nutzer|utilisateurs?|usuarios?|пользовател\w*)\b|用户",
    re.IGNORECASE,
)


def own_words(prose: str) -> str | None:
    """Return the first statements of the prose, one per line; None if a person writes."""
    prose = BOX.sub(" ", QUOTED.sub(" ", prose))
    if PERSON.search(prose):
        return None
    sentences = ENDS.split(INNER.sub("", prose))
    statements = (
        sentence for sentence in sentences if sentence and not SUPPOSED.search(sentence.strip())
    )
    return "\n".join(islice(statements, MAX_STATEMENTS))


MAX_DENIAL_LINKS = 4  # a page with more links to other pages is a page of a site
# These ask for a password, for money, or say that there is nothing
ELSE = frozenset((401, 402, 404, 407, 410))
FAILED = frozenset((*range(500, 503), *range(504, 520)))  # these say that the server failed
# A word that people do not write: a long number, a mixture with digits, an address. Versions come
# after a slash
TOKEN = re.compile(r"(?<![\w/.])#?(?:[A-Za-z]{1,4}[-_])?[0-9A-Za-z.:=_+-]{7,}")
# Versions, times and dates, which people do write
WRITTEN = re.compile(
    r"\d+(\.\d+){1,2}|\d{1,2}:\d\d(:\d\d)?\S*|\d{4}-\d\d-\d\d(T\S*)?|\d\d?[.-]\d\d?[.-]\d{4}"
)
MIN_REFERENCE_DIGITS = 3  # of a token: long words that people write have fewer
# "You are not blocked"
SPARED = re.compile(
    r"\b(not|never|no)\b[^.!?:;,\n]{0,30}\b(block|bann|flagg|restrict|limit|detect)ed\b",
    re.IGNORECASE,
)


def may_deny(status: int) -> bool:
    return status >= 400 and status not in ELSE and status not in FAILED


def denies(marks: MarkTable, status: int, shape: DocumentShape, *, says_block_page: bool) -> bool:
    """Return whether an error turns away a client, a network or a request, with no site around it.

    `says_block_page`: a sentence says that it is one, as challenges do, which deny nothing.
    """
    if not may_deny(status) or not _is_alone(shape):
        return False
    said = f"{shape.title}\n{shape.text}"
    has_denial = says_block_page or marks.says(ErrorMarks.DENIES, said)
    if not has_denial:
        return False
    # A bare "Access denied" may be about the URL: so a guard, or what was denied, stands beside it
    if marks.says(ErrorMarks.GUARDS, said):
        return True
    # "We could not process your request, error ID ...": a failure names the request, too
    may_be_failure = status == 400 or status >= 500
    # Who lacks a permission or a login lacks it for this URL
    is_about_rights = marks.says(ErrorMarks.RIGHTS, said)
    if may_be_failure or is_about_rights:
        return False
    return marks.says(ErrorMarks.YOURS, said) or refers(said)


def accuses(marks: MarkTable, shape: DocumentShape, said: str) -> bool:
    """Return whether a page with a good status says that a guard has denied this request."""
    shows_more = shape.links > 1 or shape.codes or shape.fields
    if shows_more or not _is_alone(shape):
        return False
    # With a good status words may err, so it takes all four: denial, guard, whose, and reference
    if not refers(shape.text):
        return False
    said = SPARED.sub(" ", said)
    needed = ErrorMarks.DENIES, ErrorMarks.GUARDS, ErrorMarks.YOURS
    return all(marks.says(part, said) for part in needed)


def refers(said: str) -> bool:
    """Return whether a text has a reference of the request, or the address from which it came."""
    return any(_is_reference(token) for token in TOKEN.findall(said))


def _is_reference(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    return digits >= MIN_REFERENCE_DIGITS and WRITTEN.fullmatch(token) is None


def _is_alone(shape: DocumentShape) -> bool:
    """Return whether there is no site around what the page says."""
    if shape.links > MAX_DENIAL_LINKS:
        return False
    has_form = shape.passwords or shape.textareas
    is_of_site = shape.sites or shape.published
    return not has_form and not is_of_site


PAGE = ""
RATELIMIT, MAINTENANCE, LOGIN, SOFT404 = "ratelimit", "maintenance", "login", "soft404"
# The kind's name in the word lists; its pages are recognised as UNKNOWN: without a vendor
BLOCK_PAGE = "wall"

MAX_CHARS_UNDER_TITLE = 12  # prose so short that only the title speaks
BLOCKED = 999  # LinkedIn and others send it to crawlers; no standard has it
BY_STATUS = {429: RATELIMIT, BLOCKED: "wall:999"}  # kinds of failures whose words say nothing
NEEDS_PASSWORD = frozenset((401, 407))
TITLE_SEPARATOR = re.compile(rf"[{APART}]| [-:] ")
# The part after the colon in "404: how we redesigned our error pages"
SUBTITLE = re.compile(r": (\w+ \w+ \w.*)")


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """The conditions under which an answer that uses the words of a kind is of that kind."""

    is_possible: Callable[[HtmlAnswer], bool]
    # poems, films and companies have such names, so a name alone proves nothing
    is_ambiguous: bool = False
    bears_any_prose: bool = False  # the page may go on about other things
    bears_short_prose: bool = False  # so it may, if it is short and both title and heading agree


RULES = {
    RATELIMIT: ClaimRule(lambda answer: answer.may_replace_page, is_ambiguous=True),
    MAINTENANCE: ClaimRule(
        lambda answer: answer.may_replace_page, is_ambiguous=True, bears_short_prose=True
    ),
    BLOCK_PAGE: ClaimRule(
        lambda answer: answer.may_replace_page and not answer.is_failure, is_ambiguous=True
    ),
    LOGIN: ClaimRule(lambda answer: answer.has_password_field, bears_any_prose=True),
    SOFT404: ClaimRule(lambda answer: answer.status < 300, bears_short_prose=True),
}


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The words with which a page describes itself."""

    # title and headings; all visible text, where a page is short enough to be nothing else
    headline: str
    title_parts: str  # title and headings, with each part of the title on a line of its own
    # the first sentences of the prose, without quotations, conditionals and questions
    sentences: str
    is_personal: bool  # a person writes "I": that is a page, whatever it is about

    @classmethod
    def of(cls, answer: HtmlAnswer) -> OwnWords:
        """Return the words by which an answer describes itself: its headline, its parts, its
        sentences.

        In a short answer all headings count as the headline, and in a short failure or login all
        text.
        """
        shape = answer.shape
        headline = f"{shape.title}\n{shape.heading}"
        title_parts = "\n".join((*TITLE_SEPARATOR.split(shape.title), shape.heading))
        is_short = answer.chars <= MAX_ERROR_CHARS and not answer.quotes_code
        if is_short:
            headline += f"\n{shape.headings}"
            title_parts += f"\n{shape.headings}"
        is_short_login = answer.has_password_field and answer.chars <= MAX_STATEMENT_CHARS
        # Such a page is too short to be about anything else
        is_all_headline = answer.is_failure or is_short_login
        if is_short and is_all_headline:
            headline += f"\n{shape.text}"
        sentences = "" if answer.is_failure else own_words(shape.prose)
        return cls(headline, title_parts, sentences or "", is_personal=sentences is None)

    @property
    def all_words(self) -> str:
        return f"{self.headline}\n{self.sentences}"


class SelfDescription:
    """Finds the kind of an answer in its own words, by the table of marks."""

    def __init__(self, marks: MarkTable) -> None:
        self._marks = marks

    def kind_of(self, answer: HtmlAnswer) -> str:
        """Return the kind that the answer claims to be, or PAGE."""
        if answer.chars > MAX_TITLED_CHARS:
            return PAGE
        said = OwnWords.of(answer)
        if said.is_personal and not answer.has_password_field:
            return PAGE
        claimed = self._claimed_kind(answer, said)
        if claimed == BLOCK_PAGE:
            return UNKNOWN
        if claimed != PAGE:
            return claimed
        if answer.is_failure:
            return self._kind_of_failure(answer, said) or BY_STATUS.get(answer.status, PAGE)
        return UNKNOWN if self._reports_a_block(answer, said) else PAGE

    def _claimed_kind(self, answer: HtmlAnswer, said: OwnWords) -> str:
        """Return the first kind whose words the answer uses for itself, or PAGE."""
        words = said.headline if answer.is_failure else said.all_words
        for kind in self._marks.kinds(words):
            if RULES[kind].is_possible(answer) and self._is_credible(kind, answer, said):
                return kind
        return PAGE

    def _kind_of_failure(self, answer: HtmlAnswer, said: OwnWords) -> str:
        """Return the kind of block page that an error is, or PAGE.

        A server's stock message is no block page.
        """
        marks, shape = self._marks, answer.shape
        says_block_page = marks.words(BLOCK_PAGE, said.headline)
        if denies(marks, answer.status, shape, says_block_page=says_block_page):
            return DENIAL
        if answer.status in NEEDS_PASSWORD or not answer.may_replace_page:
            return PAGE
        if says_block_page:
            return UNKNOWN
        if answer.is_part_of_site:
            return PAGE
        # The plain 403 of a server or a framework: a rule that took each for a block page was taken
        # back, because a robots.txt that is a plain 403 allows everything
        is_plain = marks.says(ErrorMarks.RIGHTS, said.headline) or marks.is_stock(said.headline)
        names_block_page = marks.names(BLOCK_PAGE, said.headline, whole=False)
        return UNKNOWN if names_block_page and not is_plain else PAGE

    def _reports_a_block(self, answer: HtmlAnswer, said: OwnWords) -> bool:
        """Return whether a short page with a good status says that the request was blocked."""
        if answer.status >= 300 or answer.chars > MAX_ERROR_CHARS:
            return False
        return accuses(self._marks, answer.shape, said.all_words)

    def _is_credible(self, kind: str, answer: HtmlAnswer, said: OwnWords) -> bool:
        """Return whether the page is of the kind whose words it uses, and not about that kind."""
        # Errors are taken at their word
        shows_something = answer.shape.text or answer.shape.mounts
        if answer.is_failure or not shows_something:
            return self._headline_mentions(kind, said)
        is_article = answer.is_dated
        if is_article:
            return False
        is_block_page_within_site = kind == BLOCK_PAGE and answer.is_part_of_site
        if is_block_page_within_site:
            return False
        confirmed = self._is_confirmed(kind, answer, said)
        if not confirmed and self._is_about_something_else(kind, answer, said):
            return False
        return self._is_said(kind, answer, said, confirmed=confirmed)

    def _is_said(self, kind: str, answer: HtmlAnswer, said: OwnWords, *, confirmed: bool) -> bool:
        """Return whether title, headings or prose say enough for the kind."""
        return (
            self._title_names_it(kind, answer, said, confirmed=confirmed)
            or self._headline_says_it(kind, answer, said, confirmed=confirmed)
            or self._is_short_and_confirmed(answer, confirmed=confirmed)
        )

    def _headline_mentions(self, kind: str, said: OwnWords) -> bool:
        """Return whether the headline has a sentence or a name of the kind."""
        if self._marks.words(kind, said.headline):
            return True
        return self._marks.names(kind, said.headline, whole=False)

    def _is_confirmed(self, kind: str, answer: HtmlAnswer, said: OwnWords) -> bool:
        """Return whether the prose says the same as the title."""
        if self._marks.words(kind, said.sentences):
            return True
        first_sentence = said.sentences.partition("\n")[0]
        is_caption = answer.prose_chars <= MAX_CAPTION_CHARS
        return (
            kind == BLOCK_PAGE
            and is_caption
            and self._marks.names(kind, first_sentence, whole=True)
        )

    def _title_names_it(
        self, kind: str, answer: HtmlAnswer, said: OwnWords, *, confirmed: bool
    ) -> bool:
        """Return whether a part of the title is a name of the kind, and nothing else has the name."""
        acts_like_block_page = kind == BLOCK_PAGE and answer.acts_by_itself
        is_supported = confirmed or acts_like_block_page
        if RULES[kind].is_ambiguous and not is_supported:
            return False
        return self._marks.names(kind, said.title_parts, whole=True)

    def _headline_says_it(
        self, kind: str, answer: HtmlAnswer, said: OwnWords, *, confirmed: bool
    ) -> bool:
        """Return whether title or headings say it in a sentence.

        A block page needs further support.
        """
        if not self._marks.words(kind, said.headline):
            return False
        if kind != BLOCK_PAGE or confirmed or answer.acts_by_itself:
            return True
        return (
            self._marks.words(kind, answer.shape.headings)
            or answer.prose_chars <= MAX_CHARS_UNDER_TITLE
        )

    def _is_short_and_confirmed(self, answer: HtmlAnswer, *, confirmed: bool) -> bool:
        """Return whether a short page says it in its prose alone."""
        return confirmed and answer.chars <= MAX_ERROR_CHARS and not answer.quotes_code

    def _is_about_something_else(self, kind: str, answer: HtmlAnswer, said: OwnWords) -> bool:
        """Return whether a page whose prose does not confirm the kind has another subject."""
        if self._has_parts_of_a_page(kind, answer):
            return True
        rule = RULES[kind]
        has_caption_only = answer.prose_chars <= MAX_CAPTION_CHARS
        if rule.bears_any_prose or has_caption_only:
            return False
        has_short_prose = said.sentences != "" and answer.prose_chars <= MAX_ERROR_CHARS
        if not rule.bears_short_prose or not has_short_prose:
            return True
        return not self._title_and_heading_agree(kind, answer)

    def _has_parts_of_a_page(self, kind: str, answer: HtmlAnswer) -> bool:
        """Return whether the page has what an answer of this kind does not have."""
        if kind == RATELIMIT:
            return answer.is_part_of_site
        if kind == SOFT404:
            # Where readers may answer, the page asks something
            has_editor = answer.shape.textareas > 0
            return has_editor or self._has_other_subtitle(answer)
        return False

    def _has_other_subtitle(self, answer: HtmlAnswer) -> bool:
        """Return whether the title goes on after a colon, and not about a missing page."""
        subtitle = SUBTITLE.search(answer.shape.title)
        return subtitle is not None and not self._marks.words(SOFT404, subtitle[1])

    def _title_and_heading_agree(self, kind: str, answer: HtmlAnswer) -> bool:
        """Return whether title and heading say it, as far as the page has them."""
        titles = filter(None, (answer.shape.title, answer.shape.heading))
        return all(self._is_title_of(kind, title) for title in titles)

    def _is_title_of(self, kind: str, title: str) -> bool:
        title_parts = "\n".join(TITLE_SEPARATOR.split(title))
        return self._marks.words(kind, title) or self._marks.names(kind, title_parts, whole=True)
