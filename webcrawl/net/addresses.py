"""The addresses of a host: in which order they are tried, and a race among them.

Where one family, IPv6 or IPv4, is broken and the other one is well, no host is charged for that
(`AddressFamilies`). Of a host of which one address is silent and another is not, that one is remembered;
so is one that gives no answer.

A silent address costs a quarter of a second (`race`; RFC 8305, simplified). The next address is
tried when the one before has failed, or has been silent for STAGGER. The first that accepts wins;
the other attempts are dropped before anything was sent. Where the first address is quick this costs
a timer, no task.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any, Generic, Protocol, TypeVar

from webcrawl.base.doubling import DoublingWait
from webcrawl.net.errors import DOUBTFUL, AddressRefused, ConnectFailed, FetchError, NoFamily

logger = logging.getLogger(__name__)

# Unrelated addresses of a family that fail in a row while the other one works. Nearly all hosts
# have IPv4, dead ones come together in lists, and a false alarm holds up everybody.
FAILURES_UNTIL_BROKEN = {4: 100, 6: 10}
# seconds until one more address of a broken family is tried; doubled each time
FIRST_RETRY_WAIT, LONGEST_RETRY_WAIT = 5.0, 960.0
# failures in a row that are remembered while the other family is silent too
FAILURES_REMEMBERED = 1000
HOSTS = 1 << 14  # whose address is remembered; the oldest is forgotten
NETWORKS = {4: 24, 6: 48}  # bits of an address that say whose it is
_NAMES = {4: "IPv4", 6: "IPv6"}


@dataclass(slots=True)
class _Family:
    failed: set[str] = field(default_factory=set)  # networks, since the last connection
    # none: it works
    pause: DoublingWait = field(
        default_factory=lambda: DoublingWait(FIRST_RETRY_WAIT, LONGEST_RETRY_WAIT)
    )
    until: float = 0.0
    connected: bool = False  # since the other family began to fail


class AddressFamilies:
    """Learns from attempts to connect which address family works, and which address of a host."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._of = {4: _Family(), 6: _Family()}
        self._broken = False
        # host -> the address that accepted where the first one did not. Such a host is found out
        # once, and politeness per address needs it to have the same address each time.
        self._best: dict[str, str] = {}
        # host -> the address that accepted last and gave no answer
        self._worst: dict[str, str] = {}

    def order(self, addresses: list[str], host: str = "") -> list[str]:
        """Return the addresses in the order in which to try them.

        Raise NoFamily if none is worth it for now.
        """
        addresses = self._by_experience(addresses, host)
        if not self._broken:
            return addresses
        good = [address for address in addresses if not self._is_paused(address)]
        bad = [address for address in addresses if self._is_paused(address)]
        if good:
            return good + bad
        return [self._probe(bad[0])] if bad else []

    def _by_experience(self, addresses: list[str], host: str) -> list[str]:
        """Return the addresses: the one that served the host best first, a silent one last."""
        best = self._best.get(host)
        worst = self._worst.get(host)
        if best in addresses:
            addresses = [best, *(address for address in addresses if address != best)]
        if worst in addresses:
            addresses = [*(address for address in addresses if address != worst), worst]
        return addresses

    def _is_paused(self, address: str) -> bool:
        return bool(self._of[_version(address)].pause.last)

    def _probe(self, address: str) -> str:
        """Return the address, by which a broken family is tried once more.

        Raise NoFamily before the family's time.
        """
        now = self._clock()
        number = _version(address)
        family = self._of[number]
        if now < family.until:
            raise NoFamily(f"{_NAMES[number]} is not working", wait=family.until - now)
        self._pause(family, now)
        return address

    def is_worth_asking(self, number: int) -> bool:
        """Return whether addresses of the family may be of use.

        For a broken family it is true of one host at a time.
        """
        family = self._of[number]
        now = self._clock()
        if not family.pause.last:
            return True
        if now < family.until:
            return False
        self._pause(family, now)
        return True

    def prefer(self, host: str, address: str) -> None:
        """Book that an address accepted a connection, and one that was tried before did not."""
        _note(self._best, host, address)
        if self._worst.get(host) == address:  # the other ones are no better
            del self._worst[host]

    def avoid(self, host: str, address: str) -> None:
        """Book that an address accepted a connection, and then spoke no TLS or sent no answer."""
        _note(self._worst, host, address)

    def blame(self, addresses: list[str], error: FetchError) -> FetchError:
        """Return the error of a host none of whose addresses has accepted a connection; it has at
        least one.
        """
        families = [self._of[_version(address)] for address in addresses]
        if not all(family.pause.last for family in families):
            return error
        return NoFamily(str(error), wait=max(families[0].until - self._clock(), 0.0))

    def connected(self, address: str) -> None:
        """Book that an address of this family has accepted a connection."""
        number = _version(address)
        family = self._of[number]
        family.connected = True
        if family.failed:
            family.failed.clear()
        if family.pause.last:
            family.pause.reset()
            self._broken = any(one.pause.last for one in self._of.values())
            logger.info("%s works again", _NAMES[number])

    def silent(self, address: str) -> None:
        """Take note of an address that had not answered when another one accepted a connection."""
        self.failed(address, no_route=False)

    def failed(self, address: str, *, no_route: bool) -> None:
        """Book that an address accepted none; `no_route`: this machine knows no way there."""
        number = _version(address)
        family = self._of[number]
        other = self._of[10 - number]
        if family.pause.last:
            return
        if not family.failed:
            other.connected = False
        family.failed.add(str(ip_network(f"{address}/{NETWORKS[number]}", strict=False)))
        # Many machines have no IPv6; without IPv4 there is no network at all, unless IPv6 connects
        certain = no_route and (number == 6 or other.connected)
        likely = len(family.failed) >= FAILURES_UNTIL_BROKEN[number] and other.connected
        if not certain and not likely:
            # So many fail while the other family is silent too, which says nothing of this one.
            if len(family.failed) >= FAILURES_REMEMBERED:
                family.failed.clear()
            return
        why = f"{len(family.failed)} networks in a row did not answer"
        if certain:
            why = "this machine has no route"
        family.failed.clear()
        self._pause(family, self._clock())
        self._broken = True
        logger.warning(
            "%s is not working (%s): its addresses are tried last, and hosts that have no others wait",
            _NAMES[number],
            why,
        )

    def _pause(self, family: _Family, now: float) -> None:
        family.until = now + family.pause.next()


