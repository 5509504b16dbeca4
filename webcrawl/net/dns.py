"""Resolves names for the crawl: cached, one query per name, a bounded number at a time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest

from webcrawl.net.dns_answers import (
    FRESH_SECONDS,
    PASSING_FAILURES,
    SILENCE_RETRY_WAIT,
    WORDS,
    Admits,
    DnsAnswer,
    DnsFailure,
    Lookup,
    Silence,
    Witnesses,
    known_without_asking,
)
from webcrawl.net.errors import DnsFailed, NoNameServer, NoSocket
from webcrawl.net.shortage import until

IPV6_WAIT = 2.0  # seconds within which IPv6 addresses are of use to who waits for a connection
# seconds that addresses are cached, whatever their TTL
SHORTEST_CACHING, LONGEST_CACHING = 60.0, 86_400.0


class CachingResolver:
    """Answers from the hosts file, then from a cache of `size` names, then by a query.

    Concurrent callers for one name share one query. It outlives its callers: the answer to a
    cancelled download is cached for the next one.
    """

    def __init__(
        self,
        lookup: Lookup,
        hosts: Mapping[str, tuple[str, ...]] | None = None,
        *,
        size: int = 2**16,
        in_flight: int = 1000,
        timeout: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        admits: Admits = bool,
    ) -> None:
        """`admits`: whether the crawl may connect to an address."""
        self._lookup = lookup
        self._hosts = hosts or {}
        self._size = size
        self._timeout = timeout
        self._clock = clock
        self._places = asyncio.Semaphore(in_flight)
        self._kept: OrderedDict[str, tuple[float, DnsAnswer]] = OrderedDict()
        self._pending: dict[str, asyncio.Future[DnsAnswer]] = {}
        self._tasks: set[asyncio.Task[DnsAnswer]] = set()
        self._closed = False
        self.counters: Counter[str] = Counter()
        self.silence = Silence(self._check, clock)
        self._witnesses = Witnesses(self._check, admits, clock)
        self.seconds = 0.0  # sum of all queries' durations

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def in_flight(self) -> int:
        """Return the number of names being resolved, including those that wait for their turn."""
        return len(self._pending)

    async def resolve(self, host: str) -> list[str]:
        """Return the host's addresses, best first; raises DnsFailed or Untried.

        A cached name costs 1 us.
        """
        answer = self._remembered(host)
        if answer is None:
            answer = await self._ask_once(host)
        failure = answer.failure
        if failure is None:
            return list(answer.addresses)
        if failure is DnsFailure.NO_SOCKET:
            raise NoSocket(failure.words)
        # No name server answers, whatever the name: the host is not charged. What is remembered may
        # be a failure from before the silence.
        is_remembered_failure = self.silence.on and failure in PASSING_FAILURES
        if failure is DnsFailure.NO_SERVER or is_remembered_failure:
            raise NoNameServer(f"{host}: {failure.words}", wait=SILENCE_RETRY_WAIT)
        raise DnsFailed(f"{host}: {failure.words}", permanent=failure.permanent)

    async def others(self, host: str) -> list[str]:
        """Return all addresses of a name of which only the IPv4 ones were asked for.

        There are none unless it has others.
        """
        name = host.lower().removesuffix(".")
        kept = self._kept.get(name)
        if kept is None or self._closed:
            return []
        until_then, four = kept
        if not four.half:
            return []
        # A caller that comes meanwhile does not ask a second time.
        found = (until_then, replace(four, half=False))
        self._kept[name] = found
        try:
            async with self._places:
                six = await self._measured(name, self._lookup.ask_six, IPV6_WAIT)
        except BaseException:
            # A caller that gives up has learnt nothing, so the next one may ask.
            self._kept[name] = kept
            raise
        if six.failure is None:
            # In turns, so that a host whose IPv4 is broken is reached by IPv6, and the reverse
            both = chain.from_iterable(zip_longest(four.addresses, six.addresses))
            # The answer holds as long as both of its parts.
            again = self._clock() + max(six.ttl, SHORTEST_CACHING)
            found = (min(until_then, again), DnsAnswer(tuple(filter(None, both)), six.ttl))
        elif six.failure not in WORDS:
            # No server has answered, so the addresses are asked for again.
            found = kept
        self._kept[name] = found
        if six.failure is not None:
            return []
        return list(found[1].addresses)

    def _remembered(self, host: str) -> DnsAnswer | None:
        """Return the answer for a name that is still valid, or None; it counts as used last."""
        kept = self._kept.get(host)
        if kept is None:
            return None
        until, answer = kept
        if until <= self._clock():
            return None
        self._kept.move_to_end(host)
        self.counters["cache hits"] += 1
        return answer

    async def _ask_once(self, host: str) -> DnsAnswer:
        """Return the answer for a name: from hosts file or memory, else from a query.

        All that ask for a name at the same time share one query.
        """
        name = host.lower().removesuffix(".")
        if name in self._hosts:
            self.counters["hosts file"] += 1
            return DnsAnswer(self._hosts[name])
        answer = known_without_asking(name)
        if answer is None and name != host:
            answer = self._remembered(name)
        if answer is not None:
            return answer
        if self._closed:
            return DnsAnswer(failure=DnsFailure.CLOSED)
        future = self._pending.get(name)
        if future is None:
            future = self._pending[name] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(self._ask(name))
            self._tasks.add(task)
            task.add_done_callback(partial(self._settle, name))
        else:
            self.counters["joined"] += 1
        # A download that is cancelled leaves the query to the others that wait for it. With
        # asyncio.shield, Python 3.14 would log an error of a query that nobody waits for any more.
        await asyncio.wait((future,))
        return future.result()

    async def _ask(self, name: str) -> DnsAnswer:
        """Query a name and remember the answer.

        What only shows that this machine or all name servers are in trouble is not remembered as
        the name's.
        """
        if not self.silence.may_ask():
            return DnsAnswer(failure=DnsFailure.NO_SERVER)
        async with self._places:
            begun = self._clock()
            denied_at = self._denied_at(name)
            if denied_at is None:
                answer = await self._measured(name, self._lookup.ask, self._timeout)
            else:
                answer = await self._measured(name, self._lookup.check, self._timeout)
                # `check` does not follow an alias whose addresses the server left out.
                is_alias = answer.failure is None and not answer.addresses
                if is_alias:
                    answer = await self._measured(name, self._lookup.ask, self._timeout)
        self.silence.record_answer(name, answer, begun)
        denied_before = -FRESH_SECONDS if denied_at is None else denied_at
        answer = await self._witnesses.confirm(name, answer, denied_before)
        # What this machine or all name servers lack says nothing of the name
        if answer.failure in PASSING_FAILURES and self.silence.excuses(begun):
            return DnsAnswer(failure=DnsFailure.NO_SERVER)
        # Without a socket nothing was asked.
        if answer.failure is not DnsFailure.NO_SOCKET:
            self._keep(name, answer)
        return answer

    def _denied_at(self, name: str) -> float | None:
        """Return when the name was denied; None if it was not.

        The lookup's own cache would only repeat a denial of a moment ago: such a name is checked
        past that cache.
        """
        kept = self._kept.get(name)
        if kept is None:
            return None
        until, answer = kept
        if answer.failure not in WORDS or self._witnesses.leads(answer):
            return None
        return until - DnsFailure.NO_NAME.seconds

    def _settle(self, name: str, task: asyncio.Task[DnsAnswer]) -> None:
        """Pass the result, an error or a cancellation on to all callers."""
        self._tasks.discard(task)
        future = self._pending.pop(name)
        if task.cancelled():
            future.set_result(DnsAnswer(failure=DnsFailure.CLOSED))
        elif error := task.exception():
            future.set_exception(error)
            # Counts as seen, or asyncio would log a traceback if all callers were cancelled meanwhile
            future.exception()
        else:
            future.set_result(task.result())

    async def _measured(
        self, name: str, ask: Callable[[str], Awaitable[DnsAnswer]], seconds: float
    ) -> DnsAnswer:
        """Return the answer of one query, with its time and failure counted."""
        start = self._clock()
        self.counters["asked"] += 1  # a name that crawls have in their states
        try:
            async with until(asyncio.get_running_loop().time() + seconds):
                answer = await ask(name)
        except TimeoutError:
            answer = DnsAnswer(failure=DnsFailure.TIMEOUT)
        self.seconds += self._clock() - start
        if answer.failure is not None:
            self.counters[f"failed/{answer.failure.name.lower()}"] += 1
        return answer

    async def _check(self, name: str) -> DnsAnswer:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._lookup.check(name)
        except TimeoutError:
            return DnsAnswer(failure=DnsFailure.TIMEOUT)

    def _keep(self, name: str, answer: DnsAnswer) -> None:
        """Remember an answer while it is valid, and forget the names used longest ago."""
        if answer.failure is not None:
            # So short that the host's next try sends a new query
            seconds = answer.failure.seconds
        elif self._witnesses.leads(answer):
            seconds = min(max(answer.ttl, SHORTEST_CACHING), LONGEST_CACHING)
        else:
            # It leads inside, as when a resolver lies: asked again soon, whatever its TTL
            seconds = DnsFailure.NO_ADDRESS.seconds
        self._kept[name] = (self._clock() + seconds, answer)
        self._kept.move_to_end(name)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def forget_failures(self) -> None:
        """Ask again for names that could not be resolved.

        What was wrong with our own network is over.
        """
        for name, (_, answer) in [*self._kept.items()]:
            if not self._witnesses.leads(answer):
                del self._kept[name]

    def remember(self, names: Iterable[str]) -> None:
        """Remember names that led to their hosts in a former run."""
        resolvable = (
            name for name in names if name not in self._hosts and known_without_asking(name) is None
        )
        self._witnesses.names.extend(resolvable)

    async def probe(self) -> None:
        """Raise DnsFailed, with a one-line message for the user, if no name server answers."""
        await self._lookup.probe()

    async def close(self) -> None:
        """Close: pending callers get DnsFailed; no task and no socket is left."""
        self._closed = True
        await self.silence.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._lookup.close()
