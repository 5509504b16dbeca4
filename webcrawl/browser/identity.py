"""The key with which the proxy answers as every https server, made for one crawl and forgotten with it."""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

VALID = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Identity:
    """A server's side of TLS, and what a browser must be told so that it accepts this key, for whatever name."""

    context: ssl.SSLContext
    fingerprint: str  # of the public key, as Chromium's --ignore-certificate-errors-spki-list has it

    @classmethod
    def make(cls, now: datetime | None = None) -> Identity:
        """A new key and its certificate. One is enough: the browser is told the key, not an authority's."""
        key, now = ec.generate_private_key(ec.SECP256R1()), now or datetime.now(UTC)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webcrawl's proxy")])
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + VALID)
        certificate = builder.sign(key, SHA256())
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        context = _context(certificate.public_bytes(Encoding.PEM) + secret)
        return cls(context, b64encode(sha256(public).digest()).decode())


def _context(pem: bytes) -> ssl.SSLContext:
    """Python's ssl reads keys from files only: from one in memory, so that the key is on no disk."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    descriptor = os.memfd_create("key")
    try:
        os.write(descriptor, pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return context
