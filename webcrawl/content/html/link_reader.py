"""A page's links of all kinds in LINK_SOURCES, with the document's base and encoding, as a browser
sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import ada_url

from webcrawl.content.html import embedded_addresses, encodings, link_kinds
from webcrawl.content.html.embedded_addresses import refresh
from webcrawl.content.html.encodings import SPACE, encoding_of
from webcrawl.content.html.link_kinds import (
    LICENSE,
    MARKDOWN,
    MARKDOWN_TYPES,
    DocumentLinks,
    FoundLink,
    Said,
)
from webcrawl.content.html.structured_data import structured_of
from webcrawl.content.html.trees import Element, ElementReader, document, shared_tree

Attributes = dict[str, str | None]
Table = Mapping[str, tuple[tuple[str, str], ...]]  # tag -> (attribute that holds one URL, kind)
ANCHOR_TEXT = 500  # characters per link
ANCHOR_TEXTS = 1 << 20  # characters per page: links nested in links repeat the same text
TITLE = 1000  # characters
FEEDS = ("application/rss+xml", "application/atom+xml", "application/feed+json")
RSL = "application/rsl+xml"  # of a licence: other licences are for people
SPOKEN = frozenset(("tdm-reservation", "tdm-policy"))  # names of meta elements, beside `robots`
MOST_SAID, LONGEST_SAID = 32, 1000  # of a document; characters of each
OF_ALL = frozenset(("style", "data"))  # kinds of links that any element may have
ONCE = frozenset(("html", "base", "noframes", "title"))
SOMETIMES = frozenset(("image", "use", "input"))  # elements whose addresses count under conditions
LANGUAGE = 100  # characters of a `lang`
LANG = ("lang", "xml:lang", "{http://www.w3.org/XML/1998/namespace}lang")  # the last in XHTML


class LinkCollector:
    """Fills a DocumentLinks from elements in document order."""

    def __init__(
        self,
        found: DocumentLinks,
        table: Table,
        wanted: frozenset[str],
        *,
        anchor_text: bool,
        names: frozenset[str] = SPOKEN,
    ) -> None:
        """`names`: of meta elements whose contents are kept as they are."""
        self._found = found
        self._links = found.links
        self._names = names
        self._said: list[Said] = []
        self._table = table
        self._wanted = wanted
        self._with_texts = anchor_text
        self._chars_left = ANCHOR_TEXTS if anchor_text else 0  # of anchor texts, for the page
        self._room = 0
        self._left = dict[str, int]()
        self.base: str | None = None
        # <noframes>: text to a browser with frames, markup to a crawler (as in Heritrix)
        self.hidden: list[str] = []
        self._titled = False
        # Growing a frozenset 40,000 times would take 13 s
        self._robots: set[str] = set()

    def read(self, elements: Iterable[Element], room: int) -> None:
        """Read all elements.

        `room`, the document's size, bounds the text read as markup: in XML such elements may nest,
        and 255 of them around a megabyte would yield a quarter of a gigabyte.
        """
        self._room = room
        self._left = {}
        if self._with_texts or "a" not in self._wanted or not self._wanted.isdisjoint(OF_ALL):
            self._read_elements(elements)
        else:
            self._read_plain(elements)
        self._found.meta_robots = frozenset(self._robots)
        self._found.said = self._said

    def _read_plain(self, elements: Iterable[Element]) -> None:
        """Read all elements where only addresses are wanted.

        Anchors, the most frequent, are read inline: of 77 us for a page of 40 links this saves 5.
        """
        links = self._links
        for element in elements:
            attributes = element.attributes
            if element.tag != "a":
                self._element(element.tag or "", attributes, element)
            elif "href" in attributes:
                links.append(("a", attributes["href"] or "", "", attributes.get("rel") or ""))
            elif "xlink:href" in attributes:  # SVG's older name
                self._add("a", attributes["xlink:href"] or "", attributes)

    def _read_elements(self, elements: Iterable[Element]) -> None:
        """Read the links of all elements of a document that the selector has found.

        Each is read by the rule of its tag; with texts, the texts of the new links are tidied at
        the end.
        """
        first = len(self._links)
        wants_anchors = "a" in self._wanted
        wants_of_all = not self._wanted.isdisjoint(OF_ALL)
        for element in elements:
            attributes = element.attributes
            if element.tag != "a":
                self._element(element.tag or "", attributes, element)
            elif wants_anchors:
                self._add_anchor(attributes, element)
            if wants_of_all:
                self._style_and_data(attributes)
        if self._with_texts:
            _tidy(self._links, first)

    def _style_and_data(self, attributes: Attributes) -> None:
        """Add the addresses in attributes that any element may have."""
        style = attributes.get("style")
        if style and "style" in self._wanted:
            self._style(style)
        if "data" not in self._wanted:
            return
        for url in embedded_addresses.data_urls(attributes):
            self._add("data", url, attributes)

    def _add_anchor(self, attributes: Attributes, element: Element) -> None:
        """Add the link of an <a>, with its text as long as the page's characters of text last."""
        name = "href" if "href" in attributes else "xlink:href"
        if name not in attributes:
            return
        text = ""
        if self._chars_left > 0:
            text = element.text_lexbor()
            self._chars_left -= len(text)
            if len(text) >= ANCHOR_TEXT:
                text = _shortened_anchor_text(text)
        self._links.append(("a", attributes[name] or "", text, attributes.get("rel") or ""))

    def _element(self, tag: str, attributes: Attributes, element: Element) -> None:
        """Read the links of an element that is no anchor, by the rule of its tag."""
        if tag == "meta":
            self._read_meta(attributes)
        elif tag in ONCE:
            self._read_first_only(tag, attributes, element)
        elif tag == "link":
            self._read_link_element(attributes)
            self._srcset(tag, attributes)
        elif tag == "style" and "style" in self._wanted:
            self._style(self._markup(element))
        else:
            self._add_urls(tag, attributes, element)
            self._srcset(tag, attributes)

    def _read_first_only(self, tag: str, attributes: Attributes, element: Element) -> None:
        """Read an element that documents rarely have more than once: html, base, noframes, title."""
        if tag == "html":
            self._found.language = self._found.language or _language(attributes)
        elif tag == "base":
            # HTML Standard 4.2.3: the first base element with an href counts
            if self.base is None and "href" in attributes:
                self.base = attributes["href"] or ""
        elif tag == "noframes":
            self.hidden.append(self._markup(element))
        elif not self._titled:
            self._titled = True
            self._found.title = " ".join(element.text().split())[:TITLE]

    def _add_urls(self, tag: str, attributes: Attributes, element: Element) -> None:
        """Add the addresses in the attributes that the table names for this element."""
        for name, kind in self._table.get(tag, ()):
            if name not in attributes:
                continue
            if tag in SOMETIMES and not _is_address(tag, name, attributes):
                continue
            self._add(kind, attributes[name] or "", attributes)
        if tag == "script" and "jsonld" in self._wanted:
            self._json(attributes, element)

    def _srcset(self, tag: str, attributes: Attributes) -> None:
        if "srcset" not in self._wanted or tag not in link_kinds.SRCSETS:
            return
        for url in embedded_addresses.srcset_urls(attributes.get(link_kinds.SRCSETS[tag]) or ""):
            self._add("srcset", url, attributes)

    def _read_link_element(self, attributes: Attributes) -> None:
        """Read a <link>: a licence it states, another address of the page, or a link of a wanted
        kind.
        """
        if "href" not in attributes:
            return
        href = attributes["href"] or ""
        rels = (attributes.get("rel") or "").lower().split()
        if LICENSE in rels and _type(attributes) == RSL:
            self._note_statement(LICENSE, href)
        kind = self._kind_of_link(rels, attributes)
        self._note_other_address(kind, href)
        if kind in self._wanted:
            self._add(kind, href, attributes)

    def _note_other_address(self, kind: str, href: str) -> None:
        """Note the page's canonical address, or that of its Markdown. The first of each counts."""
        if kind == "canonical":
            self._found.canonical = self._found.canonical or href
        elif kind == MARKDOWN:
            self._found.markdown = self._found.markdown or href

    def _kind_of_link(self, rels: list[str], attributes: Attributes) -> str:
        """Return the kind of a link element. `rels` are the words of its `rel` in lower case."""
        if "canonical" in rels:
            return "canonical"
        if "alternate" not in rels:
            return "link"
        media_type = _type(attributes)
        if media_type in FEEDS:
            return "feed"
        leads_to_markdown = media_type in MARKDOWN_TYPES
        return MARKDOWN if leads_to_markdown and MARKDOWN in self._wanted else "link"

    def _read_meta(self, attributes: Attributes) -> None:
        """Read a <meta>: robots directives, statements that are asked for by name, and a refresh."""
        content = attributes.get("content")
        if not content:
            return
        name = (attributes.get("name") or "").strip(SPACE).lower()
        if name == "robots":
            self._robots |= {part.strip(SPACE) for part in content.lower().split(",")} - {""}
        elif name in self._names:
            self._note_statement(name, content)
        pragma = attributes.get("http-equiv")
        if pragma and pragma.lower() == "refresh":
            self._refresh(content)

    def _refresh(self, content: str) -> None:
        """Take a refresh, if it is the first valid one."""
        if self._found.refresh is not None:
            return
        self._found.refresh = refresh(content)
        _, url = self._found.refresh or (0, "")
        if url and "refresh" in self._wanted:  # without a URL the page itself is loaded again
            self._add("refresh", url, {})

    def _note_statement(self, name: str, content: str) -> None:
        if len(self._said) < MOST_SAID:
            self._said.append((name, content[:LONGEST_SAID]))

    def _markup(self, element: Element) -> str:
        """Return the element's text: at most `room` characters of all elements of its name in a
        document.
        """
        # For each name by itself: the links of one kind must not depend on which others are wanted
        tag = element.tag or ""
        left = self._left.get(tag, self._room)
        if left <= 0:
            return ""
        text = element.text()[:left]
        self._left[tag] = left - len(text)
        return text

    def _style(self, style: str) -> None:
        for url in embedded_addresses.css_urls(style):
            self._add("style", url, {})

    def _json(self, attributes: Attributes, element: Element) -> None:
        if _type(attributes) != "application/ld+json":
            return
        for url in embedded_addresses.jsonld_urls(self._markup(element)):
            self._add("jsonld", url, {})

    def _add(self, kind: str, url: str, attributes: Attributes) -> None:
        text = ""
        if self._with_texts:
            text = " ".join((attributes.get("alt") or "").split())[:ANCHOR_TEXT]
        self._links.append((kind, url, text, attributes.get("rel") or ""))


