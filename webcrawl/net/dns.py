"""Resolves names for the crawl: cached, one query per name, a bounded number at a time (Mercator 3.3).

Witnesses tell names that do not exist from name servers that deny names which they knew.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest

from webcrawl.base.readable import count
from webcrawl.net.dns_answer import Answer, Failure, Lookup, known_without_asking
from webcrawl.net.dns_silence import LATER, WAIT, Silence
from webcrawl.net.errors import DnsFailed, NoNameServer, NoSocket
from webcrawl.net.shortage import until

logger = logging.getLogger(__name__)

Admits = Callable[[str], bool]
"""True if the crawl may connect to an address."""

GOOD = 4  # names that are remembered because they led somewhere
SUSPECT = 32  # names that are denied before any has led somewhere: more are not believed
FRESH = 10.0  # seconds for which what was learnt of the name servers holds
DENIALS = frozenset((None, Failure.NO_NAME, Failure.NO_ADDRESS))  # with None, the addresses are all inside


class Witnesses:
    """Hears every answer. Where a name is denied, names that led somewhere are asked for again, past any cache.

    If all of these are denied as well, the name servers lie: those of a hotel that wants to be paid, or of a network
    that is filtered. Where they do not, this costs nothing as long as names are found: one question in FRESH seconds,
    and one for those that were denied a moment before, is the most.
    """

    def __init__(self, check: Callable[[str], Awaitable[Answer]], admits: Admits, clock: Callable[[], float]) -> None:
        self._check, self._admits, self._clock = check, admits, clock
        self.names: deque[str] = deque(maxlen=GOOD)
        self._denied: set[str] = set()  # before any name led somewhere
        self._lock = asyncio.Lock()
        self._found_at = self._lied_at = -FRESH
        self._lies = False

    def leads(self, answer: Answer) -> bool:
        """True if it has an address that the crawl may connect to."""
        return answer.failure is None and any(map(self._admits, answer.addresses))

    async def confirm(self, name: str, answer: Answer, since: float = -FRESH) -> Answer:
        """The answer, or another one if it denies that the name leads anywhere, and may be a lie.

        `since`: when it was denied before. A host is given up by the second denial, so only what was found between
        the two speaks for it.
        """
        if self.leads(answer):
            if name not in self.names:
                self.names.append(name)
            self._found()
            return answer
        if answer.failure not in DENIALS:
            return answer
        if not self.names:
            if len(self._denied) < SUSPECT:
                self._denied.add(name)
            return answer if name in self._denied else Answer(failure=Failure.UNPROVEN)
        async with self._lock:
            return answer if await self._is_true(since) else Answer(failure=Failure.DENIED)

    async def _is_true(self, since: float) -> bool:
        now = self._clock()
        if not self.names or (now - self._found_at < FRESH and self._found_at >= since):
            return True
        if now - self._lied_at < FRESH:
            return False
        answers = []
        for name in [*self.names]:  # another one may be found meanwhile
            answers.append(answer := await self._check(name))
            if self.leads(answer) or (answer.failure is None and not answer.addresses):
                self._found()
            if self._found_at >= now:
                return True
        self._lied_at = self._clock()  # or fail: then nobody knows
        if all(answer.failure in DENIALS for answer in answers):
            self._lie()
        return False

    def _found(self) -> None:
        self._found_at = self._clock()
        if self._lies:
            self._lies = False
            logger.info("name servers lead to hosts again")

    def _lie(self) -> None:
        if not self._lies:
            self._lies = True
            logger.warning(
                "name servers deny %s that led to hosts before, or lead them inside: no host is given up for that",
                count(len(self.names), "name"),
            )


SOON = 2.0  # seconds within which IPv6 addresses are of use to who waits for a connection
SHORTEST, LONGEST = 60.0, 86_400.0  # seconds that addresses are cached, whatever their TTL


class CachingResolver:
    """Answers from the hosts file, then from a cache of `size` names, then by a query.

    Concurrent callers for one name share one query. It outlives its callers: the answer to a cancelled download is
    cached for the next one.
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
        self._lookup, self._hosts, self._size = lookup, hosts or {}, size
        self._timeout, self._clock = timeout, clock
        self._places = asyncio.Semaphore(in_flight)
        self._kept: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._asked: dict[str, asyncio.Future[Answer]] = {}
        self._tasks: set[asyncio.Task[Answer]] = set()
        self._closed = False
        self.counters: Counter[str] = Counter()
        self.silence = Silence(self._check, clock)
        self._witnesses = Witnesses(self._check, admits, clock)
        self.seconds = 0.0  # sum of all queries' durations

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def in_flight(self) -> int:
        """Names being resolved, including those that wait for their turn."""
        return len(self._asked)

    async def resolve(self, host: str) -> list[str]:
        """The host's addresses, best first; raises DnsFailed or Untried. A cached name costs 1 us."""
        answer = self._remembered(host)
        if answer is None:
            answer = await self._ask_once(host)
        if answer.failure is Failure.NO_SOCKET:
            raise NoSocket(answer.failure.words)
        if self.silence.on and answer.failure in LATER:
            raise NoNameServer(f"{host}: {answer.failure.words}", wait=WAIT)
        if answer.failure is not None:
            raise DnsFailed(f"{host}: {answer.failure.words}", permanent=answer.failure.permanent)
        return list(answer.addresses)

    async def others(self, host: str) -> list[str]:
        """All addresses of a name of which only the IPv4 ones were asked for, once it has others; else none."""
        name = host.lower().removesuffix(".")
        kept = self._kept.get(name)
        if kept is None or not kept[1].half or self._closed:
            return []
        until_then, four = kept
        found = (until_then, replace(four, half=False))  # for whoever comes meanwhile, too
        self._kept[name] = found
        try:
            async with self._places:
                six = await self._measured(name, self._lookup.ask_six, SOON)
        except BaseException:
            self._kept[name] = kept
            raise
        if six.failure is None:
            both = chain.from_iterable(zip_longest(four.addresses, six.addresses))
            again = self._clock() + max(six.ttl, SHORTEST)
            found = (min(until_then, again), Answer(tuple(filter(None, both)), six.ttl))
        elif six.failure not in DENIALS:  # to be asked for again
            found = kept
        self._kept[name] = found
        return list(found[1].addresses) if six.failure is None else []

    def _remembered(self, host: str) -> Answer | None:
        kept = self._kept.get(host)
        if kept is not None and kept[0] > self._clock():
            self._kept.move_to_end(host)
            self.counters["cache hits"] += 1
            return kept[1]
        return None

    async def _ask_once(self, host: str) -> Answer:
        name = host.lower().removesuffix(".")
        if name in self._hosts:
            self.counters["hosts file"] += 1
            return Answer(self._hosts[name])
        answer = known_without_asking(name) or (self._remembered(name) if name != host else None)
        if answer is not None:
            return answer
        if self._closed:
            return Answer(failure=Failure.CLOSED)
        future = self._asked.get(name)
        if future is None:
            future = self._asked[name] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(self._ask(name))
            self._tasks.add(task)
            task.add_done_callback(partial(self._settle, name))
        else:
            self.counters["joined"] += 1
        return await asyncio.shield(future)

    async def _ask(self, name: str) -> Answer:
        if not self.silence.may_ask():
            return Answer(failure=Failure.TIMEOUT)
        async with self._places:
            begun = self._clock()
            before = self._kept.get(name)
            # the name was denied a moment ago, and the lookup's own cache would only repeat that
            denied = before is not None and before[1].failure in DENIALS and not self._witnesses.leads(before[1])
            since = before[0] - Failure.NO_NAME.seconds if before is not None and denied else -FRESH
            answer = await self._measured(name, self._lookup.check if denied else self._lookup.ask, self._timeout)
            if denied and answer.failure is None and not answer.addresses:  # an alias that is to be followed
                answer = await self._measured(name, self._lookup.ask, self._timeout)
        self.silence.heard(name, answer, begun)
        answer = await self._witnesses.confirm(name, answer, since)
        if answer.failure is not Failure.NO_SOCKET and not (self.silence.on and answer.failure in LATER):
            self._keep(name, answer)
        return answer

    def _settle(self, name: str, task: asyncio.Task[Answer]) -> None:
        """Pass the result, an error or a cancellation on to all callers."""
        self._tasks.discard(task)
        future = self._asked.pop(name)
        if task.cancelled():
            future.set_result(Answer(failure=Failure.CLOSED))
        elif error := task.exception():
            future.set_exception(error)
        else:
            future.set_result(task.result())

    async def _measured(self, name: str, ask: Callable[[str], Awaitable[Answer]], seconds: float) -> Answer:
        start = self._clock()
        self.counters["asked"] += 1
        try:
            async with until(asyncio.get_running_loop().time() + seconds):
                answer = await ask(name)
        except TimeoutError:
            answer = Answer(failure=Failure.TIMEOUT)
        self.seconds += self._clock() - start
        if answer.failure is not None:
            self.counters[f"failed/{answer.failure.name.lower()}"] += 1
        return answer

    async def _check(self, name: str) -> Answer:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._lookup.check(name)
        except TimeoutError:
            return Answer(failure=Failure.TIMEOUT)

    def _keep(self, name: str, answer: Answer) -> None:
        if answer.failure is not None:
            seconds = answer.failure.seconds
        elif self._witnesses.leads(answer):
            seconds = min(max(answer.ttl, SHORTEST), LONGEST)
        else:
            seconds = Failure.NO_ADDRESS.seconds
        self._kept[name] = (self._clock() + seconds, answer)
        self._kept.move_to_end(name)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def forget_failures(self) -> None:
        """Asks again for names that could not be resolved: what was wrong with our own network is over."""
        for name in [name for name, (_, answer) in self._kept.items() if not self._witnesses.leads(answer)]:
            del self._kept[name]

    def remember(self, names: Iterable[str]) -> None:
        """These led to their hosts in a former run."""
        asked = (name for name in names if name not in self._hosts and known_without_asking(name) is None)
        self._witnesses.names.extend(asked)

    async def probe(self) -> None:
        """Raise DnsFailed, with a one-line message for the user, if no name server answers."""
        await self._lookup.probe()

    async def close(self) -> None:
        """Pending callers get DnsFailed; no task and no socket is left."""
        self._closed = True
        await self.silence.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._lookup.close()
