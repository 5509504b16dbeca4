"""What was excluded by command while the crawl ran (control/in_force.py), by the rules of the exclusion file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.urls.filters.exclusion_rules import ExclusionRules, parse_exclusions
from webcrawl.urls.rules_file import RulesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.urls.filters.protocol import Origin


class CommandedFilter:
    """The last of every chain; it has no rules until somebody excludes something."""

    name = "commanded"

    def __init__(self) -> None:
        self.rules: list[str] = []
        self._excludes = ExclusionRules().excludes

    def use(self, rules: Sequence[str]) -> None:
        """These, and no others. Raises RulesError, and then those before stay."""
        for rule in rules:
            if len(rule.splitlines()) != 1 or not rule.partition("#")[0].strip():
                raise RulesError(f"{rule[:80]!r} is neither a domain nor a URL prefix")
        parsed = parse_exclusions("\n".join(rules), "exclude")
        self.rules, self._excludes = [*rules], parsed.excludes

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        if not self.rules:
            return urls
        return [url for url in urls if not self._excludes(url)]

    def reject(self, url: str) -> bool:
        return bool(self.rules) and self._excludes(url)
