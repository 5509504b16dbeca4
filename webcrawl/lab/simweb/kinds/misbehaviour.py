"""Servers that misbehave: broken connections, violations of HTTP, endless bodies, false lengths, slow answers."""

from __future__ import annotations

from collections.abc import Iterator

from webcrawl.lab.simweb.host_kinds import gzip
from webcrawl.lab.simweb.web_answers import LAST_CHUNK, Answer, Ending, Kind, Place, Step, chunk, document

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_BODY = document("A broken answer", "<p>Text.</p>" * 30)
_LENGTH = b"Content-Length: %d\r\n" % len(_BODY)


def _sends(*steps: Step, ending: Ending = Ending.CLOSE) -> Kind:
    return Kind(lambda _: Answer(script=steps, ending=ending, broken=True))


BROKEN = {
    "reset": _sends(ending=Ending.RESET),
    "reset_midway": _sends(_OK + _LENGTH + b"\r\n" + _BODY[:100], ending=Ending.RESET),
    "closed": _sends(),
    "short": _sends(_OK + _LENGTH + b"\r\n" + _BODY[:100]),
    "short_head": _sends(_OK + b"X-Cut"),
    "chunk_size": _sends(_OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(_BODY) + b"zz\r\nwhat\r\n" + LAST_CHUNK),
    "chunk_missing": _sends(_OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(_BODY)),
    "lengths": _sends(_OK + _LENGTH + b"Content-Length: 3\r\n\r\n" + _BODY),
    "length_and_chunks": _sends(
        _OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(_BODY) + LAST_CHUNK
    ),
    "no_head": _sends(_BODY),  # HTTP/0.9
    "noise": _sends(b"\x16\x03\x01\x02\x00" + bytes(range(255, 0, -1)) * 4),
    "line_feeds": _sends((_OK + _LENGTH + b"\r\n").replace(b"\r", b"") + _BODY),
    "header_flood": _sends(_OK + b"".join(b"X-%d: flood\r\n" % n for n in range(20_000)) + b"\r\n" + _BODY),
    "header_long": _sends(_OK + b"X-Long: " + b"a" * 2**20 + b"\r\n\r\n" + _BODY),
    "early_hints": _sends(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000 + _OK + _LENGTH + b"\r\n" + _BODY),
    "switching": _sends(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + _BODY),
    "surplus": _sends(_OK + b"Content-Length: 10\r\n\r\n" + _BODY),
    "nul": _sends(_OK + b"X-Nul: a\0b\r\n" + _LENGTH + b"\r\n" + _BODY),
}


_GZIPPED = _OK + b"Content-Encoding: gzip\r\n\r\n"
_LIE = document("An answer that lies", "<p>Text.</p>" * 30)
_LENGTH_OF_LIE = b"Content-Length: %d\r\n" % len(_LIE)
_STOLEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nnot asked"


def _endless_lie(first: bytes, again: bytes) -> Kind:
    """A beginning, then the same bytes without end, as fast as the client reads them."""

    def script() -> Iterator[Step]:
        yield first
        while True:
            yield again

    return Kind(lambda _: Answer(script=script(), broken=True))


def _stated(value: bytes) -> Kind:
    return _sends(_OK + b"Content-Length: " + value + b"\r\n\r\n" + _LIE)


