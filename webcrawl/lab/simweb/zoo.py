"""The zoo: hosts that are endless traps, each of its own kind. Every address there exists."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from hashlib import shake_128
from html import escape
from itertools import pairwise
from struct import Struct
from urllib.parse import parse_qsl, urlencode, urlsplit
from zlib import crc32

from webcrawl.lab.simweb.random_content import SECTIONS, WORDS, prose
from webcrawl.lab.simweb.web_answers import Web, WebAnswer, WebRequest

# One hash for a page: whatever on it is random is one of these
_DICE = Struct("<96Q")


@dataclass(frozen=True)
class TrapRequest:
    """A request to a host that is a trap. Everything on the page follows from these values."""

    seed: int
    name: str  # the host's name, as requested
    domain: str  # the trap's own name, with which `name` ends
    port: str  # of the host's URLs, with its colon; "" for port 80
    path: str  # and query

    @cached_property
    def dice(self) -> tuple[int, ...]:
        """Return 96 random 64-bit numbers that belong to this page."""
        key = f"{self.seed} {self.name} {self.path}".encode()
        return _DICE.unpack(shake_128(key).digest(_DICE.size))

    def word(self, number: int) -> str:
        """Return one of the usual words, chosen by the number of a die."""
        return WORDS[self.dice[number] >> 20 & 127]


@dataclass(frozen=True, slots=True)
class TrapPage:
    """The content of a page of a trap.

    The text follows from `topic`: pages with the same topic have the same text.
    """

    title: str
    hrefs: list[str]
    topic: str
    plain: bool = False  # a text file, without links


_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBER = re.compile(r"\d+")
_WEEK = re.compile(r"(\d{4})-W(\d\d)")
_MONTH = re.compile(r"([a-z]+)-(\d{1,5})")
_DAY = 86_400
_STEPS = (*range(-12, 0), *range(1, 13), 52, -52, 365, -365)


def days(request: TrapRequest) -> TrapPage:
    """Return the page of a calendar `/day/19800`, whose numbers are days since 1970."""
    at = _last_number(request.path, 19_800)
    return _calendar(f"Day {at}", [f"/day/{max(at + step, 0)}" for step in _STEPS])


def seconds(request: TrapRequest) -> TrapPage:
    """Return the page of a calendar `/cal/1700000000`, whose numbers are seconds since 1970."""
    at = _last_number(request.path, 1_700_000_000)
    return _calendar(f"Events at {at}", [f"/cal/{max(at + step * _DAY, 0)}" for step in _STEPS])


def weeks(request: TrapRequest) -> TrapPage:
    """Return the page of a calendar `/agenda/2024-W07`, by ISO weeks."""
    monday = _monday_in(request.path)
    hrefs = []
    for step in _STEPS:
        try:
            year, week, _ = (monday + timedelta(weeks=step)).isocalendar()
        except OverflowError:  # before the year 1, or after 9999
            continue
        hrefs.append(f"/agenda/{year}-W{week:02}")
    return _calendar(f"Week of {monday}", hrefs)


def _monday_in(path: str) -> date:
    """Return the Monday of the ISO week in a path, or of one in 2024 if the path has none."""
    match = _WEEK.search(path)
    if match is None:
        return date(2024, 2, 12)
    try:
        return date.fromisocalendar(int(match[1]), int(match[2]), 1)
    except ValueError:  # such as week 60
        return date(2024, 2, 12)


def months(request: TrapRequest) -> TrapPage:
    """Return the page of a calendar `/events/march-2024`, by names of months."""
    match = _MONTH.search(request.path)
    current = 2024 * 12  # months since the year 0
    if match is not None and match[1] in _MONTHS:
        current = int(match[2]) * 12 + _MONTHS.index(match[1])
    linked = [max(current + step, 0) for step in _STEPS]
    hrefs = [f"/events/{_MONTHS[month % 12]}-{month // 12}" for month in linked]
    return _calendar(f"Events of month {current}", hrefs)


def _last_number(path: str, start: int) -> int:
    """Return the last number in a path, or `start` if no trap here could have written it."""
    found = _NUMBER.findall(path)
    return int(found[-1]) if found and len(found[-1]) <= MAX_DIGITS else start


def _calendar(title: str, hrefs: list[str]) -> TrapPage:
    return TrapPage(title, hrefs, "nothing")


_SESSION = re.compile(r"/s/([0-9a-f]{16})/")
_COMMIT = re.compile(r"/(commits|tree|blame|raw)/([0-9a-f]{40})(/.*)?")
_FILES = [f"{folder}/{word}.py" for folder in ("core", "net", "tests") for word in WORDS[:12]]
_VIEWS = ("tree", "blame", "raw")
MAX_LABELS = 5  # below the trap's own name
MAX_DIGITS = 15  # of a number in a URL: no trap here writes a longer one


def tokens(request: TrapRequest) -> TrapPage:
    """Return one of forty articles; each link to an article has a new random token."""
    name = urlsplit(request.path).path
    return TrapPage(f"Article {name}", _tokens(request), name)


def tokens_fresh(request: TrapRequest) -> TrapPage:
    """Return an article whose text changes with the token in its URL."""
    return TrapPage(f"Article {urlsplit(request.path).path}", _tokens(request), request.path)


def _tokens(request: TrapRequest) -> list[str]:
    return [
        f"/view/{WORDS[die % 40]}?token={die:016x}{die * 3 % 2**64:016x}"
        for die in request.dice[:30]
    ]


def sessions(request: TrapRequest) -> TrapPage:
    """Return a page of a small site that exists once below each session's id.

    Some links begin a new session.
    """
    match = _SESSION.match(request.path)
    session = match[1] if match else f"{request.dice[0]:016x}"
    page = request.path.rpartition("/")[2]
    own = [f"/s/{session}/{SECTIONS[number % 8]}-{number}.html" for number in range(24)]
    new = [f"/s/{die:016x}/{SECTIONS[die % 8]}-{die % 24}.html" for die in request.dice[1:9]]
    return TrapPage(f"Welcome to {page}", own + new, page)


def git(request: TrapRequest) -> TrapPage:
    """Return a page of a repository: a commit, or one view of a file in one of its versions."""
    match = _COMMIT.fullmatch(request.path.partition("?")[0])
    view, commit, file = match.groups() if match else ("log", _hash(request.dice[0]), None)
    if view == "raw":
        return TrapPage("", [], request.path, plain=True)
    parents = [_hash(die) for die in request.dice[1:17]]
    hrefs = [f"/commits/{parent}" for parent in parents]
    hrefs += [
        f"/{_VIEWS[die % 3]}/{commit}/{_FILES[die % len(_FILES)]}" for die in request.dice[17:37]
    ]
    hrefs += [f"/tree/{parent}/{_FILES[0]}" for parent in parents[:6]]
    return TrapPage(f"{view} {commit[:12]}", hrefs, file or "log")


def _hash(die: int) -> str:
    # A die has 64 bits, and a commit 160: a large factor spreads them
    return f"{die * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**160:040x}"


def subdomains(request: TrapRequest) -> TrapPage:
    """Return the page of one name below the domain; every name exists, and links to more names."""
    own = request.name.removesuffix(request.domain).strip(".")
    labels = own.split(".") if own else []
    hrefs = []
    for number in range(24):
        label = f"{request.word(number)}{request.dice[number] % 1000}"
        kept = number % MAX_LABELS
        above = labels[-kept:] if kept else []
        hrefs.append(f"http://{'.'.join([label, *above, request.domain])}{request.port}/")
    hrefs += [f"/{request.word(number)}.html" for number in range(24, 28)]
    return TrapPage(f"The home of {request.name}", hrefs, request.name)


def farm(request: TrapRequest) -> TrapPage:
    """Return a page of `WORD-trapN.test`: registered domains without end, which link to others."""
    hrefs = [
        f"http://{request.word(number)}{request.dice[number] % 100}-{request.domain}{request.port}/"
        for number in range(14)
    ]
    hrefs += [
        f"http://{request.word(number)}-{request.domain}{request.port}/" for number in range(14, 20)
    ]
    hrefs += [
        f"/{request.word(number)}-{request.dice[number] % 1000}.html" for number in range(20, 34)
    ]
    return TrapPage(
        f"{request.name}: all about {request.word(40)}",
        hrefs,
        f"{request.name}{request.path}",
    )


def novels(request: TrapRequest) -> TrapPage:
    """Return a page with a text of its own, at an address made of words."""
    hrefs = []
    for number in range(0, 80, 2):
        depth = request.dice[number] % 3
        folders = [request.word((number + step) % 96) for step in range(depth)]
        title = "-".join(request.word(at) for at in (number, number + 1, 95 - number))
        hrefs.append("/" + "/".join([*folders, title]))
    return TrapPage(
        f"The {request.word(90)} of the {request.word(91)} {request.word(92)}",
        hrefs,
        request.path,
    )


_FACETS = {
    "color": ("red", "green", "blue", "black", "white", "silver", "orange", "brown"),
    "size": ("xs", "s", "m", "l", "xl", "xxl"),
    "brand": tuple(WORDS[:24]),
    "sort": ("price", "name", "date", "rating"),
    "view": ("list", "grid"),
    "min": ("5", "10", "20", "50", "100"),
    "max": ("200", "500", "1000"),
}


def items(request: TrapRequest) -> TrapPage:
    """Return the page `/item/N`, which links to the next items and to random others."""
    at = _number(request.path.rpartition("/")[2])
    others = [die % 10**8 for die in request.dice[:20]]
    numbers = [*range(at + 1, at + 13), max(at - 1, 0), *others]
    return TrapPage(f"Item {at}", [f"/item/{number}" for number in numbers], request.path)


def list_pages(request: TrapRequest) -> TrapPage:
    """Return the page `/list?page=N` of a list that always has a next page, with other entries."""
    at = _number(request.path.rpartition("page=")[2])
    steps = (*range(-5, 11), 20, 50, 100, 200, 500, 1000, 10_000)
    numbers = [number for number in (at + step for step in steps) if number >= 0]
    return TrapPage(f"Page {at}", [f"/list?page={number}" for number in numbers], request.path)


def facets(request: TrapRequest) -> TrapPage:
    """Return a page of a shop with filters in any order and number.

    Whatever is chosen, the page shows the same goods.
    """
    chosen = dict(parse_qsl(request.path.partition("?")[2]))
    hrefs = []
    for die in request.dice[:36]:
        key = tuple(_FACETS)[die % len(_FACETS)]
        pairs = [*(chosen | {key: _FACETS[key][(die >> 8) % len(_FACETS[key])]}).items()]
        # Another order of the parameters is another URL
        first = (die >> 16) % len(pairs)
        hrefs.append("/shop?" + urlencode(pairs[first:] + pairs[:first]))
    hrefs += [
        "/shop?" + urlencode({key: value for key, value in chosen.items() if key != gone})
        for gone in chosen
    ]
    return TrapPage("Our shop", hrefs, "shop")


def search(request: TrapRequest) -> TrapPage:
    """Return the page `/find?q=…`: its results are links to longer and to other searches."""
    query = dict(parse_qsl(request.path.partition("?")[2])).get("q", "")
    words = [request.word(number) for number in range(44)]
    longer = [" ".join([*query.split()[-5:], word]) for word in words[:12]]
    other = [f"{one} {two}" for one, two in pairwise(words[12:])]
    hrefs = ["/find?" + urlencode({"q": query}) for query in longer + other]
    return TrapPage(f"Results for {query}", hrefs, request.path)


def _number(text: str) -> int:
    """Return the text as a number, or 0 if no trap here could have written it."""
    is_number = text.isascii() and text.isdigit()
    return int(text) if is_number and len(text) <= MAX_DIGITS else 0


ZOO: dict[str, Callable[[TrapRequest], TrapPage]] = {
    "zoo_items": items,
    "zoo_pages": list_pages,
    "zoo_facets": facets,
    "zoo_search": search,
    "zoo_tokens": tokens,
    "zoo_tokens_fresh": tokens_fresh,
    "zoo_sessions": sessions,
    "zoo_git": git,
    "zoo_subdomains": subdomains,
    "zoo_farm": farm,
    "zoo_novels": novels,
    "zoo_days": days,
    "zoo_seconds": seconds,
    "zoo_weeks": weeks,
    "zoo_months": months,
}
WILD = frozenset({"zoo_subdomains", "zoo_farm"})  # with every name that ends in their own


NAV_LINKS = 6  # in the head of the page
FRAME_BYTES = 3000  # around the text, about
_TOP = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - {name}</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/style.css"></head>
<body><header><a href="/">{name}</a><h1>{title}</h1><nav>{nav}</nav></header><main>
"""
_BOTTOM = """</main><p><img src="/static/picture-1.png" alt="a picture"></p>
<form action="/search" method="get"><input name="q"></form>
<footer><a href="#top">Top</a> <a href="mailto:web@{domain}">Write</a> &copy; {name}</footer></body></html>
"""


