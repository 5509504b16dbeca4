"""Heads and bodies that never end, false lengths, unsolicited answers. None has links."""

from __future__ import annotations

from collections.abc import Iterator

from webcrawl.simweb.answers import LAST_CHUNK, Answer, Ending, Step, chunk
from webcrawl.simweb.dress import gzip
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import document

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_GZIPPED = _OK + b"Content-Encoding: gzip\r\n\r\n"
_BODY = document("An answer that lies", "<p>Text.</p>" * 30)
_LENGTH = b"Content-Length: %d\r\n" % len(_BODY)
_STOLEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nnot asked"


def _sends(*steps: Step, ending: Ending = Ending.CLOSE) -> Kind:
    return Kind(lambda _: Answer(script=steps, ending=ending, broken=True))


def _endless(first: bytes, again: bytes) -> Kind:
    """A beginning, then the same bytes without end, as fast as the client reads them."""

    def script() -> Iterator[Step]:
        yield first
        while True:
            yield again

    return Kind(lambda _: Answer(script=script(), broken=True))


def _stated(value: bytes) -> Kind:
    return _sends(_OK + b"Content-Length: " + value + b"\r\n\r\n" + _BODY)


KINDS = {
    # without end
    "endless_head": _endless(_OK, b"X-More: and more\r\n" * 500),
    "endless_line": _endless(_OK + b"X-Long: ", b"and longer " * 500),
    "endless_interim": _endless(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "endless_empty": _endless(b"\r\n", b"\r\n" * 2000),
    "endless_chunks": _endless(_CHUNKED, b"1\r\na\r\n" * 2000),
    "endless_extension": _endless(_CHUNKED + b"1;", b"extended" * 1000),
    "endless_trailer": _endless(_CHUNKED + chunk(_BODY) + b"0\r\n", b"X-Trailer: and more\r\n" * 500),
    "endless_members": _endless(_GZIPPED, gzip(b"") * 500),
    "endless_name": _endless(_GZIPPED + b"\x1f\x8b\x08\x08\0\0\0\0\0\x03", b"name" * 2000),
    # lengths
    "length_negative": _stated(b"-1"),
    "length_words": _stated(b"twelve"),
    "length_list": _stated(b"%d, %d" % (len(_BODY), len(_BODY))),
    "length_great": _stated(b"9" * 15),
    "length_beyond": _stated(b"9" * 30),
    "length_of_65_bits": _stated(b"%d" % 2**65),
    "length_empty": _stated(b""),
    "chunk_beyond": _sends(_CHUNKED + chunk(_BODY) + b"F" * 17 + b"\r\n" + _BODY),
    "chunk_negative": _sends(_CHUNKED + chunk(_BODY) + b"-5\r\nagain\r\n" + LAST_CHUNK),
    "chunk_feeds": _sends((_CHUNKED + chunk(_BODY) + LAST_CHUNK).replace(b"\r", b"")),
    "never_closed": _sends(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + _BODY, ending=Ending.HANG),
    # bodies where none are allowed, answers without a request
    "body_of_204": _sends(b"HTTP/1.1 204 No Content\r\n" + _LENGTH + b"\r\n" + _BODY, ending=Ending.KEEP),
    "body_of_304": _sends(b"HTTP/1.1 304 Not Modified\r\n" + _LENGTH + b"\r\n" + _BODY, ending=Ending.KEEP),
    "answer_unasked": _sends(_OK + _LENGTH + b"\r\n" + _BODY + _STOLEN, ending=Ending.KEEP),
    "answer_between": _sends(_OK + _LENGTH + b"\r\n" + _BODY + b"\r\n\0\xff what is this\r\n\r\n", ending=Ending.KEEP),
    "interim_only": _sends(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "switching_late": _sends(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "upgrade_offered": _sends(_OK + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + _LENGTH + b"\r\n" + _BODY),
    "two_members": _sends(_GZIPPED + gzip(_BODY) + gzip(_BODY)),
    # other protocols, or barely HTTP
    "version_12": _sends((_OK + _LENGTH + b"\r\n").replace(b"HTTP/1.1", b"HTTP/1.2") + _BODY),
    "no_colon": _sends(_OK + b"What is this\r\n" + _LENGTH + b"\r\n" + _BODY),
    "speaks_http2": _sends(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"),
    "speaks_icy": _sends(b"ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n" + _BODY),
    "speaks_ssh": _sends(b"SSH-2.0-OpenSSH_9.6\r\n", ending=Ending.HANG),
    "status_letters": _sends(b"\r\nHTTP/1.1 OK\r\n" + _LENGTH + b"\r\n" + _BODY),
    "status_long": _sends(b"\r\nHTTP/1.1 20000 OK\r\n" + _LENGTH + b"\r\n" + _BODY),
    "carriage_returns": _sends((_OK + _LENGTH + b"\r\n").replace(b"\n", b"") + _BODY),
}
