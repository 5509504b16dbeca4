"""The encoding of a body that declares none, guessed from its bytes: Firefox's detector, on a sample."""

from __future__ import annotations

import codecs
import re

from chardetng_py import EncodingDetector  # type: ignore[import-untyped,unused-ignore]  # it has no hints

from webcrawl.html import encodings

SAMPLE = 1024
# Neither bracket is ever the second byte of a character: text may be cut there.
_BEYOND_ASCII = re.compile(rb"[\x80-\xff][^<>]*")


def guess(body: bytes, host: str = "") -> str:
    """UTF-8 if it is valid, else what the detector makes of the text around bytes beyond ASCII.

    The detector takes 0.1 µs a byte, so it gets the words that can tell encodings apart, not the whole body; the top
    level domain of `host` tips the balance between encodings that differ by language only, as it does in browsers.
    """
    if body.isascii():
        return _detected(body[:SAMPLE], host) if b"\x1b" in body else encodings.WINDOWS_1252
    if is_utf_8(body):
        return encodings.UTF_8
    return _detected(sample(body), host)


def is_utf_8(body: bytes) -> bool:
    """Whether the body is UTF-8; it may have been cut off within a character."""
    try:
        return len(body) - codecs.utf_8_decode(body, "strict", False)[1] < 4
    except UnicodeDecodeError:
        return False


def sample(body: bytes, length: int = SAMPLE) -> bytes:
    """The first pieces of text that are not ASCII, from their first byte beyond it to the next markup."""
    pieces: list[bytes] = []
    size = 0
    for piece in _BEYOND_ASCII.finditer(body):
        pieces.append(piece[0])
        size += len(piece[0]) + 1
        if size >= length:
            break
    return b"<".join(pieces)[:length]


def _detected(text: bytes, host: str) -> str:
    detector = EncodingDetector()
    detector.feed(text, last=False)  # a sample may end within a character
    domain = host.rpartition(".")[2].lower()
    tld = domain.encode() if domain.isascii() and domain.isalnum() and not domain.isdigit() else None
    return encodings.lookup(detector.guess(tld=tld, allow_utf8=False)) or encodings.WINDOWS_1252
