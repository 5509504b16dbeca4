"""Web encodings: labels, names and decoding (Encoding Standard), and the encoding of a document.

A document's encoding is found by the HTML Standard's encoding sniffing algorithm: it is declared,
or guessed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from functools import lru_cache

import webencodings  # type: ignore[import-untyped,unused-ignore]  # untyped
from chardetng_py import EncodingDetector  # type: ignore[import-untyped,unused-ignore]  # untyped

from webcrawl.base.possessive import compile_possessive
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
    """Return the Encoding Standard's name, in lower case, for this label; None if it is unknown."""
    return webencodings.LABELS.get(label.strip(SPACE).lower()) if label.isascii() else None


# Python's names of variants, and of Mac OS's encodings, which a detector returns
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
    """Return the standard's name for Python's name of an encoding, or Python's if it has none.

    Return an empty string for encodings that can hide markup, except ISO-2022-JP, which the
    standard has.
    """
    label = codec_name.lower().replace("_", "-").replace("iso8859", "iso-8859")
    if label.startswith("iso2022-jp"):
        return "iso-2022-jp"
    found = lookup(_BY_PYTHON.get(label, label))
    can_hide_markup = found == REPLACEMENT or label.startswith(("iso2022", "hz"))
    if can_hide_markup:
        return ""
    return found or codec_name


def codec(encoding: str) -> str:
    """Return Python's codec name for an encoding that `lookup` or `by_python` returned."""
    known = webencodings.lookup(encoding)
    if known is not None:
        return _CODECS.get(encoding) or str(known.codec_info.name)
    try:
        return codecs.lookup(encoding).name
    except LookupError:  # a name of the standard that is no encoding
        return UTF_8


def decode(body: bytes, encoding: str) -> str:
    """Return the text without its byte order mark. Undecodable bytes become U+FFFD. Never raises."""
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
    """Return whether a text is mostly U+FFFD, which replaces undecodable bytes."""
    if "\ufffd" not in text:
        return False
    return 2 * text.count("\ufffd") > len("".join(text.split()))


_USER_DEFINED = {byte: 0xF700 + byte for byte in range(0x80, 0x100)}


@lru_cache(64)
def _table(encoding: str) -> str:
    """Return the character of each byte. Bytes that Python's codec lacks are in the table, too."""
    # With the codec's error handler, 2 MiB of such bytes took 0.8 s. Where Python's windows codecs
    # have holes, the standard's tables have the control character of that number
    table = [bytes((byte,)).decode(codec(encoding), "replace") for byte in range(256)]
    if encoding.startswith("windows-"):
        for byte in _CONTROLS:
            if table[byte] == "\ufffd":
                table[byte] = chr(byte)
    return "".join(table)


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
_CHARSET = compile_possessive(
    r"""charset [\t\n\f\r ]*+ = [\t\n\f\r ]*+
        (?: "([^"]*+)" | '([^']*+)' | ([^\t\n\f\r ;"'][^\t\n\f\r ;]*+) )?+""",
    re.VERBOSE,
)
_XML = re.compile(rb"<\?xml([^>]*)>")
_BLANK = re.compile(rb"[\0- ]")
_QUOTED = re.compile(rb"""[\0- ]*+ = [\0- ]*+ (?: "([^"]*+)" | '([^']*+)' )""", re.VERBOSE)


def declared(body: bytes, length: int = PRESCANNED) -> str | None:
    """Return the encoding that the first bytes declare: in a meta element or XML declaration."""
    head = body[:length]
    if head.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if head.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    return _encoding_in_meta(head) or xml_declared(head)


def xml_declared(head: bytes) -> str | None:
    """Return the encoding that an XML declaration names, or None."""
    declaration = _XML.match(head)
    if declaration is None:
        return None
    found = _QUOTED.match(declaration[1].partition(b"encoding")[2])
    if found is None:
        return None
    label = found[1] or found[2] or b""
    # The standard's prescan takes the bytes as they are, and no label has a blank
    if _BLANK.search(label):
        return None
    return _ascii_based(lookup(label.decode("latin-1")))


def from_content(content: str) -> str | None:
    """Return the encoding that a `content` attribute such as `text/html; charset=x` names."""
    found = _CHARSET.search(content.lower())
    if found is None:
        return None
    label = found[1] or found[2] or found[3]
    return lookup(label) if label else None


def _encoding_in_meta(head: bytes) -> str | None:
    """Return the encoding that a <meta> at the beginning of a page declares, as the standard's
    prescan finds it.

    None if there is none.
    """
    place = 0
    while tag := _TAG.search(head, place):
        if tag["comment"]:
            place = head.find(b"-->", tag.end() - 2)  # they may be the dashes of `<!--`
        elif tag["meta"]:
            encoding, place = _encoding_of_element(head, tag.end())
            if encoding:
                return encoding
        elif tag["tag"]:
            name_end = _AFTER_NAME.search(head, tag.end())
            place = _read_attributes(head, name_end.start(), {}) if name_end else 0
        else:
            place = head.find(b">", tag.start() + 1)
        if place <= tag.start():  # out of bytes
            return None
    return None


