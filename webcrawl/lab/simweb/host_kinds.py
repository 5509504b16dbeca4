"""Kinds of hosts: those that answer badly, odd forms of every answer, what owners say of its use,
and robots.txt.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from isal import isal_zlib

from webcrawl.lab.simweb import name_server
from webcrawl.lab.simweb.name_server import HostStanding
from webcrawl.lab.simweb.web_answers import HTML, ConnectionEnd, Web, WebAnswer, WebRequest

DOWN: dict[str, Callable[[Web], WebAnswer]] = {
    "host_hang": lambda _: WebAnswer(script=(), ending=ConnectionEnd.HANG, broken=True),
    "host_reset": lambda _: WebAnswer(script=(), ending=ConnectionEnd.RESET, broken=True),
    "host_503": lambda world: WebAnswer(503, b"<title>Overloaded</title>", retry_after=world.slow),
}


def gzip(data: bytes, level: int = 1) -> bytes:
    packer = isal_zlib.compressobj(level, wbits=31)
    return bytes(packer.compress(data) + packer.flush())


def _slower(world: Web, _: WebRequest, answer: WebAnswer) -> WebAnswer:
    answer.delay += world.slow
    return answer


def _closed_after(_: Web, __: WebRequest, answer: WebAnswer) -> WebAnswer:
    if answer.script is None:
        answer.ending = ConnectionEnd.CLOSE
    return answer


def _in_chunks(_: Web, __: WebRequest, answer: WebAnswer) -> WebAnswer:
    answer.chunked = bool(answer.body)
    return answer


def _gzipped(_: Web, request: WebRequest, answer: WebAnswer) -> WebAnswer:
    can_be_packed = answer.script is None and bool(answer.body)
    is_packed = "Content-Encoding" in str(answer.headers)
    if can_be_packed and not is_packed and "gzip" in request.accept:
        answer.body = gzip(answer.body)
        answer.headers += ("Content-Encoding: gzip",)
    return answer


ANSWER_FORMS: dict[str, Callable[[Web, WebRequest, WebAnswer], WebAnswer]] = {
    "host_slow": _slower,
    "host_close": _closed_after,
    "host_chunked": _in_chunks,
    "host_gzip": _gzipped,
}


SCHEMES = {  # what a server speaks on TLS, by its names in ALPN
    "https": ("http/1.1",),
    "https_h2": ("h2",),
    "https_both": ("h2", "http/1.1"),
}

MINING_PURPOSES = ("research", "train-ai", "ai-input")
NO_PURPOSES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Owner:
    """What one kind of owner says about the use of its pages. {agent} is the crawler's token."""

    robots: str = ""  # lines at the end of robots.txt
    headers: tuple[str, ...] = ()  # header lines of every answer
    meta: str = ""  # elements in the head of every HTML document
    forbids: tuple[str, ...] = ()  # purposes for which pages must not be used
    folder: str = "/"  # where that holds; with a "!" before it, everywhere else


OWNERS: dict[str, Owner] = {
    "owner_usage": Owner("Content-Usage: train-ai=n, search=n\n", forbids=("train-ai", "search")),
    "owner_usage_path": Owner(
        "Content-Usage: search=n\nContent-Usage: /archive/ search=y\n",
        forbids=("search",),
        folder="!/archive/",
    ),
    "owner_usage_agent": Owner(
        "Content-Usage: search=n\n\nUser-agent: {agent}\nContent-Usage: /news/ search=n\n",
        forbids=("search",),
        folder="/news/",
    ),
    "owner_usage_old": Owner("Content-Usage: bots=n, all=n, tdm=n\n"),  # labels of earlier drafts
    "owner_usage_broken": Owner("Content-Usage: search=no\nContent-Usage: Search=n\n"),
    "owner_signal": Owner(
        "Content-Signal: search=no, ai-input=no, ai-train=yes\n", forbids=("search", "ai-input")
    ),
    "owner_license": Owner("License: https://licences.test/rsl.xml\n"),
    "owner_header": Owner(
        headers=("Content-Usage: ai-use=n, search=n",), forbids=("ai-input", "search")
    ),
    "owner_header_robots": Owner(
        headers=("X-Robots-Tag: noindex, noarchive",), forbids=("search", "archive")
    ),
    "owner_header_agent": Owner(
        headers=("X-Robots-Tag: somebody: noindex", "X-Robots-Tag: {agent}: noarchive"),
        forbids=("archive",),
    ),
    "owner_header_tdm": Owner(
        headers=("TDM-Reservation: 1", "TDM-Policy: https://licences.test/p"),
        forbids=MINING_PURPOSES,
    ),
    "owner_meta": Owner(meta='<meta name="robots" content="noindex">', forbids=("search",)),
    "owner_meta_archive": Owner(
        meta='<META NAME="ROBOTS" CONTENT="NoArchive">', forbids=("archive",)
    ),
    "owner_meta_ai": Owner(
        meta='<meta name="robots" content="noai, noimageai">', forbids=("train-ai", "ai-input")
    ),
    "owner_meta_agent": Owner(meta='<meta name="{agent}" content="noindex">', forbids=("search",)),
    "owner_meta_other": Owner(meta='<meta name="somebody" content="noindex, noarchive, noai">'),
    # The document's word goes before the header's
    "owner_meta_tdm": Owner(
        headers=("TDM-Reservation: 1",), meta='<meta name="tdm-reservation" content="0">'
    ),
    "owner_strict": Owner(
        "Content-Usage: search=y\n", ("Content-Usage: search=n",), forbids=("search",)
    ),
    "owner_all": Owner(
        "Content-Signal: search=no\n",
        ("TDM-Reservation: 1",),
        '<meta name="robots" content="noarchive">',
        ("search", *MINING_PURPOSES, "archive"),
    ),
}
NO_STATEMENTS = Owner()


