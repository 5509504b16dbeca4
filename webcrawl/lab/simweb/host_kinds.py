"""Kinds of hosts: those that never answer properly, odd forms of every answer, and what owners say of its use."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from isal import isal_zlib

from webcrawl.lab.simweb.web_answers import HTML, Answer, Ask, Ending, Web

DOWN: dict[str, Callable[[Web], Answer]] = {
    "host_hang": lambda _: Answer(script=(), ending=Ending.HANG, broken=True),
    "host_reset": lambda _: Answer(script=(), ending=Ending.RESET, broken=True),
    "host_503": lambda world: Answer(503, b"<title>Overloaded</title>", retry_after=world.slow),
}


def gzip(data: bytes, level: int = 1) -> bytes:
    packer = isal_zlib.compressobj(level, wbits=31)
    return bytes(packer.compress(data) + packer.flush())


def _slow(world: Web, _: Ask, answer: Answer) -> Answer:
    answer.delay += world.slow
    return answer


def _close(_: Web, __: Ask, answer: Answer) -> Answer:
    if answer.script is None:
        answer.ending = Ending.CLOSE
    return answer


def _chunked(_: Web, __: Ask, answer: Answer) -> Answer:
    answer.chunked = bool(answer.body)
    return answer


def _gzip(_: Web, ask: Ask, answer: Answer) -> Answer:
    if answer.script is None and answer.body and "gzip" in ask.accept and "Content-Encoding" not in str(answer.headers):
        answer.body = gzip(answer.body)
        answer.headers += ("Content-Encoding: gzip",)
    return answer


DRESSES: dict[str, Callable[[Web, Ask, Answer], Answer]] = {
    "host_slow": _slow,
    "host_close": _close,
    "host_chunked": _chunked,
    "host_gzip": _gzip,
}


SCHEMES = {  # what a server speaks on TLS, by its names in ALPN
    "https": ("http/1.1",),
    "https_h2": ("h2",),
    "https_both": ("h2", "http/1.1"),
}

MINING = ("research", "train-ai", "ai-input")
NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Owner:
    """One kind: what is added to robots.txt, heads and documents, where {agent} is the crawler's token.

    `forbids`: for which purposes the pages below `folder` must not be used, or but for these if it begins with `!`.
    """

    robots: str = ""
    headers: tuple[str, ...] = ()
    meta: str = ""
    forbids: tuple[str, ...] = ()
    folder: str = "/"


OWNERS: dict[str, Owner] = {
    "owner_usage": Owner("Content-Usage: train-ai=n, search=n\n", forbids=("train-ai", "search")),
    "owner_usage_path": Owner(
        "Content-Usage: search=n\nContent-Usage: /archive/ search=y\n", forbids=("search",), folder="!/archive/"
    ),
    "owner_usage_agent": Owner(
        "Content-Usage: search=n\n\nUser-agent: {agent}\nContent-Usage: /news/ search=n\n",
        forbids=("search",),
        folder="/news/",
    ),
    "owner_usage_old": Owner("Content-Usage: bots=n, all=n, tdm=n\n"),  # labels of earlier drafts
    "owner_usage_broken": Owner("Content-Usage: search=no\nContent-Usage: Search=n\n"),
    "owner_signal": Owner("Content-Signal: search=no, ai-input=no, ai-train=yes\n", forbids=("search", "ai-input")),
    "owner_license": Owner("License: https://licences.test/rsl.xml\n"),
    "owner_header": Owner(headers=("Content-Usage: ai-use=n, search=n",), forbids=("ai-input", "search")),
    "owner_header_robots": Owner(headers=("X-Robots-Tag: noindex, noarchive",), forbids=("search", "archive")),
    "owner_header_agent": Owner(
        headers=("X-Robots-Tag: somebody: noindex", "X-Robots-Tag: {agent}: noarchive"), forbids=("archive",)
    ),
    "owner_header_tdm": Owner(headers=("TDM-Reservation: 1", "TDM-Policy: https://licences.test/p"), forbids=MINING),
    "owner_meta": Owner(meta='<meta name="robots" content="noindex">', forbids=("search",)),
    "owner_meta_archive": Owner(meta='<META NAME="ROBOTS" CONTENT="NoArchive">', forbids=("archive",)),
    "owner_meta_ai": Owner(meta='<meta name="robots" content="noai, noimageai">', forbids=("train-ai", "ai-input")),
    "owner_meta_agent": Owner(meta='<meta name="{agent}" content="noindex">', forbids=("search",)),
    "owner_meta_other": Owner(meta='<meta name="somebody" content="noindex, noarchive, noai">'),
    "owner_meta_tdm": Owner(headers=("TDM-Reservation: 1",), meta='<meta name="tdm-reservation" content="0">'),
    "owner_strict": Owner("Content-Usage: search=y\n", ("Content-Usage: search=n",), forbids=("search",)),
    "owner_all": Owner(
        "Content-Signal: search=no\n",
        ("TDM-Reservation: 1",),
        '<meta name="robots" content="noarchive">',
        ("search", *MINING, "archive"),
    ),
}
SILENT = Owner()


def owner_of(world: Web, host: int) -> Owner:
    return OWNERS.get(world.kind("owner", host), SILENT)


def owner_forbids(world: Web, host: int, path: str) -> frozenset[str]:
    """For which purposes the owner does not want the page at this request target used."""
    owner = owner_of(world, host)
    inside = path.startswith(owner.folder.removeprefix("!"))
    return NOBODY if inside is owner.folder.startswith("!") else frozenset(owner.forbids)


def speak(owner: Owner, answer: Answer, agent: str) -> Answer:
    """The answer with what its owner adds to it."""
    lines = tuple(line.replace("{agent}", agent) for line in owner.headers)
    body = answer.body
    if owner.meta and answer.type == HTML:
        body = body.replace(b"<title>", owner.meta.replace("{agent}", agent).encode() + b"<title>", 1)
    return replace(answer, headers=(*answer.headers, *lines), body=body)


# What every host has besides its pages: style sheet, script, pictures, and the target of the search form.
_PICTURE = re.compile(r"/static/picture-(\d{1,2})\.png")
_STYLE = b'@import url("/never/style"); body { font: 16px serif; color: #222 }\n'

_SCRIPT = b'document.title += "."; var later = "/never/app.js";\n'


def static_answer(ask: Ask) -> Answer | None:
    if ask.path == "/static/style.css":
        return Answer(body=_STYLE, type="text/css")
    if ask.path == "/static/app.js":
        return Answer(body=_SCRIPT, type="text/javascript")
    if ask.path.partition("?")[0] == "/search":
        return Answer(body=b"<!DOCTYPE html><title>Search</title><p>Nothing was found.</p>")
    picture = _PICTURE.fullmatch(ask.path)
    if picture is not None and int(picture[1]) < 16:
        return Answer(body=png(int(picture[1])), type="image/png")
    return None


PNG_SIDE = 32  # pixels


@lru_cache(64)
def png(shade: int) -> bytes:
    """Return a grey square as a PNG file."""
    rows = (b"\0" + bytes([shade * 16 % 256]) * PNG_SIDE) * PNG_SIDE
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", PNG_SIDE, PNG_SIDE, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
