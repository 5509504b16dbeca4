"""Redirects and error statuses, and servers that misbehave: lost connections, false lengths, slow
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webcrawl.lab.simweb.host_kinds import gzip
from webcrawl.lab.simweb.name_server import OUTSIDE
from webcrawl.lab.simweb.web_answers import (
    LAST_CHUNK,
    Anchor,
    AnswerKind,
    AnswerPlace,
    ConnectionEnd,
    Step,
    WebAnswer,
    chunk,
    document,
)


def _error_kind(status: int, *, later: bool = False) -> AnswerKind:
    def answer(place: AnswerPlace) -> WebAnswer:
        body = document(f"Error {status} at {place.url}", "<p>Sorry.")
        return WebAnswer(status, body, retry_after=place.world.slow if later else 0.0)

    return AnswerKind(answer)


def _page(place: AnswerPlace) -> bytes:
    return document(place.url, f'<a href="{place.landing()}">on</a>')


def _page_at_third_attempt(place: AnswerPlace) -> WebAnswer:
    """Return 503 for the first two requests, and then the page.

    So a crawler that tries three times gets it.
    """
    if place.attempt <= 2:
        return WebAnswer(503, document(f"{place.attempt} at {place.url}", "<p>Soon."))
    return WebAnswer(body=_page(place), links=[place.anchor()])


ERRORS: dict[str, AnswerKind] = {
    **{
        f"status_{status}": _error_kind(status)
        for status in (400, 401, 403, 404, 408, 410, 451, 500, 502, 504, 999)
    },
    "status_429": _error_kind(429, later=True),
    "status_503": _error_kind(503, later=True),
    "status_503_thrice": AnswerKind(_page_at_third_attempt, counted=True),
    "status_204": AnswerKind(lambda _: WebAnswer(204, type="")),
    # to a request without a condition
    "status_304": AnswerKind(lambda _: WebAnswer(304, type="", broken=True)),
    "empty": AnswerKind(lambda _: WebAnswer()),
}


def _redirect(location: str, canonical: str, status: int = 302) -> WebAnswer:
    """Return a redirect to `location` with a body, as servers send it.

    `canonical` is the URL to which it leads, or "" if a crawler may not go there.
    """
    return WebAnswer(
        status,
        document(f"Moved to {canonical}", "<p>Moved."),
        headers=(f"Location: {location}",),
        location=canonical,
    )


def _redirect_kind(status: int) -> AnswerKind:
    return AnswerKind(
        lambda place: _redirect(
            place.origin + place.landing(), place.origin + place.landing(), status
        )
    )


def _redirect_with_raw_utf8(place: AnswerPlace) -> WebAnswer:
    # Raw UTF-8 in a header, as half the web sends it. The head is encoded as latin-1, so the bytes
    # are spelled in it.
    location = place.landing("Grüße und so").encode().decode("latin-1")
    return _redirect(location, place.origin + place.landing("Gr%C3%BC%C3%9Fe%20und%20so"))


def _redirect_chain_kind(hops: int) -> AnswerKind:
    """Return the kind of URLs that redirect so many times; hop N is at the place's `/N`."""

    def answer(place: AnswerPlace) -> WebAnswer:
        hop = 0
        if place.rest:
            number = place.rest[1:]
            hop = int(number) if number.isdecimal() else hops
        if hop >= hops:
            return WebAnswer(404)
        target = place.landing() if hop + 1 == hops else f"{place.path}/{hop + 1}"
        return _redirect(target, place.origin + target)

    return AnswerKind(answer)


def _redirect_loop(place: AnswerPlace) -> WebAnswer:
    target = place.path if place.rest else f"{place.path}/back"
    return _redirect(target, place.origin + target)


def _endless_redirect(place: AnswerPlace) -> WebAnswer:
    hop = int(place.rest[1:]) if place.rest[1:].isdecimal() else 0
    target = f"{place.path}/{hop + 1}"
    return _redirect(target, place.origin + target)


def _redirect_to_other_host(place: AnswerPlace) -> WebAnswer:
    target = place.world.origin(place.other_host()) + place.landing()
    return _redirect(target, target)


def _redirect_without_target(location: str) -> Callable[[AnswerPlace], WebAnswer]:
    """Return a redirect to where no crawl may go; without a location it has no such header."""
    lines = (f"Location: {location}",) if location else ()
    return lambda place: WebAnswer(302, document(place.url, "<p>Moved, somewhere."), headers=lines)


