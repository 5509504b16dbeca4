"""The kinds that a world is made of.

A mix is a plain dict of the names of kinds and their shares of their groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webcrawl.lab.simweb.host_kinds import ANSWER_FORMS, DOWN, OWNERS, ROBOTS, SCHEMES
from webcrawl.lab.simweb.kinds import KINDS
from webcrawl.lab.simweb.name_server import DNS_KINDS, IPV6_KINDS

CHANGES = (
    "change_poisson",
    "change_daily",
    "change_weekly",
    "change_bursts",
    "change_never",
    "change_advert",  # only a few words beside the text differ, in each answer
    "change_gone_404",
    "change_gone_410",
    "change_returns",
    "change_moves",
)
VALIDATORS = ("validator_strong", "validator_weak", "validator_modified", "validator_both")
ODD = (
    "odd_304_always",
    "odd_304_conditional",
    "odd_304_body",
    "odd_ignores",
    "odd_etag_fresh",
    "odd_etag_only",
    "odd_future",
    "odd_years",
)
SITEMAPS = (
    "sitemap_plain",
    "sitemap_unnamed",
    "sitemap_index",
    "sitemap_now",
    "sitemap_random",
    "sitemap_frozen",
)
FEEDS = ("feed_atom", "feed_rss")
CHANGE_GROUPS = {
    "change": CHANGES,
    "validator": VALIDATORS,
    "odd": ODD,
    "sitemap": SITEMAPS,
    "feed": FEEDS,
}

_RARE_CHANGES = {
    "change_gone_404": 0.02,
    "change_gone_410": 0.02,
    "change_returns": 0.02,
    "change_moves": 0.02,
}
_UNCOMMON_CHANGES = {
    "change_daily": 0.05,
    "change_weekly": 0.05,
    "change_bursts": 0.05,
    "change_advert": 0.05,
}


def changing() -> dict[str, float]:
    """Return the mix of a changing web that is like the real one.

    Most pages change at random or never, most hosts are honest, and a few are odd.
    """
    mix = {"change_poisson": 0.57, **_UNCOMMON_CHANGES, "change_never": 0.15, **_RARE_CHANGES}
    mix |= dict.fromkeys(VALIDATORS, 0.2)
    mix |= dict.fromkeys(ODD, 0.02)
    mix |= {"sitemap_plain": 0.2, "sitemap_index": 0.2, "sitemap_unnamed": 0.1}
    mix |= {"sitemap_now": 0.1, "sitemap_random": 0.05, "sitemap_frozen": 0.05}
    return mix | dict.fromkeys(FEEDS, 0.2)


# Fractional parts of square roots of primes: independent of each other, and each spreads evenly
# (see Shares).
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
    "dns": tuple(kind for kind in DNS_KINDS if kind not in IPV6_KINDS),
    "host": (*DOWN, *ANSWER_FORMS),
    "scheme": tuple(SCHEMES),
    "name": ("subdomain",),
    "owner": tuple(OWNERS),
    **CHANGE_GROUPS,
}
PAGE_GROUPS = frozenset({"page", "change"})  # the other groups are of hosts
_GROUP = {kind: group for group, kinds in GROUPS.items() for kind in kinds} | dict.fromkeys(
    IPV6_KINDS, "dns"
)


def even(kinds: Iterable[str], share: float = 1.0) -> dict[str, float]:
    """Return a mix of these kinds: those of one group have equal parts of `share`.

    Raise ValueError if there is no such kind.
    """
    kinds = list(kinds)
    sizes = {group: sum(_group(kind) == group for kind in kinds) for group in GROUPS}
    return {kind: share / sizes[_group(kind)] for kind in kinds}


def hostile() -> dict[str, float]:
    """Return the mix of `--hostile`: a special answer on each page, and hosts odd in every way.

    In each group of hosts a quarter of them is odd.
    """
    mix = even(GROUPS["page"])
    for group in ("robots", "dns", "host", "name"):
        mix |= even(GROUPS[group], 0.25)
    return mix


def has_changes(mix: Mapping[str, float]) -> bool:
    """Return whether the mix has kinds of a changing web."""
    return any(_group(kind) in CHANGE_GROUPS for kind in mix)


def by_group(mix: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the mix, split by the groups of its kinds."""
    parted: dict[str, dict[str, float]] = {group: {} for group in GROUPS}
    for kind, share in mix.items():
        parted[_group(kind)][kind] = share
    return parted


def _group(kind: str) -> str:
    if kind not in _GROUP:
        raise ValueError(
            f"{kind}: not a kind of the synthetic web; docs/simweb-kinds.md lists all kinds"
        )
    return _GROUP[kind]
