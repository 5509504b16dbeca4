"""Broken connections and answers that violate HTTP. None has links: a crawler may drop them all."""

from __future__ import annotations

from webcrawl.simweb.answers import LAST_CHUNK, Answer, Ending, Step, chunk
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import document

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_BODY = document("A broken answer", "<p>Text.</p>" * 30)
_LENGTH = b"Content-Length: %d\r\n" % len(_BODY)


def _sends(*steps: Step, ending: Ending = Ending.CLOSE) -> Kind:
    return Kind(lambda _: Answer(script=steps, ending=ending, broken=True))


KINDS = {
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
