"""Requisites: what a page needs to be shown, in the sense of Heritrix' TransclusionDecideRule (REQUISITES).

They are fetched beyond the scope, the depth and the file types of a crawl, and so are theirs: from a page to its style
sheet, what that imports, and a font are three hops. The discovery path counts them: E for each, since the last link
that was followed.
"""

from __future__ import annotations

from webcrawl.base.model import NEAR, requisite_hops
from webcrawl.content.html.found_links import FoundLink

KINDS = frozenset(("img", "srcset", "script", "style", "media", "object", "frame", "iframe"))
FRAMES = frozenset(("frame", "iframe"))  # pages that are shown in others: links as well, where the scope allows it
RELS = frozenset(
    ("stylesheet", "icon", "mask-icon", "apple-touch-icon", "apple-touch-icon-precomposed", "preload", "modulepreload")
)
SOURCES = (*sorted(KINDS), "link")  # all kinds that may be some


def is_requisite(link: FoundLink) -> bool:
    """True if a link names what its page needs to be shown."""
    kind = link[0]
    return kind in KINDS or (kind == "link" and not RELS.isdisjoint(link[3].lower().split()))


def may_need(path: str) -> bool:
    """True if the requisites of what was found by this path are fetched: within three hops of a page."""
    return requisite_hops(path) < NEAR


def is_needed(path: str) -> bool:
    """True if what was found by this path is a requisite itself."""
    return 0 < requisite_hops(path) <= NEAR
