"""The language that a URL names: by a mark in host, path or query, or by its top-level domain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from webcrawl.base.url_text import host_of

# ISO 639-1; only a code of these is a mark. Others mean something else as often: be, ca, id, uk.
_CODES = """
    ar bg bs cs cy da de el en es et eu fa fi fr ga gl he hi hr hu hy is it ja ka kk ko lt lv mk ms mt nb nl nn no
    pl pt ro ru sk sl sq sr sv th tr ur uz vi zh
"""
CODES = frozenset(_CODES.split())
SPOKEN = {  # by top-level domain; those that are sold to everybody (io, co, tv, me) are not here
    **dict.fromkeys(("at", "de", "li"), ("de",)),
    **dict.fromkeys(
        ("es", "mx", "ar", "cl", "pe", "uy", "ve", "cr", "ec", "bo", "gt", "do"), ("es",)
    ),
    **dict.fromkeys(("uk", "us", "ie", "au", "nz"), ("en",)),
    **dict.fromkeys(("pt", "br", "ao", "mz"), ("pt",)),
    **dict.fromkeys(("cn", "tw", "hk"), ("zh",)),
    **dict.fromkeys(("ru", "su", "xn--p1ai"), ("ru",)),
    **dict.fromkeys(("gr", "cy"), ("el",)),
    **dict.fromkeys(("fr", "re"), ("fr",)),
    "si": ("sl",),
    "hr": ("hr",),
    "rs": ("sr",),
    "xn--90a3ac": ("sr",),
    "ba": ("bs", "hr", "sr"),
    "mk": ("mk",),
    "it": ("it",),
    "sm": ("it",),
    "ch": ("de", "fr", "it"),
    "be": ("nl", "fr"),
    "lu": ("fr", "de"),
    "nl": ("nl",),
    "pl": ("pl",),
    "cz": ("cs",),
    "sk": ("sk",),
    "hu": ("hu",),
    "ro": ("ro",),
    "md": ("ro",),
    "bg": ("bg",),
    "ua": ("uk",),
    "by": ("be", "ru"),
    "lt": ("lt",),
    "lv": ("lv",),
    "ee": ("et",),
    "fi": ("fi",),
    "se": ("sv",),
    "no": ("no",),
    "dk": ("da",),
    "is": ("is",),
    "tr": ("tr",),
    "il": ("he",),
    "ir": ("fa",),
    "jp": ("ja",),
    "kr": ("ko",),
    "th": ("th",),
    "vn": ("vi",),
    "id": ("id",),
    "my": ("ms",),
    "in": ("hi", "en"),
    "al": ("sq",),
    "mt": ("mt", "en"),
    "cat": ("ca",),
    "gal": ("gl",),
    "eus": ("eu",),
    "ca": ("en", "fr"),
    "ge": ("ka",),
    "am": ("hy",),
    "kz": ("kk", "ru"),
    "uz": ("uz",),
    "eg": ("ar",),
    "sa": ("ar",),
    "ma": ("ar", "fr"),
}
# `/pt-br/` is marked as pt: the country says nothing of the language
_FOLDER = re.compile(r"//[^/]*/([a-z]{2})(?:[-_][a-z]{2})?(?=[/?]|$)", re.IGNORECASE)
_QUERY = re.compile(r"[?&](?:lang|language|locale|hl|lng)=([a-z]{2})(?![a-z])", re.IGNORECASE)
# Two labels behind it: of `de.example` the first label is the domain's own name
_LABEL = re.compile(r"//([a-z]{2})\.[^/]*\.", re.IGNORECASE)


def marked_language(url: str) -> str:
    """Return the code in the first folder, in a parameter for it, or in the first label; else ""."""
    for pattern in (_FOLDER, _QUERY, _LABEL):
        found = pattern.search(url)
        if found is not None and (code := found[1].lower()) in CODES:
            return code
    return ""


def domain_languages(url: str) -> Sequence[str]:
    """Return the languages that most pages of a top-level domain are in, if it has such."""
    return SPOKEN.get(host_of(url).rpartition(".")[2], ())
