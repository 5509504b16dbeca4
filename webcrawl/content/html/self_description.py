"""A document's description of itself beside its links: language, description, headings, Open Graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from webcrawl.content.html.encodings import SPACE
from webcrawl.content.html.trees import Element, ElementReader

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TAGS = ("html", "link", "meta", *HEADINGS)
SELECTOR = ",".join(TAGS)
LONGEST = 1000  # characters of one text
MOST = 1000  # headings, and as many properties: a page may consist of them


@dataclass(slots=True)
class About:
    """Texts have their white space collapsed."""

    language: str = ""  # as declared by the document
    canonical: str = ""  # as written
    description: str = ""
    headings: list[tuple[int, str]] = field(default_factory=list)  # level, text
    open_graph: list[tuple[str, str]] = field(default_factory=list)  # property, content; a property may come again


class AboutReader:
    """Reads it from a document's elements. Used by one thread."""

    def __init__(self) -> None:
        self._reader = ElementReader(SELECTOR, frozenset(TAGS))

    def about(self, text: bytes, kind: str) -> About:
        """Return what a document in UTF-8 says of itself; see `elements.document`. Never raises, whatever the bytes."""
        return about_of(self._reader.elements(text, kind))


def about_of(elements: Iterable[Element]) -> About:
    """Read the description from elements that were selected by SELECTOR, or from all."""
    about = About()
    for element in elements:
        read = _READ.get(element.tag or "")  # an XML document's are not selected
        if read is not None:
            read(about, element)
    return about


def _html(about: About, element: Element) -> None:
    attributes = element.attributes
    about.language = about.language or _clean(
        attributes.get("lang") or attributes.get("xml:lang") or attributes.get(_XML_LANG)
    )


def _link(about: About, element: Element) -> None:
    attributes = element.attributes
    if not about.canonical and "canonical" in (attributes.get("rel") or "").lower().split():
        about.canonical = (attributes.get("href") or "").strip(SPACE)


def _meta(about: About, element: Element) -> None:
    attributes = element.attributes
    content = _clean(attributes.get("content"))
    if not content:
        return
    name = (attributes.get("name") or "").strip(SPACE).lower()
    if name == "description":
        about.description = about.description or content
    elif (attributes.get("http-equiv") or "").lower() == "content-language":
        about.language = about.language or content
    key = (attributes.get("property") or name).strip(SPACE).lower()
    if key.startswith("og:") and len(about.open_graph) < MOST:
        about.open_graph.append((key[:LONGEST], content))


def _heading(about: About, element: Element) -> None:
    if len(about.headings) < MOST:
        text = _clean(element.text())
        if text:
            about.headings.append((int((element.tag or "h1")[1]), text))


def _clean(text: str | None) -> str:
    return " ".join(text[: 8 * LONGEST].split())[:LONGEST] if text else ""


_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_READ: dict[str, Callable[[About, Element], None]] = {
    "html": _html,
    "link": _link,
    "meta": _meta,
    **dict.fromkeys(HEADINGS, _heading),
}
