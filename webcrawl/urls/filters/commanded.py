"""What was excluded by command while the crawl ran (control/in_force.py), by the rules of the exclusion file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from webcrawl.urls.filters.exclusion_rules import ExclusionRules, rules_of
from webcrawl.urls.optout import OptOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.urls.filters.protocol import Clock, Origin


class CommandedFilter:
    """The last of every chain; it has no rules until somebody excludes something."""

    name = "commanded"

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self.records: list[OptOut] = []
        self._rules = ExclusionRules()

    @property
    def rules(self) -> list[str]:
        """Those that hold."""
        now = self._clock()
        return [one.rule for one in self.records if one.holds(now)]

    def use(self, records: Sequence[OptOut]) -> None:
        """These, and no others. Raises RulesError, and then those before stay."""
        self._rules = rules_of(records, self._clock())
        self.records = [*records]

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        if not self.records:
            return urls
        excludes = self._current().excludes
        return [url for url in urls if not excludes(url)]

    def reject(self, url: str) -> bool:
        return bool(self.records) and self._current().excludes(url)

    def _current(self) -> ExclusionRules:
        if self._clock() >= self._rules.ends:
            self.use(self.records)
        return self._rules
