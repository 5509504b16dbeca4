"""The flaws of certificates, which the crawl accepts anyway, and what identifies one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address

from cryptography import x509
from cryptography.utils import CryptographyDeprecationWarning

# What the library raises for malformed fields: TypeError for a bit string as a name's part. It parses lazily, so any
# access may raise.
_UNREADABLE = (ValueError, TypeError, x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


@dataclass(frozen=True, slots=True)
class _Certificate:
    """The fields that are checked."""

    begins: datetime
    ends: datetime
    names: tuple[str, ...]
    self_issued: bool


def fingerprint(der: bytes) -> str:
    """What identifies a certificate, in the form in which browsers and logs of certificates show it."""
    return f"sha256:{sha256(der).hexdigest()}"


def certificate_flaws(der: bytes, host: str, now: float) -> tuple[str, ...]:
    """The flaws that a browser would complain about: dates, names, self-issued. The chain is not verified."""
    certificate = _read(der)
    return ("certificate_unreadable",) if certificate is None else tuple(_flaws(certificate, host, now))


@lru_cache(256)
def _read(der: bytes) -> _Certificate | None:
    """Cached: parsing takes 25 us, and a provider serves one certificate for hundreds of hosts."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)  # about malformed fields
            found = x509.load_der_x509_certificate(der)
        begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
        return _Certificate(begins, ends, tuple(_names(found)), self_issued=found.issuer == found.subject)
    except _UNREADABLE:
        return None


def _flaws(certificate: _Certificate, host: str, now: float) -> Iterator[str]:
    if not certificate.begins <= datetime.fromtimestamp(now, UTC) <= certificate.ends:
        yield "certificate_date"
    if not any(_matches(name, host) for name in certificate.names):
        yield "certificate_name"
    if certificate.self_issued:
        yield "certificate_self_issued"


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    names = [name.lower() for name in alternative.get_values_for_type(x509.DNSName)]
    return names + [str(address) for address in alternative.get_values_for_type(x509.IPAddress)]


def _matches(name: str, host: str) -> bool:
    host = host.rstrip(".")
    if ":" in host:
        return name == str(ip_address(host))
    # RFC 6125 6.4.3: a wildcard matches exactly the leftmost label
    return name == host or (name.startswith("*.") and "." in host and name[2:] == host.partition(".")[2])
