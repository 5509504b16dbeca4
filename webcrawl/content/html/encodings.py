"""Web encodings: labels to names, and decoding (Encoding Standard); which one a document has (HTML
Standard).

The encoding of a document is found by the encoding sniffing algorithm: declared, or guessed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from functools import lru_cache

import webencodings  # type: ignore[import-untyped,unused-ignore]  # untyped
from chardetng_py import EncodingDetector  # type: ignore[import-untyped,unused-ignore]  # untyped

from webcrawl.content.html import mimetype

UTF_8 = "utf-8"
WINDOWS_1252 = "windows-1252"
UTF_16 = ("utf-16le", "utf-16be")
REPLACEMENT = "replacement"
USER_DEFINED = "x-user-defined"
SPACE = "\t\n\f\r "  # the standards' "ASCII whitespace"
_CONTROLS = range(0x80, 0xA0)
_CODECS = {"gbk": "gb18030"}  # the standard has one decoder for both


def lookup(label: str) -> str | None:
    """The Encoding Standard's name, in lower case, for this label; None if it is unknown."""
    return webencodings.LABELS.get(label.strip(SPACE).lower()) if label.isascii() else None


# A detector names variants of these, and Mac OS's as Python does
_BY_PYTHON = {
    **dict.fromkeys(("cp932", "shift-jis-2004", "shift-jisx0213"), "shift_jis"),
    **dict.fromkeys(("euc-jis-2004", "euc-jisx0213"), "euc-jp"),
    **dict.fromkeys(("cp949", "uhc"), "euc-kr"),
    "big5hkscs": "big5",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-roman": "macintosh",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
}


def by_python(codec_name: str) -> str:
    """The name of an encoding that Python knows by this one: the standard's, or Python's where it
    has none.

    Empty for those that can hide markup, beside the one of them that the standard has.
    """
    label = codec_name.lower().replace("_", "-").replace("iso8859", "iso-8859")
    if label.startswith("iso2022-jp"):
        return "iso-2022-jp"
    found = lookup(_BY_PYTHON.get(label, label))
    return (
        "" if found == REPLACEMENT or label.startswith(("iso2022", "hz")) else found or codec_name
    )


def codec(encoding: str) -> str:
    """Python's codec name for an encoding that `lookup` or `by_python` returned."""
    known = webencodings.lookup(encoding)
    if known is not None:
        return _CODECS.get(encoding) or str(known.codec_info.name)
    try:
        return codecs.lookup(encoding).name
    except LookupError:  # one of the standard's that is none
        return UTF_8


def decode(body: bytes, encoding: str) -> str:
    """The text, without its byte order mark; undecodable bytes become U+FFFD. Never raises."""
    if encoding == UTF_8:
        return body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    if encoding == REPLACEMENT:  # encodings that can hide markup: the standard shows none of it
        return "\ufffd" if body else ""
    if encoding == USER_DEFINED:
        return body.decode("latin-1").translate(_USER_DEFINED)
    if encoding.startswith(("windows-", "iso-8859-", "cp", "mac")):
        return codecs.charmap_decode(body, "strict", _table(encoding))[0]
    return body.decode(codec(encoding), "replace").removeprefix("\ufeff")


def is_undecodable(text: str) -> bool:
    """Return whether a text is mostly U+FFFD, which stands for what could not be decoded, here or
    by its server.
    """
    return 2 * text.count("\ufffd") > len("".join(text.split())) if "\ufffd" in text else False


_USER_DEFINED = {byte: 0xF700 + byte for byte in range(0x80, 0x100)}


@lru_cache(64)
def _table(encoding: str) -> str:
    """One character per byte, also for bytes that Python's codec lacks: 2 MiB of those took its
    error handler 0.8 s.

    Where Python's windows codecs have holes, the standard's tables have the control character of
    that number.
    """
    known = (bytes((byte,)).decode(codec(encoding), "replace") for byte in range(256))
    controls = _CONTROLS if encoding.startswith("windows-") else ()
    return "".join(
        chr(byte) if char == "\ufffd" and byte in controls else char
        for byte, char in enumerate(known)
    )


PRESCANNED = 1024  # the standard's limit
_TAG = re.compile(
    rb"<(?:(?P<comment>!--)|(?P<meta>meta)(?=[\t\n\f\r /])|(?P<tag>/?[a-z])|[!/?])", re.IGNORECASE
)
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


