"""Links in documents that are not in UTF-8: their query travels in the document's own encoding.

URL Standard 4.3, "query state": whatever of the query is not ASCII is encoded as the document is, then percent-encoded;
all other parts of a URL are UTF-8. Parsers that know UTF-8 only get such a link with its query already encoded.
"""

from __future__ import annotations

import re

from webcrawl.html import encodings

_SPECIAL = re.compile(r"[\0- ]*+(?:(?:https?|ftp|file|wss?):|(?![a-z][a-z0-9+.-]*:))", re.IGNORECASE)
# Encoding Standard 4.3, "get an output encoding": what cannot be written in them is written in UTF-8.
_NEVER_WRITTEN = (encodings.UTF_8, *encodings.UTF_16, encodings.REPLACEMENT)
_SPELLED = [f"%{byte:02X}" if byte > 0x7E or byte in b"\x1b&#;" else chr(byte) for byte in range(256)]
_RUNS = re.compile(r"[^\x00-\x7f]+")


def with_query(url: str, encoding: str) -> str:
    """The same link for a parser that takes all text for UTF-8."""
    if url.isascii() or encoding in _NEVER_WRITTEN or not _SPECIAL.match(url):
        return url
    rest, mark, fragment = url.partition("#")
    path, question, query = rest.partition("?")
    if not question or query.isascii():
        return url
    return path + question + _RUNS.sub(lambda run: _percent(run[0], encoding), query) + mark + fragment


def _percent(text: str, encoding: str) -> str:
    """A character that the encoding has not is sent as `&#number;`, percent-encoded, as a form would."""
    user_defined = encoding == encodings.USER_DEFINED
    encoded = _encoded(text) if user_defined else text.encode(encodings.codec(encoding), "xmlcharrefreplace")
    return "".join(map(_SPELLED.__getitem__, encoded))


def _encoded(text: str) -> bytes:
    """Encoding Standard 14.5.2, x-user-defined's encoder, for text beyond ASCII: Python has none."""
    return b"".join(
        [b"%c" % (code - 0xF700) if 0xF780 <= code <= 0xF7FF else b"&#%d;" % code for code in map(ord, text)]
    )