LIARS = {
    # without end
    "endless_head": _endless_lie(_OK, b"X-More: and more\r\n" * 500),
    "endless_line": _endless_lie(_OK + b"X-Long: ", b"and longer " * 500),
    "endless_interim": _endless_lie(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "endless_empty": _endless_lie(b"\r\n", b"\r\n" * 2000),
    "endless_chunks": _endless_lie(_CHUNKED, b"1\r\na\r\n" * 2000),
    "endless_extension": _endless_lie(_CHUNKED + b"1;", b"extended" * 1000),
    "endless_trailer": _endless_lie(_CHUNKED + chunk(_LIE) + b"0\r\n", b"X-Trailer: and more\r\n" * 500),
    "endless_members": _endless_lie(_GZIPPED, gzip(b"") * 500),
    "endless_name": _endless_lie(_GZIPPED + b"\x1f\x8b\x08\x08\0\0\0\0\0\x03", b"name" * 2000),
    # lengths
    "length_negative": _stated(b"-1"),
    "length_words": _stated(b"twelve"),
    "length_list": _stated(b"%d, %d" % (len(_LIE), len(_LIE))),
    "length_great": _stated(b"9" * 15),
    "length_beyond": _stated(b"9" * 30),
    "length_of_65_bits": _stated(b"%d" % 2**65),
    "length_empty": _stated(b""),
    "chunk_beyond": _sends(_CHUNKED + chunk(_LIE) + b"F" * 17 + b"\r\n" + _LIE),
    "chunk_negative": _sends(_CHUNKED + chunk(_LIE) + b"-5\r\nagain\r\n" + LAST_CHUNK),
    "chunk_feeds": _sends((_CHUNKED + chunk(_LIE) + LAST_CHUNK).replace(b"\r", b"")),
    "never_closed": _sends(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + _LIE, ending=Ending.HANG),
    # bodies where none are allowed, answers without a request
    "body_of_204": _sends(b"HTTP/1.1 204 No Content\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE, ending=Ending.KEEP),
    "body_of_304": _sends(b"HTTP/1.1 304 Not Modified\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE, ending=Ending.KEEP),
    "answer_unasked": _sends(_OK + _LENGTH_OF_LIE + b"\r\n" + _LIE + _STOLEN, ending=Ending.KEEP),
    "answer_between": _sends(
        _OK + _LENGTH_OF_LIE + b"\r\n" + _LIE + b"\r\n\0\xff what is this\r\n\r\n", ending=Ending.KEEP
    ),
    "interim_only": _sends(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "switching_late": _sends(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "upgrade_offered": _sends(_OK + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE),
    "two_members": _sends(_GZIPPED + gzip(_LIE) + gzip(_LIE)),
    # other protocols, or barely HTTP
    "version_12": _sends((_OK + _LENGTH_OF_LIE + b"\r\n").replace(b"HTTP/1.1", b"HTTP/1.2") + _LIE),
    "no_colon": _sends(_OK + b"What is this\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE),
    "speaks_http2": _sends(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"),
    "speaks_icy": _sends(b"ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n" + _LIE),
    "speaks_ssh": _sends(b"SSH-2.0-OpenSSH_9.6\r\n", ending=Ending.HANG),
    "status_letters": _sends(b"\r\nHTTP/1.1 OK\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE),
    "status_long": _sends(b"\r\nHTTP/1.1 20000 OK\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE),
    "carriage_returns": _sends((_OK + _LENGTH_OF_LIE + b"\r\n").replace(b"\n", b"") + _LIE),
}


_PIECES = 20


def _page(place: Place) -> bytes:
    return document(place.url, f'<a href="{place.landing()}">on</a>')


def _slow(place: Place) -> Answer:
    return Answer(body=_page(place), links=[place.anchor()], delay=place.world.slow)


def _trickle(place: Place) -> Answer:
    """A whole page in twenty pieces."""
    body, pause = _page(place), place.world.slow / _PIECES
    size = len(body) // _PIECES + 1

    def script() -> Iterator[Step]:
        yield _OK + b"Content-Length: %d\r\n\r\n" % len(body)
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
        yield _OK
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
    first = _OK + b"Content-Length: %d\r\n\r\n" % (len(body) + 9) + body[:40]
    return Answer(script=(first,), ending=Ending.HANG, broken=True)


SLOW = {
    "slow": Kind(_slow),
    "trickle": Kind(_trickle),
    "drip": Kind(_drip),
    "drip_head": Kind(_drip_head),
    "endless": Kind(_endless),
    "hang": Kind(_hang),
    "hang_midway": Kind(_hang_midway),
}
