"""Documents of every form and coding: pages that change, duplicates, binary data, wrong labels,
bombs, large ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
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
    seconds_of_date,
)

MODIFIED = 1_000_000_000  # modification time of what never changes: September 2001


def _copies(place: AnswerPlace) -> list[str]:
    """Return the URLs of one document: two of this host and one of another."""
    other = place.world.origin(place.other_host())
    return [f"{place.url}/one", f"{place.url}/two", f"{other}{place.path}/three"]


def _duplicate(place: AnswerPlace) -> WebAnswer:
    """Return the answer of each copy: its body depends on the place's number alone.

    Its link is absolute, so that all copies lead to the same page.
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
    if place.request and seconds_of_date(place.request.since) >= MODIFIED:
        return WebAnswer(304, headers=lines)
    body, links = _page(place)
    return WebAnswer(body=body, links=links, headers=lines)


def _changing(place: AnswerPlace) -> WebAnswer:
    """Return a page that changes every `slow` seconds of the world's clock, and its ETag with it."""
    edition = int(place.world.clock() / max(place.world.slow, 1e-3))
    tag = f'"{edition}"'
    if place.request and place.request.etag == tag:
        return WebAnswer(304, headers=(f"ETag: {tag}",))
    body, links = _page(place, f"Edition {edition}.")
    return WebAnswer(body=body, links=links, headers=(f"ETag: {tag}",))


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


# More than the 2 MiB at which crawls truncate a body by default
BIG_BYTES = 5 * 2**20
_NOT_A_LINK = b'<a href="/never/body">no link: this is no HTML</a>'


def _binary_kind(media: str, data: bytes) -> AnswerKind:
    return AnswerKind(
        lambda place: WebAnswer(body=data + _NOT_A_LINK + place.url.encode(), type=media)
    )


def _xhtml(place: AnswerPlace) -> WebAnswer:
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml">'
        f'<head><title>{place.url}</title></head><body><p><a href="{place.landing()}">on</a></p></body></html>'
    )
    return WebAnswer(body=text.encode(), type="application/xhtml+xml", links=[place.anchor()])


def _page_with_link(place: AnswerPlace, media: str) -> WebAnswer:
    body = document(place.url, f'<a href="{place.landing()}">on</a>')
    return WebAnswer(body=body, type=media, links=[place.anchor()])


