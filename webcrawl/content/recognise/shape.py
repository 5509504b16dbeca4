"""An HTML answer as the recogniser's rules see it: its structure, and a predicate per question."""

from __future__ import annotations

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webcrawl.content.html import tree_guard
from webcrawl.content.html.shown_text import lines_of, taken_from
from webcrawl.content.html.trees import defused, lexbor_tree

MOST = 262_144  # bytes of a document; a larger one is a page
HEADINGS = 6  # that are read
# The documentation of React, Next, Vue, Nuxt, Gatsby, Angular, Svelte and Ember has these
MOUNTS = (
    "#root, #react-root, #reactRoot, #q-app, #app, #__next, #__nuxt, #___gatsby, #svelte, #ember-root, app-root,"
    "[ng-app], [data-ng-app], [ng-view], [v-cloak], [id$='-root'], [id$='-app']"
)
CONTENT = "p, li, table, img, picture, video"  # a page has these once its scripts have run
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
# Types of input that a reader does not fill in. Passwords are counted apart
UNFILLED = frozenset(("hidden", "submit", "button", "image", "password"))
# Elements that show something, in a body whose scripts and hidden elements were taken out
FLESH = ":not(body, style, meta, link, br, form, input)"
# Elements whose text is no prose: names, links and controls
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
    text: str  # what a browser without scripts shows of the body, one line per block
    prose: str  # the text without headings, links and controls
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
    published: int  # dates of publication, which errors do not have
    sites: int  # elements that a site's pages have, and block pages do not
    blank: bool  # the body has nothing but scripts
    filled: int  # elements of content in the mounts

    @classmethod
    def of(cls, tree: LexborHTMLParser) -> DocumentShape:
        """Return the shape of a document's tree. The tree cannot be used afterwards."""
        # A title in the body, as that of an SVG, is not the page's
        title = _text(tree.head.css_first("title")) if tree.head is not None else ""
        links = sum(map(_leads_away, tree.css("a[href]")))
        counts = {name: len(tree.css(selector)) for name, selector in COUNTED.items()}
        counts |= _form_counts(tree)
        text = taken_from(tree.body)  # it takes out of the tree what is not seen
        shows_something = bool(text or counts["players"]) or _has_flesh(tree.body)
        heading = _text(tree.css_first("h1"))
        headings = [_text(node) for node in tree.css("h1, h2, h3")[:HEADINGS]]
        mounts = tree.css(MOUNTS) if counts["mounts"] else []
        filled = sum(len(node.css(CONTENT)) for node in mounts)
        images = len(tree.css("img, picture, video"))
        for beside in reversed(tree.css(BESIDE)):  # inner elements are freed before outer ones
            beside.decompose()
        return cls(
            title=title,
            heading=heading,
            headings="\n".join(headings),
            links=links,
            text=text,
            prose=lines_of(tree.body.text()) if tree.body is not None else "",
            blank=not shows_something,
            filled=filled,
            images=images,
            **counts,
        )


def tree_of(html: bytes, kind: str) -> LexborHTMLParser | None:
    """Return the tree of what `trees.document` returned.

    None for a document that is no HTML, too large, or too deep for a tree.
    """
    html = defused(html[: MOST + 1])
    if kind == "xml" or len(html) > MOST or tree_guard.heavy(html):
        return None
    return lexbor_tree(html)


def _text(node: LexborNode | None) -> str:
    return "" if node is None else " ".join(node.text().split())


def _leads_away(link: LexborNode) -> bool:
    """Return whether a link leads to another page, and not within its own."""
    href = link.attributes.get("href") or "#"
    return not href.startswith("#")


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
        """Return whether this is an error whose status does not say everything, as 404 does."""
        return self.is_error and self.status not in MISSING

    @property
    def chars(self) -> int:
        return len(self.shape.text)

    @property
    def prose_chars(self) -> int:
        return len(self.shape.prose)

    @property
    def shows_nothing(self) -> bool:
        """Return whether a reader sees next to nothing: no text, no picture, no field to fill in."""
        shape = self.shape
        shows_elements = shape.images or shape.textareas or shape.fields
        return self.chars <= MAX_CHALLENGE_CHARS and not shows_elements

    @property
    def is_application(self) -> bool:
        """Return whether the page has an element into which a JavaScript framework renders."""
        return not self.is_error and self.shape.mounts > 0

    @property
    def is_part_of_site(self) -> bool:
        """Return whether the page has a menu, a search field, a date or an author.

        Challenges and errors have none of these.
        """
        return self.shape.sites > 0

    @property
    def is_dated(self) -> bool:
        """Return whether the page has a date of publication, as articles have."""
        return self.shape.published > 0

    @property
    def quotes_code(self) -> bool:
        """Return whether the page shows source code.

        Pages about error messages do, error messages do not.
        """
        return self.shape.codes > 0

    @property
    def acts_by_itself(self) -> bool:
        """Return whether the page can do something: run a script, send a form or reload."""
        return self.shape.scripts + self.shape.forms + self.shape.refreshes > 0

    @property
    def has_password_field(self) -> bool:
        return self.shape.passwords > 0

    @property
    def may_replace_page(self) -> bool:
        """Return whether a server may send this in place of a page: no login or editor, few links."""
        is_login = self.has_password_field and self.status < 500
        return not is_login and self.shape.links <= MAX_LINKS and not self.shape.textareas


def _form_counts(tree: LexborHTMLParser) -> dict[str, int]:
    """Return the numbers of forms and of each sort of field."""
    found = dict.fromkeys(("passwords", "forms", "textareas", "fields"), 0)
    for node in tree.css(FORM):
        kind = (node.attributes.get("type") or "").lower()
        if node.tag == "textarea":
            found["textareas"] += 1
        elif node.tag == "select":
            found["fields"] += 1
        else:
            # A form, or an input
            found["forms"] += 1
        if node.tag != "input":
            continue
        if kind == "password":
            found["passwords"] += 1
        elif kind not in UNFILLED:
            found["fields"] += 1
    return found


def _has_flesh(body: LexborNode | None) -> bool:
    """Return whether a body has elements that show something."""
    return body is not None and body.css_first(FLESH) is not None
