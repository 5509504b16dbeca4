"""Tries the addresses of a host so that a silent one costs a quarter of a second (RFC 8305, simplified).

The next address is tried when the one before has failed, or has been silent for STAGGER. The first that accepts wins;
the other attempts are dropped before anything was sent. Where the first address is quick this costs a timer, no task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from webcrawl.net.errors import DOUBTFUL, AddressRefused, ConnectFailed, FetchError

STAGGER = 0.25  # seconds, RFC 8305 5
MOST = 4  # addresses: a name with a hundred dead ones must not cost a hundred attempts


class Connected(Protocol):
    """A connection."""

    def abort(self) -> None: ...


C = TypeVar("C", bound=Connected)


async def race(
    addresses: list[str],
    connect: Callable[[str], Coroutine[Any, Any, C]],
    overtaken: Callable[[str], None],
    more: Callable[[], Coroutine[Any, Any, list[str]]] | None = None,
    most: int = MOST,
) -> C:
    """The connection to the first of these that accepts; raises the error that says most of the host.

    `more` gives all addresses, among them some that are asked for only now. `overtaken` hears of the silent ones.
    """
    first = addresses[0]

    async def others() -> C | None:
        known = addresses if more is None else await more()
        left = [address for address in known if address != first]
        return await race(left, connect, overtaken, most=most - 1) if left else None

    if most == 1 or (len(addresses) == 1 and more is None):
        return await connect(first)
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
        if isinstance(error, AddressRefused):  # who leads inside is not asked for other ways there
            more = None
        timer.cancel()
        return await rivals.instead_of(error)
    finally:
        timer.cancel()
        rivals.end()


class _Rivals(Generic[C]):
    """The attempts with all addresses but the first. They cancel the task `first`, which tries that, as timeouts do."""

    __slots__ = ("_before", "_first", "_others", "_task")

    def __init__(self, others: Callable[[], Coroutine[Any, Any, C | None]], first: asyncio.Task[Any] | None) -> None:
        self._others, self._first = others, first
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
        """The connection by which the first address was overtaken; None if somebody else has cancelled the attempt."""
        if self._first is None or self._task is None or self._before < 0 or self._first.uncancel() > self._before:
            return None
        task, self._task = self._task, None
        return _result(task)

    async def instead_of(self, error: FetchError) -> C:
        """A connection to one of them, now that the first address has failed with this error."""
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
        if self._task is not None and not self._task.cancel() and (unwanted := _result(self._task)) is not None:
            unwanted.abort()


def _result(task: asyncio.Task[C | None]) -> C | None:
    return None if task.cancelled() or task.exception() is not None else task.result()


def _weight(error: FetchError) -> int:
    """A host that is away is charged for that, and not for what is said of its other addresses."""
    return isinstance(error, ConnectFailed) + (error.sign in DOUBTFUL)
