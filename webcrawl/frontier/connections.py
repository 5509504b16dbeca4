"""How many requests hosts may have at once (HOST_CONNECTIONS): as the operator says, and one if he says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webcrawl.urls.hosts import names_above


@dataclass(frozen=True, slots=True)
class Connections:
    """A rule is for a name and all names below it; of several the most specific one holds."""

    rules: Mapping[str, int] = field(default_factory=dict)
    others: int = 1  # of hosts without a rule

    @classmethod
    def given(cls, value: Mapping[str, int] | int) -> Connections | None:
        """By the setting, or by what a sheet has of it: a number for all of its hosts. None: one for every host."""
        if isinstance(value, int):
            return cls(others=value)
        return cls(value) if value else None

    def of(self, host: str) -> int:
        """So many for this host."""
        for name in names_above(host):
            found = self.rules.get(name)
            if found is not None:
                return found
        return self.others
