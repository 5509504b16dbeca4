"""An HTML answer as the recogniser's rules see it: its structure, and a named predicate for each
question.
"""

from __future__ import annotations

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webcrawl.content.html import tree_guard
from webcrawl.content.html.shown_text import lines_of, taken_from
from webcrawl.content.html.trees import defused, lexbor_tree

MOST = 262_144  # bytes: a larger document is none of these
HEADINGS = 6
# React, Next, Vue, Nuxt, Gatsby, Angular, Svelte, Ember and what builds on them document these
MOUNTS = (
    "#root, #react-root, #reactRoot, #q-app, #app, #__next, #__nuxt, #___gatsby, #svelte, #ember-root, app-root,"
    "[ng-app], [data-ng-app], [ng-view], [v-cloak], [id$='-root'], [id$='-app']"
)
CONTENT = "p, li, table, img, picture, video"  # of a page, and not of one that is still to be made
COUNTED = {
    "scripts": "script",
    "frames": ":not(noscript) > iframe:not([src^='javascript:']), frame, object, embed",
    "mounts": MOUNTS,
    "refreshes": "meta[http-equiv=refresh i]",
    "codes": "code, pre",
    "players": "video, audio, canvas",
    "buttons": "button, [onclick], [role=button], input[type=button], input[type=submit]",
    "published": "meta[property='article:published_time' i], [itemprop=datePublished], article:has(h1) time",
    "sites": "nav, article, aside, time, [rel=author], input[type=search i], input[type=email i]",
}
FORM = "form, input, select, textarea"
# types of input that are no field
UNFILLED = frozenset(("hidden", "submit", "button", "image", "password"))
FLESH = ":not(body, style, meta, link, br, form, input)"  # of a body without what is not seen
# of what a page says: names, ways and controls
BESIDE = "a, nav, header, footer, aside, h1, h2, h3, button, label"


# Lengths of visible text, in characters. Each is the longest text of one sort of answer.
MAX_CHALLENGE_CHARS = 60  # a challenge, whose scripts do the rest
MAX_CAPTION_CHARS = 120  # the prose under a title that says everything
MAX_STATEMENT_CHARS = 350  # an answer that only says why it is not the page
MAX_ERROR_CHARS = 600  # an error page
MAX_TITLED_CHARS = 1500  # an answer whose title still counts as a statement about the whole
MAX_LINKS = 12  # more links than this make it a page of a site

MISSING = frozenset((404, 410))  # the status says everything: the URL has no page


@dataclass(frozen=True, slots=True)
class DocumentShape:
    """The structure of a document in UTF-8. Texts have their white space collapsed."""

    title: str
    heading: str  # the first h1
    headings: str  # the first ones, one per line
    text: str  # what a browser without scripts shows of the body, a line for each block
    prose: str  # of it, what is neither a heading nor a link
    links: int  # to other pages
    images: int
    scripts: int
    frames: int
    mounts: int  # empty places where a framework puts the page
    passwords: int
    refreshes: int
    codes: int
    players: int
    buttons: int
    forms: int
    textareas: int
    fields: int  # that a reader fills in
    published: int  # dates of publication, which an error has not
    sites: int  # what somebody's page has, and a wall has not
    blank: bool  # nothing is in the body but scripts
    filled: int  # what is in the mounts of a page, and not of one that is still to be made

    @classmethod
    def of(cls, tree: LexborHTMLParser) -> DocumentShape:
        """Return the shape of a document's tree, which is spoilt."""
        title = tree.css_first("title")
        links = [
            node for node in tree.css("a[href]") if (node.attributes.get("href") or "#")[:1] != "#"
        ]
        counts = {name: len(tree.css(selector)) for name, selector in COUNTED.items()}
        counts |= _form_counts(tree)
        text = taken_from(tree.body)  # it takes out of the tree what is not seen
        shows_something = bool(text or counts["players"]) or _has_flesh(tree.body)
        heading = tree.css_first("h1")
        heading_text = _text(heading) if heading is not None else ""
        headings = [_text(node) for node in tree.css("h1, h2, h3")[:HEADINGS]]
        mounts = tree.css(MOUNTS) if counts["mounts"] else []
        filled = sum(len(node.css(CONTENT)) for node in mounts)
        images = len(tree.css("img, picture, video"))
        for beside in reversed(tree.css(BESIDE)):  # what is within another is freed before it
            beside.decompose()
        return cls(
            title=_text(title) if title is not None else "",
            heading=heading_text,
            headings="\n".join(headings),
            links=len(links),
            text=text,
            prose=lines_of(tree.body.text()) if tree.body is not None else "",
            blank=not shows_something,
            filled=filled,
            images=images,
            **counts,
        )


