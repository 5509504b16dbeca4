"""Endless lists: numbered items, pages of a list, a shop's filters, and a search that always finds something."""

from __future__ import annotations

from itertools import pairwise
from urllib.parse import parse_qsl, urlencode

from webcrawl.simweb.words import WORDS
from webcrawl.simweb.zoo.spot import Show, Spot

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
    """`/item/N` with the next ones and any others."""
    at = _number(spot.path.rpartition("/")[2])
    others = [die % 10**8 for die in spot.dice[:20]]
    numbers = [*range(at + 1, at + 13), max(at - 1, 0), *others]
    return Show(f"Item {at}", [f"/item/{number}" for number in numbers], spot.path)


def pages(spot: Spot) -> Show:
    """`/list?page=N`, as below any list; there is always a next page, with other entries."""
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
        turn = (die >> 16) % len(pairs)
        hrefs.append("/shop?" + urlencode(pairs[turn:] + pairs[:turn]))
    hrefs += ["/shop?" + urlencode({key: value for key, value in chosen.items() if key != gone}) for gone in chosen]
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
    """The number in a path; 0 if there is none that this trap would have written."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