def declared(body: bytes, length: int = PRESCANNED) -> str | None:
    """The encoding declared in the first `length` bytes by a meta element, else by the XML
    declaration.
    """
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
    return _ascii_based(lookup(label.decode("latin-1"))) if not _BLANK.search(label) else None


def from_content(content: str) -> str | None:
    """The encoding that a `content` attribute such as `text/html; charset=x` names."""
    found = _CHARSET.search(content.lower())
    label = (found[1] or found[2] or found[3]) if found else None
    return lookup(label) if label else None


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
        encoding = lookup(attributes[b"charset"].decode("latin-1"))
    elif attributes.get(b"http-equiv") == b"content-type":
        encoding = from_content(attributes.get(b"content", b"").decode("latin-1"))
    else:
        encoding = None
    return _ascii_based(encoding), end


def _attributes(head: bytes, at: int, found: dict[bytes, bytes]) -> int:
    """Reads a tag's attributes, the first of each name; returns where the tag ends, 0 if the bytes
    run out.
    """
    while attribute := _ATTRIBUTE.match(head, at):
        at = attribute.end()
        if attribute["end"]:
            return at
        value = attribute["double"] or attribute["single"] or attribute["bare"] or b""
        found.setdefault(attribute["name"].lower(), value.lower())
    return 0


def _ascii_based(encoding: str | None) -> str | None:
    """A declaration that was readable as bytes is not in UTF-16, whatever it says."""
    if encoding in UTF_16:
        return UTF_8
    return WINDOWS_1252 if encoding == "x-user-defined" else encoding


SAMPLE = 1024
WINDOW = 1 << 16  # bytes that the slower detector gets
SURE = 0.1  # its answers below are right less often than those of browsers' detector
UNICODE = ("utf-16", "utf-32")
WIDE_SAMPLE = 4096  # bytes in which zeros are counted
# more than so many, and one in so many characters, make a text UTF-16
FEW_ZEROS, RARE_ZEROS = 6, 12
# No encoding uses `<` or `>` as the second byte of a character: text may be cut there.
_BEYOND_ASCII = re.compile(rb"[\x80-\xff][^<>]*")
# of so many bytes of text less than one beyond ASCII: chardet goes by the language of the others
FEW = 20
# DOS's and Mac OS's, to browsers
LATIN = frozenset(("windows-1252", "windows-1250", "windows-1254", "iso-8859-2"))
_HIGH = bytes(range(128, 256))
_MARKUP = re.compile(  # with the blanks around it
    rb"(?:<script\b.*?(?:</script[^>]*>|\Z)|<style\b.*?(?:</style[^>]*>|\Z)|<!--.*?(?:-->|\Z)|<[^>]*+>?|\s++)++",
    re.DOTALL | re.IGNORECASE,
)


def guess(body: bytes, host: str = "") -> str:
    """Return UTF-8 if the body is valid UTF-8, else chardet's guess; if it is unsure, that of
    browsers' detector.

    chardet knows what no browser guesses: DOS's and Mac OS's encodings, UTF-16 and UTF-32 without a
    mark. It takes markup for text, and is the less sure of the text the more markup there is; so it
    gets none. A few words in other letters escape it. For chardetng the top-level domain of `host`
    decides between encodings that differ only by language.
    """
    if b"\0" in body[:SAMPLE]:
        found = _by_zeros(body[:WIDE_SAMPLE]) or _by_chardet(body)
        if found.startswith(UNICODE):
            return found
        return UTF_8 if is_utf_8(body) else _by_browsers(sample(body), host)  # zeros in a text
    if body.isascii():
        if b"\x1b" not in body:
            return WINDOWS_1252
        return _by_chardet(body) or _by_browsers(body[:SAMPLE], host)
    if is_utf_8(body):
        return UTF_8
    text = _MARKUP.sub(b" ", body)
    by_browsers = _by_browsers(sample(body), host)
    beyond_ascii = len(text) - len(text.translate(None, _HIGH))
    is_nearly_ascii = FEW * beyond_ascii < len(text)
    goes_by_few_letters = is_nearly_ascii and by_browsers not in LATIN
    return by_browsers if goes_by_few_letters else _by_chardet(text) or by_browsers