def _tidy(links: list[FoundLink], first: int) -> None:
    """Leave single spaces within the texts of the links from the `first` on, and none around them.

    All at once: that takes half the time.
    """
    # in no text: parsers have no such character
    joined = "\0".join([link[2] for link in links[first:]])
    tidy = " ".join(joined.split()).replace(" \0", "\0").replace("\0 ", "\0")
    if tidy != joined:
        # one that was truncated may end in a space, and is left so
        texts = zip(links[first:], tidy.split("\0"), strict=True)
        links[first:] = [
            (one[0], one[1], text if len(one[2]) < ANCHOR_TEXT else one[2], one[3])
            for one, text in texts
        ]


def _is_address(tag: str, name: str, attributes: Attributes) -> bool:
    """Return whether an attribute of an element in SOMETIMES leads to another file."""
    # SVG 2: the older name counts only where it is alone
    if name == "xlink:href" and "href" in attributes:
        return False
    if tag == "use":
        # Mostly a symbol of the page itself
        is_within_page = (attributes[name] or "").startswith("#")
        return not is_within_page
    if name == "src":
        # HTML Standard 4.10.5.1: only image buttons have one
        return (attributes.get("type") or "").lower() == "image"
    return True


def _type(attributes: Attributes) -> str:
    return (attributes.get("type") or "").strip(SPACE).lower()


