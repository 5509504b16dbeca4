"""Decides what comes of a check: the proof that was found becomes an order to the crawl, or words on why not.

Nobody uses up what others have: each asker, and each site, may have so many checks and orders in a time.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil
from typing import Any, Protocol

from webcrawl.base.readable import count
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.net.errors import AddressRefused, DnsFailed, FetchError, PortRefused, Untried
from webcrawl.net.protocols import Options, ProtocolModule
from webcrawl.tools.optout.token import Proof, Subject, Tokens, Wish, counts
from webcrawl.urls.optout import COMMAND, PROOF, read_date, said

LARGEST = 4096  # bytes of a file that are looked at
TIMEOUT = 10.0  # seconds for each place; all are asked at once
MOST_RECORDS = 50
PLACE = Options(timeout=TIMEOUT, maxsize=LARGEST, cut=True)
LACKS = "has no token for this name from this crawl"
NONE_READ = f"{LACKS} in what was read of it, {LARGEST} bytes at most"

Texts = Callable[[str], Awaitable[list[bytes]]]
"""The TXT records of a name; raises DnsFailed or NoSocket."""


@dataclass(frozen=True, slots=True)
class Found:
    """The tokens at one place. `lines` are never shown: a check must not become a way to read what others cannot."""

    place: str
    kind: str
    lines: list[str]
    trouble: str = ""  # why there may be none, in words that say little
    ours: bool = False  # the trouble is this machine's


class Looking:
    """Asks once: no redirect is followed, so nobody is asked but the authority that the wish is about."""

    def __init__(self, web: ProtocolModule, texts: Texts) -> None:
        self._web, self._texts = web, texts

    async def look(self, subject: Subject) -> list[Found]:
        asked = [self._file(url) for url in subject.files]
        if subject.record:
            asked.append(self._record(subject.record))
        return await asyncio.gather(*asked)

    async def _file(self, url: str) -> Found:
        try:
            async with asyncio.timeout(2 * TIMEOUT):
                answer = await self._web.fetch(url, options=PLACE)
        except (FetchError, TimeoutError) as error:
            return Found(url, "file", [], _words(error), isinstance(error, Untried))
        if 300 <= answer.status < 400:
            return Found(url, "file", [], "redirects, which are not followed")
        if answer.status != 200:
            return Found(url, "file", [], f"answers with status {answer.status}")
        is_cut = answer.truncated or len(answer.body) > LARGEST
        return Found(url, "file", [*_lines(answer.body[:LARGEST])], NONE_READ if is_cut else "")

    async def _record(self, name: str) -> Found:
        try:
            async with asyncio.timeout(2 * TIMEOUT):
                records = await self._texts(name)
        except (FetchError, TimeoutError) as error:
            return Found(name, "TXT", [], "no answer of the name servers", isinstance(error, Untried))
        return Found(name, "TXT", [line for one in records[:MOST_RECORDS] for line in _lines(one[:LARGEST])])


def _lines(data: bytes) -> Iterator[str]:
    return iter(data.decode("utf-8-sig", "replace").splitlines())


def _words(error: Exception) -> str:
    """Which of the ways a connection can fail is nobody's business but the owner's: strangers could scan ports."""
    if isinstance(error, (AddressRefused, PortRefused)):
        return "is at an address or port that this crawl does not ask"
    return "no address" if isinstance(error, DnsFailed) and error.permanent else "no answer"


CHECKS = (3, 20, 60.0)  # of a site for one asker; for one asker, and of a site for all; in so many seconds
ORDERS = (10, 1000, 86_400.0)  # of a site; for one asker
AT_ONCE = 10  # checks under way for one asker
MOST_AT_ONCE = 100  # for all
UNTOLD = "Your proof was found, but the crawl has not confirmed it. Leave it in place, and check again later."
FORGOTTEN = " Searches, and outputs made from now on, leave out what is stored of it."
OTHERWISE = "by a record that was made otherwise. Whoever runs the crawl can change it."
UNITS = ((3600, "hour"), (60, "minute"))

Ask = Callable[..., Any]
"""A command to the crawl and its words, as to `scrapy ctl`; blocks."""


class Looks(Protocol):
    """A look for tokens, wherever they may be."""

    async def look(self, subject: Subject) -> list[Found]: ...


class Outcome(Enum):
    """The end of a check, with the status of the answer."""

    DONE = "200 OK"
    NOT_PROVEN = "403 Forbidden"
    REFUSED = "409 Conflict"
    TOO_OFTEN = "429 Too Many Requests"
    NOT_NOW = "503 Service Unavailable"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check, as the page says it. `wait`: seconds until it is worth asking again."""

    outcome: Outcome
    text: str
    details: Sequence[str] = ()
    wait: float = 0.0