def _note(known: dict[str, str], host: str, address: str) -> None:
    known.pop(host, None)
    known[host] = address
    if len(known) > HOSTS:
        del known[next(iter(known))]


def _version(address: str) -> int:
    return 6 if ":" in address else 4


STAGGER = 0.25  # seconds, RFC 8305 5
MOST_TRIED = 4  # addresses: a name with a hundred dead ones must not cost a hundred attempts


class Abortable(Protocol):
    """A connection."""

    def abort(self) -> None: ...


C = TypeVar("C", bound=Abortable)


async def race(
    addresses: list[str],
    connect: Callable[[str], Coroutine[Any, Any, C]],
    overtaken: Callable[[str], None],
    more: Callable[[], Coroutine[Any, Any, list[str]]] | None = None,
    most: int = MOST_TRIED,
) -> C:
    """Return the connection to the first of these that accepts.

    Raise the error that says most of the host.

    `more` gives all addresses, among them some that are asked for only now. `overtaken` hears of
    the silent ones.
    """
    first = addresses[0]

    async def others() -> C | None:
        known = addresses if more is None else await more()
        addresses_left = [address for address in known if address != first]
        return (
            await race(addresses_left, connect, overtaken, most=most - 1)
            if addresses_left
            else None
        )

    has_no_others = len(addresses) == 1 and more is None
    if most == 1 or has_no_others:
        return await connect(first)
    # The first attempt needs no task, because the others cancel it if they win. `asyncio.timeout`
    # around it would cost another 120 instructions per connection.
    rivals = _Rivals(others, asyncio.current_task())
    timer = asyncio.get_running_loop().call_later(STAGGER, rivals.begin)
    try:
        return await connect(first)
    except asyncio.CancelledError:
        won = rivals.won()
        if won is None:
            raise
        overtaken(first)
        return won
    except (AddressRefused, ConnectFailed) as error:
        # A name that leads inside is not asked for further addresses.
        if isinstance(error, AddressRefused):
            more = None
        timer.cancel()
        return await rivals.instead_of(error)
    finally:
        timer.cancel()
        rivals.end()


class _Rivals(Generic[C]):
    """The attempts with all addresses but the first.

    They cancel the task `first`, which tries that, as timeouts do.
    """

    __slots__ = ("_before", "_first", "_others", "_task")

    def __init__(
        self, others: Callable[[], Coroutine[Any, Any, C | None]], first: asyncio.Task[Any] | None
    ) -> None:
        self._others = others
        self._first = first
        self._task: asyncio.Task[C | None] | None = None
        self._before = -1  # cancellations of the first attempt before it was overtaken

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._others())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[C | None]) -> None:
        if self._first is not None and _result(task) is not None:
            self._before = self._first.cancelling()
            self._first.cancel()

    def won(self) -> C | None:
        """Return the connection by which the first address was overtaken.

        None if somebody else has cancelled the attempt.
        """
        if self._first is None or self._task is None:
            return None
        was_overtaken = self._before >= 0
        if not was_overtaken or self._first.uncancel() > self._before:
            return None
        task, self._task = self._task, None
        return _result(task)

    async def instead_of(self, error: FetchError) -> C:
        """Return a connection to one of them, now that the first address has failed with this
        error.
        """
        self._first = None
        try:
            found = await (self._task or self._others())
        except (AddressRefused, ConnectFailed) as other:
            raise max(error, other, key=_weight) from None
        self._task = None
        if found is None:
            raise error
        return found

    def end(self) -> None:
        """Drop what is not wanted any more."""
        self._first = None
        if self._task is None or self._task.cancel():
            return
        # The task has ended before: its connection may be open.
        unwanted = _result(self._task)
        if unwanted is not None:
            unwanted.abort()


def _result(task: asyncio.Task[C | None]) -> C | None:
    if task.cancelled() or task.exception() is not None:
        return None
    return task.result()


def _weight(error: FetchError) -> int:
    """Return how much an error says: an absence of the host most, whatever other addresses say."""
    return isinstance(error, ConnectFailed) + (error.sign in DOUBTFUL)
