"""The special answers by name. Page N of a host links to `/x/NAME/N` if its kind is NAME."""

from __future__ import annotations

from webcrawl.lab.simweb.kinds import body_codings, documents, endless_links, link_sources, misbehaviour, statuses
from webcrawl.lab.simweb.web_answers import Kind

KINDS: dict[str, Kind] = {
    **link_sources.KINDS,
    **statuses.REDIRECTS,
    **statuses.ERRORS,
    **documents.KINDS,
    **documents.BODIES,
    **body_codings.KINDS,
    **body_codings.CHARSETS,
    **misbehaviour.SLOW,
    **misbehaviour.BROKEN,
    **misbehaviour.LIARS,
    **endless_links.KINDS,
}
LANDING = documents.LANDING  # not in KINDS: the ordinary page that a special answer links to


def trap_entrance(url: str) -> str | None:
    """The entrance of the trap that a URL is in: the URL up to its number. None for any other URL."""
    parts = url.split("/", 6)
    if len(parts) < 6 or parts[3] != "x" or parts[4] not in KINDS or not KINDS[parts[4]].trap:
        return None
    return "/".join(parts[:6]).partition("?")[0]
