"""The zoo: hosts that are endless traps, each of its own kind. Every address there exists."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.simweb.zoo import calendars, identities, lists
from webcrawl.simweb.zoo.spot import Show, Spot

ZOO: dict[str, Callable[[Spot], Show]] = {
    "zoo_items": lists.items,
    "zoo_pages": lists.pages,
    "zoo_facets": lists.facets,
    "zoo_search": lists.search,
    "zoo_tokens": identities.tokens,
    "zoo_tokens_fresh": identities.tokens_fresh,
    "zoo_sessions": identities.sessions,
    "zoo_git": identities.git,
    "zoo_subdomains": identities.subdomains,
    "zoo_farm": identities.farm,
    "zoo_novels": identities.novels,
    "zoo_days": calendars.days,
    "zoo_seconds": calendars.seconds,
    "zoo_weeks": calendars.weeks,
    "zoo_months": calendars.months,
}
WILD = frozenset({"zoo_subdomains", "zoo_farm"})  # with every name that ends in their own

__all__ = ["WILD", "ZOO", "Show", "Spot"]