def _by_zeros(body: bytes) -> str:
    """Return UTF-16 or UTF-32 by where the zeros of spaces and markup stand; empty if they are few
    or anywhere.

    chardet goes by the letters, and takes some languages for letters of another in the other order
    of bytes.
    """
    found = _wide_form([body[place::4].count(0) for place in range(4)], len(body) // 4)
    if not found:
        return ""
    try:
        codecs.getincrementaldecoder(found)().decode(body)
    except UnicodeDecodeError:
        return ""
    return found


def _wide_form(zeros: Sequence[int], fours: int) -> str:
    """Return the form by the zeros at each place of four bytes, of which there are `fours`; empty
    if it is none.
    """
    # Of four bytes of UTF-32 the highest is always zero, and the next one nearly always; the lowest
    # is a letter.
    if fours and zeros[3] == fours and zeros[2] > fours // 2 > zeros[0]:
        return "utf-32-le"
    if fours and zeros[0] == fours and zeros[1] > fours // 2 > zeros[3]:
        return "utf-32-be"
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    most, least = max(even, odd), min(even, odd)
    are_enough = most > FEW_ZEROS and most > 2 * fours // RARE_ZEROS
    if are_enough and most > 4 * least:
        return "utf-16le" if odd > even else "utf-16be"
    return ""


def _by_chardet(body: bytes) -> str:
    """The guess from the beginning, or from where the text is more than ASCII; empty if nothing is
    likely.
    """
    import chardet  # noqa: PLC0415 - 40 MB, for pages that declare nothing

    begin = _BEYOND_ASCII.search(body)
    at = begin.start() - SAMPLE if begin is not None and begin.start() > WINDOW // 2 else 0
    eras = chardet.EncodingEra.ALL & ~chardet.EncodingEra.MAINFRAME
    found = chardet.detect(
        body[at : at + WINDOW],
        encoding_era=eras,
        compat_names=False,
        exclude_encodings=("utf-7",),
        prefer_superset=False,
    )
    name = found["encoding"]
    return (
        by_python(name)
        if name not in (None, "ascii", "utf-8") and found["confidence"] >= SURE
        else ""
    )


def is_utf_8(body: bytes) -> bool:
    """Return whether the body is UTF-8, possibly truncated within a character."""
    try:
        return len(body) - codecs.utf_8_decode(body, "strict", False)[1] < 4
    except UnicodeDecodeError:
        return False


def sample(body: bytes, length: int = SAMPLE) -> bytes:
    """The first pieces of non-ASCII text, each from its first non-ASCII byte to the next markup."""
    pieces: list[bytes] = []
    size = 0
    for piece in _BEYOND_ASCII.finditer(body):
        pieces.append(piece[0])
        size += len(piece[0]) + 1
        if size >= length:
            break
    return b"<".join(pieces)[:length]


def _by_browsers(text: bytes, host: str) -> str:
    """The guess of Firefox's detector, which takes 0.1 µs per byte of text."""
    detector = EncodingDetector()
    detector.feed(text, last=False)  # the sample may end within a character
    domain = host.rpartition(".")[2].lower()
    tld = (
        domain.encode() if domain.isascii() and domain.isalnum() and not domain.isdigit() else None
    )
    return lookup(detector.guess(tld=tld, allow_utf8=False)) or WINDOWS_1252


# browsers restart parsing when they meet a declaration beyond the prescan's 1024 bytes
LATE = 16384
_WIDE = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16le"),
    (b"\0<", "utf-16be"),
)
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
)
MARKS = tuple(mark for mark, _ in BOMS)


def encoding_of(body: bytes, content_type: str = "", url: str = "") -> str:
    """Byte order mark, then Content-Type, then the document's declaration, then a guess, for which
    `url` is a hint.
    """
    if body.startswith(MARKS):
        return next(encoding for mark, encoding in BOMS if body.startswith(mark))
    mime = mimetype.parse(content_type) if content_type else None
    if mime is not None:
        charset = mime.parameters.get("charset")
        transport = lookup(charset) if charset is not None else None
        if transport:
            return transport
        if is_xml(mime.essence):  # XML 1.0, appendix F: declaration or UTF-8, never a guess
            return wide(body) or xml_declared(body[:1024]) or UTF_8
    return declared(body) or _late(body) or guess(body, _host(url))


def wide(xml: bytes) -> str:
    """UTF-16 or UTF-32 by how a document without a mark begins (XML 1.0, appendix F); else empty."""
    return next((encoding for start, encoding in _WIDE if xml.startswith(start)), "")


def _late(body: bytes) -> str | None:
    """A declaration beyond the prescan.

    Scanning 16 KiB costs as much as a page's links, so look for the word first.
    """
    return declared(body, LATE) if b"charset" in body[PRESCANNED:LATE].lower() else None


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0]


def is_xml(essence: str) -> bool:
    return essence in ("text/xml", "application/xml") or essence.endswith("+xml")
