"""Kinds of values that choose how TLS is spoken."""

from __future__ import annotations

import ssl
from functools import lru_cache
from typing import Any

from webcrawl.base.settings.setting_kinds import text
from webcrawl.net.tls import VERSIONS, tls_context


class TlsVersion:
    """The oldest or the newest version to speak."""

    allowed: str = f"one of {', '.join(VERSIONS)}, or none"

    def read(self, value: Any, /) -> str | None:
        if str(value).strip().lower() in ("", "none"):
            return None
        found = text(value)
        if found not in VERSIONS:
            raise ValueError
        return found


class Ciphers:
    """Cipher suites."""

    allowed: str = "a list of cipher suites as OpenSSL has it"

    def read(self, value: Any, /) -> str:
        found = text(value)
        try:
            _accept(found)
        except ssl.SSLError as error:
            raise ValueError(", ".join(map(str, error.args))) from error
        return found


@lru_cache(8)
def _accept(ciphers: str) -> None:
    """Half of the time that checking all settings takes, and a start checks them a dozen times."""
    tls_context(ciphers=ciphers)
