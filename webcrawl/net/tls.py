"""TLS for a crawler: one context for all connections."""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Sequence

VERSIONS = {
    "TLSv1.0": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
ANY = "DEFAULT"


def tls_context(
    *,
    verify: bool = False,
    least: str | None = None,
    most: str | None = None,
    ciphers: str = ANY,
    protocols: Sequence[str] = ("http/1.1",),
) -> ssl.SSLContext:
    """Return a context for clients that accepts TLS 1.0 and weak ciphers.

    `verify` refuses untrusted certificates.

    `least` and `most` are versions by their names above, `ciphers` a list as OpenSSL has it,
    `protocols` what ALPN offers; raises ssl.SSLError.

    A crawler reads public pages and sends no secrets: a bad certificate is worth a note in the log,
    not the loss of the page. Hosts for which the operator has a login get `verifying_context`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(protocols)
    if verify:
        context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    with warnings.catch_warnings():  # Python's, of TLS 1.0 and 1.1
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = VERSIONS[least] if least else ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = VERSIONS[most] if most else ssl.TLSVersion.MAXIMUM_SUPPORTED
    # OpenSSL 3 allows TLS 1.0 and 1.1 at no higher level
    context.set_ciphers(f"{ANY}:@SECLEVEL=0" if ciphers == ANY else ciphers)
    context.options |= 0x4  # SSL_OP_LEGACY_SERVER_CONNECT: servers without secure renegotiation
    return context


def verifying_context(protocols: Sequence[str] = ("http/1.1",)) -> ssl.SSLContext:
    """Return a context for servers that get a secret: it must reach them, and no one between."""
    return tls_context(verify=True, least="TLSv1.2", protocols=protocols)
