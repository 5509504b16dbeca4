"""Content codings, right and wrong, and decompression bombs."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache

import brotli  # type: ignore[import-untyped]  # it has no hints
import zstandard

from webcrawl.simweb.answers import HTML, Answer
from webcrawl.simweb.dress import gzip
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import Place, document

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
