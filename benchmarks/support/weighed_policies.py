"""The shipped policies of revisits with another importance of pages, as REVISIT_POLICY names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.support.revisits_web import important
from webcrawl.base.loading import load
from webcrawl.base.model import Link
from webcrawl.crawl.revisit.policies import POLICIES


def alike(link: Link) -> float:
    """No page matters more than another."""
    del link
    return 1.0


def weighed(policy: str, importance: Callable[[Link], float]) -> type[Any]:
    """Return a policy, by its short name, with this importance."""
    return type(policy, (load(POLICIES[policy]),), {"importance": staticmethod(importance)})


ALIKE = f"{__name__}.alike_"  # and the name of a policy
BY_ZIPF = f"{__name__}.by_zipf_"
globals().update({f"alike_{name}": weighed(name, alike) for name in POLICIES})
globals().update({f"by_zipf_{name}": weighed(name, important) for name in POLICIES})
