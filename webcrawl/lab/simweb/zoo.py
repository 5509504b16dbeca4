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
from webcrawl.lab.simweb.web_answers import Ask, Web, WebAnswer

# One hash for a page: whatever on it is random is one of these
_DICE = Struct("<96Q")


@dataclass(frozen=True)
class Spot:
    """A request to a trap. Everything on the page follows from these values."""

    seed: int
    name: str  # of the host, as requested
    domain: str  # of the trap
    port: str  # of the host's URLs, with its colon; "" for the usual one
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
class Show:
    """The content of a trap's page. Pages of a trap with the same `topic` have the same text."""

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


def days(spot: Spot) -> Show:
    """`/day/19800`: days since 1970."""
    at = _last_number(spot.path, 19_800)
    return _calendar(f"Day {at}", [f"/day/{max(at + step, 0)}" for step in _STEPS])


def seconds(spot: Spot) -> Show:
    """`/cal/1700000000`: midnights, in seconds since 1970."""
    at = _last_number(spot.path, 1_700_000_000)
    return _calendar(f"Events at {at}", [f"/cal/{max(at + step * _DAY, 0)}" for step in _STEPS])


def weeks(spot: Spot) -> Show:
    """`/agenda/2024-W07`: ISO weeks."""
    match = _WEEK.search(spot.path)
    try:
        at = date.fromisocalendar(int(match[1]), int(match[2]), 1) if match else date(2024, 2, 12)
    except ValueError:
        at = date(2024, 2, 12)
    hrefs = []
    for step in _STEPS:
        try:
            year, week, _ = (at + timedelta(weeks=step)).isocalendar()
        except OverflowError:
            continue
        hrefs.append(f"/agenda/{year}-W{week:02}")
    return _calendar(f"Week of {at}", hrefs)


def months(spot: Spot) -> Show:
    """`/events/march-2024`: names of months."""
    match = _MONTH.search(spot.path)
    known = match is not None and match[1] in _MONTHS
    at = int(match[2]) * 12 + _MONTHS.index(match[1]) if match and known else 2024 * 12
    moments = [max(at + step, 0) for step in _STEPS]
    return _calendar(
        f"Events of month {at}", [f"/events/{_MONTHS[one % 12]}-{one // 12}" for one in moments]
    )


def _last_number(path: str, start: int) -> int:
    found = _NUMBER.findall(path)
    # No trap here has written a longer number
    return int(found[-1]) if found and len(found[-1]) < 16 else start


def _calendar(title: str, hrefs: list[str]) -> Show:
    return Show(title, hrefs, "nothing")


_SESSION = re.compile(r"/s/([0-9a-f]{16})/")
_COMMIT = re.compile(r"/(commits|tree|blame|raw)/([0-9a-f]{40})(/.*)?")
_FILES = [f"{folder}/{word}.py" for folder in ("core", "net", "tests") for word in WORDS[:12]]
_VIEWS = ("tree", "blame", "raw")
MAX_LABELS = 5  # below the trap's own name


def tokens(spot: Spot) -> Show:
    """Forty articles; each link to one has a new random token."""
    name = urlsplit(spot.path).path
    return Show(f"Article {name}", _tokens(spot), name)


def tokens_fresh(spot: Spot) -> Show:
    """A trap of tokens whose text changes with the token too."""
    return Show(f"Article {urlsplit(spot.path).path}", _tokens(spot), spot.path)


def _tokens(spot: Spot) -> list[str]:
    return [
        f"/view/{WORDS[die % 40]}?token={die:016x}{die * 3 % 2**64:016x}" for die in spot.dice[:30]
    ]


def sessions(spot: Spot) -> Show:
    """A small site that exists once below each session's id; some links begin a new session."""
    match = _SESSION.match(spot.path)
    session = match[1] if match else f"{spot.dice[0]:016x}"
    page = spot.path.rpartition("/")[2]
    own = [f"/s/{session}/{SECTIONS[number % 8]}-{number}.html" for number in range(24)]
    new = [f"/s/{die:016x}/{SECTIONS[die % 8]}-{die % 24}.html" for die in spot.dice[1:9]]
    return Show(f"Welcome to {page}", own + new, page)


