"""Web encodings: labels to names, and decoding (Encoding Standard)."""

from __future__ import annotations

import codecs
from functools import lru_cache

import webencodings  # type: ignore[import-untyped,unused-ignore]  # untyped

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
    """The name of an encoding that Python knows by this one: the standard's, or Python's where it has none.

    Empty for those that can hide markup, beside the one of them that the standard has.
    """
    label = codec_name.lower().replace("_", "-").replace("iso8859", "iso-8859")
    if label.startswith("iso2022-jp"):
        return "iso-2022-jp"
    found = lookup(_BY_PYTHON.get(label, label))
    return "" if found == REPLACEMENT or label.startswith(("iso2022", "hz")) else found or codec_name


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
    """Return whether a text is mostly U+FFFD, which stands for what could not be decoded, here or by its server."""
    return 2 * text.count("\ufffd") > len("".join(text.split())) if "\ufffd" in text else False


_USER_DEFINED = {byte: 0xF700 + byte for byte in range(0x80, 0x100)}


@lru_cache(64)
def _table(encoding: str) -> str:
    """One character per byte, also for bytes that Python's codec lacks: 2 MiB of those took its error handler 0.8 s.

    Where Python's windows codecs have holes, the standard's tables have the control character of that number.
    """
    known = (bytes((byte,)).decode(codec(encoding), "replace") for byte in range(256))
    controls = _CONTROLS if encoding.startswith("windows-") else ()
    return "".join(chr(byte) if char == "\ufffd" and byte in controls else char for byte, char in enumerate(known))
