"""The declared encoding in a document's first bytes: the HTML Standard's "prescan a byte stream".

Every expression includes the byte that ends its piece. Where the prefix ends earlier it does not match: the standard's
"runs out of bytes", which ends the prescan.
"""

from __future__ import annotations

import re

from webcrawl.html import encodings

LENGTH = 1024  # the standard's limit
_TAG = re.compile(rb"<(?:(?P<comment>!--)|(?P<meta>meta)(?=[\t\n\f\r /])|(?P<tag>/?[a-z])|[!/?])", re.IGNORECASE)
_AFTER_NAME = re.compile(rb"[\t\n\f\r >]")
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*+ (?: (?P<end> > ) |
        (?P<name> [^\t\n\f\r />][^\t\n\f\r />=]*+ ) [\t\n\f\r ]*+ (?: (?=[^=]) |
            =[\t\n\f\r ]*+ (?: "(?P<double> [^"]*+ )" | '(?P<single> [^']*+ )' | (?=>) |
                (?P<bare> [^\t\n\f\r >"'][^\t\n\f\r >]*+ ) (?=[\t\n\f\r >]) ) ) )""",
    re.VERBOSE,
)
_CHARSET = re.compile(
    r"""charset [\t\n\f\r ]*+ = [\t\n\f\r ]*+
        (?: "([^"]*+)" | '([^']*+)' | ([^\t\n\f\r ;"'][^\t\n\f\r ;]*+) )?+""",
    re.VERBOSE,
)
_XML = re.compile(rb"<\?xml([^>]*)>")
_BLANK = re.compile(rb"[\0- ]")
_QUOTED = re.compile(rb"""[\0- ]*+ = [\0- ]*+ (?: "([^"]*+)" | '([^']*+)' )""", re.VERBOSE)


def declared(body: bytes, length: int = LENGTH) -> str | None:
    """The encoding declared in the first `length` bytes by a meta element, else by the XML declaration."""
    head = body[:length]
    if head.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if head.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    return _meta(head) or xml_declared(head)


def xml_declared(head: bytes) -> str | None:
    """The encoding that an XML declaration names."""
    declaration = _XML.match(head)
    found = _QUOTED.match(declaration[1].partition(b"encoding")[2]) if declaration else None
    label = (found[1] or found[2] or b"") if found else b""
    return _ascii_based(encodings.lookup(label.decode("latin-1"))) if not _BLANK.search(label) else None


def from_content(content: str) -> str | None:
    """The encoding that a `content` attribute such as `text/html; charset=x` names."""
    found = _CHARSET.search(content.lower())
    label = (found[1] or found[2] or found[3]) if found else None
    return encodings.lookup(label) if label else None


def _meta(head: bytes) -> str | None:
    at = 0
    while tag := _TAG.search(head, at):
        if tag["comment"]:
            at = head.find(b"-->", tag.end() - 2)  # they may be the dashes of `<!--`
        elif tag["meta"]:
            found, at = _meta_element(head, tag.end())
            if found:
                return found
        elif tag["tag"]:
            name_end = _AFTER_NAME.search(head, tag.end())
            at = _attributes(head, name_end.start(), {}) if name_end else 0
        else:
            at = head.find(b">", tag.start() + 1)
        if at <= tag.start():  # out of bytes
            return None
    return None


def _meta_element(head: bytes, at: int) -> tuple[str | None, int]:
    attributes: dict[bytes, bytes] = {}
    end = _attributes(head, at, attributes)
    if not end:
        return None, 0
    if b"charset" in attributes:  # wins over content, whichever comes first
        encoding = encodings.lookup(attributes[b"charset"].decode("latin-1"))
    elif attributes.get(b"http-equiv") == b"content-type":
        encoding = from_content(attributes.get(b"content", b"").decode("latin-1"))
    else:
        encoding = None
    return _ascii_based(encoding), end


def _attributes(head: bytes, at: int, found: dict[bytes, bytes]) -> int:
    """Reads a tag's attributes, the first of each name; returns where the tag ends, 0 if the bytes run out."""
    while attribute := _ATTRIBUTE.match(head, at):
        at = attribute.end()
        if attribute["end"]:
            return at
        value = attribute["double"] or attribute["single"] or attribute["bare"] or b""
        found.setdefault(attribute["name"].lower(), value.lower())
    return 0


def _ascii_based(encoding: str | None) -> str | None:
    """A declaration that was readable as bytes is not in UTF-16, whatever it says."""
    if encoding in encodings.UTF_16:
        return encodings.UTF_8
    return encodings.WINDOWS_1252 if encoding == "x-user-defined" else encoding
