"""The kinds of links that stand in other formats than HTML, or in a header."""

from __future__ import annotations

from webcrawl.html import kinds

OF_DOCUMENTS = ("sitemap", "feed", "xlink")  # read in this process
KINDS = ("header", *OF_DOCUMENTS, "pdf")
HUB = "hub"  # where a feed's news are subscribed to: known, never followed
ALL = (*kinds.KINDS, *KINDS)
"""What LINK_SOURCES may name."""
LOGGED = kinds.LOGGED.union(KINDS, (HUB,)) - {"pdf"}
"""What a link log has, whatever is followed: all but what costs much to look for."""
