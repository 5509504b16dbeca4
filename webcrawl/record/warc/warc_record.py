"""WARC records, each one gzip member, so that readers can start at any; and their protocols.

WARC-Protocol and WARC-Cipher-Suite are extensions that the standard's working group has adopted
(iipc/warc-specifications 42 and 86). Protocols are listed from the top down, one field for each; a
cipher suite has the name that IANA gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from isal import isal_zlib

from webcrawl.base.digest import sha1
from webcrawl.base.model import Exchange
from webcrawl.base.url_text import encoded

# Characters that some reader takes for the end of a line, and those that UTF-8 cannot encode. Any
# other text is allowed (WARC 1.1, 4).
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_NOT_IN_NAME = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")


def fields(values: Mapping[str, str]) -> bytes:
    """Return one line per name that has a value. The names must be tokens."""
    lines = ""
    for name, value in values.items():
        if value:
            lines += f"{name}: {value if value.isprintable() else _harmless(value)}\r\n"
    return lines.encode()


def line(name: str, value: str) -> str:
    """Return one field as a line, or an empty string if it has no value."""
    if not value:
        return ""
    written = value if value.isprintable() else _harmless(value)
    return f"{name}: {written}\r\n"


def _harmless(value: str) -> str:
    return _BREAKING.sub(encoded, value)


def named(mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the mapping with every name made a token."""
    tokens: dict[str, str] = {}
    for name, value in mapping.items():
        is_token = name.isidentifier() and name.isascii()
        token = name if is_token else _NOT_IN_NAME.sub("-", name)
        tokens[token or "-"] = value
    return tokens


# 1.0 has neither fractions of a second nor the fields by which a revisit names a record of an
# earlier crawl. Of the readers in docs/archive.md warctools alone does not know 1.1.
VERSION = "1.1"
# isal's, for a page of 37 KB: level 2 takes 100 us and leaves 10,451 bytes, level 1 98 us and 10,623,
# level 3 108 us and 10,026.
LEVEL = 2
# For a small record level 2 fills tables of some hundred KB and evicts everything else from the
# processor's cache. Level 0 saves 5 % of a page's cost, for 300 bytes per page.
SMALL, FAST = 4096, 0
# Bytes of a record that is compressed in pieces: a copy of it would be as large again
LARGE = 1 << 20
GZIP = 31  # zlib's number for a gzip member with the largest window
HTTP_REQUEST = "Content-Type: application/http; msgtype=request\r\n"
HTTP_RESPONSE = "Content-Type: application/http; msgtype=response\r\n"
HTML = "Content-Type: text/html; charset=utf-8\r\n"  # of a browser's document
WARC_FIELDS = "Content-Type: application/warc-fields\r\n"


@dataclass(slots=True)
class NewRecord:
    """One record before it is written: its fields are whole lines, its block has one part or two."""

    kind: str
    fields: str
    content_type: str
    block: bytes
    rest: bytes = b""
    common: str = ""  # fields that it shares with other records

    def sha1(self) -> bytes:
        """Return the SHA-1 of its block."""
        return sha1(self.block, self.rest)


def member(record: NewRecord, digest: str) -> bytes:
    """Return the compressed record. `digest` is the block's."""
    size = len(record.block) + len(record.rest)
    head = (
        f"WARC/{VERSION}\r\nWARC-Type: {record.kind}\r\n{record.common}{record.fields}WARC-Block-Digest: {digest}\r\n"
        f"{record.content_type}Content-Length: {size}\r\n\r\n"
    )
    if size > LARGE:
        return b"".join(_in_pieces((head.encode(), record.block, record.rest, b"\r\n\r\n")))
    level = LEVEL if size > SMALL else FAST
    return isal_zlib.compress(
        b"".join((head.encode(), record.block, record.rest, b"\r\n\r\n")), level, GZIP
    )


def _in_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the gzip member of these parts, without a copy of all of them."""
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, GZIP)
    for part in parts:
        view = memoryview(part)
        for at in range(0, len(view), LARGE):
            yield packer.compress(view[at : at + LARGE])
    yield packer.flush()


HTTP_11 = "WARC-Protocol: http/1.1\r\n"
KNOWN = frozenset(("ftp", "gopher", "h2", "h2c", "h3", "http/0.9", "http/1.0", "http/1.1"))
_TLS = {
    "SSLv3": "ssl/3",
    "TLSv1": "tls/1.0",
    "TLSv1.1": "tls/1.1",
    "TLSv1.2": "tls/1.2",
    "TLSv1.3": "tls/1.3",
}
# OpenSSL's names of suites with certificates, before TLS 1.3: key exchange, signature, cipher,
# size, mode, hash
_SUITE = re.compile(
    r"(?:(ECDHE|DHE)(?:-(RSA|ECDSA|DSS))?-)?"
    r"(?:(AES|ARIA|CAMELLIA)(128|256)-(?:(GCM|CCM)(8)?)?-?(SHA\d*)?|(CHACHA20-POLY1305))"
)


def spoken(exchange: Exchange) -> str:
    """Return the fields as whole lines; nothing of what is not known."""
    # Another handler's head, and HTTP/2's, is put together in HTTP/1.1's form
    is_head_received = not exchange.made_by and not exchange.protocol
    if is_head_received and exchange.head[:8] == b"HTTP/1.1":
        lines = HTTP_11
    else:
        name = _protocol(exchange)
        lines = line("WARC-Protocol", name) if name in KNOWN else ""
    if exchange.tls:
        lines += _secured(exchange.tls)
    return lines


def _protocol(exchange: Exchange) -> str:
    # The head is put together: it says nothing
    if exchange.made_by or exchange.protocol:
        return exchange.protocol.lower()
    if exchange.head:
        return exchange.head[:8].decode("ascii", "replace").lower()
    return exchange.url.partition(":")[0]


@lru_cache(256)
def _secured(tls: str) -> str:
    """Return the fields for a version and a suite as OpenSSL names them."""
    version, _, suite = tls.partition(" ")
    return line("WARC-Protocol", _TLS.get(version, "")) + line(
        "WARC-Cipher-Suite", registered(suite)
    )


def registered(suite: str) -> str:
    """Return IANA's name of a suite that OpenSSL names; empty if this rule does not cover it."""
    # Since TLS 1.3 both have the same names
    if suite.startswith("TLS_"):
        return suite
    found = _SUITE.fullmatch(suite)
    if found is None:
        return ""
    exchange, signed, cipher, size, mode, short, digest, chacha = found.groups()
    keys = f"{exchange}_{signed or 'RSA'}" if exchange else "RSA"
    # OpenSSL names neither its mode nor its hash: there is only this one
    if chacha:
        return f"TLS_{keys}_WITH_CHACHA20_POLY1305_SHA256"
    parts = (cipher, size, mode or "CBC", short, digest)
    return f"TLS_{keys}_WITH_{'_'.join(filter(None, parts))}"
