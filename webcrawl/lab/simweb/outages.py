"""Outages: what is broken for a time. Which ones are under way is a question of the clock alone.

Hosts that are always down are in host_kinds.py (`DOWN`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from enum import Enum
from fnmatch import fnmatchcase
from math import ceil, inf

from webcrawl.lab.simweb.host_kinds import is_robots
from webcrawl.lab.simweb.name_server import OUTSIDE, A, DnsReply, Rcode, ResourceRecord
from webcrawl.lab.simweb.web_answers import ConnectionEnd, WebAnswer

_KIND = re.compile(
    r"(?:host|robots|pages)_(?:[2-9]\d\d|hang|reset)"
    r"|dns_(?:silent|servfail|nxdomain|refused|outside)"
    r"|nameserver_(?:silent|servfail|refused)"
    r"|address_(?:refused|lost)"
    r"|uplink_(?:refused|lost|hang)"
)
_PLAN = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)?")
_WAIT = re.compile(r"retry_(after|date)=(\d+(?:\.\d+)?)")
_RCODES = {"servfail": Rcode.SERVFAIL, "nxdomain": Rcode.NXDOMAIN, "refused": Rcode.REFUSED}
_ENDINGS = {"hang": ConnectionEnd.HANG, "reset": ConnectionEnd.RESET, "lost": ConnectionEnd.HANG}


class AddressState(Enum):
    """The state of an address, as a client that connects meets it."""

    OPEN = "open"
    REFUSED = "refused"
    LOST = "lost"  # no packet gets a reply


@dataclass(slots=True, eq=False)
class SimulatedOutage:
    """Something that is broken from `started` to `ended`.

    Both are in seconds of the machine's monotonic clock. Raise ValueError if there is no such
    outage, or no outage of this kind with these targets or this Retry-After.
    """

    kind: str
    targets: tuple[str, ...]  # patterns of host names, or of addresses
    started: float
    ended: float = inf
    retry_after: float = 0.0  # seconds that its answers ask clients to wait
    as_date: bool = False  # the Retry-After is a date

    def __post_init__(self) -> None:
        """Raise ValueError if there is no such outage."""
        if not _KIND.fullmatch(self.kind):
            raise ValueError(
                f"{self.kind}: not an outage of the synthetic web; docs/simweb-kinds.md lists them"
            )
        if self.retry_after and not self.kind.startswith(("host_", "robots_", "pages_")):
            raise ValueError(
                f"{self.kind}: retry_after is not possible, because this outage gives no answers"
            )
        if self.what == "uplink" and self.targets != ("*",):
            raise ValueError(
                f"{self.kind}: takes no targets, because the uplink is shared by all hosts"
            )

    @property
    def what(self) -> str:
        """Return what is broken, such as "host" or "uplink": the first part of the kind."""
        return self.kind.partition("_")[0]

    @property
    def how(self) -> str:
        """Return how it fails, such as "503" or "hang": the second part of the kind."""
        return self.kind.partition("_")[2]

    def hits(self, *names: str) -> bool:
        """Return whether one of these names or addresses is a target."""
        return any(fnmatchcase(name, target) for target in self.targets for name in names)


class OutageSchedule:
    """The outages of a server: begun and ended by a test, or planned.

    `all` also has the outages that are over. `on_change` is called after each change of the list.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        target_exists: Callable[[str, str], bool] = lambda _, __: True,
    ) -> None:
        """Create a schedule without outages.

        `target_exists` gets what is broken and a target that is not a pattern. Outages of targets
        that do not exist are rejected: a test with one would prove nothing.
        """
        self.all: list[SimulatedOutage] = []
        self.on_change: Callable[[], None] = lambda: None
        self._clock = clock
        self._start = clock()
        self._target_exists = target_exists

    def begin(
        self,
        kind: str,
        *targets: str,
        after: float = 0.0,
        seconds: float = inf,
        retry_after: float = 0.0,
        as_date: bool = False,
    ) -> SimulatedOutage:
        """Begin an outage, by default now and until `end`. Without targets it hits everything.

        Raise ValueError if the outage is impossible or a target does not exist.
        """
        start = self._clock() + after
        return self._add(
            SimulatedOutage(kind, targets or ("*",), start, start + seconds, retry_after, as_date)
        )

    def end(self, *outages: SimulatedOutage) -> None:
        """End these outages; without arguments, end all."""
        now = self._clock()
        for outage in outages or self.all:
            outage.started = min(outage.started, now)
            outage.ended = min(outage.ended, now)
        self.on_change()

    @contextmanager
    def during(
        self, kind: str, *targets: str, retry_after: float = 0.0, as_date: bool = False
    ) -> Iterator[SimulatedOutage]:
        """Keep an outage going for the duration of a `with` block."""
        outage = self.begin(kind, *targets, retry_after=retry_after, as_date=as_date)
        try:
            yield outage
        finally:
            self.end(outage)

    def plan(self, text: str) -> SimulatedOutage:
        """Add the outage that a line `FROM-TO KIND TARGET… retry_after=N` describes, and return it.

        FROM and TO are seconds since the server's start; without TO the outage does not end. Raise
        ValueError if the line describes no possible outage.
        """
        times, _, rest = text.strip().partition(" ")
        kind, *words = rest.split() or [""]
        match = _PLAN.fullmatch(times)
        if match is None:
            raise ValueError(
                f"{text}: expected FROM-TO KIND TARGET… retry_after=N, such as: 10-40 host_503 site3.test"
            )
        start, end = float(match[1]), float(match[2] or inf)
        if start >= end:
            raise ValueError(f"{text}: it ends before it begins")
        targets, wait, as_date = [], 0.0, False
        for word in words:
            option = _WAIT.fullmatch(word)
            if option is None:
                targets.append(word)
            else:
                wait = float(option[2])
                as_date = option[1] == "date"
        return self._add(
            SimulatedOutage(
                kind,
                tuple(targets) or ("*",),
                self._start + start,
                self._start + end,
                wait,
                as_date,
            )
        )

    def restart(self) -> None:
        """Shift all outages so that their times count from now: the server has started."""
        elapsed = self._clock() - self._start
        self._start += elapsed
        for outage in self.all:
            outage.started += elapsed
            outage.ended += elapsed

    def active(self) -> list[SimulatedOutage]:
        """Return the outages under way, the latest first."""
        if not self.all:  # the usual case, asked for every request
            return []
        now = self._clock()
        return [outage for outage in reversed(self.all) if outage.started <= now < outage.ended]

    def next_change(self) -> float:
        """Return the seconds until an outage begins or ends by itself; infinite if none will."""
        now = self._clock()
        moments = (moment for outage in self.all for moment in (outage.started, outage.ended))
        return min((moment - now for moment in moments if moment > now), default=inf)

    # -- what the server asks

    def of_request(self, host: str, address: str, path: str) -> tuple[WebAnswer, str] | None:
        """Return the answer that an outage gives to a request, and the outage's kind.

        Return None if no outage hits the request.
        """
        for outage in self.active():
            if _hits_request(outage, host, address, path):
                return _answer(outage), outage.kind
        return None

    def of_question(self, name: str, server: str) -> DnsReply | None:
        """Return the reply that an outage gives to a question to the name server at `server`.

        Return None if no outage hits the question.
        """
        for outage in self.active():
            if outage.what == "uplink":
                return DnsReply(silent=True)
            is_hit = (outage.what == "dns" and outage.hits(name)) or (
                outage.what == "nameserver" and outage.hits(server)
            )
            if is_hit:
                return _reply(outage.how, name)
        return None

    def of_address(
        self, address: str, names: Callable[[], Iterator[str]]
    ) -> tuple[AddressState, str]:
        """Return the state of an address, and the kind of the outage that causes it.

        `names` returns the names of the hosts at this address. They are computed only if an outage
        needs them.
        """
        for outage in self.active():
            is_of_addresses = outage.what in ("uplink", "address")
            if not is_of_addresses or outage.how not in ("refused", "lost"):
                continue
            if outage.hits(address) or outage.hits(*names()):
                return AddressState(outage.how), outage.kind
        return AddressState.OPEN, ""

    def of_server(self, address: str) -> AddressState:
        """Return the state of the UDP and TCP ports of a name server."""
        for outage in self.active():
            if outage.kind == "nameserver_refused" and outage.hits(address):
                return AddressState.REFUSED
        return AddressState.OPEN

    def _add(self, outage: SimulatedOutage) -> SimulatedOutage:
        for target in outage.targets:
            is_pattern = bool(set("*?[") & set(target))
            if not is_pattern and not self._target_exists(outage.what, target):
                raise ValueError(f"{outage.kind}: {target} does not exist")
        self.all.append(outage)
        self.on_change()
        return outage


