"""Kinds of values that say who the crawler is."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

from webcrawl.base.program import program
from webcrawl.base.settings.setting_kinds import Secret, is_none, text
from webcrawl.net.identity.request_signing import STRING, form_and_origin
from webcrawl.urls.canonical import canonical

LONGEST = 200  # characters of an origin or address
_CONTENT = re.compile(r"-----|[{}\"\n]|PRIVATE KEY")  # of a key, not of its file's name
_BARE = re.compile(r"[\w+=-][\w+/=-]{39,}")  # perhaps what stands between a key's first line and its last
_MAIL = re.compile(r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_ORIGIN = re.compile(r"https://[^/?#@\\\"]+/")


class KeyFile:
    """A file with a private key; it is read to check it."""

    allowed: str = "the path of a file of mode 0600 with an Ed25519 key, PEM (PKCS #8) or JWK, or none"

    def read(self, value: Any, /) -> str | None:
        if is_none(value):
            return None
        found = text(os.fspath(value) if isinstance(value, os.PathLike) else value)
        if _CONTENT.search(found):
            raise Secret("a key itself, it seems: what is wanted is its file")
        if "\0" in found:
            raise ValueError("a path cannot contain a NUL")
        from webcrawl.net.identity.signing_key import BadKey  # noqa: PLC0415 - its library takes 30 ms

        try:
            _hold_key(found)
        except FileNotFoundError as error:
            if _BARE.fullmatch(found):
                raise Secret("there is no such file, and it may be a key itself") from None
            raise ValueError(f"there is no such file: {program()} identity new makes one") from error
        except BadKey as error:
            raise ValueError(str(error)) from None
        except OSError as error:
            raise ValueError(error.strerror or "it cannot be read") from error
        return found


class AgentOrigin:
    """The place of a key directory: scheme, host and port; before it, perhaps, the form of Signature-Agent."""

    allowed: str = "an https origin, without a path, such as https://bot.example.org, also after `string:`, or none"

    def read(self, value: Any, /) -> str | None:
        if is_none(value):
            return None
        if not isinstance(value, str) or len(value) > LONGEST:
            raise ValueError
        form, origin = form_and_origin(value.strip())
        found = canonical(origin)
        if not _ORIGIN.fullmatch(found) or set(value) & set("?#@"):
            raise ValueError
        return f"{form}:{found.rstrip('/')}" if form == STRING else found.rstrip("/")


class MailAddress:
    """One mailbox, without a name."""

    allowed: str = "an e-mail address, or none"

    def read(self, value: Any, /) -> str:
        if is_none(value):
            return ""
        found = text(value)
        if len(found) > LONGEST or not _MAIL.fullmatch(found):
            raise ValueError
        return found


@cache
def _hold_key(path: str) -> None:
    """Raises BadKey or OSError unless the file holds a key.

    Settings are checked at any time of a crawl, which has read its key at the start: a file that held one is not looked
    at again, so that it may be moved or exchanged.
    """
    from webcrawl.net.identity.signing_key import SigningKey  # noqa: PLC0415 - as above

    SigningKey.read(path)
