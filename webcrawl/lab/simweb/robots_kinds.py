"""Every kind of robots.txt, and what it forbids: the rules as text, and again as a plain condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webcrawl.lab.simweb import host_kinds, name_server
from webcrawl.lab.simweb.name_server import Standing
from webcrawl.lab.simweb.web_answers import Answer, Ask, Ending, Web

FOLDER = "/x/robots/"  # where a robots.txt may redirect to; the last part of the path is the number of hops left
LIMIT = 500 * 1024  # RFC 9309, 2.5: a crawler must parse at least this much; ours parses no more


def _folder(*names: str) -> Callable[[str], bool]:
    starts = tuple(f"/{name}/" for name in names)
    return lambda path: path.startswith(starts)


_ARCHIVE = _folder("archive")
_ARCHIVE_TEXT = "User-agent: *\nDisallow: /archive/\n"


@dataclass(frozen=True, slots=True)
class Robots:
    """One kind: its text, where {agent} is the crawler's token and {delay} the delay, and what it forbids."""

    text: str = ""
    forbids: Callable[[str], bool] = lambda _: False
    status: int = 200
    type: str = "text/plain"
    encode: Callable[[str], bytes] = str.encode
    headers: tuple[str, ...] = ()
    location: str = ""  # a path, or {other} for another host's
    delay: bool = False
    fails: int = 0  # number of attempts that get a 503
    ending: Ending = Ending.KEEP
    standing: Standing = Standing.OPEN


