"""What is wrong with a certificate that was accepted all the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.utils import CryptographyDeprecationWarning

# What the library says of rubbish. It parses lazily: any field may turn out to be some.
_UNREADABLE = (ValueError, x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


def certificate_flaws(der: bytes, host: str, now: float) -> tuple[str, ...]:
    """Names of what a browser would complain of: dates, names, self-issued; the chain is not followed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)  # of rubbish it will once refuse
            certificate = x509.load_der_x509_certificate(der)
        return tuple(_flaws(certificate, host, datetime.fromtimestamp(now, UTC)))
    except _UNREADABLE:
        return ("certificate_unreadable",)


def _flaws(certificate: x509.Certificate, host: str, now: datetime) -> Iterator[str]:
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        yield "certificate_date"
    if not any(_matches(name, host) for name in _names(certificate)):
        yield "certificate_name"
    if certificate.issuer == certificate.subject:
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
    # RFC 6125 6.4.3: a wildcard stands for the leftmost label, as a whole
    return name == host or (name.startswith("*.") and "." in host and name[2:] == host.partition(".")[2])