def tree_of(html: bytes, kind: str) -> LexborHTMLParser | None:
    """The tree of what `trees.document` returned.

    None for what is no HTML, too large, or too deep for a tree.
    """
    html = defused(html[: MOST + 1])
    if kind == "xml" or len(html) > MOST or tree_guard.heavy(html):
        return None
    return lexbor_tree(html)


def _text(node: LexborNode) -> str:
    return " ".join(node.text().split())


@dataclass(frozen=True, slots=True)
class HtmlAnswer:
    """The status of an answer, and the structure of its body."""

    status: int
    shape: DocumentShape

    @property
    def is_error(self) -> bool:
        return self.status >= 400

    @property
    def is_failure(self) -> bool:
        """True for an error that does not explain itself, as 404 and 410 do."""
        return self.is_error and self.status not in MISSING

    @property
    def chars(self) -> int:
        return len(self.shape.text)

    @property
    def prose_chars(self) -> int:
        return len(self.shape.prose)

    @property
    def shows_nothing(self) -> bool:
        """True if a reader sees next to nothing: no text, no picture, no field to fill in."""
        shape = self.shape
        return self.chars <= MAX_CHALLENGE_CHARS and not (
            shape.images or shape.textareas or shape.fields
        )

    @property
    def is_application(self) -> bool:
        """True for a page with an empty element into which a JavaScript framework renders."""
        return not self.is_error and self.shape.mounts > 0

    @property
    def is_part_of_site(self) -> bool:
        """True if the page has a menu, a search field, a date or an author.

        Challenges and errors have none.
        """
        return self.shape.sites > 0

    @property
    def is_dated(self) -> bool:
        """True if the page has a date of publication, as articles have."""
        return self.shape.published > 0

    @property
    def quotes_code(self) -> bool:
        """True if the page shows source code.

        Pages about error messages do, error messages do not.
        """
        return self.shape.codes > 0

    @property
    def acts_by_itself(self) -> bool:
        """True if the page can do something: run a script, send a form or reload."""
        return self.shape.scripts + self.shape.forms + self.shape.refreshes > 0

    @property
    def has_password_field(self) -> bool:
        return self.shape.passwords > 0

    @property
    def may_replace_page(self) -> bool:
        """True if this can be what a server sends in place of a page: no login, no editor, few
        links.
        """
        is_login = self.has_password_field and self.status < 500
        return not is_login and self.shape.links <= MAX_LINKS and not self.shape.textareas


def _form_counts(tree: LexborHTMLParser) -> dict[str, int]:
    """Return how many forms there are, and of each sort of field how many."""
    elements = [(node.tag, (node.attributes.get("type") or "").lower()) for node in tree.css(FORM)]
    return {
        "passwords": elements.count(("input", "password")),
        "forms": sum(tag in ("form", "input") for tag, _ in elements),
        "textareas": sum(tag == "textarea" for tag, _ in elements),
        "fields": sum(
            tag == "select" or (tag == "input" and kind not in UNFILLED) for tag, kind in elements
        ),
    }


def _has_flesh(body: LexborNode | None) -> bool:
    """Return whether a body has more than scripts and other elements that are not seen."""
    return body is not None and body.css_first(FLESH) is not None
