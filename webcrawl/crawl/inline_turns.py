"""The lines of awaited downloads that wait for their hosts' turns: one per host, in memory.

Requests in line hold nothing that a request to the host needs, and the one that has the host is
downloading, which ends by itself. So no request waits for itself, whatever awaits what.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from webcrawl.base.model import Link, Outcome
from webcrawl.base.url_text import host_of
from webcrawl.crawl.inline import InlineDownloads
from webcrawl.crawl.panics import tamed
from webcrawl.frontier.core import Decision

SHORTEST_LOOK_INTERVAL = 0.001  # seconds between two looks at a host that is due at once
Grant = asyncio.Future[Decision]
"""Ends when a request in line has its turn. The decision is that of `InlineDownloads.lend`."""


class InLine(NamedTuple):
    """A request that waits for its turn."""

    link: Link | None  # None: a request of the scheduler's
    grant: Grant
    impatient: bool = False  # it is refused where it would wait for a host that does not answer


@dataclass(slots=True, eq=False)
class InlineLine:
    """The line of a host, kept until the frontier may hand the host out again.

    Inline downloads stand in it, and requests of the scheduler's, which the frontier had handed out
    before the host was lent.
    """

    name: str  # of the host
    waiting: deque[InLine] = field(default_factory=deque)
    busy: bool = False  # a request that was granted has the host, and has not ended
    timer: asyncio.TimerHandle | None = None  # serves the line when the host may be due

    def cancel_timer(self) -> None:
        """Drop the look that was planned."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def end(self, error: Exception) -> None:
        """Raise this error in all requests that wait."""
        for request in self.waiting:
            if not request.grant.done():
                request.grant.set_exception(error)
        self.waiting.clear()


