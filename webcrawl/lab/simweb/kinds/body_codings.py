"""Content codings, right and wrong, decompression bombs, and documents in other encodings."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

import brotli  # type: ignore[import-untyped]  # it has no hints
import zstandard

from webcrawl.lab.simweb.host_kinds import gzip
from webcrawl.lab.simweb.web_answers import HTML, Anchor, Answer, Kind, Place, document

Pack = Callable[[bytes], bytes]

BOMB = 64 * 2**20  # decoded size


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(6, wbits=-15)
    return packer.compress(data) + packer.flush()


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(3).compress(data)


def _brotli(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=4))


def _page(place: Place) -> bytes:
    return document(place.url, f'<a href="{place.landing()}">on</a>' + "<p>filled up</p>" * 500)


def _coded(name: str, *packs: Pack) -> Kind:
    """Coded if the client accepts it, otherwise plain, as servers do."""
    tokens = set(name.split(", "))

    def answer(place: Place) -> Answer:
        body = _page(place)
        lines: tuple[str, ...] = ("Vary: Accept-Encoding",)
        if place.ask and tokens <= {token.split(";")[0].strip() for token in place.ask.accept.split(",")}:
            lines += (f"Content-Encoding: {name}",)
            for pack in packs:
                body = pack(body)
        return Answer(body=body, headers=lines, links=[place.anchor()])

    return Kind(answer)


def _mislabelled(place: Place) -> Answer:
    """Plain text labelled as gzip."""
    return Answer(body=_page(place), headers=("Content-Encoding: gzip",), links=[place.anchor()])


def _cut(place: Place) -> Answer:
    """A gzip stream without its end. The rest can be decoded, and the link is at the front."""
    return Answer(body=gzip(_page(place))[:-12], headers=("Content-Encoding: gzip",), links=[place.anchor()])


def _blank() -> bytes:
    return b"<p>" + b" " * BOMB


@lru_cache(1)
def _gzipped() -> bytes:
    """Compressed once for all gzip bombs: it takes a quarter of a second."""
    return gzip(_blank(), 3)


def _tower(times: int) -> bytes:
    """A bomb compressed repeatedly: many million bytes in some hundred."""
    data = _gzipped()
    for _ in range(times - 1):
        data = gzip(data, 3)
    return data


def _bomb(name: str, make: Callable[[], bytes]) -> Kind:
    packed = lru_cache(1)(make)

    return Kind(lambda _: Answer(body=packed(), type=HTML, headers=(f"Content-Encoding: {name}",)))


KINDS = {
    "coding_gzip": _coded("gzip", gzip),
    "coding_deflate": _coded("deflate", zlib.compress),
    "coding_deflate_raw": _coded("deflate", _raw_deflate),
    "coding_br": _coded("br", _brotli),
    "coding_zstd": _coded("zstd", _zstd),
    "coding_twice": _coded("gzip, br", gzip, _brotli),
    "coding_mislabelled": Kind(_mislabelled),
    "coding_cut": Kind(_cut),
    "bomb_gzip": _bomb("gzip", _gzipped),
    "bomb_br": _bomb("br", lambda: _brotli(_blank())),
    "bomb_zstd": _bomb("zstd", lambda: _zstd(_blank())),
    "bomb_nested": _bomb(", ".join(["gzip"] * 3), lambda: _tower(3)),
    "bomb_tower": _bomb(", ".join(["gzip"] * 9), lambda: _tower(9)),
}


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


CHARSETS = {
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
