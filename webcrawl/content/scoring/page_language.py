"""Whether a page is in a wanted language: by its text where that is sure, else by what it declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from selectolax.lexbor import LexborHTMLParser

from webcrawl.content.html.shown_text import ENOUGH, NEAR, SAME, SURE, knows_languages, likely_language
from webcrawl.urls.canonical import canonical_links

MOST = 1000  # links with hreflang


def subtag(declared: str) -> str:
    """The language of an IETF tag, as the detector calls it."""
    code = declared.replace("_", "-").partition("-")[0].strip().lower()
    return SAME.get(code, code)


def language_of(text: str, declared: str) -> str:
    """What the text shows, unless it is short or may be any of several; then what is declared; perhaps nothing.

    Of languages that the detector does not keep apart the declared one counts.
    """
    said = subtag(declared)
    if len(text) < ENOUGH or not knows_languages():
        return said
    found, measure = likely_language(text)
    if not found or measure > SURE or any({found, said} <= near for near in NEAR):
        return said
    return found


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