def _encoding_of_element(head: bytes, at: int) -> tuple[str | None, int]:
    """Return the encoding that the <meta> whose attributes begin here declares, and where it ends.

    None if it declares none; the end is 0 if the bytes end before it.
    """
    attributes: dict[bytes, bytes] = {}
    end = _read_attributes(head, at, attributes)
    if not end:
        return None, 0
    if b"charset" in attributes:  # wins over content, whichever comes first
        encoding = lookup(attributes[b"charset"].decode("latin-1"))
    elif attributes.get(b"http-equiv") == b"content-type":
        encoding = from_content(attributes.get(b"content", b"").decode("latin-1"))
    else:
        encoding = None
    return _ascii_based(encoding), end


def _read_attributes(head: bytes, at: int, found: dict[bytes, bytes]) -> int:
    """Read a tag's attributes, the first of each name; return the tag's end, or 0 if there is none."""
    while attribute := _ATTRIBUTE.match(head, at):
        at = attribute.end()
        if attribute["end"]:
            return at
        value = attribute["double"] or attribute["single"] or attribute["bare"] or b""
        found.setdefault(attribute["name"].lower(), value.lower())
    return 0


def _ascii_based(encoding: str | None) -> str | None:
    """Return the encoding that a declaration really means.

    If the declaration could be read as ASCII, the page is not in UTF-16.
    """
    if encoding in UTF_16:
        return UTF_8
    # HTML Standard 13.2.3.2: in a declaration of the page x-user-defined means windows-1252
    return WINDOWS_1252 if encoding == USER_DEFINED else encoding


SAMPLE = 1024  # bytes
WINDOW = 1 << 16  # bytes that chardet, the slower detector, gets
SURE = 0.1  # chardet's results with less confidence are right less often than browsers' guesses
UNICODE = ("utf-16", "utf-32")
WIDE_SAMPLE = 4096  # bytes in which zeros are counted
# UTF-16 has more zeros than the first number, and more than one in this many characters
FEW_ZEROS, RARE_ZEROS = 6, 12
# No encoding uses `<` or `>` as the second byte of a character: text may be split there.
_BEYOND_ASCII = re.compile(rb"[\x80-\xff][^<>]*")
# With less than one byte beyond ASCII in this many, chardet goes by the language of the others
FEW = 20
# Browsers guess these for texts in DOS's and Mac OS's encodings
LATIN = frozenset(("windows-1252", "windows-1250", "windows-1254", "iso-8859-2"))
_HIGH = bytes(range(128, 256))
_MARKUP = compile_possessive(  # with the blanks around it
    rb"(?:<script\b.*?(?:</script[^>]*>|\Z)|<style\b.*?(?:</style[^>]*>|\Z)|<!--.*?(?:-->|\Z)|<[^>]*+>?|\s++)++",
    re.DOTALL | re.IGNORECASE,
)


def guess(body: bytes, host: str = "") -> str:
    """Return UTF-8 if the body is valid UTF-8, else the guess of chardet or of browsers' detector.

    chardet knows encodings that no browser guesses: DOS's and Mac OS's, UTF-16 and UTF-32 without a
    mark. Markup makes it less sure, and it misses a few words in other letters. Then chardetng
    guesses. The top-level domain of `host` decides between encodings that differ by language only.
    """
    if b"\0" in body[:SAMPLE]:
        return _guess_with_zeros(body, host)
    if body.isascii():
        # An escape begins another character set in ISO-2022-JP
        if b"\x1b" not in body:
            return WINDOWS_1252
        return _by_chardet(body) or _by_browsers(body[:SAMPLE], host)
    if is_utf_8(body):
        return UTF_8
    # This guesses 246 of 319 real pages right that were written in older encodings; with the markup
    # it is 160, and chardetng alone guesses 155
    text = _MARKUP.sub(b" ", body)
    by_browsers = _by_browsers(sample(body), host)
    beyond_ascii = len(text) - len(text.translate(None, _HIGH))
    is_nearly_ascii = FEW * beyond_ascii < len(text)
    if is_nearly_ascii and by_browsers not in LATIN:
        return by_browsers
    return _by_chardet(text) or by_browsers


def _guess_with_zeros(body: bytes, host: str) -> str:
    found = _by_zeros(body[:WIDE_SAMPLE]) or _by_chardet(body)
    if found.startswith(UNICODE):
        return found
    # Zeros in a text of another encoding
    return UTF_8 if is_utf_8(body) else _by_browsers(sample(body), host)


