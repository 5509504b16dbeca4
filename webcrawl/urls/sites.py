"""How a page was reached, by sites; a site is a registered domain (docs/decisions/urls-depth.md).

A discovery path (model.Link) has a small letter where a hop led into another site. A page's own last letter gets its
mark when the page is there and its links are about to inherit the path: once a page, not once a link.
"""

from __future__ import annotations

from collections.abc import Callable

HOPS = "LERP"  # hops that stayed within a site


def steps(path: str) -> int:
    """Links followed since the path entered its site."""
    here = path[len(path.rstrip(HOPS)) :]
    return here.count("L") + here.count("E")


def sites(path: str) -> int:
    """How often the path led into another site, be it one where it had been."""
    return sum(map(path.count, "ler"))


def entered(path: str, via: str, url: str, domain_of: Callable[[str], str]) -> str:
    """The path of a page found on the page `via`, with a mark if the last hop led into another site."""
    if not path or not via or path[-1] not in HOPS or via.split("/", 3)[2] == url.split("/", 3)[2]:
        return path
    if domain_of(via) == domain_of(url):
        return path
    if path[-1] == "R" and not steps(path):
        return path  # the page that redirects is where another site was entered, or a seed: this is the same place
    return path[:-1] + path[-1].lower()