def owner_of(world: Web, host: int) -> Owner:
    return OWNERS.get(world.kind("owner", host), NO_STATEMENTS)


def owner_forbids(world: Web, host: int, path: str) -> frozenset[str]:
    """Return the purposes for which the owner forbids the use of the page at this target."""
    owner = owner_of(world, host)
    is_below = path.startswith(owner.folder.removeprefix("!"))
    is_inverted = owner.folder.startswith("!")
    return NO_PURPOSES if is_below is is_inverted else frozenset(owner.forbids)


def add_owner_statements(owner: Owner, answer: WebAnswer, agent: str) -> WebAnswer:
    """Return the answer with the header lines and the elements that its owner adds to it."""
    lines = tuple(line.replace("{agent}", agent) for line in owner.headers)
    body = answer.body
    # Only HTML has a head that could say it
    if owner.meta and answer.type == HTML:
        body = body.replace(
            b"<title>", owner.meta.replace("{agent}", agent).encode() + b"<title>", 1
        )
    return replace(answer, headers=(*answer.headers, *lines), body=body)


# What every host has besides its pages: style sheet, script, pictures, and the target of the search
# form.
_PICTURE = re.compile(r"/static/picture-(\d{1,2})\.png")
_STYLE_SHEET = b'@import url("/never/style"); body { font: 16px serif; color: #222 }\n'

_SCRIPT = b'document.title += "."; var later = "/never/app.js";\n'


def static_answer(request: WebRequest) -> WebAnswer | None:
    """Return the answer to a request for what every host has besides its pages, or None."""
    if request.path == "/static/style.css":
        return WebAnswer(body=_STYLE_SHEET, type="text/css")
    if request.path == "/static/app.js":
        return WebAnswer(body=_SCRIPT, type="text/javascript")
    if request.path.partition("?")[0] == "/search":
        return WebAnswer(body=b"<!DOCTYPE html><title>Search</title><p>Nothing was found.</p>")
    picture = _PICTURE.fullmatch(request.path)
    if picture is not None and int(picture[1]) < 16:
        return WebAnswer(body=png(int(picture[1])), type="image/png")
    return None


PNG_SIDE = 32  # pixels


@lru_cache(64)
def png(shade: int) -> bytes:
    """Return a grey square as a PNG file; `shade` is from 0 to 15."""
    rows = (b"\0" + bytes([shade * 16 % 256]) * PNG_SIDE) * PNG_SIDE
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", PNG_SIDE, PNG_SIDE, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


# where a robots.txt may redirect to; the last part of the path is the number of hops left
ROBOTS_FOLDER = "/x/robots/"
# RFC 9309, 2.5: a crawler must parse at least this much; ours parses no more
ROBOTS_MAX_BYTES = 500 * 1024


def _is_below(*names: str) -> Callable[[str], bool]:
    starts = tuple(f"/{name}/" for name in names)
    return lambda path: path.startswith(starts)


_IS_ARCHIVE = _is_below("archive")
_ARCHIVE_TEXT = "User-agent: *\nDisallow: /archive/\n"


