"""Queries of links in documents that are not in UTF-8.

URL Standard 4.3, "query state": the query's non-ASCII characters are encoded in the document's encoding, then
percent-encoded; all other parts of a URL are UTF-8. Encoding the query here lets a UTF-8-only URL parser do the rest.
"""

from __future__ import annotations

import re

from webcrawl.html import encodings

_SPECIAL = re.compile(r"[\0- ]*+(?:(?:https?|ftp|file|wss?):|(?![a-z][a-z0-9+.-]*:))", re.IGNORECASE)
# Encoding Standard 4.3, "get an output encoding": for these it is UTF-8.
_NEVER_WRITTEN = (encodings.UTF_8, *encodings.UTF_16, encodings.REPLACEMENT)
_SPELLED = [f"%{byte:02X}" if byte > 0x7E or byte in b"\x1b&#;" else chr(byte) for byte in range(256)]
_RUNS = re.compile(r"[^\x00-\x7f]+")


def with_query(url: str, encoding: str) -> str:
    """The same link for a URL parser that encodes everything as UTF-8."""
    if url.isascii() or encoding in _NEVER_WRITTEN or not _SPECIAL.match(url):
        return url
    rest, mark, fragment = url.partition("#")
    path, question, query = rest.partition("?")
    if not question or query.isascii():
        return url
    return path + question + _RUNS.sub(lambda run: _percent(run[0], encoding), query) + mark + fragment


def _percent(text: str, encoding: str) -> str:
    """Percent-encodes; a character missing from the encoding becomes `&#number;`, as in a form."""
    user_defined = encoding == encodings.USER_DEFINED
    encoded = _encoded(text) if user_defined else text.encode(encodings.codec(encoding), "xmlcharrefreplace")
    return "".join(map(_SPELLED.__getitem__, encoded))


def _encoded(text: str) -> bytes:
    """Encoding Standard 14.5.2, the x-user-defined encoder for non-ASCII text; Python has none."""
    return b"".join(
        [b"%c" % (code - 0xF700) if 0xF780 <= code <= 0xF7FF else b"&#%d;" % code for code in map(ord, text)]
    )
