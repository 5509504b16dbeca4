"""Whether a page is in a wanted language: by what it declares, unless its text contradicts that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from selectolax.lexbor import LexborHTMLParser

from webcrawl.content.html.text_language import ENOUGH, LIKELY, SAME, contradicts, knows_languages, likely_language
from webcrawl.urls.canonical import canonical_links

MOST = 1000  # links with hreflang


def subtag(declared: str) -> str:
    """The language of an IETF tag, as the detector calls it."""
    code = declared.replace("_", "-").partition("-")[0].strip().lower()
    return SAME.get(code, code)


def language_of(text: str, declared: str) -> str:
    """What is declared, unless the text contradicts it; then, or where nothing is, what the text shows.

    Empty if the text is short or its language unlikely. It is the measure of `contradicts_language`.
    """
    said = subtag(declared)
    if len(text) < ENOUGH or not knows_languages() or (said and not contradicts(said, text)):
        return said
    found, measure = likely_language(text)
    return found if said or measure <= LIKELY else ""


def fits(language: str, wanted: Collection[str]) -> float | None:
    """1 for a wanted language, 0 for another; None if it is not known, or nothing is wanted."""
    return float(language in wanted) if language and wanted else None


def tongues(html: bytes, base: str, wanted: Collection[str]) -> dict[str, float]:
    """What hreflang says of links, by canonical URL."""
    named = [
        (node.attributes.get("href") or "", subtag(node.attributes.get("hreflang") or ""))
        for node in LexborHTMLParser(html).css("[hreflang][href]")[:MOST]
    ]
    found = canonical_links(base, [address for address, _ in named], Counter())
    return {url: float(code in wanted) for address, code in named if (url := found[address]) and code not in ("", "x")}
