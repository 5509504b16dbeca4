"""Tree pages: where their links lead, and their HTML.

Page j of a host links to its children 8j+1 to 8j+8, so that every page of a host can be reached
from its root. The root of host i links to the roots of hosts 2i+1 and 2i+2, so that every host can
be reached from host 0. The other links are random: four of five lead to pages of the same host, or
if the world's hosts are `popular`, nineteen of twenty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webcrawl.lab.simweb.kinds import KINDS
from webcrawl.lab.simweb.random_content import (
    LENGTH,
    SECTIONS,
    WORDS,
    depth,
    draws,
    filler,
    path,
    prose,
    relative,
)
from webcrawl.lab.simweb.web_answers import Anchor, AnswerPlace, Web

CHILDREN = 8  # of a page
LOCAL_LINKS_OF_256 = 205  # 80 % of the random links
LOCAL_LINKS_OF_256_IF_POPULAR = 243  # 95 %
PICTURE_SHADES = 16  # each a picture of each host
MIN_TEXT_CHARS = 600  # of a page that changes
PARAGRAPH_BYTES = len("<p> </p>\n")  # around the text and the link of a paragraph

_TOP = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="description" content="{text} &amp; more"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/static/style.css"><script src="/static/app.js" async></script>
<script>var next = '<a href="/never/script/{page}">' + "/never/script/{page}";</script>{more}</head>
<body><header id="top"><h1>{title}</h1><nav>{nav}</nav></header>
<!-- <a href="/never/comment/{page}">the old page</a> --><main>
"""
_BOTTOM = """</main><p><img src="/static/picture-{picture}.png" alt="a picture"></p>
<form action="/search" method="get"><input name="q"></form>
<footer><a href="#top">Top</a> <a href="javascript:void(0)">Menu</a> <a href="mailto:web@site0.test">Write</a>
&copy; simweb</footer></body></html>
"""
_FEED = '<link rel="alternate" href="{}">'


@dataclass(frozen=True, slots=True)
class PageEdition:
    """A changing page at a moment: the edition of its text, its advert, and the feed that it names."""

    edition: int
    aside: str = ""
    feed: str = ""


def links(
    world: Web, host: int, page: int, chance: tuple[int, ...]
) -> Iterator[tuple[int, int, int]]:
    """Yield the host and the page that each link leads to, and a number that decides its form.

    `chance` has a random number of 64 bits for each link. Its low 8 bits decide whether the link is
    local, the next 8 its form, 14 more its words, and the rest its target.
    """
    size, hosts = world.pages_of(host), world.hosts
    numbers = iter(chance)
    first = CHILDREN * page + 1
    for child in range(first, min(first + CHILDREN, size)):
        yield host, child, next(numbers)
    # So that every host is found from host 0
    if page == 0:
        for other in range(2 * host + 1, min(2 * host + 3, hosts)):
            yield other, 0, next(numbers)
    local = LOCAL_LINKS_OF_256_IF_POPULAR if world.popular else LOCAL_LINKS_OF_256
    for number in numbers:
        target_number = number >> 30
        if number & 0xFF < local or hosts == 1:
            yield host, target_number % size, number
            continue
        other = world.random_host(target_number)
        # In a popular world the low bits have chosen the host, so the page takes others
        page_number = number >> 50 if world.popular else target_number // hosts
        yield other, page_number % world.pages_of(other), number


def extras(world: Web, host: int, page: int) -> list[str]:
    """Return the URLs that this page links to besides tree pages.

    They lead to special answers and, on a root, to traps and large sites.
    """
    if host >= world.hosts:
        return []
    kind = world.kind("page", world.first_page(host) + page)
    urls = KINDS[kind].entries(AnswerPlace(world, host, kind, page)) if kind else []
    if page == 0:
        urls = [*urls, *(f"{world.origin(other)}/" for other in world.entrances(host))]
    return urls