def zoo_answer(world: Web, request: WebRequest, kind: str) -> WebAnswer:
    """Return the answer to a request for any path of a trap of this kind."""
    domain = world.name(request.host)
    port = world.origin(request.host).rpartition(":")[2]
    colon_port = f":{port}" if port.isdigit() else ""
    name = request.name or domain
    trap_request = TrapRequest(world.seed, name, domain, colon_port, request.path)
    page = ZOO[kind](trap_request)
    text = _text(world, f"{world.seed} {domain} {page.topic}")
    if page.plain:
        return WebAnswer(body=text.encode(), type="text/plain; charset=utf-8")
    anchors = [f'<a href="{escape(href)}">{escape(_label(href))}</a>' for href in page.hrefs]
    top = _TOP.format(title=escape(page.title), name=name, nav=" ".join(anchors[:NAV_LINKS]))
    items = [f"<li>{anchor}</li>\n" for anchor in anchors[NAV_LINKS:]]
    bottom = _BOTTOM.format(name=name, domain=domain)
    return WebAnswer(
        body="".join((top, "<p>", text, "</p>\n<ul>\n", *items, "</ul>", bottom)).encode()
    )


def _text(world: Web, key: str) -> str:
    """Return the text of a topic.

    Its length follows from the topic too, so that pages of one topic have the same text.
    """
    low, high = world.size
    page_bytes = low + crc32(key.encode()) % (high - low + 1)
    # Small pages are mostly frame, but half of their size is text in any case
    return prose(key, max(page_bytes - FRAME_BYTES, page_bytes // 2))


def _label(href: str) -> str:
    return href.rstrip("/").rpartition("/")[2][-40:]
