"""The kinds of links that stand in other formats than HTML, or in a header."""

from __future__ import annotations

from webcrawl.content.html import link_kinds

OF_DOCUMENTS = ("sitemap", "feed", "xlink")  # read in this process
KINDS = ("header", *OF_DOCUMENTS, "pdf")
HUB = "hub"  # where a feed's news are subscribed to: known, never followed
ALL = (*link_kinds.KINDS, *KINDS)
"""The names that LINK_SOURCES may have."""
LOGGED = link_kinds.LOGGED.union(KINDS, (HUB,)) - {"pdf"}
"""The kinds that a link log has, whatever is followed: all but what costs much to look for."""