def anchors(world: Web, host: int, page: int) -> list[Anchor]:
    """Return every link of the page, of any kind."""
    chance = draws(world.seed, host, page, 64)
    origin = world.origin(host)
    found = [
        Anchor("a", world.origin(h) + path(p))
        for h, p, _ in links(world, host, page, chance[4 : 4 + world.links])
    ]
    found += [Anchor("a", url) for url in extras(world, host, page)]
    if page == 0 and world.changing_pages is not None and world.changing_pages.feed(host):
        found.append(Anchor("link", origin + world.changing_pages.feed(host)))
    found += [
        Anchor("a", origin + path(page)),
        Anchor("link", f"{origin}/static/style.css"),
        Anchor("script", f"{origin}/static/app.js"),
        Anchor("img", f"{origin}/static/picture-{page % PICTURE_SHADES}.png"),
        Anchor("form", f"{origin}/search"),
    ]
    return found


def render(world: Web, host: int, page: int, state: PageEdition | None = None) -> bytes:
    """Return the page's HTML; `state` is None for a page that does not change.

    Its size is within the world's bounds, unless its links alone need more. A page that changes has
    some text in any case, so that another edition reads differently.
    """
    dice = draws(world.seed, host, page, 64)
    text_dice = dice
    if state is not None:
        text_dice = draws(world.seed, host << 32 | page, state.edition & 2**64 - 1, 64)
    anchors = _written_anchors(world, host, page, dice)
    low, high = world.size
    wanted_bytes = low + dice[2] % (high - low + 1)
    is_of_large_site = host >= world.hosts
    if is_of_large_site:  # it has something to say on every page
        text = prose(f"{world.seed} {host} {page}", wanted_bytes + 200)
        start = 0
    else:
        text = filler(world.seed)
        start = text_dice[0] % LENGTH
    top = _TOP.format(
        title=f"{WORDS[dice[1] & 127]} {WORDS[dice[1] >> 7 & 127]} {page} of {world.name(host)}",
        text=text[start : start + 100],
        nav=" ".join(anchors[:CHILDREN]),
        page=page,
        more=_FEED.format(state.feed) if state is not None and state.feed else "",
    )
    bottom = (state.aside if state is not None else "") + _BOTTOM.format(
        picture=page % PICTURE_SHADES
    )
    paragraphs = anchors[CHILDREN:]
    frame = len(top) + len(bottom) + sum(map(len, paragraphs))
    room = wanted_bytes - frame - PARAGRAPH_BYTES * len(paragraphs)
    # All paragraphs have the same length; what is left over comes before the first one
    step, rest = divmod(max(room, 0 if state is None else MIN_TEXT_CHARS), len(paragraphs))
    parts = [top, text[start : start + rest]]
    for at, anchor in enumerate(paragraphs):
        begin = rest + at * step if is_of_large_site else text_dice[at & 63] >> 40 & LENGTH - 1
        parts.append(f"<p>{text[begin : begin + step]} {anchor}</p>\n")
    parts.append(bottom)
    return "".join(parts).encode()


def _written_anchors(world: Web, host: int, page: int, dice: tuple[int, ...]) -> list[str]:
    """Return the HTML of the page's links, those to its children first."""
    deep = depth(path(page))
    written = [
        f'<a href="{_href(world, host, deep, link)}">{WORDS[link[2] >> 16 & 127]} {WORDS[link[2] >> 23 & 127]}</a>'
        for link in links(world, host, page, dice[4 : 4 + world.links])
    ]
    written += [
        f'<a href="{url.replace("&", "&amp;")}">Special</a>' for url in extras(world, host, page)
    ]
    return written


def _href(world: Web, host: int, deep: int, link: tuple[int, int, int]) -> str:
    """Return the href of a link on a page `deep` folders deep, in a form that authors use.

    It is rooted, relative, absolute, without a scheme, or with a fragment, by the link's number.
    """
    other, page, number = link
    target = path(page)
    form = number >> 8 & 0xFF
    if "&" in target:
        target = target.replace("&", "&amp;")
    if other != host:
        origin = world.origin(other)
        # A link without a scheme takes the page's
        same_scheme = form < 32 and origin[:5] == world.origin(host)[:5]
        return (origin[origin.index("//") :] if same_scheme else origin) + target
    if form < 112:
        return target
    if form < 208:
        return relative(deep, target)
    if form < 240:
        return world.origin(host) + target
    return f"{target}#{SECTIONS[form & 7]}"
