"""Traps: a few lines of code that generate an endless number of pages."""

from __future__ import annotations

import re

from webcrawl.lab.simweb.random_content import draws
from webcrawl.lab.simweb.web_answers import Anchor, Answer, Kind, Place, document

_MONTH = re.compile(r"\?month=(\d{4})-(\d\d)")
_SIZES, _COLOURS, _ORDERS = ("s", "m", "l"), ("red", "green", "blue"), ("price", "name", "date")


def _page(place: Place, *hrefs: tuple[str, str]) -> Answer:
    """A page with these links, each given as written and as the target it means."""
    body = "\n".join(f'<a href="{href.replace("&", "&amp;")}">more</a>' for href, _ in hrefs)
    links = [Anchor("a", place.origin + target) for _, target in hrefs]
    return Answer(body=document(place.url + place.rest, body), links=links)


def _calendar(place: Place) -> Answer:
    """A calendar with links to the next and the previous month."""
    match = _MONTH.fullmatch(place.rest)
    month = int(match[1]) * 12 + int(match[2]) - 1 if match else 2024 * 12
    targets = [f"{place.path}?month={at // 12:04}-{at % 12 + 1:02}" for at in (month - 1, month + 1)]
    return _page(place, *((target, target) for target in targets))


def _session(place: Place) -> Answer:
    """Five pages whose links get a new session id on every visit."""
    ids = draws(place.number, hash_of(place.rest), place.host)
    targets = [f"{place.path}/{step}?sid={number:016x}" for step in range(5) for number in ids[step % 2 :][:1]]
    return _page(place, *((target, target) for target in targets))


def _session_path(place: Place) -> Answer:
    ids = draws(place.number, hash_of(place.rest), place.host)
    targets = [f"{place.path}/{step}.jsp;jsessionid={ids[step % 2]:016X}" for step in range(3)]
    return _page(place, *((target, target) for target in targets))


def _repeating(place: Place) -> Answer:
    """A relative link without its leading slash, on a server that accepts every path."""
    folder = (place.path + place.rest).rpartition("/")[0]
    return _page(place, *((href, f"{folder}/{href}") for href in ("about/team/", "about/jobs/")))


def _growing(place: Place) -> Answer:
    """Links to ever deeper folders."""
    names = draws(place.number, hash_of(place.rest), place.host)
    folder = (place.path + place.rest).rpartition("/")[0] if place.rest else place.path
    targets = [f"{folder}/{name % 9973}/" for name in names]
    return _page(place, *((target, target) for target in targets))


def _facets(place: Place) -> Answer:
    """A shop's filters, in any order and number."""
    query = place.rest.removeprefix("?")
    pairs = [f"size={size}" for size in _SIZES] + [f"colour={colour}" for colour in _COLOURS]
    pairs += [f"sort={order}" for order in _ORDERS]
    targets = [f"{place.path}?{query}&{pair}" if query else f"{place.path}?{pair}" for pair in pairs]
    return _page(place, *((target, target) for target in targets))


def _numbers(place: Place) -> Answer:
    """An endless list, page by page."""
    at = int(place.rest[6:]) if re.fullmatch(r"\?page=\d{1,12}", place.rest) else 0
    targets = [f"{place.path}?page={at + step}" for step in (1, 2, 10, 100)]
    return _page(place, *((target, target) for target in targets))


def hash_of(text: str) -> int:
    """A hash that is the same in every process, unlike Python's own."""
    return int.from_bytes(text.encode()[-24:], "big") % 2**61


KINDS = {
    "trap_calendar": Kind(_calendar, trap=True),
    "trap_session": Kind(_session, trap=True),
    "trap_session_path": Kind(_session_path, trap=True),
    "trap_repeating": Kind(_repeating, entries=lambda place: [f"{place.url}/"], trap=True),
    "trap_growing": Kind(_growing, trap=True),
    "trap_facets": Kind(_facets, trap=True),
    "trap_numbers": Kind(_numbers, trap=True),
}
