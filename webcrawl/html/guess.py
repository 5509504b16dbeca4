"""Guesses the encoding of a body that declares none, by Firefox's detector on a sample."""

from __future__ import annotations

import codecs
import re

from chardetng_py import EncodingDetector  # type: ignore[import-untyped,unused-ignore]  # untyped

from webcrawl.html import encodings

SAMPLE = 1024
# No encoding uses `<` or `>` as the second byte of a character: text may be cut there.
_BEYOND_ASCII = re.compile(rb"[\x80-\xff][^<>]*")


def guess(body: bytes, host: str = "") -> str:
    """UTF-8 if the body is valid UTF-8, else the detector's guess from the text around non-ASCII bytes.

    The detector takes 0.1 µs per byte, so it gets only text that distinguishes encodings, not the whole body. As in
    browsers, the top-level domain of `host` decides between encodings that differ only by language.
    """
    if body.isascii():
        return _detected(body[:SAMPLE], host) if b"\x1b" in body else encodings.WINDOWS_1252
    if is_utf_8(body):
        return encodings.UTF_8
    return _detected(sample(body), host)


def is_utf_8(body: bytes) -> bool:
    """Whether the body is UTF-8, possibly truncated within a character."""
    try:
        return len(body) - codecs.utf_8_decode(body, "strict", False)[1] < 4
    except UnicodeDecodeError:
        return False


def sample(body: bytes, length: int = SAMPLE) -> bytes:
    """The first pieces of non-ASCII text, each from its first non-ASCII byte to the next markup."""
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
    detector.feed(text, last=False)  # the sample may end within a character
    domain = host.rpartition(".")[2].lower()
    tld = domain.encode() if domain.isascii() and domain.isalnum() and not domain.isdigit() else None
    return encodings.lookup(detector.guess(tld=tld, allow_utf8=False)) or encodings.WINDOWS_1252