def _shortened_anchor_text(text: str) -> str:
    """Return the beginning of an anchor's text. What no output shows need not be read."""
    return " ".join(text[: 8 * ANCHOR_TEXT].split())[:ANCHOR_TEXT]


def _language(attributes: Attributes) -> str:
    """Return the first `lang` that says something; empty if none does."""
    for name in LANG:
        if value := attributes.get(name):
            return " ".join(value[:LANGUAGE].split())
    return ""


_SPECIAL = re.compile(
    r"[\0- ]*+(?:(?:https?|ftp|file|wss?):|(?![a-z][a-z0-9+.-]*:))", re.IGNORECASE
)
# Encoding Standard 4.3, "get an output encoding": for these it is UTF-8.
_NEVER_WRITTEN = (
    encodings.UTF_8,
    *encodings.UTF_16,
    "utf-32-le",
    "utf-32-be",
    encodings.REPLACEMENT,
)
_SPELLED = [
    f"%{byte:02X}" if byte > 0x7E or byte in b"\x1b&#;" else chr(byte) for byte in range(256)
]
_RUNS = re.compile(r"[^\x00-\x7f]+")


def with_query(url: str, encoding: str) -> str:
    """Return the link for a URL parser that encodes everything as UTF-8."""
    # URL Standard 4.3: a query is in the encoding of its page, the rest is UTF-8
    if url.isascii() or encoding in _NEVER_WRITTEN or not _SPECIAL.match(url):
        return url
    rest, mark, fragment = url.partition("#")
    path, question, query = rest.partition("?")
    if not question or query.isascii():
        return url
    written = _RUNS.sub(lambda run: _percent(run[0], encoding), query)
    return path + question + written + mark + fragment


