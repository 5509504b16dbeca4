"""The answers of name servers, the answers that need no query, and the doubts about both.

No query is needed for literal addresses, for what cannot be a name, and for the names of
HOSTS_FILE. `Silence` notices that no name server answers: then no host is blamed for a name that
cannot be resolved. `Witnesses` tell names that do not exist from name servers that deny names which
they knew.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import IPv6Address, ip_address
from math import inf
from pathlib import Path
from typing import Protocol

from webcrawl.base.readable import count

logger = logging.getLogger(__name__)


class DnsFailure(Enum):
    """Why a name has no address: message, whether it is permanent, seconds it is cached.

    RFC 9520 requires failures to be cached. 30 s is less than HOST_RETRY_WAIT, so that a host's
    next try queries again. A denial is kept for less time than passes until a host is given up for
    it, whatever RFC 2308 allows: it may be a lie, and is asked for again before it counts.
    """

    NO_NAME = ("no host of that name", True, 2.0)
    NO_ADDRESS = ("the name has no address", True, 2.0)
    BAD_NAME = ("not a valid DNS name", True, 600.0)
    DENIED = (
        "the name servers deny this name, but also names that they resolved before",
        False,
        30.0,
    )
    UNPROVEN = (
        "the name servers have denied all names so far, or resolved them to private addresses: not believed",
        False,
        30.0,
    )
    SERVER_FAILED = ("the name server failed", False, 30.0)
    REFUSED = ("the name server refused", False, 30.0)
    BAD_ANSWER = ("invalid answer from the name server", False, 30.0)
    TIMEOUT = ("no answer from a name server", False, 30.0)
    NO_SERVER = ("no name server answers", False, 0.0)
    NO_SOCKET = ("this machine has no free socket for the query", False, 0.0)
    CLOSED = ("the resolver is closed", False, 0.0)

    def __init__(self, words: str, permanent: bool, seconds: float) -> None:  # noqa: FBT001 - a row of the enum
        self.words = words
        self.permanent = permanent
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """Addresses and their TTL in seconds, or a failure."""

    addresses: tuple[str, ...] = ()
    ttl: float = 0.0
    failure: DnsFailure | None = None
    # of IPv4, and IPv6 was not asked for: Lookup.ask_six does
    half: bool = field(default=False, compare=False)


class Lookup(Protocol):
    """Queries a name, without caching: CachingResolver does that."""

    async def ask(self, host: str) -> DnsAnswer:
        """Return the answer for a lower-case name without trailing dot.

        Every failure is a DnsAnswer.
        """
        ...

    async def ask_six(self, host: str) -> DnsAnswer:
        """Return the IPv6 addresses of a name whose answer was half."""
        ...

    async def probe(self) -> None:
        """Raise DnsFailed, with a one-line message for the user, if no server answers at all."""
        ...

    async def check(self, host: str) -> DnsAnswer:
        """Ask the servers for a name now, past any cache.

        Addresses may be missing, and are not judged then.
        """
        ...

    async def close(self) -> None:
        """Cancel pending queries and leave nothing running."""
        ...


LONGEST_NAME = 253  # RFC 1035 2.3.4, as text
# The URL Standard's "ends in a number": such a host is an IPv4 address or invalid. Some resolvers
# would read 0x7f.1 as
# 127.0.0.1.
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)", re.DOTALL).fullmatch
LOOPBACK = "127.0.0.1"
_LABELS = re.compile(r"[^.]{1,63}(?:\.[^.]{1,63})*", re.DOTALL).fullmatch


def known_without_asking(host: str) -> DnsAnswer | None:
    """Return the answer for an address in the URL Standard's spelling, this machine's own name or
    an invalid one.

    None if a query is needed.
    """
    if ":" in host or _NUMBER(host):
        return _literal(host)
    is_name = len(host) <= LONGEST_NAME and host.isascii() and _LABELS(host)
    if not is_name:
        return DnsAnswer(failure=DnsFailure.BAD_NAME)
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761 6.3: no name server is asked
        return DnsAnswer((LOOPBACK,), float("inf"))
    return None


def _literal(host: str) -> DnsAnswer:
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return DnsAnswer(failure=DnsFailure.BAD_NAME)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return DnsAnswer(failure=DnsFailure.BAD_NAME)
    return DnsAnswer((str(address),), float("inf"))


def read_hosts(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the addresses of each name, which is in lower case, in the file's order.

    Raise ValueError for a bad line.
    """
    hosts: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        address, *names = line.partition("#")[0].split() or [""]
        if not address:
            continue
        try:
            address = str(ip_address(address))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: does not begin with an IP address") from error
        if not names:
            raise ValueError(f"{path}, line {number}: no name follows the address")
        for name in names:
            key = name.lower().removesuffix(".")
            hosts[key] = (*hosts.get(key, ()), address)
    return hosts


