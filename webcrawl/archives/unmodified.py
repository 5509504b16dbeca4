"""The page that a 304 stands for."""

from __future__ import annotations

import re
from dataclasses import replace

from webcrawl.model import Exchange

# These do not replace what the earlier answer said: they are of the message, or of a body that did not come
_KEPT = re.compile(rb"content-.*|transfer-encoding|connection|keep-alive|trailer|upgrade", re.IGNORECASE)


def unmodified(page: Exchange, answer: Exchange) -> Exchange:
    """The earlier page under its own status, with the headers that a cache would have after this 304 (RFC 9111 3.2)."""
    new = [(name, value) for name, value in answer.headers if not _KEPT.fullmatch(name)]
    names = {name.lower() for name, _ in new}
    return replace(
        answer,
        status=page.status,
        headers=[(name, value) for name, value in page.headers if name.lower() not in names] + new,
        wire=b"",
        payload=page.payload,
        body=page.body,
        rendered=page.rendered,
        _digest=page.digest,
        _type=None,
    )