def _percent(text: str, encoding: str) -> str:
    """Percent-encode a text.

    A character missing from the encoding becomes `&#number;`, as in a form.
    """
    if encoding == encodings.USER_DEFINED:
        encoded = _encoded(text)
    else:
        encoded = text.encode(encodings.codec(encoding), "xmlcharrefreplace")
    return "".join(map(_SPELLED.__getitem__, encoded))


def _encoded(text: str) -> bytes:
    """Encode a non-ASCII text as x-user-defined (Encoding Standard 14.5.2), which Python lacks."""
    return b"".join(
        [
            b"%c" % (code - 0xF700) if 0xF780 <= code <= 0xF7FF else b"&#%d;" % code
            for code in map(ord, text)
        ]
    )


_NO_BASE = ("data:", "javascript:")  # HTML Standard 4.2.3: these cannot be a document's base


class LinkReader:
    """Reads links of the wanted kinds. One per crawl, used by one thread."""

    def __init__(
        self,
        wanted: Iterable[str] = link_kinds.FOLLOWED,
        *,
        anchor_text: bool = False,
        agent: str = "",
        structured: bool = False,
    ) -> None:
        """`agent`: the crawler's name, by which robots meta elements may speak to it alone.

        `structured`: whether structured data are read as well, of the same tree.
        """
        self.wanted = frozenset(wanted)
        self._anchor_text = anchor_text
        self._structured = structured
        self._names = SPOKEN | {agent.lower()} - {""}
        self._table = {
            tag: tuple(pair for pair in attributes if pair[1] in self.wanted)
            for tag, attributes in link_kinds.ATTRIBUTES.items()
        }
        self._reader = ElementReader(link_kinds.selector(self.wanted), link_kinds.tags(self.wanted))
        self._styles = "style" in self.wanted
        self._whole = anchor_text and self.wanted >= link_kinds.LOGGED

    def links(self, body: bytes, content_type: str, url: str, encoding: str = "") -> DocumentLinks:
        """Return the links of `body`, fetched from `url`; none if it is neither HTML nor XHTML nor
        a style sheet.

        Pass `encoding` if it is already known. Never raises, whatever the bytes.
        """
        if self._styles and embedded_addresses.is_style_sheet(content_type, url):
            return embedded_addresses.style_sheet_links(body, content_type, url)
        encoding = encoding or encoding_of(body, content_type, url)
        found = DocumentLinks(url, encoding, whole=self._whole)
        text, kind = document(body, content_type, encoding)
        if not kind:
            return found
        # Links and structured data are read from one tree
        tree = shared_tree(text, kind) if self._structured else None
        reading = LinkCollector(
            found, self._table, self.wanted, anchor_text=self._anchor_text, names=self._names
        )
        reading.read(self._reader.elements(text, kind), len(text))
        # They are parsed once, together: a page may contain very many
        if reading.hidden:
            reading.read(self._reader.elements("".join(reading.hidden).encode(), "html"), len(text))
        if encoding != encodings.UTF_8:
            found.links = [
                (kind, with_query(link, encoding), text, rel)
                for kind, link, text, rel in found.links
            ]
        found.base = _base(url, reading.base)
        if self._structured:
            root = tree.root if tree is not None else None
            found.structured = structured_of(text, kind, url, found.base, root)
        return found


def _base(url: str, href: str | None) -> str:
    """Return the URL of the first base element, resolved against the document's; the document's own
    if that is unusable.
    """
    if not href:
        return url
    try:
        base: str = ada_url.join_url(url, href)
    except ValueError:
        return url
    return url if base.startswith(_NO_BASE) else base
