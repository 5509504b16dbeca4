"""The hub that tells of a page's news, and the name by which it knows the page (W3C WebSub 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from webcrawl.content.formats import link_header
from webcrawl.content.formats.xml_listings import Entry
from webcrawl.urls.canonical import InvalidUrl, canonical

HUBS = 3  # of one page that are tried, in order
LONGEST = 2000  # characters of an address


class Offer(NamedTuple):
    """The hub and the name that a page gives."""

    topic: str  # the page by the name that hubs know
    hubs: list[str]


def offer(
    url: str, headers: Iterable[tuple[bytes, bytes]], entries: Iterable[Entry], site_of: Callable[[str], str]
) -> Offer | None:
    """The offer of a page that came from `url`, by its headers or, if they have none, its content.

    A page may call itself only by a name of its own site: else a stranger's hub could speak for it.
    """
    hubs, names = _of_headers(headers)
    if not hubs:
        hubs = [entry.url for entry in entries if entry.role == "hub"]
        names = names or [entry.url for entry in entries if entry.role == "self"]
    found = [hub for one in hubs[: 4 * HUBS] if (hub := address(one, url))]
    if not found:
        return None
    home = site_of(url)
    own = (name for one in names[:HUBS] if (name := address(one, url)) and site_of(name) == home)
    return Offer(next(own, url), list(dict.fromkeys(found))[:HUBS])


def _of_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[list[str], list[str]]:
    links = link_header.links(headers)
    hubs = [address for kind, address, _, _ in links if kind == "hub"]
    return hubs, [address for _, address, _, rel in links if "self" in rel.lower().split()]


def address(written: str, base: str) -> str:
    """The canonical form of an address of the web; empty if this is none."""
    try:
        found = canonical(written, base, LONGEST)
    except InvalidUrl:
        return ""
    return found if found.startswith(("http:", "https:")) else ""
