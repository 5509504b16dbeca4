"""The same things under ever new names: tokens, sessions, versions, subdomains, domains."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from webcrawl.simweb.words import SECTIONS, WORDS
from webcrawl.simweb.zoo.spot import Show, Spot

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
    """The same, but the text changes with the token too."""
    return Show(f"Article {urlsplit(spot.path).path}", _tokens(spot), spot.path)


def _tokens(spot: Spot) -> list[str]:
    return [f"/view/{WORDS[die % 40]}?token={die:016x}{die * 3 % 2**64:016x}" for die in spot.dice[:30]]


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
    if match and match[1] == "raw":
        return Show("", [], spot.path, plain=True)
    here = match[2] if match else _hash(spot.dice[0])
    before = [_hash(die) for die in spot.dice[1:17]]
    hrefs = [f"/commits/{commit}" for commit in before]
    hrefs += [f"/{_VIEWS[die % 3]}/{here}/{_FILES[die % len(_FILES)]}" for die in spot.dice[17:37]]
    hrefs += [f"/tree/{commit}/{_FILES[0]}" for commit in before[:6]]
    return Show(f"{match[1] if match else 'log'} {here[:12]}", hrefs, (match and match[3]) or "log")


def _hash(die: int) -> str:
    """Forty hexadecimal digits."""
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
    """`WORD-trapN.test`: registered domains without end, each of which links to others, known and new."""
    hrefs = [f"http://{spot.word(number)}{spot.dice[number] % 100}-{spot.domain}{spot.port}/" for number in range(14)]
    hrefs += [f"http://{spot.word(number)}-{spot.domain}{spot.port}/" for number in range(14, 20)]
    hrefs += [f"/{spot.word(number)}-{spot.dice[number] % 1000}.html" for number in range(20, 34)]
    return Show(f"{spot.name}: all about {spot.word(40)}", hrefs, f"{spot.name}{spot.path}")


def novels(spot: Spot) -> Show:
    """Pages of words that nobody has read before, at addresses made of words."""
    hrefs = []
    for number in range(0, 80, 2):
        depth = spot.dice[number] % 3
        folders = [spot.word((number + step) % 96) for step in range(depth)]
        hrefs.append(
            "/" + "/".join([*folders, f"{spot.word(number)}-{spot.word(number + 1)}-{spot.word(95 - number)}"])
        )
    return Show(f"The {spot.word(90)} of the {spot.word(91)} {spot.word(92)}", hrefs, spot.path)
