"""What is stored of sites that want to be forgotten: it is left out of what is made or shown from then on."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from webcrawl.urls.filters.exclusion_rules import ExclusionRules, rules_of
from webcrawl.urls.optout import OptOut


class Forgotten:
    """False if nobody wants to be. A wish that is over is about what was stored before its end."""

    def __init__(self, records: Iterable[OptOut] = ()) -> None:
        by_end: dict[float, list[OptOut]] = {}
        for one in records:
            if one.forget:
                by_end.setdefault(one.until or inf, []).append(one)
        self._rules: list[tuple[float, ExclusionRules]] = [(end, rules_of(found)) for end, found in by_end.items()]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def __repr__(self) -> str:
        return f"<Forgotten {self._rules}>"

    def has(self, url: str, at: float) -> bool:
        """Whether what was stored of this canonical URL at that time is to be left out; 0: the time is not known."""
        return any(at < end and rules.excludes(url) for end, rules in self._rules)