PLAIN = Robots("User-agent: *\nDisallow:\n")
ROBOTS: dict[str, Robots] = {
    "robots_missing": Robots("Disallow: /\n", status=404),
    "robots_gone": Robots(status=410),
    "robots_denied": Robots("User-agent: *\nDisallow: /\n", status=403),  # RFC 9309, 2.3.1.3: like a missing file
    "robots_empty": Robots(),
    "robots_disallow": Robots(_ARCHIVE_TEXT, _ARCHIVE),
    "robots_nothing": Robots("User-agent: *\nDisallow: /\n", lambda _: True),
    "robots_wildcard": Robots(
        "User-agent: *\nDisallow: /*?id=\nDisallow: /forum/*-1*.html$\n",
        lambda path: "?id=" in path or (path.startswith("/forum/") and path.endswith(".html") and "-1" in path[7:-5]),
    ),
    "robots_longest": Robots(
        "User-agent: *\nDisallow: /archive/\nAllow: /archive/2\n",
        lambda path: path.startswith("/archive/") and not path.startswith("/archive/2"),
    ),
    "robots_others": Robots(
        "User-agent: somebody\nDisallow: /\n\nUser-agent: *\nDisallow: /shop/\n",
        _folder("shop"),
    ),
    "robots_own": Robots(
        "User-agent: *\nDisallow: /\n\nUser-agent: nobody\nUser-agent: {agent}\nDisallow: /music/\n",
        _folder("music"),
    ),
    "robots_merged": Robots(  # RFC 9309, 2.2.1: groups of the same agent are merged
        "User-agent: {agent}\nDisallow: /news/\n\nUser-agent: x\nDisallow: /\n\n"
        "User-agent: {agent}\nDisallow: /wiki/\n",
        _folder("news", "wiki"),
    ),
    "robots_case": Robots("uSER-aGENT : *   # all\n  DISALLOW:/archive/# old\nunknown: 1\n", _ARCHIVE),
    "robots_percent": Robots("User-agent: *\nDisallow: /%61rchive/\n", _ARCHIVE),  # RFC 9309, 2.2.2: %61 is an a
    "robots_delay": Robots("User-agent: *\nCrawl-delay: {delay}\nDisallow: /archive/\n", _ARCHIVE, delay=True),
    "robots_bom": Robots(_ARCHIVE_TEXT, _ARCHIVE, encode=lambda text: b"\xef\xbb\xbf" + text.encode()),
    "robots_cr": Robots(_ARCHIVE_TEXT.replace("\n", "\r"), _ARCHIVE),
    "robots_crlf": Robots(_ARCHIVE_TEXT.replace("\n", "\r\n"), _ARCHIVE),
    "robots_gzip": Robots(
        _ARCHIVE_TEXT, _ARCHIVE, encode=lambda text: host_kinds.gzip(text.encode()), headers=("Content-Encoding: gzip",)
    ),
    "robots_octets": Robots(_ARCHIVE_TEXT, _ARCHIVE, type="application/octet-stream"),
    "robots_html": Robots("<!DOCTYPE html><title>Welcome</title><p>All our pages.", type="text/html"),
    "robots_huge": Robots(
        _ARCHIVE_TEXT,
        _ARCHIVE,
        encode=lambda text: text.encode() + b"# and so on, and on and on\n" * (LIMIT // 20) + b"Disallow: /\n",
    ),
    "robots_moved": Robots(_ARCHIVE_TEXT, _ARCHIVE, status=301, location=FOLDER + "0"),
    "robots_chain": Robots(_ARCHIVE_TEXT, _ARCHIVE, status=302, location=FOLDER + "4"),  # five hops in all
    "robots_elsewhere": Robots(_ARCHIVE_TEXT, _ARCHIVE, status=302, location="{other}" + FOLDER + "0"),
    "robots_loop": Robots(status=302, location=FOLDER + "loop", standing=Standing.UNSURE),
    "robots_503": Robots(status=503, standing=Standing.SHUT),
    "robots_hang": Robots(ending=Ending.HANG, standing=Standing.SHUT),
    "robots_reset": Robots(ending=Ending.RESET, standing=Standing.SHUT),
    "robots_recovers": Robots(_ARCHIVE_TEXT, _ARCHIVE, fails=1),
}


def is_robots(path: str) -> bool:
    """Return whether this is a robots.txt, or what another one may redirect to."""
    return path == "/robots.txt" or path.startswith(FOLDER)


def robots_of(world: Web, host: int) -> Robots:
    return ROBOTS.get(world.kind("robots", host), PLAIN)


def forbids(world: Web, host: int, path: str) -> bool:
    """Return whether the host's rules forbid this request target to the world's agent."""
    return robots_of(world, host).forbids(path)


def crawl_delay(world: Web, host: int) -> float:
    """The Crawl-delay that the host asks for; 0 without one."""
    return world.slow if robots_of(world, host).delay else 0.0


def standing(world: Web, host: int) -> Standing:
    """Return how far the host's robots.txt alone lets a crawler in."""
    kind = robots_of(world, host)
    if "{other}" not in kind.location:
        return kind.standing
    other = (host + 1) % world.hosts
    reachable = (
        world.kind("host", other) not in host_kinds.DOWN and world.kind("dns", other) not in name_server.STANDING
    )
    return Standing.OPEN if reachable else Standing.UNSURE


def answer(world: Web, ask: Ask) -> Answer:
    """The answer to /robots.txt, or to the target of a redirected one."""
    if ask.path.startswith(FOLDER):
        return _redirected(world, ask)
    kind = robots_of(world, ask.host)
    if kind.ending is not Ending.KEEP:
        return Answer(script=(), ending=kind.ending, broken=True)
    if ask.attempt <= kind.fails:
        return Answer(503, retry_after=world.slow)
    if kind.location:
        target = kind.location.replace("{other}", world.origin((ask.host + 1) % world.hosts))
        return Answer(kind.status, headers=(f"Location: {target}",), location=target)
    text = kind.text.replace("{agent}", world.agent).replace("{delay}", f"{world.slow:g}")
    text += host_kinds.owner_of(world, ask.host).robots.replace("{agent}", world.agent)
    if world.living is not None:
        text += world.living.robots_lines(ask.host)
    return Answer(kind.status, kind.encode(text), kind.type, kind.headers)


def _redirected(world: Web, ask: Ask) -> Answer:
    left = ask.path.removeprefix(FOLDER)
    if left == "0":
        return Answer(body=_ARCHIVE_TEXT.encode(), type="text/plain")
    if not left.isdecimal() and left != "loop":
        return Answer(404)
    target = FOLDER + ("loop" if left == "loop" else str(int(left) - 1))
    return Answer(302, headers=(f"Location: {target}",), location=world.origin(ask.host) + target)
