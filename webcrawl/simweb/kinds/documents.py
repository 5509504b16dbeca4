"""Valid documents: the landing page, duplicates, and pages that change with time."""

from __future__ import annotations

from email.utils import formatdate, parsedate_to_datetime

from webcrawl.simweb.answers import Anchor, Answer
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import Place, document

MODIFIED = 1_000_000_000  # modification time of what never changes: September 2001


def _landing(place: Place) -> Answer:
    return Answer(body=document(place.origin + (place.ask.path if place.ask else ""), "<p>You are here."))


def _copies(place: Place) -> list[str]:
    """The same document under two URLs of this host and one of another."""
    other = place.world.origin(place.elsewhere())
    return [f"{place.url}/one", f"{place.url}/two", f"{other}{place.path}/three"]


def _duplicate(place: Place) -> Answer:
    """A body that depends only on the number. Its link is absolute, so that all copies lead to the same place."""
    world = place.world
    host = place.number % world.hosts
    url = f"{world.origin(host)}{place.landing()}"
    return Answer(body=document(f"Copy {place.number}", f'<a href="{url}">on</a>'), links=[Anchor("a", url)])


def _page(place: Place, text: str = "") -> tuple[bytes, list[Anchor]]:
    return document(place.url, f'<p>{text} <a href="{place.landing()}">on</a>'), [place.anchor()]


def _etag(place: Place) -> Answer:
    tag = f'"{place.kind}-{place.number}"'
    if place.ask and tag in (place.ask.etag, place.ask.etag.removeprefix("W/")):
        return Answer(304, headers=(f"ETag: {tag}",))
    body, links = _page(place)
    return Answer(body=body, links=links, headers=(f"ETag: {tag}",))


def _modified(place: Place) -> Answer:
    lines = (f"Last-Modified: {formatdate(MODIFIED, usegmt=True)}",)
    if place.ask and place.ask.since and _time(place.ask.since) >= MODIFIED:
        return Answer(304, headers=lines)
    body, links = _page(place)
    return Answer(body=body, links=links, headers=lines)


def _changing(place: Place) -> Answer:
    """A page that changes every `slow` seconds of the world's clock, and its ETag with it."""
    edition = int(place.world.clock() / max(place.world.slow, 1e-3))
    tag = f'"{edition}"'
    if place.ask and place.ask.etag == tag:
        return Answer(304, headers=(f"ETag: {tag}",))
    body, links = _page(place, f"Edition {edition}.")
    return Answer(body=body, links=links, headers=(f"ETag: {tag}",))


def _time(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return 0.0


LANDING = Kind(_landing, entries=lambda _: [])
KINDS = {
    "duplicate": Kind(_duplicate, entries=_copies),
    "etag": Kind(_etag),
    "modified": Kind(_modified),
    "changing": Kind(_changing),
}
