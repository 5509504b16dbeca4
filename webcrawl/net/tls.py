"""TLS for a crawler: one context for all connections."""

from __future__ import annotations

import ssl


def tls_context(*, verify: bool = False) -> ssl.SSLContext:
    """A context for clients that accepts TLS 1.0 and weak ciphers; `verify` refuses untrusted certificates.

    A crawler reads public pages and sends no secrets: a bad certificate is worth a note in the log, not the loss
    of the page.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    if verify:
        context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # OpenSSL 3 allows TLS 1.0 and 1.1 at no higher level
    context.options |= 0x4  # SSL_OP_LEGACY_SERVER_CONNECT: servers without secure renegotiation
    return context