class Turns:
    """Lends hosts in the order of their lines.

    `on_release` is called when the frontier has a host back.
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
        """`in_flight` tells how the download of a URL ended, or None while it is under way."""
        self._crawl = crawl
        self._in_flight = in_flight
        self._on_release = on_release
        self._fail = fail
        self._share_addresses = share_addresses
        self.lines: dict[str, InlineLine] = {}
        self.closed = False  # there is no crawl to ask or to tell any more

    async def wait_for_turn(self, link: Link, *, impatient: bool = False) -> Decision:
        """Wait for the turn of the link's host, which is then the caller's until `leave`.

        The decision may be a Status that ends the link, or another Link to ask for in this turn:
        robots.txt. An impatient link is refused where it would wait for a host that does not answer.
        """
        name = host_of(link.url)
        line = self.lines.get(name)
        if line is None:
            line = self.lines[name] = InlineLine(name)
        grant: Grant = asyncio.get_running_loop().create_future()
        line.waiting.append(InLine(link, grant, impatient))
        return await self._wait_for_grant(line, grant, link)

    async def own(self, link: Link) -> None:
        """Make a request of the scheduler's wait while its host is lent to an inline download.

        It goes before all that wait in the line. Its end is told by `own_left`.
        """
        name = host_of(link.url)
        line = self.lines.get(name)
        if line is None:
            if not self._share_addresses or self._crawl.seconds_until(name) <= 0:
                return
            # Its address is lent together with another host.
            line = self.lines[name] = InlineLine(name)
        grant: Grant = asyncio.get_running_loop().create_future()
        line.waiting.appendleft(InLine(None, grant))
        await self._wait_for_grant(line, grant, None)

    async def _wait_for_grant(self, line: InlineLine, grant: Grant, link: Link | None) -> Decision:
        """Wait until a host's line grants this request, and return the decision.

        If the caller is cancelled, the host is handed on: a grant that nobody uses would block its
        line.
        """
        self._serve(line)
        try:
            return await grant
        except BaseException:
            was_granted = grant.done() and not grant.cancelled() and grant.exception() is None
            if not was_granted:
                self._serve(line)  # the line drops this request, and may go on to the next one
            elif link is None:
                self.own_left(line.name)
            elif not grant.result() or isinstance(grant.result(), Link):
                # The host is the caller's, who was cancelled before it heard of that, and has
                # requested nothing: 0 is Status.UNTRIED.
                self.leave(link, Outcome(0))
            raise

    def leave(self, link: Link, outcome: Outcome | None) -> None:
        """Book that the link's host was requested, with this outcome, and hand the host on.

        Without an outcome the caller has given up. If booking fails, the crawl ends.
        """
        if self.closed:
            return
        try:
            self._crawl.give_back(link, outcome)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is not booked
            self._fail(tamed(error))
        self.own_left(host_of(link.url))

    def own_left(self, name: str) -> None:
        """Serve the line of a host after a request that had the host has ended."""
        line = self.lines.get(name)
        if line is not None:
            line.busy = False
            self._serve(line)
        # Its address may be that of any other host in line.
        if self._share_addresses:
            for line in list(self.lines.values()):
                self._serve(line)

    def others_wait(self, link: Link) -> bool:
        """Return whether the host is going to be requested again soon."""
        line = self.lines.get(host_of(link.url))
        return line is not None and bool(line.waiting)

    def end(self, error: Exception) -> None:
        """Raise this error in all requests that wait, of all lines."""
        for line in self.lines.values():
            line.end(error)

    def close(self) -> None:
        """Empty all lines before the crawl is closed, so that no timer serves one afterwards."""
        self.closed = True
        for line in self.lines.values():
            line.cancel_timer()
        self.lines.clear()

    def _serve(self, line: InlineLine) -> None:
        """Serve a line; an error is raised in all that wait in it, and ends the crawl.

        Call it whenever something has changed: it plans its next look itself (`_look_again`).
        """
        if self.closed:
            return
        try:
            self._serve_next(line)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits must hear of it
            self._fail(error)
            line.end(error)

    def _serve_next(self, line: InlineLine) -> None:
        """Grant the requests at the head of a line until one holds the host or has to wait.

        An empty line is given up, and its host returns to the frontier.
        """
        line.cancel_timer()  # a new one is set below, if a look is still needed
        while line.waiting and not line.busy:
            request = line.waiting[0]
            has_given_up = request.grant.done()  # its caller was cancelled
            if not has_given_up:
                decision = self._decide(line, request)
                if isinstance(decision, float):
                    self._look_again(line, decision - self._crawl.now())
                    return
                # A Status ends the link without asking the host, so the next one is served.
                line.busy = not decision or isinstance(decision, Link)
                request.grant.set_result(decision)
            line.waiting.popleft()
        is_over = not line.waiting and not line.busy
        # Its host may have a new line by now: a caller that was cancelled late serves its old one.
        if is_over and self.lines.get(line.name) is line:
            self._release(line)

    def _release(self, line: InlineLine) -> None:
        """Give up the host of a line that is over, once no time of it is reserved any more."""
        seconds = self._crawl.seconds_reserved(line.name)
        if seconds > 0:
            self._look_again(line, seconds)
            return
        del self.lines[line.name]
        self._crawl.release(line.name)
        self._on_release()

    def _decide(self, line: InlineLine, request: InLine) -> Decision:
        """Return what a request in line gets: the host, a Status, or a time to wait until.

        A request of the scheduler's has its host by the frontier, and waits only until it is due.
        """
        if request.link is not None:
            return self._crawl.lend(request.link, self._in_flight, impatient=request.impatient)
        seconds = self._crawl.seconds_until(line.name)
        return self._crawl.now() + seconds if seconds > 0 else None

    def _look_again(self, line: InlineLine, seconds: float) -> None:
        """Serve a line again in so many seconds; if infinite, the end of a request serves it."""
        if seconds < float("inf"):
            line.timer = asyncio.get_running_loop().call_later(
                max(seconds, SHORTEST_LOOK_INTERVAL), self._serve, line
            )
