"""Slow answers, complete and incomplete. The unit is the world's `slow` seconds."""

from __future__ import annotations

from collections.abc import Iterator

from webcrawl.simweb.answers import Answer, Ending, Step, chunk
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import Place, document

_PIECES = 20
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def _page(place: Place) -> bytes:
    return document(place.url, f'<a href="{place.landing()}">on</a>')


def _slow(place: Place) -> Answer:
    return Answer(body=_page(place), links=[place.anchor()], delay=place.world.slow)


def _trickle(place: Place) -> Answer:
    """A whole page in twenty pieces."""
    body, pause = _page(place), place.world.slow / _PIECES
    size = len(body) // _PIECES + 1

    def script() -> Iterator[Step]:
        yield _HEAD + b"Content-Length: %d\r\n\r\n" % len(body)
        for start in range(0, len(body), size):
            yield pause
            yield body[start : start + size]

    return Answer(body=body, links=[place.anchor()], script=script())


def _drip(place: Place) -> Answer:
    """A head, then a byte now and then, without end."""

    def script() -> Iterator[Step]:
        yield _CHUNKED
        while True:
            yield chunk(b" ")
            yield place.world.slow / _PIECES

    return Answer(script=script(), broken=True)


def _drip_head(place: Place) -> Answer:
    """A head that never ends."""

    def script() -> Iterator[Step]:
        yield _HEAD
        while True:
            yield b"X-More: yes\r\n"
            yield place.world.slow / _PIECES

    return Answer(script=script(), broken=True)


def _endless(_: Place) -> Answer:
    """A body that never ends, sent as fast as the client reads."""

    def script() -> Iterator[Step]:
        piece = chunk(b"<p>more and more</p>" * 3000)
        yield _CHUNKED
        while True:
            yield piece

    return Answer(script=script(), broken=True)


def _hang(_: Place) -> Answer:
    return Answer(script=(), ending=Ending.HANG, broken=True)


def _hang_midway(place: Place) -> Answer:
    body = _page(place)
    first = _HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) + 9) + body[:40]
    return Answer(script=(first,), ending=Ending.HANG, broken=True)


KINDS = {
    "slow": Kind(_slow),
    "trickle": Kind(_trickle),
    "drip": Kind(_drip),
    "drip_head": Kind(_drip_head),
    "endless": Kind(_endless),
    "hang": Kind(_hang),
    "hang_midway": Kind(_hang_midway),
}