def _refresh(place: AnswerPlace) -> WebAnswer:
    head = f"<META HTTP-EQUIV=refresh CONTENT='0;url={place.landing()}'>"
    return WebAnswer(body=document(place.url, "<p>Wait.", head), links=[place.anchor("refresh")])


def _refresh_loop(place: AnswerPlace) -> WebAnswer:
    target = place.path if place.rest else f"{place.path}/back"
    head = f'<meta http-equiv="refresh" content="0; {target}">'
    return WebAnswer(
        body=document(place.url + place.rest, "", head),
        links=[Anchor("refresh", place.origin + target)],
    )


REDIRECTS: dict[str, AnswerKind] = {
    **{f"redirect_{status}": _redirect_kind(status) for status in (301, 302, 303, 307, 308)},
    "redirect_relative": AnswerKind(
        lambda place: _redirect(f"..{place.landing()[2:]}", place.origin + place.landing())
    ),
    "redirect_spelled": AnswerKind(_redirect_with_raw_utf8),
    "redirect_fragment": AnswerKind(
        lambda place: _redirect(f"{place.landing()}#part", place.origin + place.landing())
    ),
    # As many hops as REDIRECT_MAX_HOPS allows, and two more
    "redirect_chain": _redirect_chain_kind(5),
    "redirect_too_long": _redirect_chain_kind(7),
    "redirect_loop": AnswerKind(_redirect_loop),
    "redirect_self": AnswerKind(lambda place: _redirect(place.path, place.url)),
    "redirect_endless": AnswerKind(_endless_redirect),
    "redirect_elsewhere": AnswerKind(_redirect_to_other_host),
    # the literal address of a server that a crawl must not reach
    "redirect_inside": AnswerKind(
        lambda place: _redirect(f"http://{OUTSIDE}:{place.world.port}/never/inside", "")
    ),
    "redirect_nowhere": AnswerKind(_redirect_without_target("")),
    # What no crawl may go to: no URL, a script, a file of its own machine
    "redirect_bad": AnswerKind(_redirect_without_target("http://[::1/x")),
    "redirect_script": AnswerKind(_redirect_without_target("javascript:alert(1)")),
    "redirect_file": AnswerKind(_redirect_without_target("file:///etc/passwd")),
    "refresh": AnswerKind(_refresh),
    "refresh_loop": AnswerKind(_refresh_loop),
}


_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_BODY = document("A broken answer", "<p>Text.</p>" * 30)
_LENGTH = b"Content-Length: %d\r\n" % len(_BODY)


def _script_kind(*steps: Step, ending: ConnectionEnd = ConnectionEnd.CLOSE) -> AnswerKind:
    return AnswerKind(lambda _: WebAnswer(script=steps, ending=ending, broken=True))


BROKEN: dict[str, AnswerKind] = {
    # Connections that end where they should not
    "reset": _script_kind(ending=ConnectionEnd.RESET),
    "reset_midway": _script_kind(_OK + _LENGTH + b"\r\n" + _BODY[:100], ending=ConnectionEnd.RESET),
    "closed": _script_kind(),
    "short": _script_kind(_OK + _LENGTH + b"\r\n" + _BODY[:100]),
    "short_head": _script_kind(_OK + b"X-Cut"),
    # Bodies whose framing is wrong (RFC 9112 6.3 and 7.1)
    "chunk_size": _script_kind(
        _OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(_BODY) + b"zz\r\nwhat\r\n" + LAST_CHUNK
    ),
    "chunk_missing": _script_kind(_OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(_BODY)),
    # RFC 9112 6.3: two lengths that differ cannot be recovered from; chunks go before a length
    "lengths": _script_kind(_OK + _LENGTH + b"Content-Length: 3\r\n\r\n" + _BODY),
    "length_and_chunks": _script_kind(
        _OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(_BODY) + LAST_CHUNK
    ),
    "no_head": _script_kind(_BODY),  # HTTP/0.9
    "noise": _script_kind(b"\x16\x03\x01\x02\x00" + bytes(range(255, 0, -1)) * 4),  # a TLS record
    # RFC 9112 2.2: a single LF may be taken for the end of a line
    "line_feeds": _script_kind((_OK + _LENGTH + b"\r\n").replace(b"\r", b"") + _BODY),
    "header_flood": _script_kind(
        _OK + b"".join(b"X-%d: flood\r\n" % n for n in range(20_000)) + b"\r\n" + _BODY
    ),
    "header_long": _script_kind(_OK + b"X-Long: " + b"a" * 2**20 + b"\r\n\r\n" + _BODY),
    # RFC 9110 15.2: any number of these may come before the answer
    "early_hints": _script_kind(
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000 + _OK + _LENGTH + b"\r\n" + _BODY
    ),
    # RFC 9110 7.8: only to a protocol that the client has named
    "switching": _script_kind(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + _BODY
    ),
    "surplus": _script_kind(_OK + b"Content-Length: 10\r\n\r\n" + _BODY),
    # RFC 9110 5.5: such a field is invalid, and dangerous
    "nul": _script_kind(_OK + b"X-Nul: a\0b\r\n" + _LENGTH + b"\r\n" + _BODY),
}