@dataclass(frozen=True, slots=True)
class RobotsKind:
    """One kind of robots.txt: its text, how it is served, and what it forbids.

    In the text {agent} is the crawler's token, and {delay} the world's unit of time.
    """

    text: str = ""
    # returns whether the text forbids a request target to a crawler that follows RFC 9309
    forbids: Callable[[str], bool] = lambda _: False
    status: int = 200
    type: str = "text/plain"
    encode: Callable[[str], bytes] = str.encode
    headers: tuple[str, ...] = ()
    location: str = ""  # a path, or {other} for another host's
    delay: bool = False  # it asks for a Crawl-delay
    fails: int = 0  # number of attempts that get a 503
    ending: ConnectionEnd = ConnectionEnd.KEEP
    standing: HostStanding = HostStanding.OPEN


PLAIN = RobotsKind("User-agent: *\nDisallow:\n")
ROBOTS: dict[str, RobotsKind] = {
    # A body that would forbid all: it must not be read
    "robots_missing": RobotsKind("Disallow: /\n", status=404),
    "robots_gone": RobotsKind(status=410),
    # RFC 9309, 2.3.1.3: like a missing file
    "robots_denied": RobotsKind("User-agent: *\nDisallow: /\n", status=403),
    "robots_empty": RobotsKind(),
    "robots_disallow": RobotsKind(_ARCHIVE_TEXT, _IS_ARCHIVE),
    "robots_nothing": RobotsKind("User-agent: *\nDisallow: /\n", lambda _: True),
    "robots_wildcard": RobotsKind(
        "User-agent: *\nDisallow: /*?id=\nDisallow: /forum/*-1*.html$\n",
        lambda path: (
            "?id=" in path
            or (path.startswith("/forum/") and path.endswith(".html") and "-1" in path[7:-5])
        ),
    ),
    # RFC 9309 2.2.2: the longest match decides
    "robots_longest": RobotsKind(
        "User-agent: *\nDisallow: /archive/\nAllow: /archive/2\n",
        lambda path: path.startswith("/archive/") and not path.startswith("/archive/2"),
    ),
    # RFC 9309 2.2.1: the group of this crawler, else that of all
    "robots_others": RobotsKind(
        "User-agent: somebody\nDisallow: /\n\nUser-agent: *\nDisallow: /shop/\n",
        _is_below("shop"),
    ),
    "robots_own": RobotsKind(
        "User-agent: *\nDisallow: /\n\nUser-agent: nobody\nUser-agent: {agent}\nDisallow: /music/\n",
        _is_below("music"),
    ),
    "robots_merged": RobotsKind(  # RFC 9309, 2.2.1: groups of the same agent are merged
        "User-agent: {agent}\nDisallow: /news/\n\nUser-agent: x\nDisallow: /\n\n"
        "User-agent: {agent}\nDisallow: /wiki/\n",
        _is_below("news", "wiki"),
    ),
    "robots_case": RobotsKind(
        "uSER-aGENT : *   # all\n  DISALLOW:/archive/# old\nunknown: 1\n", _IS_ARCHIVE
    ),
    # RFC 9309, 2.2.2: %61 is an a
    "robots_percent": RobotsKind("User-agent: *\nDisallow: /%61rchive/\n", _IS_ARCHIVE),
    "robots_delay": RobotsKind(
        "User-agent: *\nCrawl-delay: {delay}\nDisallow: /archive/\n", _IS_ARCHIVE, delay=True
    ),
    "robots_bom": RobotsKind(
        _ARCHIVE_TEXT, _IS_ARCHIVE, encode=lambda text: b"\xef\xbb\xbf" + text.encode()
    ),
    "robots_cr": RobotsKind(_ARCHIVE_TEXT.replace("\n", "\r"), _IS_ARCHIVE),
    "robots_crlf": RobotsKind(_ARCHIVE_TEXT.replace("\n", "\r\n"), _IS_ARCHIVE),
    "robots_gzip": RobotsKind(
        _ARCHIVE_TEXT,
        _IS_ARCHIVE,
        encode=lambda text: gzip(text.encode()),
        headers=("Content-Encoding: gzip",),
    ),
    # Whatever type it says to have
    "robots_octets": RobotsKind(_ARCHIVE_TEXT, _IS_ARCHIVE, type="application/octet-stream"),
    "robots_html": RobotsKind(
        "<!DOCTYPE html><title>Welcome</title><p>All our pages.", type="text/html"
    ),
    # What forbids all is beyond what a crawler reads
    "robots_huge": RobotsKind(
        _ARCHIVE_TEXT,
        _IS_ARCHIVE,
        encode=lambda text: (
            text.encode()
            + b"# and so on, and on and on\n" * (ROBOTS_MAX_BYTES // 20)
            + b"Disallow: /\n"
        ),
    ),
    "robots_moved": RobotsKind(
        _ARCHIVE_TEXT, _IS_ARCHIVE, status=301, location=ROBOTS_FOLDER + "0"
    ),
    # five hops in all
    "robots_chain": RobotsKind(
        _ARCHIVE_TEXT, _IS_ARCHIVE, status=302, location=ROBOTS_FOLDER + "4"
    ),
    # RFC 9309 2.3.1.2: also to another authority
    "robots_elsewhere": RobotsKind(
        _ARCHIVE_TEXT, _IS_ARCHIVE, status=302, location="{other}" + ROBOTS_FOLDER + "0"
    ),
    # RFC 9309 2.3.1.2: after five hops it may be taken for unavailable, and so for allowing all
    "robots_loop": RobotsKind(
        status=302, location=ROBOTS_FOLDER + "loop", standing=HostStanding.UNSURE
    ),
    # RFC 9309 2.3.1.4: unreachable, so all is forbidden
    "robots_503": RobotsKind(status=503, standing=HostStanding.SHUT),
    "robots_hang": RobotsKind(ending=ConnectionEnd.HANG, standing=HostStanding.SHUT),
    "robots_reset": RobotsKind(ending=ConnectionEnd.RESET, standing=HostStanding.SHUT),
    "robots_recovers": RobotsKind(_ARCHIVE_TEXT, _IS_ARCHIVE, fails=1),
}


def is_robots(path: str) -> bool:
    """Return whether this is a robots.txt, or what another one may redirect to."""
    return path == "/robots.txt" or path.startswith(ROBOTS_FOLDER)


def robots_of(world: Web, host: int) -> RobotsKind:
    return ROBOTS.get(world.kind("robots", host), PLAIN)


def robots_forbid(world: Web, host: int, path: str) -> bool:
    """Return whether the host's rules forbid this request target to the world's agent."""
    return robots_of(world, host).forbids(path)


def crawl_delay(world: Web, host: int) -> float:
    """Return the Crawl-delay that the host asks for; 0 without one."""
    return world.slow if robots_of(world, host).delay else 0.0


def robots_standing(world: Web, host: int) -> HostStanding:
    """Return how far a crawler can fetch pages of this host, judging by its robots.txt alone."""
    kind = robots_of(world, host)
    if "{other}" not in kind.location:
        return kind.standing
    other = (host + 1) % world.hosts
    is_up = world.kind("host", other) not in DOWN
    is_found = world.kind("dns", other) not in name_server.STANDING
    return HostStanding.OPEN if is_up and is_found else HostStanding.UNSURE


def robots_answer(world: Web, request: WebRequest) -> WebAnswer:
    """Return the answer to /robots.txt, or to the target of a redirected one."""
    if request.path.startswith(ROBOTS_FOLDER):
        return _redirected_robots(world, request)
    kind = robots_of(world, request.host)
    if kind.ending is not ConnectionEnd.KEEP:
        return WebAnswer(script=(), ending=kind.ending, broken=True)
    if request.attempt <= kind.fails:
        return WebAnswer(503, retry_after=world.slow)
    if kind.location:
        target = kind.location.replace("{other}", world.origin((request.host + 1) % world.hosts))
        return WebAnswer(kind.status, headers=(f"Location: {target}",), location=target)
    text = kind.text.replace("{agent}", world.agent).replace("{delay}", f"{world.slow:g}")
    text += owner_of(world, request.host).robots.replace("{agent}", world.agent)
    if world.changing_pages is not None:
        text += world.changing_pages.robots_lines(request.host)
    return WebAnswer(kind.status, kind.encode(text), kind.type, kind.headers)


def _redirected_robots(world: Web, request: WebRequest) -> WebAnswer:
    """Return the answer at the target of a redirected robots.txt: the next redirect, or the rules."""
    hops_left = request.path.removeprefix(ROBOTS_FOLDER)
    if hops_left == "0":
        return WebAnswer(body=_ARCHIVE_TEXT.encode(), type="text/plain")
    if hops_left == "loop":
        target = ROBOTS_FOLDER + "loop"
    elif hops_left.isdecimal():
        target = ROBOTS_FOLDER + str(int(hops_left) - 1)
    else:
        return WebAnswer(404)
    return WebAnswer(
        302, headers=(f"Location: {target}",), location=world.origin(request.host) + target
    )