def _by_zeros(body: bytes) -> str:
    """Return UTF-16 or UTF-32 by the places of the zeros in spaces and markup; "" for other texts.

    chardet goes by the letters, and takes some languages for another with the other byte order.
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
    """Return UTF-16 or UTF-32 by the number of zeros at each place of a group of four bytes.

    `fours` is the number of groups. Return an empty string for other encodings.
    """
    if not fours:
        return ""
    if _is_utf_32(fours, highest=zeros[3], next_highest=zeros[2], lowest=zeros[0]):
        return "utf-32-le"
    if _is_utf_32(fours, highest=zeros[0], next_highest=zeros[1], lowest=zeros[3]):
        return "utf-32-be"
    even = zeros[0] + zeros[2]
    odd = zeros[1] + zeros[3]
    most = max(even, odd)
    least = min(even, odd)
    are_enough = most > FEW_ZEROS and most > 2 * fours // RARE_ZEROS
    are_on_one_side = most > 4 * least
    if not are_enough or not are_on_one_side:
        return ""
    return "utf-16le" if odd > even else "utf-16be"


def _is_utf_32(fours: int, *, highest: int, next_highest: int, lowest: int) -> bool:
    """Return whether these numbers of zeros are those of a text in UTF-32.

    The highest byte of a character is always zero, the next one nearly always, and the lowest is
    that of a letter.
    """
    half = fours // 2
    return highest == fours and next_highest > half and lowest < half


def _by_chardet(body: bytes) -> str:
    """Return chardet's guess from the first text beyond ASCII; empty if nothing is likely."""
    import chardet  # noqa: PLC0415 - 40 MB, for pages that declare nothing

    # The window begins at the beginning, or shortly before the first letter if that is far away
    begin = _BEYOND_ASCII.search(body)
    at = 0
    if begin is not None and begin.start() > WINDOW // 2:
        at = begin.start() - SAMPLE
    eras = chardet.EncodingEra.ALL & ~chardet.EncodingEra.MAINFRAME
    found = chardet.detect(
        body[at : at + WINDOW],
        encoding_era=eras,
        compat_names=False,
        exclude_encodings=("utf-7",),
        prefer_superset=False,
    )
    name = found["encoding"]
    if name in (None, "ascii", "utf-8") or found["confidence"] < SURE:
        return ""
    return by_python(name)


def is_utf_8(body: bytes) -> bool:
    """Return whether the body is UTF-8, possibly truncated within a character."""
    try:
        return len(body) - codecs.utf_8_decode(body, "strict", False)[1] < 4
    except UnicodeDecodeError:
        return False


def sample(body: bytes) -> bytes:
    """Return the first pieces of text, each from its first non-ASCII byte to the next markup."""
    pieces: list[bytes] = []
    size = 0
    for piece in _BEYOND_ASCII.finditer(body):
        pieces.append(piece[0])
        size += len(piece[0]) + 1
        if size >= SAMPLE:
            break
    return b"<".join(pieces)[:SAMPLE]


def _by_browsers(text: bytes, host: str) -> str:
    """Return the guess of Firefox's detector, which takes 0.1 µs per byte of text."""
    detector = EncodingDetector()
    detector.feed(text, last=False)  # the sample may end within a character
    domain = host.rpartition(".")[2].lower()
    is_tld = domain.isascii() and domain.isalnum() and not domain.isdigit()
    tld = domain.encode() if is_tld else None
    return lookup(detector.guess(tld=tld, allow_utf8=False)) or WINDOWS_1252


# Browsers restart parsing when they meet a declaration beyond the prescan's 1024 bytes
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
    """Return the encoding of a document.

    Its byte order mark counts first, then Content-Type, then its own declaration. Without these it
    is guessed; `url` is a hint for the guess.
    """
    if body.startswith(MARKS):
        return _of_mark(body)
    mime = mimetype.parse(content_type) if content_type else None
    if mime is not None:
        # A label that the standard does not know counts as none, and the body decides
        encoding = lookup(mime.parameters.get("charset", ""))
        if encoding is not None:
            return encoding
        if is_xml(mime.essence):
            return _of_xml(body)
    return declared(body) or _late(body) or guess(body, _host(url))


def _of_mark(body: bytes) -> str:
    return next(encoding for mark, encoding in BOMS if body.startswith(mark))


def _of_xml(body: bytes) -> str:
    """Return the encoding of XML: declared, or UTF-8, but never guessed (XML 1.0, appendix F)."""
    return wide(body) or xml_declared(body[:1024]) or UTF_8


def wide(xml: bytes) -> str:
    """Return UTF-16 or UTF-32 by the first bytes without a mark (XML 1.0, appendix F); else ""."""
    return next((encoding for start, encoding in _WIDE if xml.startswith(start)), "")


def _late(body: bytes) -> str | None:
    """Return the encoding that is declared beyond the prescan, or None.

    Scanning 16 KiB costs as much as a page's links, so look for the word first.
    """
    if b"charset" not in body[PRESCANNED:LATE].lower():
        return None
    return declared(body, LATE)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0]


def is_xml(essence: str) -> bool:
    return essence in ("text/xml", "application/xml") or essence.endswith("+xml")