def git(spot: Spot) -> Show:
    """A repository's commits, and every file in every version: as a page, line by line, and raw."""
    match = _COMMIT.fullmatch(spot.path.partition("?")[0])
    view, here, file = match.groups() if match else ("log", _hash(spot.dice[0]), None)
    if view == "raw":
        return Show("", [], spot.path, plain=True)
    before = [_hash(die) for die in spot.dice[1:17]]
    hrefs = [f"/commits/{commit}" for commit in before]
    hrefs += [f"/{_VIEWS[die % 3]}/{here}/{_FILES[die % len(_FILES)]}" for die in spot.dice[17:37]]
    hrefs += [f"/tree/{commit}/{_FILES[0]}" for commit in before[:6]]
    return Show(f"{view} {here[:12]}", hrefs, file or "log")


def _hash(die: int) -> str:
    # A die has 64 bits, and a commit 160
    return f"{die * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**160:040x}"


def subdomains(spot: Spot) -> Show:
    """Every name below the domain exists, and links to more of them."""
    own = spot.name.removesuffix(spot.domain).strip(".")
    labels = own.split(".") if own else []
    hrefs = []
    for number in range(24):
        label = f"{spot.word(number)}{spot.dice[number] % 1000}"
        above = labels[-(number % MAX_LABELS) :] if number % MAX_LABELS else []
        hrefs.append(f"http://{'.'.join([label, *above, spot.domain])}{spot.port}/")
    hrefs += [f"/{spot.word(number)}.html" for number in range(24, 28)]
    return Show(f"The home of {spot.name}", hrefs, spot.name)


def farm(spot: Spot) -> Show:
    """`WORD-trapN.test`: registered domains without end, each of which links to others."""
    hrefs = [
        f"http://{spot.word(number)}{spot.dice[number] % 100}-{spot.domain}{spot.port}/"
        for number in range(14)
    ]
    hrefs += [f"http://{spot.word(number)}-{spot.domain}{spot.port}/" for number in range(14, 20)]
    hrefs += [f"/{spot.word(number)}-{spot.dice[number] % 1000}.html" for number in range(20, 34)]
    return Show(f"{spot.name}: all about {spot.word(40)}", hrefs, f"{spot.name}{spot.path}")


def novels(spot: Spot) -> Show:
    """Pages with texts of their own, at addresses made of words."""
    hrefs = []
    for number in range(0, 80, 2):
        depth = spot.dice[number] % 3
        folders = [spot.word((number + step) % 96) for step in range(depth)]
        hrefs.append(
            "/"
            + "/".join(
                [*folders, f"{spot.word(number)}-{spot.word(number + 1)}-{spot.word(95 - number)}"]
            )
        )
    return Show(f"The {spot.word(90)} of the {spot.word(91)} {spot.word(92)}", hrefs, spot.path)


_FACETS = {
    "color": ("red", "green", "blue", "black", "white", "silver", "orange", "brown"),
    "size": ("xs", "s", "m", "l", "xl", "xxl"),
    "brand": tuple(WORDS[:24]),
    "sort": ("price", "name", "date", "rating"),
    "view": ("list", "grid"),
    "min": ("5", "10", "20", "50", "100"),
    "max": ("200", "500", "1000"),
}


def items(spot: Spot) -> Show:
    """`/item/N` links to the next items and to random others."""
    at = _number(spot.path.rpartition("/")[2])
    others = [die % 10**8 for die in spot.dice[:20]]
    numbers = [*range(at + 1, at + 13), max(at - 1, 0), *others]
    return Show(f"Item {at}", [f"/item/{number}" for number in numbers], spot.path)


