"""WARC-Protocol and WARC-Cipher-Suite: the fields of a record that say what was spoken.

Both are extensions that the standard's working group has adopted (iipc/warc-specifications 42 and 86). Protocols are
listed from the top down, one field for each; a cipher suite has the name that IANA gives it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from webcrawl.base.model import Exchange
from webcrawl.record.warc.warc_record import line

HTTP_11 = "WARC-Protocol: http/1.1\r\n"
KNOWN = frozenset(("ftp", "gopher", "h2", "h2c", "h3", "http/0.9", "http/1.0", "http/1.1"))
_TLS = {"SSLv3": "ssl/3", "TLSv1": "tls/1.0", "TLSv1.1": "tls/1.1", "TLSv1.2": "tls/1.2", "TLSv1.3": "tls/1.3"}
# OpenSSL's names of suites with certificates, before TLS 1.3: key exchange, signature, cipher, size, mode, hash
_SUITE = re.compile(
    r"(?:(ECDHE|DHE)(?:-(RSA|ECDSA|DSS))?-)?"
    r"(?:(AES|ARIA|CAMELLIA)(128|256)-(?:(GCM|CCM)(8)?)?-?(SHA\d*)?|(CHACHA20-POLY1305))"
)


def spoken(exchange: Exchange) -> str:
    """The fields as whole lines; nothing of what is not known."""
    if exchange.head[:8] == b"HTTP/1.1" and not exchange.made_by and not exchange.protocol:
        lines = HTTP_11
    else:
        name = _protocol(exchange)
        lines = line("WARC-Protocol", name) if name in KNOWN else ""
    return lines + _secured(exchange.tls) if exchange.tls else lines


def _protocol(exchange: Exchange) -> str:
    if exchange.made_by or exchange.protocol:  # the head is put together: it says nothing
        return exchange.protocol.lower()
    if exchange.head:
        return exchange.head[:8].decode("ascii", "replace").lower()
    return exchange.url.partition(":")[0]


@lru_cache(256)
def _secured(tls: str) -> str:
    """The fields for a version and a suite as OpenSSL names them."""
    version, _, suite = tls.partition(" ")
    return line("WARC-Protocol", _TLS.get(version, "")) + line("WARC-Cipher-Suite", registered(suite))


def registered(suite: str) -> str:
    """IANA's name of a suite that OpenSSL names; empty for one that this rule does not know."""
    if suite.startswith("TLS_"):  # since TLS 1.3 both have the same
        return suite
    found = _SUITE.fullmatch(suite)
    if found is None:
        return ""
    exchange, signed, cipher, size, mode, short, digest, chacha = found.groups()
    keys = f"{exchange}_{signed or 'RSA'}" if exchange else "RSA"
    if chacha:
        return f"TLS_{keys}_WITH_CHACHA20_POLY1305_SHA256"
    parts = (cipher, size, mode or "CBC", short, digest)
    return f"TLS_{keys}_WITH_{'_'.join(filter(None, parts))}"
