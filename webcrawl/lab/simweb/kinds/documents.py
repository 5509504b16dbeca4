"""Documents of every form: pages that change, duplicates, binary data, wrong labels, large ones."""

from __future__ import annotations

from email.utils import formatdate, parsedate_to_datetime

from webcrawl.lab.simweb.host_kinds import png
from webcrawl.lab.simweb.web_answers import Anchor, Answer, Ending, Kind, Place, document

MODIFIED = 1_000_000_000  # modification time of what never changes: September 2001


def _landing(place: Place) -> Answer:
    return Answer(body=document(place.origin + (place.ask.path if place.ask else ""), "<p>You are here."))


def _copies(place: Place) -> list[str]:
    """One document under two URLs of this host and one of another."""
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


BIG = 5 * 2**20
_NEVER = b'<a href="/never/body">no link: this is no HTML</a>'


def _binary(media: str, data: bytes) -> Kind:
    return Kind(lambda place: Answer(body=data + _NEVER + place.url.encode(), type=media))


def _xhtml(place: Place) -> Answer:
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml">'
        f'<head><title>{place.url}</title></head><body><p><a href="{place.landing()}">on</a></p></body></html>'
    )
    return Answer(body=text.encode(), type="application/xhtml+xml", links=[place.anchor()])


def _linked(place: Place, media: str) -> Answer:
    body = document(place.url, f'<a href="{place.landing()}">on</a>')
    return Answer(body=body, type=media, links=[place.anchor()])


def _big(place: Place) -> Answer:
    """A page of 5 MiB whose only link is at the front."""
    answer = _linked(place, "text/html; charset=utf-8")
    answer.body += b"<p>and so on, and on, and on; " * (BIG // 30)
    return answer


def _no_length(place: Place) -> Answer:
    answer = _linked(place, "text/html")
    answer.sized, answer.ending = False, Ending.CLOSE
    return answer


def _chunked(place: Place) -> Answer:
    answer = _linked(place, "text/html; charset=utf-8")
    answer.chunked = True
    return answer


BODIES = {
    "png": _binary("image/png", png(8)),
    "pdf": _binary("application/pdf", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"),
    "zip": _binary("application/zip", b"PK\x05\x06" + bytes(18)),
    "octets": _binary("application/octet-stream", bytes(range(256)) * 64),
    "text": _binary("text/plain; charset=utf-8", b"Nothing here is markup.\n"),
    "json": _binary("application/json", b'{"page": true}\n'),
    "xhtml": Kind(_xhtml),
    "type_upper": Kind(lambda place: _linked(place, "TEXT/HTML;CHARSET=UTF-8")),
    "big": Kind(_big),
    "no_length": Kind(_no_length),
    "chunked": Kind(_chunked),
}