_GZIPPED = _OK + b"Content-Encoding: gzip\r\n\r\n"
_LIE = document("An answer that lies", "<p>Text.</p>" * 30)
_LENGTH_OF_LIE = b"Content-Length: %d\r\n" % len(_LIE)
_UNREQUESTED_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nnot asked"
)


def _endless_kind(first: bytes, again: bytes) -> AnswerKind:
    """Return the kind of answers that begin with `first` and repeat `again` without end.

    The bytes come as fast as the client reads them.
    """

    def script() -> Iterator[Step]:
        yield first
        while True:
            yield again

    return AnswerKind(lambda _: WebAnswer(script=script(), broken=True))


def _length_kind(value: bytes) -> AnswerKind:
    return _script_kind(_OK + b"Content-Length: " + value + b"\r\n\r\n" + _LIE)


LIARS: dict[str, AnswerKind] = {
    # without end
    "endless_head": _endless_kind(_OK, b"X-More: and more\r\n" * 500),
    "endless_line": _endless_kind(_OK + b"X-Long: ", b"and longer " * 500),
    "endless_interim": _endless_kind(
        b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n"
    ),
    "endless_empty": _endless_kind(b"\r\n", b"\r\n" * 2000),
    "endless_chunks": _endless_kind(_CHUNKED, b"1\r\na\r\n" * 2000),
    "endless_extension": _endless_kind(_CHUNKED + b"1;", b"extended" * 1000),
    "endless_trailer": _endless_kind(
        _CHUNKED + chunk(_LIE) + b"0\r\n", b"X-Trailer: and more\r\n" * 500
    ),
    # RFC 1952 2.2: a gzip file may have any number of members, empty ones too
    "endless_members": _endless_kind(_GZIPPED, gzip(b"") * 500),
    # RFC 1952 2.3.1: the name of a gzip file ends with a zero, which never comes
    "endless_name": _endless_kind(_GZIPPED + b"\x1f\x8b\x08\x08\0\0\0\0\0\x03", b"name" * 2000),
    # lengths
    "length_negative": _length_kind(b"-1"),
    "length_words": _length_kind(b"twelve"),
    # RFC 9110 8.6: one number, written several times, may be taken as this number
    "length_list": _length_kind(b"%d, %d" % (len(_LIE), len(_LIE))),
    "length_great": _length_kind(b"9" * 15),
    "length_beyond": _length_kind(b"9" * 30),
    # Computed in 64 bits it would be 0
    "length_of_65_bits": _length_kind(b"%d" % 2**65),
    "length_empty": _length_kind(b""),
    # RFC 9112 7.1: a reader has to expect hexadecimal numbers of any size
    "chunk_beyond": _script_kind(_CHUNKED + chunk(_LIE) + b"F" * 17 + b"\r\n" + _LIE),
    "chunk_negative": _script_kind(_CHUNKED + chunk(_LIE) + b"-5\r\nagain\r\n" + LAST_CHUNK),
    "chunk_feeds": _script_kind((_CHUNKED + chunk(_LIE) + LAST_CHUNK).replace(b"\r", b"")),
    # Without a length the body ends with the connection, and that stays open
    "never_closed": _script_kind(
        b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + _LIE, ending=ConnectionEnd.HANG
    ),
    # bodies where none are allowed, answers without a request
    # RFC 9112 6.3: after these two statuses the head is all, whatever it says
    "body_of_204": _script_kind(
        b"HTTP/1.1 204 No Content\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE, ending=ConnectionEnd.KEEP
    ),
    "body_of_304": _script_kind(
        b"HTTP/1.1 304 Not Modified\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE,
        ending=ConnectionEnd.KEEP,
    ),
    # Taken for the next answer, it would be archived under another page's URL
    "answer_unasked": _script_kind(
        _OK + _LENGTH_OF_LIE + b"\r\n" + _LIE + _UNREQUESTED_ANSWER, ending=ConnectionEnd.KEEP
    ),
    "answer_between": _script_kind(
        _OK + _LENGTH_OF_LIE + b"\r\n" + _LIE + b"\r\n\0\xff what is this\r\n\r\n",
        ending=ConnectionEnd.KEEP,
    ),
    "interim_only": _script_kind(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "switching_late": _script_kind(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
    ),
    "upgrade_offered": _script_kind(
        _OK + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE
    ),
    # Both are the body, one after the other
    "two_members": _script_kind(_GZIPPED + gzip(_LIE) + gzip(_LIE)),
    # other protocols, or barely HTTP
    # RFC 9110 2.5: a higher minor version is read as the highest one that is known
    "version_12": _script_kind(
        (_OK + _LENGTH_OF_LIE + b"\r\n").replace(b"HTTP/1.1", b"HTTP/1.2") + _LIE
    ),
    "no_colon": _script_kind(_OK + b"What is this\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE),
    # A SETTINGS frame (RFC 9113 6.5)
    "speaks_http2": _script_kind(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"),
    # Internet radio
    "speaks_icy": _script_kind(b"ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n" + _LIE),
    "speaks_ssh": _script_kind(b"SSH-2.0-OpenSSH_9.6\r\n", ending=ConnectionEnd.HANG),
    # An empty line before the status line is passed over, so this is HTTP with a bad head
    "status_letters": _script_kind(b"\r\nHTTP/1.1 OK\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE),
    "status_long": _script_kind(b"\r\nHTTP/1.1 20000 OK\r\n" + _LENGTH_OF_LIE + b"\r\n" + _LIE),
    "carriage_returns": _script_kind((_OK + _LENGTH_OF_LIE + b"\r\n").replace(b"\n", b"") + _LIE),
}


_PIECE_COUNT = 20  # of an answer that takes `slow` seconds


def _trickle(place: AnswerPlace) -> WebAnswer:
    """Return a whole page that comes in twenty pieces."""
    body = _page(place)
    pause = place.world.slow / _PIECE_COUNT
    size = len(body) // _PIECE_COUNT + 1

    def script() -> Iterator[Step]:
        yield _OK + b"Content-Length: %d\r\n\r\n" % len(body)
        for start in range(0, len(body), size):
            yield pause
            yield body[start : start + size]

    return WebAnswer(body=body, links=[place.anchor()], script=script())


def _drip(place: AnswerPlace) -> WebAnswer:
    """Return a head, and then a byte now and then, without end."""

    def script() -> Iterator[Step]:
        yield _CHUNKED
        while True:
            yield chunk(b" ")
            yield place.world.slow / _PIECE_COUNT

    return WebAnswer(script=script(), broken=True)


def _drip_head(place: AnswerPlace) -> WebAnswer:
    """Return a head that never ends."""

    def script() -> Iterator[Step]:
        yield _OK
        while True:
            yield b"X-More: yes\r\n"
            yield place.world.slow / _PIECE_COUNT

    return WebAnswer(script=script(), broken=True)


def _endless(_: AnswerPlace) -> WebAnswer:
    """Return a body that never ends, sent as fast as the client reads."""

    def script() -> Iterator[Step]:
        piece = chunk(b"<p>more and more</p>" * 3000)
        yield _CHUNKED
        while True:
            yield piece

    return WebAnswer(script=script(), broken=True)


def _hang_midway(place: AnswerPlace) -> WebAnswer:
    body = _page(place)
    # More than there is, so the client waits for the rest
    first = _OK + b"Content-Length: %d\r\n\r\n" % (len(body) + 9) + body[:40]
    return WebAnswer(script=(first,), ending=ConnectionEnd.HANG, broken=True)


SLOW: dict[str, AnswerKind] = {
    "slow": AnswerKind(
        lambda place: WebAnswer(body=_page(place), links=[place.anchor()], delay=place.world.slow)
    ),
    "trickle": AnswerKind(_trickle),
    "drip": AnswerKind(_drip),
    "drip_head": AnswerKind(_drip_head),
    "endless": AnswerKind(_endless),
    "hang": _script_kind(ending=ConnectionEnd.HANG),
    "hang_midway": AnswerKind(_hang_midway),
}
