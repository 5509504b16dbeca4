"""Traps of shapes that no filter lists, and good sites, as functions; and a crawl of them in
simulated time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from urllib.parse import urljoin

from webcrawl.base.model import Link, Outcome
from webcrawl.base.url_text import host_of
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.frontier.frontier import Frontier
from webcrawl.lab.simweb.web_answers import WebRequest
from webcrawl.lab.simweb.world import World

Page = tuple[str, list[str]]  # body, links
Site = Callable[[str, str], Page]
"""Makes the page of a host and its path with query."""


def digest_of(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=10).hexdigest()


def number_in(path: str) -> int:
    digits = "".join(filter(str.isdigit, path))
    return int(digits or 0)


def items(host: str, path: str) -> Page:
    """Return the page /item/N, with a text of its own and links to further items."""
    at = number_in(path)
    return digest_of(host, path), [f"http://{host}/item/{at + step}" for step in (1, 2, 10, 100)]


def lists(host: str, path: str) -> Page:
    """Return the page ?page=N of an endless list."""
    at = number_in(path)
    return digest_of(host, path), [f"http://{host}/list?page={at + step}" for step in (1, 2, 5)]


def facets(host: str, path: str) -> Page:
    """Return a page of a shop with filters, in any order and number."""
    chosen = path.partition("?")[2]
    pairs = [f"{name}={value}" for name, value in product(("size", "colour", "sort"), "abc")]
    return digest_of(host, path), [
        f"http://{host}/shop?{chosen}&{pair}".replace("?&", "?") for pair in pairs
    ]


def tokens(host: str, path: str) -> Page:
    """Return a page whose links all have tokens that were never seen."""
    return digest_of(host, path), [
        f"http://{host}/?token={digest_of(host, path, step)}" for step in range(5)
    ]


def commits(host: str, path: str) -> Page:
    """Return a page of a repository: each commit links to its parent, its tree and its
    differences.
    """
    at = path.rpartition("/")[2]
    kinds = ("commit", "tree", "diff", "blame")
    return digest_of(host, path), [f"http://{host}/{kind}/{digest_of(at, kind)}" for kind in kinds]


def calendar(host: str, path: str) -> Page:
    """Return a day of a calendar, by its seconds since 1970."""
    at = number_in(path) or 1_700_000_000
    return digest_of(host, path), [
        f"http://{host}/day?t={at + step * 86_400}" for step in (-30, -7, -1, 1, 7, 30)
    ]


def wildcard(host: str, path: str) -> Page:
    """Return a page that names more hosts; any name below the domain is one."""
    domain = ".".join(host.split(".")[-2:])
    return digest_of(host, path), [
        f"http://{digest_of(host, path, step)}.{domain}/" for step in range(5)
    ]


def copies(host: str, path: str) -> Page:
    """Return the same page under every address."""
    return "sorry", [f"http://{host}/?token={digest_of(host, path, step)}" for step in range(5)]


def tenths(host: str, path: str) -> Page:
    """Return a page of an endless list in which one body in ten is new."""
    at = number_in(path)
    return digest_of(host, at % 10 and 1, at if at % 10 == 0 else 0), items(host, path)[1]


TRAPS: dict[str, Site] = {
    trap.__name__: trap
    for trap in (items, lists, facets, tokens, commits, calendar, wildcard, copies, tenths)
}


def good(pages: int) -> Site:
    """Return a site of so many pages.

    Each links to eight further ones, to the first and to two others.
    """

    def page(host: str, path: str) -> Page:
        at = number_in(path)
        further = [8 * at + child for child in range(1, 9)]
        linked = [one for one in (*further, 0, at // 2, at * 31 % pages) if one < pages]
        return digest_of(host, at), [f"http://{host}/{one}" for one in linked]

    return page


def page_of_links(*urls: str) -> Site:
    """Return a site of one page, with these links."""
    return lambda host, path: (digest_of(host, path), list(urls))


def simulated(world: World) -> Site:
    """Return the sites of the synthetic web, with their links to the same domain.

    The links are those that a crawler sees.
    """
    reader = LinkReader(("a",))

    def page(host: str, path: str) -> Page:
        """Return a page of the synthetic web, or an empty one where there is none."""
        url = f"http://{host}/{path}"
        place = world.locate(url)
        if place is None:
            return "", []
        body = world.answer(WebRequest(*place, name=host)).body.decode()
        hrefs = reader.links(body.encode(), "text/html; charset=utf-8", url).links
        found = dict.fromkeys(urljoin(url, address).partition("#")[0] for _, address, *_ in hrefs)
        return body, [
            one
            for one in found
            if one.startswith("http:") and domain_of(host_of(one)) == domain_of(host)
        ]

    return page


def domain_of(host: str) -> str:
    """Return the registered domain of a host: its last two labels."""
    return ".".join(host.split(".")[-2:])


def crawl(
    frontier: Frontier, sites: Mapping[str, Site], seeds: Iterable[str], most: int = 10**9
) -> Counter[str]:
    """Return the number of pages fetched by registered domain.

    The crawl ends when nothing can be fetched any more, or after `most` pages.
    """
    seen = set(seeds)
    bodies: set[str] = set()
    pages: Counter[str] = Counter()
    now = 0.0
    frontier.add([Link(url, seed=url).pack() for url in sorted(seen)])
    while pages.total() < most:
        link = frontier.take(now)
        if link is None:
            if len(frontier) == frontier.over_budget:
                break
            now = max(now, frontier.next_ready() or 0.0)
            continue
        host = host_of(link.url)
        pages[domain_of(host)] += 1
        body, links = sites[domain_of(host)](host, link.url.split("/", 3)[3])
        if body not in bodies:
            bodies.add(body)
            frontier.domains.new_body(link, body.encode())
        if frontier.domains.heard is not None:
            frontier.domains.heard(link.url, links)
        fresh = [url for url in dict.fromkeys(links) if url not in seen]
        seen.update(fresh)
        frontier.add([Link(url, f"{link.path[-8:]}L", link.url).pack() for url in fresh])
        frontier.done(link, Outcome(200, 0.01), now)
    return pages
