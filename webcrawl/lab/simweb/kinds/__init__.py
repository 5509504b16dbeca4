"""The special answers by name. Page N of a host links to `/x/NAME/N` if its kind is NAME."""

from __future__ import annotations

from webcrawl.lab.simweb.kinds import documents, link_sources, misbehaviour
from webcrawl.lab.simweb.web_answers import AnswerKind

KINDS: dict[str, AnswerKind] = {
    **link_sources.KINDS,
    **misbehaviour.REDIRECTS,
    **misbehaviour.ERRORS,
    **documents.KINDS,
    **documents.BODIES,
    **documents.CODINGS,
    **documents.CHARSETS,
    **misbehaviour.SLOW,
    **misbehaviour.BROKEN,
    **misbehaviour.LIARS,
    **link_sources.TRAPS,
}
LANDING = documents.LANDING  # not in KINDS: the ordinary page that a special answer links to


def trap_entrance(url: str) -> str | None:
    """Return the entrance of the trap that a URL is in, or None if it is in no trap.

    The entrance is the URL up to its number.
    """
    parts = url.split("/", 6)
    if len(parts) < 6 or parts[3] != "x":
        return None
    kind = KINDS.get(parts[4])
    if kind is None or not kind.trap:
        return None
    return "/".join(parts[:6]).partition("?")[0]