# unrelated names in a row that got no answer, before names are asked for that had one
NAMES_UNTIL_SILENCE = 8
SILENT_QUERY_GAP = 3.0  # seconds between two such questions while no name server answers
# seconds until a name is asked for again that was not resolved because of that
SILENCE_RETRY_WAIT = 10.0
# names that are remembered because they had an answer, or because they led somewhere
GOOD_NAMES_KEPT = 4
REMINDER_INTERVAL = 3600.0  # seconds between two lines about it
PASSING_FAILURES = frozenset((DnsFailure.TIMEOUT, DnsFailure.SERVER_FAILED, DnsFailure.REFUSED))
# a name server's own word on a name
WORDS = frozenset((None, DnsFailure.NO_NAME, DnsFailure.NO_ADDRESS))


class Silence:
    """Hears every answer, and asks again for names that were resolved before it believes that the
    servers are away.

    So a crawl with nothing left but names whose own servers are dead still ends.
    """

    def __init__(
        self, ask: Callable[[str], Awaitable[DnsAnswer]], clock: Callable[[], float]
    ) -> None:
        """`ask` queries a name, to find out whether the name servers answer again."""
        self._ask = ask
        self._clock = clock
        self.on = False
        # called with the time of the last answer
        self.on_begin: Callable[[float], None] = lambda _: None
        self.on_end: Callable[[], None] = lambda: None
        self._word_at = 0.0
        # the last two labels of each name, so that names of one domain are one
        self._failed: set[str] = set()
        self._good: deque[str] = deque(maxlen=GOOD_NAMES_KEPT)
        self._task: asyncio.Task[None] | None = None
        self._next = 0.0  # when the next name may be asked for
        self._began = 0.0
        self._ended = -inf
        self._told = 0.0  # when the log last said so

    def record_answer(self, name: str, answer: DnsAnswer, begun: float) -> None:
        """Take note of the answer to a question that was asked at `begun`."""
        if answer.failure in WORDS:
            self._word_at = self._clock()
            self._failed.clear()
            if answer.failure is None and name not in self._good:
                self._good.append(name)
            if self.on:
                self._end()
        # A question that is older than the last answer says nothing of what came after that.
        elif answer.failure in PASSING_FAILURES and begun > self._word_at:
            domain = ".".join(name.rsplit(".", 2)[-2:])
            self._failed.add(domain)
            if len(self._failed) >= NAMES_UNTIL_SILENCE and self._task is None:
                self._task = asyncio.get_running_loop().create_task(self._watch())

    def may_ask(self) -> bool:
        """Return whether a name may be looked up.

        While no server answers, a known name may, or else one name at a time.
        """
        if not self.on:
            return True
        # With a known name, `_watch` asks. Without one, the waiting names are asked for in turn.
        if self._good or self._clock() < self._next:
            return False
        self._next = self._clock() + SILENT_QUERY_GAP
        return True

    def excuses(self, begun: float) -> bool:
        """Return whether a name is not to blame if a question asked at `begun` got no answer.

        A question from the silence may end after it.
        """
        return self.on or begun < self._ended

    async def close(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        """Ask for known names until one has an answer."""
        try:
            while len(self._failed) >= NAMES_UNTIL_SILENCE:
                if self._good:
                    self._good.rotate()
                    begun = self._clock()
                    self.record_answer(self._good[0], await self._ask(self._good[0]), begun)
                if len(self._failed) >= NAMES_UNTIL_SILENCE:
                    self._begin()
                    await asyncio.sleep(SILENT_QUERY_GAP)
        finally:
            self._task = None

    def _begin(self) -> None:
        """Begin the silence and say so, or say again that it lasts."""
        now = self._clock()
        if not self.on:
            self.on = True
            self._began = now
            self._told = now
            logger.warning(
                "no name server has answered for %d names in a row: only hosts with known "
                "addresses are fetched",
                len(self._failed),
            )
            self.on_begin(self._word_at)
        elif now - self._told >= REMINDER_INTERVAL:
            self._told = now
            logger.warning(
                "still no answer from a name server after %.0f minutes", (now - self._began) / 60
            )

    def _end(self) -> None:
        self.on = False
        self._ended = self._clock()
        logger.info("name servers answer again after %.0f seconds", self._ended - self._began)
        self.on_end()


Admits = Callable[[str], bool]
"""Returns whether the crawl may connect to an address."""

# The first names of a crawl may be misspelt seeds, so some denials are believed.
SUSPECT = 32  # names that are denied before any has led somewhere: more are not believed
FRESH_SECONDS = 10.0  # seconds for which what was learnt of the name servers holds


# A resolver denied everything for a quarter of an hour. Without these checks, all URLs of the hosts
# that were found meanwhile ended.
class Witnesses:
    """Hears every answer.

    Where a name is denied, names that led somewhere are asked for again, past any cache.

    If all of these are denied as well, the name servers lie: those of a hotel that wants to be
    paid, or of a network that is filtered. Where they do not, this costs nothing as long as names
    are found: one question in FRESH_SECONDS, and one for those that were denied a moment before, is
    the most.
    """

    def __init__(
        self,
        check: Callable[[str], Awaitable[DnsAnswer]],
        admits: Admits,
        clock: Callable[[], float],
    ) -> None:
        """`check` queries a name; `admits` tells whether its addresses may be connected to."""
        self._check = check
        self._admits = admits
        self._clock = clock
        self.names: deque[str] = deque(maxlen=GOOD_NAMES_KEPT)
        self._denied: set[str] = set()  # before any name led somewhere
        self._lock = asyncio.Lock()
        self._found_at = -FRESH_SECONDS
        self._lied_at = -FRESH_SECONDS
        self._lies = False

    def leads(self, answer: DnsAnswer) -> bool:
        """Return whether an answer has an address that the crawl may connect to."""
        return answer.failure is None and any(map(self._admits, answer.addresses))

    async def confirm(
        self, name: str, answer: DnsAnswer, since: float = -FRESH_SECONDS
    ) -> DnsAnswer:
        """Return the answer; or another one if it denies the name, and may be a lie.

        `since`: when it was denied before. A host is given up by the second denial, so only what
        was found between the two speaks for it.
        """
        if self.leads(answer):
            if name not in self.names:
                self.names.append(name)
            self._found()
            return answer
        if answer.failure not in WORDS:  # with addresses, these are all inside
            return answer
        if not self.names:
            if len(self._denied) < SUSPECT:
                self._denied.add(name)
            is_believed = name in self._denied
            return answer if is_believed else DnsAnswer(failure=DnsFailure.UNPROVEN)
        # One caller at a time checks: the others then use what it has learnt.
        async with self._lock:
            is_believed = await self._is_true(since)
        return answer if is_believed else DnsAnswer(failure=DnsFailure.DENIED)

    async def _is_true(self, since: float) -> bool:
        """Return whether a denial may be believed.

        It may if name servers still lead to a host that was found before.
        """
        now = self._clock()
        was_found_since = now - self._found_at < FRESH_SECONDS and self._found_at >= since
        if not self.names or was_found_since:
            return True
        have_just_lied = now - self._lied_at < FRESH_SECONDS
        if have_just_lied:
            return False
        answers = []
        for name in [*self.names]:  # another one may be found meanwhile
            answer = await self._check(name)
            answers.append(answer)
            if self._exists(answer):
                self._found()
            if self._found_at >= now:
                return True
        # Without any answer it is not known whether they lie, and the names wait all the same.
        self._lied_at = self._clock()
        if all(answer.failure in WORDS for answer in answers):
            self._lie()
        return False

    def _exists(self, answer: DnsAnswer) -> bool:
        """Return whether the name leads somewhere, or is at least an alias without addresses."""
        is_alias = answer.failure is None and not answer.addresses
        return is_alias or self.leads(answer)

    def _found(self) -> None:
        self._found_at = self._clock()
        if self._lies:
            self._lies = False
            logger.info("name servers resolve host names again")

    def _lie(self) -> None:
        if not self._lies:
            self._lies = True
            logger.warning(
                "name servers no longer resolve %s that they resolved before, or give private "
                "addresses; no host is given up for this",
                count(len(self.names), "name"),
            )
