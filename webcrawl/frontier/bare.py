"""The answers of a frontier that does without all that `protocol.Frontier` has beyond a queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.arguments import Heard
from webcrawl.frontier.demand import R
from webcrawl.frontier.protocol import Found, InFlight, Looks, Outages
from webcrawl.frontier.wait_words import Waits

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

    def __init__(self, frontier: Bare) -> None:
        self._frontier = frontier

    def figures(self) -> dict[str, int | float]:
        none = (
            "over_budget",
            "over_budget/domains",
            "over_budget/folded",
            "hosts",
            "aside",
            "hosts_aside",
            "hosts_paused",
            "aside_due",
        )
        return {
            "queued": self._frontier.queued,
            "in_flight": self._frontier.in_flight,
            **dict.fromkeys(none, 0),
        }

    def levels(self) -> list[int]:
        return [self._frontier.queued]

    def ready(self, _now: float) -> int:
        return 0

    def record(self, _name: str) -> tuple[int, bool, str]:
        return 0, True, ""

    def reached(self) -> list[str]:
        return []

    def pause(self, _name: str) -> tuple[float, str]:
        return 0.0, "politeness"

    def next_turn(self, _link: Link) -> float | None:
        return None

    def waits(self, _now: float) -> Waits:
        return Waits()

    def in_flight(self, _url: str) -> bool:
        return False


class NoDemand:
    """It has no shares of the slots, and no download is cut for others."""

    def holds_back(self, _now: float) -> bool:
        return False

    def wants_hosts(self, _now: float) -> bool:
        return False

    def takes_new(self) -> bool:
        return True

    def paused_until(self, now: float) -> None: ...

    def set_slots(self, slots: int) -> None: ...

    def overstaying(self, _running: Sequence[R], *, full: bool) -> list[R]:  # noqa: ARG002 - the interface's
        return []

    def starved(self, _now: float, *, full: bool) -> int:  # noqa: ARG002 - as above
        return 0


class NoOutage:
    """It does not know who answers, and a pardon takes back nothing."""

    def __init__(self, take: Callable[[float], Link | None]) -> None:
        self._take = take

    def probe(self, now: float, *, anyone: bool) -> Link | None:  # noqa: ARG002 - the interface's
        return self._take(now)

    def pardon(self, _since: float) -> int:
        return 0


class NoNotes:
    """Nothing is kept of hosts but what their waits need."""

    def when_grown(self, pages: int, tell: Callable[[Link], None]) -> None: ...

    def missing(self, _name: str, _shown: bytes | None = None) -> bytes:
        return b""

    def http2(self, _name: str, *, learned: bool = False, by_page: bool = False) -> bool:
        return learned or by_page

    def take_listed(self, _url: str, urls: int) -> int:
        return urls


class NoDomains:
    """No budgets."""

    heard: Heard | None = None

    def vote(self, source: str, url: str) -> None: ...

    def new_body(self, link: Link, body: bytes = b"") -> None: ...


class Bare:
    """To be inherited by a frontier that has the methods of `protocol.Queue`. No shares, budgets or levels."""

    queued = in_flight = over_budget = 0
    take: Callable[..., Link | None]
    found: Found | None = None
    lending, demand, notes, domains = NoLending(), NoDemand(), NoNotes(), NoDomains()

    @property
    def look(self) -> Looks:
        return NoLook(self)

    @property
    def outage(self) -> Outages:
        return NoOutage(self.take)

    def resting(self) -> bool:
        return False
