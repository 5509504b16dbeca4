"""Links in documents that are not in UTF-8: their query travels in the document's own encoding.

URL Standard 4.3, "query state": whatever of the query is not ASCII is encoded as the document is, then percent-encoded;
all other parts of a URL are UTF-8. Parsers that know UTF-8 only get such a link with its query already encoded.
"""

from __future__ import annotations

import re

from webcrawl.html import encodings

_SPECIAL = re.compile(r"[\0- ]*+(?:(?:https?|ftp|file|wss?):|(?![a-z][a-z0-9+.-]*:))", re.IGNORECASE)
_RUNS = re.compile(r"[^\x00-\x7f]+")


def with_query(url: str, encoding: str) -> str:
    """The same link for a parser that takes all text for UTF-8."""
    if url.isascii() or encoding == encodings.UTF_8 or encoding in encodings.UTF_16 or not _SPECIAL.match(url):
        return url
    rest, mark, fragment = url.partition("#")
    path, question, query = rest.partition("?")
    if not question or query.isascii():
        return url
    codec = encodings.codec(encoding)
    return path + question + _RUNS.sub(lambda run: _percent(run[0], codec), query) + mark + fragment


def _percent(text: str, codec: str) -> str:
    """A character that the encoding has not is sent as `&#number;`, percent-encoded, as a form would."""
    encoded = bytearray()
    for character in text:
        try:
            encoded += character.encode(codec)
        except UnicodeEncodeError:
            encoded += b"&#%d;" % ord(character)
    return "".join(f"%{byte:02X}" if byte > 0x7E or byte in b"\x1b&#;" else chr(byte) for byte in encoded)
