"""Bodies other than small HTML pages: binary data, wrong labels, large documents."""

from __future__ import annotations

from webcrawl.simweb.answers import Answer, Ending
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import Place, document
from webcrawl.simweb.static import png

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


KINDS = {
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