def _big(place: AnswerPlace) -> WebAnswer:
    """Return a page of 5 MiB whose only link is at the front."""
    answer = _page_with_link(place, "text/html; charset=utf-8")
    answer.body += b"<p>and so on, and on, and on; " * (BIG_BYTES // 30)
    return answer


def _no_length(place: AnswerPlace) -> WebAnswer:
    answer = _page_with_link(place, "text/html")
    answer.has_length = False
    answer.ending = ConnectionEnd.CLOSE
    return answer


def _chunked(place: AnswerPlace) -> WebAnswer:
    answer = _page_with_link(place, "text/html; charset=utf-8")
    answer.chunked = True
    return answer


BODIES: dict[str, AnswerKind] = {
    "png": _binary_kind("image/png", png(8)),
    "pdf": _binary_kind("application/pdf", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"),
    "zip": _binary_kind("application/zip", b"PK\x05\x06" + bytes(18)),
    "octets": _binary_kind("application/octet-stream", bytes(range(256)) * 64),
    "text": _binary_kind("text/plain; charset=utf-8", b"Nothing here is markup.\n"),
    "json": _binary_kind("application/json", b'{"page": true}\n'),
    "xhtml": AnswerKind(_xhtml),
    "type_upper": AnswerKind(lambda place: _page_with_link(place, "TEXT/HTML;CHARSET=UTF-8")),
    "big": AnswerKind(_big),
    "no_length": AnswerKind(_no_length),
    "chunked": AnswerKind(_chunked),
}


Compress = Callable[[bytes], bytes]

BOMB_BYTES = 64 * 2**20  # decoded size


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(6, wbits=-15)
    return packer.compress(data) + packer.flush()


def _brotli(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=4))


def _long_page(place: AnswerPlace) -> bytes:
    return document(place.url, f'<a href="{place.landing()}">on</a>' + "<p>filled up</p>" * 500)


_GZIP_HEADER = ("Content-Encoding: gzip",)


def _coded_kind(name: str, *compressors: Compress) -> AnswerKind:
    """Return the kind of pages that are coded if the client accepts it, and plain otherwise."""
    tokens = set(name.split(", "))

    def answer(place: AnswerPlace) -> WebAnswer:
        """Return the page, coded if the client accepts all codings."""
        body = _long_page(place)
        lines: tuple[str, ...] = ("Vary: Accept-Encoding",)
        if place.request and tokens <= {
            token.split(";")[0].strip() for token in place.request.accept.split(",")
        }:
            lines += (f"Content-Encoding: {name}",)
            for compress in compressors:
                body = compress(body)
        return WebAnswer(body=body, headers=lines, links=[place.anchor()])

    return AnswerKind(answer)


def _truncated_gzip(place: AnswerPlace) -> WebAnswer:
    """Return a page in a gzip stream without its end.

    The rest can be decoded, and the link is at the front.
    """
    return WebAnswer(
        body=gzip(_long_page(place))[:-12],
        headers=_GZIP_HEADER,
        links=[place.anchor()],
        broken=True,
    )


def _blank_text() -> bytes:
    return b"<p>" + b" " * BOMB_BYTES


@lru_cache(1)
def _gzip_bomb() -> bytes:
    """Return the blank text in gzip. It is compressed once for all bombs, in a quarter of a second."""
    return gzip(_blank_text(), 3)


def _gzip_layers(times: int) -> bytes:
    """Return a bomb that is compressed so many times: 64 million bytes in some hundred."""
    data = _gzip_bomb()
    for _ in range(times - 1):
        data = gzip(data, 3)
    return data


def _bomb_kind(name: str, make: Callable[[], bytes]) -> AnswerKind:
    # Made when it is first asked for: most webs have no bombs
    packed = lru_cache(1)(make)

    return AnswerKind(
        lambda _: WebAnswer(body=packed(), type=HTML, headers=(f"Content-Encoding: {name}",))
    )


CODINGS: dict[str, AnswerKind] = {
    "coding_gzip": _coded_kind("gzip", gzip),
    "coding_deflate": _coded_kind("deflate", zlib.compress),
    # RFC 9110 8.4.1.2: without the zlib wrapper, as some servers send it
    "coding_deflate_raw": _coded_kind("deflate", _raw_deflate),
    "coding_br": _coded_kind("br", _brotli),
    "coding_zstd": _coded_kind("zstd", zstd.compress),
    "coding_twice": _coded_kind("gzip, br", gzip, _brotli),
    "coding_mislabelled": AnswerKind(
        lambda place: WebAnswer(
            body=_long_page(place), headers=_GZIP_HEADER, links=[place.anchor()]
        )
    ),
    # The name of a kind is in its URLs.
    "coding_cut": AnswerKind(_truncated_gzip),
    "bomb_gzip": _bomb_kind("gzip", _gzip_bomb),
    "bomb_br": _bomb_kind("br", lambda: _brotli(_blank_text())),
    "bomb_zstd": _bomb_kind("zstd", lambda: zstd.compress(_blank_text())),
    # Each layer packs the one below: 64 MiB become 488 bytes
    "bomb_nested": _bomb_kind(", ".join(["gzip"] * 3), lambda: _gzip_layers(3)),
    # More layers than the four that the client decodes
    "bomb_tower": _bomb_kind(", ".join(["gzip"] * 9), lambda: _gzip_layers(9)),
}


@dataclass(frozen=True, slots=True)
class Charset:
    """A page's encoding, and what the page says about it."""

    codec: str  # in which it is really encoded
    word: str  # its text, and the end of its link
    header: str = ""  # the charset in Content-Type
    meta: str = ""  # the charset in its head
    mark: bytes = b""  # the byte order mark


def _charset_kind(charset: Charset) -> AnswerKind:
    """Return the kind of pages in this encoding."""

    def answer(place: AnswerPlace) -> WebAnswer:
        """Return a page whose text and link are in this encoding."""
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
    "charset_header": _charset_kind(Charset("windows-1251", "погода", header="windows-1251")),
    "charset_quoted": _charset_kind(Charset("koi8-r", "книга", header='"KOI8-R"')),
    "charset_meta": _charset_kind(Charset("shift_jis", "日本語", meta="Shift_JIS")),
    # the standard's label for it
    "charset_alias": _charset_kind(Charset("windows-1252", "café", header="latin1")),
    # HTML Standard 13.2.3.2: Content-Type goes before the page's own declaration, and a byte order
    # mark before both
    "charset_header_wins": _charset_kind(Charset("euc-jp", "東京", header="euc-jp", meta="utf-8")),
    "charset_mark_wins": _charset_kind(
        Charset("utf-8", "straße", header="iso-8859-1", mark=b"\xef\xbb\xbf")
    ),
    "charset_utf16": _charset_kind(Charset("utf-16-le", "日本語", mark=b"\xff\xfe")),
    # Encoding Standard 4.2: by that label GBK is meant
    "charset_gbk": _charset_kind(Charset("gb18030", "天气", meta="gb2312")),
    # Whatever is decoded here, the link is in ASCII
    "charset_wrong": _charset_kind(Charset("latin-1", "plain", header="utf-8")),
    "charset_unknown": _charset_kind(
        Charset("utf-8", "plain", header="no-such-charset", meta="utf-8")
    ),
    "charset_none": _charset_kind(Charset("utf-8", "plain")),
}