def _reply(how: str, name: str) -> DnsReply:
    if how == "outside":
        return DnsReply(records=(ResourceRecord(name, A, OUTSIDE, ttl=0),))
    if how in _RCODES:
        return DnsReply(_RCODES[how])
    return DnsReply(silent=True)


def _hits_request(outage: SimulatedOutage, host: str, address: str, path: str) -> bool:
    """Return whether a request that has reached the server gets this outage's answer.

    Outages that refuse connections let no request through, so they do not count here.
    """
    match outage.what:
        case "host":
            return outage.hits(host)
        case "robots":
            return is_robots(path) and outage.hits(host)
        case "pages":
            return not is_robots(path) and outage.hits(host)
        case "address":
            return outage.how == "lost" and outage.hits(host, address)
    return outage.kind in ("uplink_lost", "uplink_hang")


def _answer(outage: SimulatedOutage) -> WebAnswer:
    if outage.how in _ENDINGS:
        return WebAnswer(script=(), ending=_ENDINGS[outage.how], broken=True)
    body = b"<!DOCTYPE html><title>Outage</title><p>Please come back later."
    answer = WebAnswer(int(outage.how), body, retry_after=outage.retry_after)
    if outage.as_date:  # rounded up, so that it is never earlier than the log says
        answer.retry_date = formatdate(ceil(time.time() + ceil(outage.retry_after)), usegmt=True)
    return answer
