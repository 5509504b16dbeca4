"""An answer whose bytes count against BANDWIDTH_MAX."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.net.bandwidth import FREE, Bandwidth
from webcrawl.net.connection import Connection
from webcrawl.net.http_answer import Answer
from webcrawl.net.http_message import Message


class MeteredAnswer(Answer):
    """Made instead of a plain one while there is a limit. `held`: seconds for which it was not read."""

    __slots__ = ("_bandwidth", "_clock", "_connection", "_held", "_since")

    def __init__(
        self,
        bandwidth: Bandwidth,
        connection: Connection,
        clock: Callable[[], float],
        truncate: int,
        *,
        bodiless: bool = False,
    ) -> None:
        super().__init__(truncate, bodiless=bodiless)
        self._bandwidth, self._connection, self._clock = bandwidth, connection, clock
        self._held = 0.0
        self._since: float | None = None

    def feed(self, data: bytes) -> Message | None:
        short = self._bandwidth.received(len(data))
        message = super().feed(data)
        if short and message is None and self._since is None and self.received > FREE:
            self._bandwidth.wait(self)
        return message

    @property
    def held(self) -> float:
        return self._held if self._since is None else self._held + self._clock() - self._since

    def hold(self) -> None:
        self._since = self._clock()
        self._connection.pause()

    def go_on(self) -> None:
        self._held, self._since = self.held, None
        self._connection.resume(self)
