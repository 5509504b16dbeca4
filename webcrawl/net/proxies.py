"""Which proxies are away, and whose fault a failure behind a proxy is: the proxy's own charges nobody."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, field

from webcrawl.net.errors import FetchError, ProxyFailed
from webcrawl.net.protocols import Clock
from webcrawl.net.proxy import Proxy

logger = logging.getLogger(__name__)

SHORTEST, LONGEST = 1.0, 60.0  # seconds until a proxy that is away is tried again, doubled each time
DOUBTS = 3  # failures for one host before they can be the host's
KNOWN = 1024  # proxies, and hosts per proxy, that are remembered: sessions may have a user name each


@dataclass(slots=True)
class _State:
    until: float = 0.0  # no request before that
    pause: float = 0.0  # 0: it is not away
    worked: float = 0.0  # when it last got an answer from a server
    told: float = float("-inf")
    doubts: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)  # host: since when, how often


class Proxies:
    """Knows the proxies that have failed. URLs that need one wait for it: their errors say for how many seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failing: OrderedDict[Proxy, _State] = OrderedDict()

    def check(self, proxy: Proxy) -> None:
        """Raise ProxyFailed while the proxy is away."""
        state = self._failing.get(proxy)
        if state is not None and (rest := state.until - self._clock()) > 0:
            raise ProxyFailed(f"proxy {proxy}: away", wait=rest)

    def failed(self, proxy: Proxy, why: object) -> ProxyFailed:
        """The proxy cannot be reached, or wants other credentials: everything that needs it waits."""
        state, now = self._state(proxy), self._clock()
        if now >= state.until:  # not another of the requests that were under way together
            state.pause = min(2 * state.pause, LONGEST) or SHORTEST
            state.until = now + state.pause
            self._tell(state, f"proxy {proxy}: {why}; the URLs that need it wait, and are charged with nothing")
        return ProxyFailed(f"proxy {proxy}: {why}", wait=state.until - now)

    def doubtful(self, proxy: Proxy, host: str, error: FetchError) -> FetchError:
        """A failure that may be the proxy's or the host's: the error to raise.

        It is the host's if it comes again and again while the proxy gets answers from other hosts.
        """
        state, now = self._state(proxy), self._clock()
        since, count = state.doubts.pop(host, (now, 0))
        count += 1
        if count >= DOUBTS and state.worked > since:
            return error
        state.doubts[host] = (since, count)
        while len(state.doubts) > KNOWN:
            state.doubts.popitem(last=False)
        self._tell(state, f"proxy {proxy}: {error}; the URL waits, and is charged with nothing")
        return ProxyFailed(f"proxy {proxy}: {error}", wait=min(2.0**count, LONGEST))

    def worked(self, proxy: Proxy, host: str) -> None:
        """A server has answered through this proxy."""
        state = self._failing.get(proxy)
        if state is None:
            return
        if state.pause:
            logger.info("proxy %s: works again", proxy)
        state.until = state.pause = 0.0
        state.worked = self._clock()
        state.doubts.pop(host, None)

    def _state(self, proxy: Proxy) -> _State:
        state = self._failing.setdefault(proxy, _State())
        self._failing.move_to_end(proxy)
        while len(self._failing) > KNOWN:
            self._failing.popitem(last=False)
        return state

    def _tell(self, state: _State, line: str) -> None:
        """Once a minute for each proxy as long as it fails."""
        if self._clock() - state.told >= LONGEST:
            state.told = self._clock()
            logger.warning("%s", line)
