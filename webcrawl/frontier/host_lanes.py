"""Limits how many requests a host may have at once (HOST_CONNECTIONS), by lanes of a host that may have several."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, field

from webcrawl.base.model import Link, Packed
from webcrawl.urls.host_names import names_above


@dataclass(slots=True, eq=False)
class Lanes:
    """At any time at most `most` requests are in flight or were and have their wait not over.

    So each of as many lanes is as polite as a host without any. While the host fails it has one of them.
    """

    most: int
    flights: dict[str, Packed] = field(default_factory=dict)  # by URL: none is asked for twice at once
    rests: list[float] = field(default_factory=list)  # when the waits are over, in order; those that are may be missing
    alone: bool = False  # one is in flight, or is to be the next, that has no others beside it
    echoes: set[str] = field(default_factory=set)  # were in flight when the host failed: they tell nothing new of it

    def is_full(self, failures: int) -> bool:
        """True if none may begin before another one has ended."""
        return bool(self.flights) and (self.alone or len(self.flights) >= self._width(failures))

    def free_at(self, failures: int) -> float:
        """The time at which one more may begin, as far as the waits go."""
        more = len(self.rests) + len(self.flights) - self._width(failures)  # all rests up to this one must be over
        if more < 0 or not self.rests:
            return 0.0
        return self.rests[min(more, len(self.rests) - 1)]

    def begin(self, link: Link) -> None:
        self.flights[link.url] = link.pack()
        self.echoes.discard(link.url)
        self.alone = link.is_prerequisite

    def end(self, link: Link) -> None:
        """ValueError if the link is not in flight."""
        if self.flights.pop(link.url, None) is None:
            raise ValueError(f"not handed out: {link.url}")
        self.alone = self.alone and bool(self.flights)

    def rest(self, until: float, now: float) -> None:
        """A request has ended, and its wait begins."""
        self.rests = [at for at in self.rests if at > now]
        insort(self.rests, until)

    def failed(self) -> None:
        """The host has failed; what is in flight had begun before."""
        self.echoes = set(self.flights)

    def is_news(self, link: Link) -> bool:
        """True if a failure of this link says something of the host that the last one did not."""
        return link.url not in self.echoes

    def _width(self, failures: int) -> int:
        return 1 if failures else self.most


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
