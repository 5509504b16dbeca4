"""Documents of every form and coding: pages that change, duplicates, binary data, wrong labels,
bombs, large ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache
from urllib.parse import quote

import brotli  # type: ignore[import-untyped]  # it has no hints

from webcrawl.base.zstd_frame import zstd
from webcrawl.lab.simweb.host_kinds import gzip, png
from webcrawl.lab.simweb.web_answers import (
    HTML,
    Anchor,
    AnswerKind,
    AnswerPlace,
    ConnectionEnd,
    WebAnswer,
    document,
)

MODIFIED = 1_000_000_000  # modification time of what never changes: September 2001


def _copies(place: AnswerPlace) -> list[str]:
    """One document under two URLs of this host and one of another."""
    other = place.world.origin(place.other_host())
    return [f"{place.url}/one", f"{place.url}/two", f"{other}{place.path}/three"]


def _duplicate(place: AnswerPlace) -> WebAnswer:
    """A body that depends only on the number.

    Its link is absolute, so that all copies lead to the same place.
    """
    world = place.world
    # The same on every host, as all else in it
    host = place.number % world.hosts
    url = f"{world.origin(host)}{place.landing()}"
    return WebAnswer(
        body=document(f"Copy {place.number}", f'<a href="{url}">on</a>'), links=[Anchor("a", url)]
    )


def _page(place: AnswerPlace, text: str = "") -> tuple[bytes, list[Anchor]]:
    return document(place.url, f'<p>{text} <a href="{place.landing()}">on</a>'), [place.anchor()]


def _etag(place: AnswerPlace) -> WebAnswer:
    tag = f'"{place.kind}-{place.number}"'
    # RFC 9110 13.1.2: If-None-Match is compared weakly
    if place.request and tag in (place.request.etag, place.request.etag.removeprefix("W/")):
        return WebAnswer(304, headers=(f"ETag: {tag}",))
    body, links = _page(place)
    return WebAnswer(body=body, links=links, headers=(f"ETag: {tag}",))


def _modified(place: AnswerPlace) -> WebAnswer:
    lines = (f"Last-Modified: {formatdate(MODIFIED, usegmt=True)}",)
    if place.request and place.request.since and _time(place.request.since) >= MODIFIED:
        return WebAnswer(304, headers=lines)
    body, links = _page(place)
    return WebAnswer(body=body, links=links, headers=lines)


def _changing(place: AnswerPlace) -> WebAnswer:
    """A page that changes every `slow` seconds of the world's clock, and its ETag with it."""
    edition = int(place.world.clock() / max(place.world.slow, 1e-3))
    tag = f'"{edition}"'
    if place.request and place.request.etag == tag:
        return WebAnswer(304, headers=(f"ETag: {tag}",))
    body, links = _page(place, f"Edition {edition}.")
    return WebAnswer(body=body, links=links, headers=(f"ETag: {tag}",))


def _time(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return 0.0


LANDING: AnswerKind = AnswerKind(
    lambda place: WebAnswer(
        body=document(
            place.origin + (place.request.path if place.request else ""), "<p>You are here."
        )
    ),
    entries=lambda _: [],
)
KINDS: dict[str, AnswerKind] = {
    "duplicate": AnswerKind(_duplicate, entries=_copies),
    "etag": AnswerKind(_etag),
    "modified": AnswerKind(_modified),
    "changing": AnswerKind(_changing),
}


# More than the 2 MiB at which crawls cut a body by default
BIG = 5 * 2**20
_NEVER = b'<a href="/never/body">no link: this is no HTML</a>'


def _binary(media: str, data: bytes) -> AnswerKind:
    return AnswerKind(lambda place: WebAnswer(body=data + _NEVER + place.url.encode(), type=media))


def _xhtml(place: AnswerPlace) -> WebAnswer:
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml">'
        f'<head><title>{place.url}</title></head><body><p><a href="{place.landing()}">on</a></p></body></html>'
    )
    return WebAnswer(body=text.encode(), type="application/xhtml+xml", links=[place.anchor()])


def _linked(place: AnswerPlace, media: str) -> WebAnswer:
    body = document(place.url, f'<a href="{place.landing()}">on</a>')
    return WebAnswer(body=body, type=media, links=[place.anchor()])


