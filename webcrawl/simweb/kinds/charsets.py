"""Documents in other encodings. The link is spelled in the document's script: only the right encoding finds it.

The path of a URL is UTF-8 whatever the page's encoding (URL standard, 4.4), so the target does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from webcrawl.simweb.answers import Anchor, Answer
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import Place


@dataclass(frozen=True, slots=True)
class Charset:
    """A page's encoding, what the page says about it, and the word at the end of its link."""

    codec: str
    word: str
    header: str = ""
    meta: str = ""
    mark: bytes = b""


def _charset(charset: Charset) -> Kind:
    def answer(place: Place) -> Answer:
        meta = f'<meta http-equiv="Content-Type" content="text/html; charset={charset.meta}">' if charset.meta else ""
        page = (
            f"<!DOCTYPE html><html><head>{meta}<title>{place.url}</title></head><body><p>{charset.word * 20}</p>"
            f'<a href="{place.landing(charset.word)}">{charset.word}</a></body></html>'
        )
        media = "text/html" + (f"; charset={charset.header}" if charset.header else "")
        links = [Anchor("a", place.origin + place.landing(quote(charset.word)))]
        return Answer(body=charset.mark + page.encode(charset.codec), type=media, links=links)

    return Kind(answer)


KINDS = {
    "charset_header": _charset(Charset("windows-1251", "погода", header="windows-1251")),
    "charset_quoted": _charset(Charset("koi8-r", "книга", header='"KOI8-R"')),
    "charset_meta": _charset(Charset("shift_jis", "日本語", meta="Shift_JIS")),
    "charset_alias": _charset(Charset("windows-1252", "café", header="latin1")),  # the standard's label for it
    "charset_header_wins": _charset(Charset("euc-jp", "東京", header="euc-jp", meta="utf-8")),
    "charset_mark_wins": _charset(Charset("utf-8", "straße", header="iso-8859-1", mark=b"\xef\xbb\xbf")),
    "charset_utf16": _charset(Charset("utf-16-le", "日本語", mark=b"\xff\xfe")),
    "charset_gbk": _charset(Charset("gb18030", "天气", meta="gb2312")),
    "charset_wrong": _charset(Charset("latin-1", "plain", header="utf-8")),
    "charset_unknown": _charset(Charset("utf-8", "plain", header="no-such-charset", meta="utf-8")),
    "charset_none": _charset(Charset("utf-8", "plain")),
}
