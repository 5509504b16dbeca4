"""The kinds that a world is made of. A mix is a plain dict of the names of kinds and their shares of their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webcrawl.simweb import living
from webcrawl.simweb.dress import DRESSES
from webcrawl.simweb.hosts import DOWN
from webcrawl.simweb.kinds import KINDS
from webcrawl.simweb.names import BY_NAME, NAMES
from webcrawl.simweb.owners import OWNERS
from webcrawl.simweb.robots import ROBOTS

# Fractional parts of square roots of primes: independent of each other, and each spreads evenly (see Shares).
SLOPES = {
    "page": 5**0.5 % 1,
    "robots": 2**0.5 % 1,
    "dns": 3**0.5 % 1,
    "host": 7**0.5 % 1,
    "scheme": 13**0.5 % 1,
    "name": 11**0.5 % 1,
    "change": 17**0.5 % 1,
    "validator": 19**0.5 % 1,
    "odd": 23**0.5 % 1,
    "sitemap": 29**0.5 % 1,
    "feed": 31**0.5 % 1,
    "owner": 37**0.5 % 1,
}
GROUPS: dict[str, tuple[str, ...]] = {
    "page": tuple(KINDS),
    "robots": tuple(ROBOTS),
    "dns": tuple(kind for kind in NAMES if kind not in BY_NAME),
    "host": (*DOWN, *DRESSES),
    "scheme": ("https",),
    "name": ("subdomain",),
    "owner": tuple(OWNERS),
    **living.GROUPS,
}
OF_PAGES = frozenset({"page", "change"})  # the other groups are of hosts
_GROUP = {kind: group for group, kinds in GROUPS.items() for kind in kinds} | dict.fromkeys(BY_NAME, "dns")


def even(kinds: Iterable[str], share: float = 1.0) -> dict[str, float]:
    """These kinds in equal parts, with `share` of each group together."""
    kinds = list(kinds)
    sizes = {group: sum(_group(kind) == group for kind in kinds) for group in GROUPS}
    return {kind: share / sizes[_group(kind)] for kind in kinds}


def hostile() -> dict[str, float]:
    """Every kind: a special answer on each page, and a quarter of the hosts odd in each way."""
    mix = even(GROUPS["page"])
    for group in ("robots", "dns", "host", "name"):
        mix |= even(GROUPS[group], 0.25)
    return mix


def has_changes(mix: Mapping[str, float]) -> bool:
    """Whether the mix has kinds of a changing web."""
    return any(_group(kind) in living.GROUPS for kind in mix)


def by_group(mix: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """The mix, split by the groups of its kinds."""
    parted: dict[str, dict[str, float]] = {group: {} for group in GROUPS}
    for kind, share in mix.items():
        parted[_group(kind)][kind] = share
    return parted


def _group(kind: str) -> str:
    if kind not in _GROUP:
        raise ValueError(f"{kind}: not a kind of the synthetic web; docs/simweb.md lists all kinds")
    return _GROUP[kind]