def list_pages(spot: Spot) -> Show:
    """`/list?page=N`: a list that always has a next page, with other entries."""
    at = _number(spot.path.rpartition("page=")[2])
    steps = (*range(-5, 11), 20, 50, 100, 200, 500, 1000, 10_000)
    numbers = [number for number in (at + step for step in steps) if number >= 0]
    return Show(f"Page {at}", [f"/list?page={number}" for number in numbers], spot.path)


def facets(spot: Spot) -> Show:
    """A shop's filters in any order and number. Whatever is chosen, the same things are shown."""
    chosen = dict(parse_qsl(spot.path.partition("?")[2]))
    hrefs = []
    for die in spot.dice[:36]:
        key = tuple(_FACETS)[die % len(_FACETS)]
        pairs = [*(chosen | {key: _FACETS[key][(die >> 8) % len(_FACETS[key])]}).items()]
        # Another order of the parameters is another URL
        turn = (die >> 16) % len(pairs)
        hrefs.append("/shop?" + urlencode(pairs[turn:] + pairs[:turn]))
    hrefs += [
        "/shop?" + urlencode({key: value for key, value in chosen.items() if key != gone})
        for gone in chosen
    ]
    return Show("Our shop", hrefs, "shop")


def search(spot: Spot) -> Show:
    """`/find?q=…` offers longer and other searches, and results that are searches in turn."""
    asked = dict(parse_qsl(spot.path.partition("?")[2])).get("q", "")
    words = [spot.word(number) for number in range(44)]
    longer = [" ".join([*asked.split()[-5:], word]) for word in words[:12]]
    other = [f"{one} {two}" for one, two in pairwise(words[12:])]
    hrefs = ["/find?" + urlencode({"q": query}) for query in longer + other]
    return Show(f"Results for {asked}", hrefs, spot.path)


def _number(text: str) -> int:
    """Return the text as a number, or 0 if no trap here could have written it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


ZOO: dict[str, Callable[[Spot], Show]] = {
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


NAV = 6  # links in the head of the page
FRAME = 3000  # bytes around the text, about
_TOP = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - {name}</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/style.css"></head>
<body><header><a href="/">{name}</a><h1>{title}</h1><nav>{nav}</nav></header><main>
"""
_BOTTOM = """</main><p><img src="/static/picture-1.png" alt="a picture"></p>
<form action="/search" method="get"><input name="q"></form>
<footer><a href="#top">Top</a> <a href="mailto:web@{domain}">Write</a> &copy; {name}</footer></body></html>
"""


def zoo_answer(world: Web, ask: Ask, kind: str) -> WebAnswer:
    """Return the page at any path of a trap."""
    domain = world.name(ask.host)
    port = world.origin(ask.host).rpartition(":")[2]
    spot = Spot(
        world.seed, ask.name or domain, domain, f":{port}" if port.isdigit() else "", ask.path
    )
    show = ZOO[kind](spot)
    text = _text(world, f"{world.seed} {domain} {show.topic}")
    if show.plain:
        return WebAnswer(body=text.encode(), type="text/plain; charset=utf-8")
    anchors = [f'<a href="{escape(href)}">{escape(_label(href))}</a>' for href in show.hrefs]
    top = _TOP.format(title=escape(show.title), name=spot.name, nav=" ".join(anchors[:NAV]))
    items = [f"<li>{anchor}</li>\n" for anchor in anchors[NAV:]]
    bottom = _BOTTOM.format(name=spot.name, domain=domain)
    return WebAnswer(
        body="".join((top, "<p>", text, "</p>\n<ul>\n", *items, "</ul>", bottom)).encode()
    )


def _text(world: Web, key: str) -> str:
    """Return the text of a topic.

    Its length follows from the topic too, so that pages of one topic have the same text.
    """
    low, high = world.size
    length = low + crc32(key.encode()) % (high - low + 1)
    return prose(key, max(length - FRAME, length // 2))


def _label(href: str) -> str:
    return href.rstrip("/").rpartition("/")[2][-40:]