class Deciding:
    """`ask` reaches the crawl, `say` whoever runs it."""

    def __init__(
        self,
        tokens: Tokens,
        looking: Looks,
        ask: Ask,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens, self._looking, self._ask, self._say = tokens, looking, ask, say
        self._clock, self._ticks = clock, ticks  # what tokens expire by; what is counted by
        few, many, seconds = CHECKS
        self._pairs, self._askers, self._sites = Budget(few, seconds), Budget(many, seconds), Budget(many, seconds)
        of_site, of_asker, seconds = ORDERS
        self._ordered_of, self._ordered_by = Budget(of_site, seconds), Budget(of_asker, seconds)
        self._under_way: dict[str, str] = {}  # rules, and who asked

    async def check(self, subject: Subject, asker: str = "") -> Result:
        """Looks for a proof, and does what it asks for. Each `asker` has bounds of its own."""
        if subject.rule in self._under_way or self._is_busy(asker):
            return _too_often(5.0)
        pair = f"{asker} {subject.site}"
        if wait := take(self._ticks(), (self._pairs, pair), (self._askers, asker), (self._sites, subject.site)):
            return _too_often(wait)
        self._under_way[subject.rule] = asker
        try:
            found = await self._looking.look(subject)
            now = self._clock()
            proofs = [proof for one in found for proof in self._proofs(subject, one)]
            proof = counts(proofs, now)
            if proof is None:
                result = _unproven(found, proofs)
                self._say(f"{subject.rule}: checked: {result.text}")
                return result
            if wait := take(self._ticks(), (self._ordered_of, subject.site), (self._ordered_by, asker)):
                return _too_often(wait, "Your proof was found, but too many were lately: try again in")
            return await self._ordered(subject, proof)
        finally:
            del self._under_way[subject.rule]

    def _is_busy(self, asker: str) -> bool:
        askers = self._under_way.values()
        return len(askers) >= MOST_AT_ONCE or [*askers].count(asker) >= AT_ONCE

    def _proofs(self, subject: Subject, found: Found) -> list[Proof]:
        return self._tokens.found(subject.rule, found.lines, f"{found.kind} {found.place}")

    async def _ordered(self, subject: Subject, proof: Proof) -> Result:
        """In a thread, for it waits until the crawl has it in a checkpoint. Nobody who goes away ends it."""
        try:
            result = await asyncio.shield(asyncio.to_thread(self._order, subject, proof))
        except (CommandError, NotRunning, OSError) as error:
            but = "but perhaps not carried out" if isinstance(error, NoAnswer) else "but not carried out"
            self._say(f"{subject.rule}: {proof.wish} is proven ({proof.place}), {but}: {error}")
            return Result(Outcome.NOT_NOW, UNTOLD, wait=60.0)
        self._say(f"{subject.rule}: {proof.wish}, proven by {proof.place}: {result.text}")
        return result

    def _order(self, subject: Subject, proof: Proof) -> Result:
        """The order has a condition, for the operator may exclude the same between our look and it."""
        records, record = self._records(subject)
        try:
            if record is None or is_proven(record):
                return self._carried_out(subject, proof, record, records)
        except NoAnswer:  # it may have been carried out
            raise
        except CommandError:
            _, record = self._records(subject)
            if record is None or is_proven(record):
                raise
        until = f", until {record['until']}" if record["until"] else ""
        return Result(Outcome.REFUSED, f"{subject.rule} is left alone already{until}, {OTHERWISE}")

    def _records(self, subject: Subject) -> tuple[Sequence[Any], Any]:
        """All that name it, and the one of this very rule, if there is one that holds."""
        records = self._ask("excluded", subject.url)["excluded"]
        return records, next((one for one in records if one["rule"] == subject.rule and one["holds"]), None)

    def _carried_out(self, subject: Subject, proof: Proof, record: Any, records: Sequence[Any]) -> Result:
        if proof.wish is Wish.RETURN:
            return self._back(subject, proof, record, records)
        kind, _, place = proof.place.partition(" ")
        words = (
            "--by",
            f"{PROOF}{kind})",
            "--why",
            place,
            "--if-by",
            PROOF,
            *(["--forget"] if proof.wish is Wish.FORGET else []),
        )
        self._ask("exclude", subject.rule, *words)  # again too: then a checkpoint has it for certain
        since = record["since"] if record is not None else said(self._clock())
        forgotten = record is not None and record["forget"]
        more = FORGOTTEN if proof.wish is Wish.FORGET or forgotten else ""
        return Result(Outcome.DONE, f"{subject.rule} is left alone, since {since}.{more}")

    def _back(self, subject: Subject, proof: Proof, record: Any, records: Sequence[Any]) -> Result:
        if record is None:
            return Result(Outcome.REFUSED, f"There is no record of {subject.rule} that could be taken back.")
        if record["since"] and proof.issued < read_date(record["since"]):  # of the time before, and not removed
            return Result(Outcome.REFUSED, f"{subject.rule} has left since this token was issued: get a new one.")
        self._ask("include", subject.rule, "--if-by", PROOF)
        others = any(one["holds"] for one in records if one is not record)
        if others:
            return Result(Outcome.DONE, f"{subject.rule} is left alone all the same: another record still names it.")
        return Result(Outcome.DONE, f"{subject.rule} may be crawled again.")


def is_proven(record: Any) -> bool:
    """True if a record, as a crawl tells it, was made by a proof."""
    return record["source"] == COMMAND and str(record["by"]).startswith(PROOF)


def _too_often(wait: float, why: str = "Too many checks: try again in") -> Result:
    size, unit = next(((size, unit) for size, unit in UNITS if wait >= 2 * size), (1, "second"))
    return Result(Outcome.TOO_OFTEN, f"{why} {count(ceil(wait / size), unit)}.", wait=wait)


def _unproven(found: Sequence[Found], proofs: Sequence[Proof]) -> Result:
    details = [f"{one.place}: {one.trouble or LACKS}" for one in found]
    if any(one.ours for one in found):  # it may be just there
        text = "The crawler's machine cannot ask just now. Check again in a few minutes."
        return Result(Outcome.NOT_NOW, text, details, 60.0)
    if proofs:
        last = max(proofs, key=lambda one: one.issued)
        return Result(Outcome.NOT_PROVEN, f"The token that was found is over since {said(last.ends)}: get a new one.")
    return Result(Outcome.NOT_PROVEN, "No proof was found.", details)


KEPT = 10_000  # keys remembered


class Budget:
    """At most `most` in `seconds` for each key. Of more than `kept` keys, who took nothing for longest is forgotten."""

    def __init__(self, most: int, seconds: float, kept: int = KEPT) -> None:
        self._most, self._seconds, self._kept = most, seconds, kept
        self._taken: dict[str, deque[float]] = {}  # when each took; who took last is last

    def __repr__(self) -> str:
        return f"<Budget of {len(self._taken)}>"

    def wait(self, key: str, now: float) -> float:
        """Seconds until this key has one left; 0: it has."""
        times = self._taken.get(key)
        if times is None:
            return 0.0
        while times and times[0] <= now - self._seconds:
            times.popleft()
        return 0.0 if len(times) < self._most else times[0] + self._seconds - now

    def take(self, key: str, now: float) -> None:
        """Takes one, whether it has one left or not."""
        times = self._taken.pop(key, None) or deque(maxlen=self._most)
        self._forget(now)
        times.append(now)
        self._taken[key] = times

    def _forget(self, now: float) -> None:
        while self._taken:
            key, times = next(iter(self._taken.items()))
            if len(self._taken) < self._kept and times and times[-1] > now - self._seconds:
                return
            del self._taken[key]


def take(now: float, *asked: tuple[Budget, str]) -> float:
    """Takes one of each budget for its key; none, and the seconds to wait, if one of them has none left."""
    wait = max(budget.wait(key, now) for budget, key in asked)
    if not wait:
        for budget, key in asked:
            budget.take(key, now)
    return wait
