"""The kinds of links in LINK_SOURCES, and the attributes that each is read from."""

from __future__ import annotations

from collections.abc import Iterable

from webcrawl.content.html import embedded_addresses

FOLLOWED = ("a", "area", "frame", "iframe", "refresh", "canonical")
KINDS = (*FOLLOWED, "link", "img", "srcset", "script", "style", "media", "object", "form", "jsonld", "data")
LOGGED = frozenset(KINDS) - {"jsonld", "data"}  # of every page, if links of all kinds are wanted: these two cost 30 µs
REDIRECT = "redirect"  # in a link log, where an answer redirects to: no kind of a page's links
# tag -> (attribute that holds one URL, kind), in the order in which they are read
ATTRIBUTES: dict[str, tuple[tuple[str, str], ...]] = {
    "a": (("href", "a"), ("xlink:href", "a")),
    "area": (("href", "area"),),
    "frame": (("src", "frame"),),
    "iframe": (("src", "iframe"),),
    "img": (("src", "img"),),
    "image": (("href", "img"), ("xlink:href", "img")),
    "use": (("href", "img"), ("xlink:href", "img")),
    "input": (("src", "img"), ("formaction", "form")),
    "body": (("background", "img"),),
    "table": (("background", "img"),),
    "td": (("background", "img"),),
    "th": (("background", "img"),),
    "script": (("src", "script"),),
    "audio": (("src", "media"),),
    "video": (("poster", "img"), ("src", "media")),
    "source": (("src", "media"),),
    "track": (("src", "media"),),
    "embed": (("src", "object"),),
    "object": (("data", "object"),),
    "form": (("action", "form"),),
    "button": (("formaction", "form"),),
}
SRCSETS = {"img": "srcset", "source": "srcset", "link": "imagesrcset"}
# read from every page, whatever kinds are wanted
HEAD = ("html", "base", "link", "meta", "title", "noframes")

_ALL = frozenset(kind for pairs in ATTRIBUTES.values() for _, kind in pairs) | {"srcset"}
# The most frequent first: an element that has one of them is not compared with those behind it.
_HOLDERS = dict.fromkeys(
    ["href", "src", *(name for pairs in ATTRIBUTES.values() for name, _ in pairs), *SRCSETS.values()]
)


def tags(kinds: Iterable[str]) -> frozenset[str]:
    """The elements that can have links of these kinds; empty means all elements."""
    wanted = set(kinds)
    if wanted & {"style", "data"}:
        return frozenset()
    found = {tag for tag, attributes in ATTRIBUTES.items() if wanted & {kind for _, kind in attributes}}
    scripts = {"script"} if "jsonld" in wanted else set()
    return frozenset(found | set(HEAD) | scripts | (set(SRCSETS) if "srcset" in wanted else set()))


def selector(kinds: Iterable[str]) -> str:
    """Return the elements of `tags` as a CSS selector.

    If all attributes that hold URLs are wanted, it names these and not the elements, and what else has one of them is
    found as well: 11 conditions in place of 30 for each element of a page, 13 us for a small page in place of 21.
    """
    wanted = set(kinds)
    parts = sorted(tags(wanted - {"style", "data"}))
    if wanted >= _ALL:
        parts = [f"[{name}]".replace(":", "\\:") for name in _HOLDERS]
        parts += ["html", "meta", "title", "noframes", *(["script"] if "jsonld" in wanted else [])]
    more = [
        *(["style,[style]"] if "style" in wanted else []),
        *([embedded_addresses.DATA_SELECTOR] if "data" in wanted else []),
    ]
    # A selector list reports an element once for every part that matches, `:is` once; it costs 3 % of the parsing.
    return f":is({','.join((*parts, *more))})" if more or wanted >= _ALL else ",".join(parts)
