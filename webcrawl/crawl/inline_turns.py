"""The lines of awaited downloads that wait for their hosts' turns: one per host, in memory.

Those in line hold nothing that a request to the host needs, and whoever has the host is
downloading, which ends by itself. So nobody waits for himself, whatever awaits what.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from webcrawl.base.model import Link, Outcome
from webcrawl.base.url_text import host_of
from webcrawl.crawl.inline import InlineDownloads
from webcrawl.crawl.panics import tamed
from webcrawl.frontier.core import Decision

SHORTEST = 0.001  # seconds between two looks at a host that is due at once
Grant = asyncio.Future[Decision]


@dataclass(slots=True, eq=False)
class Line:
    """Kept until its host may be asked again: until then the frontier does not hand the host out."""

    name: str
    waiting: deque[tuple[Link | None, Grant]] = field(default_factory=deque)
    busy: bool = False  # one of them has the host
    timer: asyncio.TimerHandle | None = None

    def end(self, error: Exception) -> None:
        """All who wait get this error."""
        for _, grant in self.waiting:
            if not grant.done():
                grant.set_exception(error)
        self.waiting.clear()


class Turns:
    """Hosts are lent in the order of their lines; `on_release` is called when the frontier has one
    back.

    `fail` is told of a disk that does not work, for which those in line get the same error.
    `share_addresses`: politeness is also per address, so a request to one host may hold up another.
    """

    def __init__(
        self,
        crawl: InlineDownloads,
        in_flight: Callable[[str], Outcome | None],
        on_release: Callable[[], None],
        fail: Callable[[Exception], None],
        *,
        share_addresses: bool = False,
    ) -> None:
        self._crawl = crawl
        self._in_flight = in_flight
        self._on_release = on_release
        self._fail = fail
        self._share_addresses = share_addresses
        self.lines: dict[str, Line] = {}
        self.closed = False  # there is no crawl to ask or to tell any more

    async def take(self, link: Link) -> Decision:
        """Waits for the turn of the link's host, which is then the caller's until `leave`.

        The decision may be a Status that ends the link, or another Link to ask for in this turn:
        robots.txt.
        """
        name = host_of(link.url)
        line = self.lines.get(name)
        if line is None:
            line = self.lines[name] = Line(name)
        grant: Grant = asyncio.get_running_loop().create_future()
        line.waiting.append((link, grant))
        return await self._granted(line, grant, link)

    async def own(self, link: Link) -> None:
        """For a request of the scheduler's whose host was lent before it reached the network: it
        goes first.
        """
        name = host_of(link.url)
        line = self.lines.get(name)
        if line is None:
            if not self._share_addresses or self._crawl.seconds_until(name) <= 0:
                return
            line = self.lines[name] = Line(name)  # its address is lent with another host
        grant: Grant = asyncio.get_running_loop().create_future()
        line.waiting.appendleft((None, grant))
        await self._granted(line, grant, None)

    async def _granted(self, line: Line, grant: Grant, link: Link | None) -> Decision:
        self._serve(line)
        try:
            return await grant
        except BaseException:
            if not grant.done() or grant.cancelled() or grant.exception() is not None:
                self._serve(line)
            elif link is None:
                self.own_left(line.name)
            elif not grant.result() or isinstance(grant.result(), Link):
                self.leave(link, Outcome(0))
            raise

    def leave(self, link: Link, outcome: Outcome | None) -> None:
        """The host was asked, with this outcome; none: the caller has given up."""
        if self.closed:
            return
        try:
            self._crawl.give_back(link, outcome)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is not booked
            self._fail(tamed(error))
        self.own_left(host_of(link.url))

    def own_left(self, name: str) -> None:
        """A request of the scheduler's to this host has ended."""
        line = self.lines.get(name)
        if line is not None:
            line.busy = False
            self._serve(line)
        if self._share_addresses:
            for line in list(self.lines.values()):
                self._serve(line)

    def others_wait(self, link: Link) -> bool:
        """Return whether the host is going to be asked again soon."""
        line = self.lines.get(host_of(link.url))
        return line is not None and bool(line.waiting)

    def end(self, error: Exception) -> None:
        """All who wait get this error."""
        for line in self.lines.values():
            line.end(error)

    def close(self) -> None:
        """The crawl is about to be closed: nobody is in line any more, and no timer may wake one."""
        self.closed = True
        for line in self.lines.values():
            if line.timer is not None:
                line.timer.cancel()
        self.lines.clear()

    def _serve(self, line: Line) -> None:
        if self.closed:
            return
        try:
            self._serve_next(line)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits must hear of it
            self._fail(error)
            line.end(error)

    def _serve_next(self, line: Line) -> None:
        if line.timer is not None:
            line.timer.cancel()
            line.timer = None
        while line.waiting and not line.busy:
            link, grant = line.waiting[0]
            if not grant.done():
                decision = self._decide(line, link)
                if isinstance(decision, float):
                    return self._look_again(line, decision - self._crawl.now())
                line.busy = not decision or isinstance(decision, Link)
                grant.set_result(decision)
            line.waiting.popleft()
        if not line.waiting and not line.busy and self.lines.get(line.name) is line:
            seconds = self._crawl.seconds_reserved(line.name)
            if seconds > 0:
                return self._look_again(line, seconds)
            del self.lines[line.name]
            self._crawl.release(line.name)
            self._on_release()
        return None

    def _decide(self, line: Line, link: Link | None) -> Decision:
        if link is not None:
            return self._crawl.lend(link, self._in_flight)
        seconds = self._crawl.seconds_until(line.name)
        return self._crawl.now() + seconds if seconds > 0 else None

    def _look_again(self, line: Line, seconds: float) -> None:
        if seconds < float("inf"):  # otherwise when the request that has the host ends
            line.timer = asyncio.get_running_loop().call_later(
                max(seconds, SHORTEST), self._serve, line
            )
