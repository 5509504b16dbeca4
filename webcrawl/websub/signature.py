"""Signed pushes: the header X-Hub-Signature (W3C WebSub 7.1)."""

from __future__ import annotations

import hashlib
import hmac

METHODS = frozenset(("sha1", "sha256", "sha384", "sha512"))  # all that the specification knows


def is_signed(header: str, body: bytes, secret: str) -> bool:
    """Whether this is the body's signature by the secret, `method=hexadecimal`; compared in constant time."""
    method, _, given = header.strip().partition("=")
    method = method.strip().lower()
    if method not in METHODS:
        return False
    expected = hmac.new(secret.encode(), body, getattr(hashlib, method)).hexdigest()
    return hmac.compare_digest(expected.encode(), given.strip().lower().encode("utf-8", "replace"))
