"""The answers of a frontier that does without all that `protocol.Frontier` has beyond a queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.protocol import Found, InFlight
from webcrawl.frontier.waits import Waits

R = TypeVar("R")
NEVER = float("inf")


class NoLending:
    """Downloads that pages or pipelines await are refused."""

    def lend(self, _link: Link, _now: float, _in_flight: InFlight) -> int:
        return Status.OUT_OF_SCOPE

    def give_back(self, name: str, outcome: Outcome | None, now: float) -> None: ...

    def release(self, name: str, now: float) -> None: ...

    def ready_at(self, _name: str) -> float:
        return NEVER

    def wait(self, _name: str) -> float:
        return 0.0

    def is_retired(self, _name: str) -> bool:
        return True

    def again(self, _link: Link, _outcome: Outcome) -> bool:
        return False


class NoLook:
    """Every host counts as one that answers."""

    def record(self, _name: str) -> tuple[int, bool, str]:
        return 0, True, ""

    def reached(self) -> list[str]:
        return []

    def pause(self, _name: str) -> tuple[float, str]:
        return 0.0, "politeness"

    def waits(self, _now: float) -> Waits:
        return Waits()

    def in_flight(self, _url: str) -> bool:
        return False


class NoCuts:
    """No download is cut for others."""

    def downloads(self, _running: Sequence[R], *, full: bool) -> list[R]:  # noqa: ARG002 - the interface's
        return []

    def starved(self, _now: float, *, full: bool) -> int:  # noqa: ARG002 - as above
        return 0


class NoPardon:
    """A pardon that takes back nothing."""

    def since(self, _when: float) -> int:
        return 0


class Bare:
    """To be inherited by a frontier that has the methods of `protocol.Queue`. No shares, budgets or levels."""

    queued = in_flight = hosts = 0
    found: Found | None = None
    heard: Callable[[str, Sequence[str]], None] | None = None
    lending, look, overstay, pardon = NoLending(), NoLook(), NoCuts(), NoPardon()

    def holds_back(self, _now: float) -> bool:
        return False

    def wants_hosts(self, _now: float) -> bool:
        return False

    def takes_new(self) -> bool:
        return True

    def new_body(self, link: Link, body: bytes = b"") -> None: ...

    def resting(self) -> bool:
        return False

    @property
    def over_budget(self) -> int:
        return 0

    @property
    def levels(self) -> list[int]:
        return [self.queued]

    def figures(self) -> dict[str, int | float]:
        none = ("over_budget", "over_budget/domains", "hosts", "aside", "hosts_aside", "hosts_paused", "aside_due")
        return {"queued": self.queued, "in_flight": self.in_flight, **dict.fromkeys(none, 0)}

    def when_grown(self, pages: int, tell: Callable[[Link], None]) -> None: ...

    def take_listed(self, _url: str, urls: int) -> int:
        return urls

    def missing(self, _name: str, _shown: bytes | None = None) -> bytes:
        return b""

    def http2(self, _name: str, *, learned: bool = False) -> bool:  # noqa: ARG002 - the interface's
        return False

    def paused_until(self, now: float) -> None: ...

    def set_slots(self, slots: int) -> None: ...

    def vote(self, source: str, url: str) -> None: ...