def _big(place: AnswerPlace) -> WebAnswer:
    """A page of 5 MiB whose only link is at the front."""
    answer = _linked(place, "text/html; charset=utf-8")
    answer.body += b"<p>and so on, and on, and on; " * (BIG // 30)
    return answer


def _no_length(place: AnswerPlace) -> WebAnswer:
    answer = _linked(place, "text/html")
    answer.has_length = False
    answer.ending = ConnectionEnd.CLOSE
    return answer


def _chunked(place: AnswerPlace) -> WebAnswer:
    answer = _linked(place, "text/html; charset=utf-8")
    answer.chunked = True
    return answer


BODIES: dict[str, AnswerKind] = {
    "png": _binary("image/png", png(8)),
    "pdf": _binary("application/pdf", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"),
    "zip": _binary("application/zip", b"PK\x05\x06" + bytes(18)),
    "octets": _binary("application/octet-stream", bytes(range(256)) * 64),
    "text": _binary("text/plain; charset=utf-8", b"Nothing here is markup.\n"),
    "json": _binary("application/json", b'{"page": true}\n'),
    "xhtml": AnswerKind(_xhtml),
    "type_upper": AnswerKind(lambda place: _linked(place, "TEXT/HTML;CHARSET=UTF-8")),
    "big": AnswerKind(_big),
    "no_length": AnswerKind(_no_length),
    "chunked": AnswerKind(_chunked),
}


Pack = Callable[[bytes], bytes]

BOMB = 64 * 2**20  # decoded size


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(6, wbits=-15)
    return packer.compress(data) + packer.flush()


def _brotli(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=4))


def _page_in(place: AnswerPlace) -> bytes:
    return document(place.url, f'<a href="{place.landing()}">on</a>' + "<p>filled up</p>" * 500)


_SAYS_GZIP = ("Content-Encoding: gzip",)


def _coded(name: str, *packs: Pack) -> AnswerKind:
    """Coded if the client accepts it, otherwise plain, as servers do."""
    tokens = set(name.split(", "))

    def answer(place: AnswerPlace) -> WebAnswer:
        body = _page_in(place)
        lines: tuple[str, ...] = ("Vary: Accept-Encoding",)
        if place.request and tokens <= {
            token.split(";")[0].strip() for token in place.request.accept.split(",")
        }:
            lines += (f"Content-Encoding: {name}",)
            for pack in packs:
                body = pack(body)
        return WebAnswer(body=body, headers=lines, links=[place.anchor()])

    return AnswerKind(answer)


def _cut(place: AnswerPlace) -> WebAnswer:
    """A gzip stream without its end. The rest can be decoded, and the link is at the front."""
    return WebAnswer(
        body=gzip(_page_in(place))[:-12], headers=_SAYS_GZIP, links=[place.anchor()], broken=True
    )


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


def _bomb(name: str, make: Callable[[], bytes]) -> AnswerKind:
    # Made when it is first asked for: most webs have no bombs
    packed = lru_cache(1)(make)

    return AnswerKind(
        lambda _: WebAnswer(body=packed(), type=HTML, headers=(f"Content-Encoding: {name}",))
    )


CODINGS: dict[str, AnswerKind] = {
    "coding_gzip": _coded("gzip", gzip),
    "coding_deflate": _coded("deflate", zlib.compress),
    # RFC 9110 8.4.1.2: without the zlib wrapper, as some servers send it
    "coding_deflate_raw": _coded("deflate", _raw_deflate),
    "coding_br": _coded("br", _brotli),
    "coding_zstd": _coded("zstd", zstd.compress),
    "coding_twice": _coded("gzip, br", gzip, _brotli),
    "coding_mislabelled": AnswerKind(
        lambda place: WebAnswer(body=_page_in(place), headers=_SAYS_GZIP, links=[place.anchor()])
    ),
    "coding_cut": AnswerKind(_cut),
    "bomb_gzip": _bomb("gzip", _gzipped),
    "bomb_br": _bomb("br", lambda: _brotli(_blank())),
    "bomb_zstd": _bomb("zstd", lambda: zstd.compress(_blank())),
    # Each layer packs the one below: 64 MiB become 488 bytes
    "bomb_nested": _bomb(", ".join(["gzip"] * 3), lambda: _tower(3)),
    # More layers than the four that the client decodes
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


def _charset(charset: Charset) -> AnswerKind:
    def answer(place: AnswerPlace) -> WebAnswer:
        meta = (
            f'<meta http-equiv="Content-Type" content="text/html; charset={charset.meta}">'
            if charset.meta
            else ""
        )
        page = (
            f"<!DOCTYPE html><html><head>{meta}<title>{place.url}</title></head><body><p>{charset.word * 20}</p>"
            f'<a href="{place.landing(charset.word)}">{charset.word}</a></body></html>'
        )
        media = "text/html" + (f"; charset={charset.header}" if charset.header else "")
        links = [Anchor("a", place.origin + place.landing(quote(charset.word)))]
        return WebAnswer(body=charset.mark + page.encode(charset.codec), type=media, links=links)

    return AnswerKind(answer)


CHARSETS: dict[str, AnswerKind] = {
    "charset_header": _charset(Charset("windows-1251", "погода", header="windows-1251")),
    "charset_quoted": _charset(Charset("koi8-r", "книга", header='"KOI8-R"')),
    "charset_meta": _charset(Charset("shift_jis", "日本語", meta="Shift_JIS")),
    # the standard's label for it
    "charset_alias": _charset(Charset("windows-1252", "café", header="latin1")),
    # HTML Standard 13.2.3.2: Content-Type goes before the page's own declaration, and a byte order
    # mark before both
    "charset_header_wins": _charset(Charset("euc-jp", "東京", header="euc-jp", meta="utf-8")),
    "charset_mark_wins": _charset(
        Charset("utf-8", "straße", header="iso-8859-1", mark=b"\xef\xbb\xbf")
    ),
    "charset_utf16": _charset(Charset("utf-16-le", "日本語", mark=b"\xff\xfe")),
    # Encoding Standard 4.2: by that label GBK is meant
    "charset_gbk": _charset(Charset("gb18030", "天气", meta="gb2312")),
    # Whatever is decoded here, the link is in ASCII
    "charset_wrong": _charset(Charset("latin-1", "plain", header="utf-8")),
    "charset_unknown": _charset(Charset("utf-8", "plain", header="no-such-charset", meta="utf-8")),
    "charset_none": _charset(Charset("utf-8", "plain")),
}
