"""Makes WARC records, each as a gzip member, so that readers can start at any of them.

WARC-Protocol and WARC-Cipher-Suite are extensions that the standard's working group has adopted
(iipc/warc-specifications 42 and 86). There is one field for each protocol, from the top down. A
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

# Characters that a reader may take for the end of a line, and those that UTF-8 cannot encode. All
# other text is allowed (WARC 1.1, 4).
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_NOT_IN_NAME = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")


def fields(values: Mapping[str, str]) -> bytes:
    """Return a line for each field that has a value, encoded. The names must be tokens."""
    lines = ""
    for name, value in values.items():
        if value:
            lines += f"{name}: {value if value.isprintable() else _escaped(value)}\r\n"
    return lines.encode()


def field_line(name: str, value: str) -> str:
    """Return one field as a line, or an empty string if it has no value."""
    if not value:
        return ""
    written = value if value.isprintable() else _escaped(value)
    return f"{name}: {written}\r\n"


def _escaped(value: str) -> str:
    return _BREAKING.sub(encoded, value)


def token_names(mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the mapping with every name made a token."""
    tokens: dict[str, str] = {}
    for name, value in mapping.items():
        is_token = name.isidentifier() and name.isascii()
        token = name if is_token else _NOT_IN_NAME.sub("-", name)
        tokens[token or "-"] = value
    return tokens


# 1.0 has neither fractions of a second nor the fields by which a revisit record names a record of
# an earlier crawl. Of the readers in docs/archive.md only warctools does not know 1.1.
VERSION = "1.1"
# Of isal. For a page of 37 KB level 2 takes 100 us and leaves 10,451 bytes, level 1 98 us and
# 10,623, level 3 108 us and 10,026.
LEVEL = 2
# For a small record level 2 fills tables of some hundred KB, and evicts everything else from the
# processor's cache. Level 0 saves 5 % of a page's cost, for 300 bytes per page.
MAX_FAST_BYTES = 4096  # of a record
FAST_LEVEL = 0
# A larger record is compressed in pieces of this size: a copy of it would be as large again
LARGE_BYTES = 1 << 20
GZIP_WINDOW_BITS = 31  # zlib's number for a gzip member with the largest window
HTTP_REQUEST = "Content-Type: application/http; msgtype=request\r\n"
HTTP_RESPONSE = "Content-Type: application/http; msgtype=response\r\n"
HTML = "Content-Type: text/html; charset=utf-8\r\n"  # of a browser's document
WARC_FIELDS = "Content-Type: application/warc-fields\r\n"


@dataclass(slots=True)
class NewRecord:
    """A record before it is compressed. Its fields are whole lines."""

    kind: str
    fields: str
    content_type: str
    block: bytes  # the first part of the block, or all of it
    rest: bytes = b""  # the second part
    common: str = ""  # fields that it shares with other records

    def sha1(self) -> bytes:
        """Return the SHA-1 of the block."""
        return sha1(self.block, self.rest)


def compressed_record(record: NewRecord, digest: str) -> bytes:
    """Return a record as a gzip member. `digest` is the block's."""
    size = len(record.block) + len(record.rest)
    head = (
        f"WARC/{VERSION}\r\nWARC-Type: {record.kind}\r\n{record.common}{record.fields}WARC-Block-Digest: {digest}\r\n"
        f"{record.content_type}Content-Length: {size}\r\n\r\n"
    )
    if size > LARGE_BYTES:
        return b"".join(_in_pieces((head.encode(), record.block, record.rest, b"\r\n\r\n")))
    level = LEVEL if size > MAX_FAST_BYTES else FAST_LEVEL
    return isal_zlib.compress(
        b"".join((head.encode(), record.block, record.rest, b"\r\n\r\n")), level, GZIP_WINDOW_BITS
    )


def _in_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a gzip member of these parts, without a copy of all of them."""
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, GZIP_WINDOW_BITS)
    for part in parts:
        view = memoryview(part)
        for at in range(0, len(view), LARGE_BYTES):
            yield packer.compress(view[at : at + LARGE_BYTES])
    yield packer.flush()


HTTP_11 = "WARC-Protocol: http/1.1\r\n"
KNOWN_PROTOCOLS = frozenset(
    ("ftp", "gopher", "h2", "h2c", "h3", "http/0.9", "http/1.0", "http/1.1")
)
_TLS_NAMES = {
    "SSLv3": "ssl/3",
    "TLSv1": "tls/1.0",
    "TLSv1.1": "tls/1.1",
    "TLSv1.2": "tls/1.2",
    "TLSv1.3": "tls/1.3",
}
# OpenSSL's names of cipher suites with certificates before TLS 1.3: key exchange, signature,
# cipher, size, mode, hash
_SUITE = re.compile(
    r"(?:(ECDHE|DHE)(?:-(RSA|ECDSA|DSS))?-)?"
    r"(?:(AES|ARIA|CAMELLIA)(128|256)-(?:(GCM|CCM)(8)?)?-?(SHA\d*)?|(CHACHA20-POLY1305))"
)


def protocol_fields(exchange: Exchange) -> str:
    """Return the fields for the protocols of an exchange, as far as they are known, as lines."""
    # The head of another download handler, or of HTTP/2, was not received but made for HTTP/1.1
    is_head_received = not exchange.made_by and not exchange.protocol
    if is_head_received and exchange.head[:8] == b"HTTP/1.1":
        lines = HTTP_11
    else:
        name = _protocol(exchange)
        lines = field_line("WARC-Protocol", name) if name in KNOWN_PROTOCOLS else ""
    if exchange.tls:
        lines += _tls_fields(exchange.tls)
    return lines


def _protocol(exchange: Exchange) -> str:
    """Return the name of the application protocol in lower case, or an empty string."""
    # The head was made, and does not show the protocol
    if exchange.made_by or exchange.protocol:
        return exchange.protocol.lower()
    if exchange.head:
        return exchange.head[:8].decode("ascii", "replace").lower()
    return exchange.url.partition(":")[0]


@lru_cache(256)
def _tls_fields(tls: str) -> str:
    """Return the fields for a TLS version and a cipher suite, both as OpenSSL names them."""
    version, _, suite = tls.partition(" ")
    protocol = field_line("WARC-Protocol", _TLS_NAMES.get(version, ""))
    return protocol + field_line("WARC-Cipher-Suite", iana_suite(suite))


def iana_suite(suite: str) -> str:
    """Return IANA's name of a cipher suite from OpenSSL's name, or "" if the suite is unknown."""
    # Since TLS 1.3 both have the same names
    if suite.startswith("TLS_"):
        return suite
    match = _SUITE.fullmatch(suite)
    if match is None:
        return ""
    exchange, signature, cipher, size, mode, tag_bytes, digest, chacha = match.groups()
    keys = f"{exchange}_{signature or 'RSA'}" if exchange else "RSA"
    # OpenSSL's name has neither mode nor hash, because there is only one suite of this cipher
    if chacha:
        return f"TLS_{keys}_WITH_CHACHA20_POLY1305_SHA256"
    parts = (cipher, size, mode or "CBC", tag_bytes, digest)
    return f"TLS_{keys}_WITH_{'_'.join(filter(None, parts))}"
