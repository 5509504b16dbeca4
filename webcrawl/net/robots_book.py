"""The robots.txt rules of all hosts, and their verdicts on URLs that are due.

The admission check (crawl/admission.py) asks for a verdict when a URL is due. The only I/O is
reading and writing the table's rows.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum

from webcrawl.base.doubling import wait_after
from webcrawl.net.header_times import Validators
from webcrawl.net.robots import RobotsRules, RobotsSaid, parse
from webcrawl.net.robots_entry import (
    HOUR,
    KEEP,
    NOT_MODIFIED,
    Fresh,
    Heard,
    RobotsEffect,
    RobotsEntry,
    RobotsHead,
    RobotsOutage,
    RobotsTable,
    Row,
    entry_of,
    look,
    meaning,
    pack,
    pack_away,
    row_of,
)

SCHEMES = ("http:", "https:", "ftp:")  # RFC 9309 2.3
SIBLINGS = {"http": "https", "https": "http"}  # schemes whose origins are usually one server
_PATH = "/robots.txt"
PATIENCE = 259_200.0  # HOST_PATIENCE
# Failures at least before an origin is given up. After so many, a caller should not await its URLs.
TRIES = 3
# Bytes and number of rules in memory. As Protego's objects, so many would take 5.6 GB.
MEMORY, HOSTS = 32 << 20, 2**18
ORIGINS = 100  # of one host, that are shown
SITEMAP_NAMES_LENGTH = 32 << 10  # characters of the sitemaps that one file names, that are kept
# origins known to have no row: a new host is looked for four times until its robots.txt has come
ABSENT_ORIGINS_KEPT = 4096
NO_HEAD = RobotsHead()


class RobotsDecision(Enum):
    """The decision on a URL."""

    ALLOWED = "fetch it"
    FORBIDDEN = "it ends: Status.ROBOTS_FORBIDDEN"
    FETCH = "fetch its host's robots.txt first, then ask again"
    WAIT = "robots.txt is unreachable, and no rules are known: put it back until next_try"
    UNREACHABLE = "it ends: Status.ROBOTS_UNREACHABLE; robots.txt was unreachable for too long"


class RobotsBook:
    """Rules by origin (`scheme://host:port`), those in use cached in memory, all in the table.

    `memory` bounds the bytes of all rules in memory, HOSTS their number. Times are seconds since
    1970, since they are stored. A verdict costs 5 us, 40 if its rules are loaded from the table. An
    unreachable robots.txt is tried again after `retry_wait`, doubled each time, until it has been
    unreachable for `patience` seconds. `sitemaps` that files name are kept; `lazily`: a caller
    that wants those of a new host asks for them.
    """

    def __init__(
        self,
        table: RobotsTable,
        agent: str,
        *,
        sitemaps: bool = False,
        lazily: bool = False,
        retry_wait: float = 60.0,
        patience: float = PATIENCE,
        memory: int = MEMORY,
    ) -> None:
        """`lazily`: rules are read when asked for; `memory`: bytes of rules to keep at hand."""
        self._table = table
        self._agent = agent
        self._room = memory
        self._sitemaps = sitemaps
        self._lazily = lazily
        self.change(retry_wait=retry_wait, patience=patience)
        self._entries: OrderedDict[str, RobotsEntry] = OrderedDict()
        self._absent: set[str] = set()
        self._weight = 0
        self.counters: Counter[str] = Counter()

    def change(self, *, retry_wait: float, patience: float) -> None:
        self._retry_wait = retry_wait
        self._patience = patience
        self._useful = max(KEEP, patience)  # seconds for which a row may be needed after it expired

    def __len__(self) -> int:
        """Return the number of origins in memory."""
        return len(self._entries)

    def verdict(self, url: str, now: float) -> RobotsDecision:
        """Decide what to do with a canonical URL that is due."""
        if not url.startswith(SCHEMES):
            return RobotsDecision.ALLOWED
        origin = origin_of(url)
        if url.endswith(_PATH) and url == robots_url(origin):  # RFC 9309 2.2.2: implicitly allowed
            return RobotsDecision.ALLOWED
        entry = self._entry(origin)
        if entry is None or entry.looks_early(now):
            return RobotsDecision.FETCH
        has_expired = entry.until <= now
        # After each failed try one URL that the rules allow goes first: the host waits as long as
        # this book, and would else have turns for its robots.txt only
        if has_expired and not entry.owes_now(now):
            return RobotsDecision.FETCH
        return _verdict_of(entry, url)

    def would_say(self, url: str, now: float) -> RobotsDecision:
        """Return the verdict without recording that the URL was asked about."""
        entry = self._entry(origin_of(url))
        if entry is None:
            return self.verdict(url, now)
        owes = entry.owes
        allowed = entry.allowed
        verdict = self.verdict(url, now)
        entry.owes = owes
        entry.allowed = allowed
        return verdict

    def said(self, url: str) -> RobotsSaid | None:
        """Return what the robots.txt of its host says of the use of pages; None for nothing."""
        if not url.startswith(SCHEMES):
            return None
        origin = origin_of(url)
        entry = self._entries.get(origin) or self._entry(origin)
        return entry.rules.said if entry is not None and entry.rules is not None else None

    def sitemaps(self, url: str) -> Sequence[str]:
        """Return the sitemaps that the robots.txt of its host names, the first ones of very many."""
        entry = self._entry(origin_of(url))
        if entry is None or entry.fresh is None:
            return ()
        return entry.fresh.sitemaps or ()

    def next_try(self, url: str) -> float:
        """Return the time at which to try a waiting URL again."""
        entry = self._entry(origin_of(url))
        return entry.until if entry is not None else 0.0

    def tries(self, origin: str) -> int:
        """Return the number of failed fetches of its robots.txt in a row."""
        entry = self._entry(origin)
        return entry.tries if entry is not None else 0

    def is_gone(self, url: str, tries: int = TRIES) -> bool:
        """Return whether it is useless to await this URL.

        It is if its robots.txt has failed so often in a row, and no rules are known.
        """
        entry = self._entry(origin_of(url))
        return entry is not None and entry.rules is None and entry.tries >= tries

    def origins(self, host: str) -> list[str]:
        """Return a host's origins whose robots.txt is known, for commands that inspect a crawl."""
        return self._table.origins(host, ORIGINS)

    def in_force(self, origin: str) -> RobotsEntry | None:
        """Return what is known of an origin's robots.txt, or None.

        It is for commands that inspect a crawl.
        """
        return self._entry(origin)

    def try_again(self, origin: str, now: float) -> None:
        """Fetch an unreachable robots.txt as soon as its host has its next turn."""
        entry = self._entry(origin)
        if entry is None or entry.until <= now:
            return
        is_unreachable = entry.tries > 0 or entry.rules is None
        if is_unreachable:
            self._keep(origin, replace(entry, until=now, owes=False))

    def validators(self, origin: str) -> Validators:
        """Return the validators of the rules at hand, for a conditional request."""
        entry = self._entry(origin)
        if entry is None or entry.rules is None or entry.fresh is None:
            return Validators()
        # A 304 has no body, and so would not name the sitemaps that are wanted for the first time.
        lacks_sitemaps = self._sitemaps and entry.fresh.sitemaps is None
        return Validators() if lacks_sitemaps else entry.fresh.validators

    def record_answer(
        self, origin: str, status: int, body: bytes, now: float, head: RobotsHead = NO_HEAD
    ) -> Heard:
        """Record the response to a robots.txt request: the last hop's, for the first hop's origin."""
        before = self._entry(origin)
        known_rules = before.rules if before is not None else None
        effect = meaning(status)
        if status == NOT_MODIFIED and known_rules is not None:
            effect = RobotsEffect.SAME
        self.counters[effect.name.lower()] += 1
        # Each new row has two others looked at, so the table has at most twice the origins that
        # were requested within the days for which a row is useful
        self._table.sweep(now - self._useful)
        if effect is RobotsEffect.SHUT:
            self._keep(origin, self._failed(before, now))
            return Heard(effect)
        sitemaps: Sequence[str]
        if effect is RobotsEffect.SAME and before is not None and known_rules is not None:
            rules = known_rules
            sitemaps = []
            head = head.completed(before.fresh)
            kept = before.fresh.sitemaps if before.fresh is not None else None
        else:
            # RFC 9309 2.3.1.3: a 4xx allows everything
            text = body if effect is RobotsEffect.READ else b""
            txt = parse(text, self._agent)
            rules = txt.rules
            sitemaps = txt.sitemaps
            kept = tuple(_kept(sitemaps)) if self._sitemaps else None
        self._keep(
            origin,
            RobotsEntry(now + KEEP, rules, fresh=self._fresh(before, rules, now, head, kept)),
        )
        is_read_later = self._lazily and known_rules is None
        return Heard(
            effect,
            self._crawl_delay(origin, rules.crawl_delay, now),
            [] if is_read_later else sitemaps,
        )

    def _fresh(
        self,
        before: RobotsEntry | None,
        rules: RobotsRules,
        now: float,
        head: RobotsHead,
        sitemaps: tuple[str, ...] | None,
    ) -> Fresh:
        """Return when to look again, by what is known of the file's changes."""
        if before is None or before.rules is None:
            return look(now, None, changed=False, head=head, sitemaps=sitemaps)
        # Only our own group is kept, so what changed for other crawlers is no change
        changed = False
        if rules is not before.rules:
            changed = pack(rules, self._agent) != pack(before.rules, self._agent)
        return look(now, before.fresh, changed=changed, head=head, sitemaps=sitemaps)

    # -- failures that were our own network's

    def row(self, origin: str) -> Row:
        return self._table.robots(origin)

    def restore(self, origin: str, row: Row) -> None:
        """Make this row what is known of the origin again."""
        self._store(origin, *(row or (0.0, pack_away(RobotsOutage(0, 0.0), None))))
        old = self._entries.pop(origin, None)
        self._weight -= old.weight if old is not None else 0

    def _failed(self, before: RobotsEntry | None, now: float) -> RobotsEntry:
        """Return the entry after one more failure: it waits longer, and is given up in the end.

        Rules stay in force meanwhile (RFC 9309 2.4). A host that is requested later than planned
        was away for twice the planned time at most, as far as we know: a crawl may have been
        stopped, or the host had no URLs. The last try comes when patience ends, so that nothing is
        given up that is back by then.
        """
        if before is not None and before.fresh is not None and before.looks_early(now):
            # An early look that fails changes nothing: the rules are valid as long as before.
            return replace(before, fresh=replace(before.fresh, soon=now + HOUR), allowed=0)
        tries = 0
        since = now
        rules: RobotsRules | None = None
        # A row that expired longer ago may be swept at any time.
        if before is not None and before.until >= now - self._useful:
            rules = before.rules
            if before.tries:
                tries = before.tries
                late = now - before.until
                since = before.since + max(0.0, late - self._wait(tries))
        tries += 1
        seconds_left = since + self._patience - now
        # It is given up for a day: its URLs end.
        if seconds_left <= 0 and tries >= TRIES:
            return RobotsEntry(now + KEEP, None)
        wait = self._wait(tries)
        if seconds_left > 0:
            wait = min(wait, seconds_left)
        until = now + wait
        fresh = before.fresh if before is not None else None
        return RobotsEntry(until, rules, tries, since, owes=rules is not None, fresh=fresh)

    def _wait(self, tries: int) -> float:
        """Return the seconds until the next try, by the number of tries before it."""
        return wait_after(tries, self._retry_wait, KEEP)

    def _crawl_delay(self, origin: str, seconds: float, now: float) -> float:
        """Return the delay that this host's origins ask for.

        Its http and https share one turn, so the longer delay holds.
        """
        scheme, _, authority = origin.partition(":")
        other = self._entry(f"{SIBLINGS[scheme]}:{authority}") if scheme in SIBLINGS else None
        if other is None or other.rules is None or other.until <= now:
            return seconds
        return max(seconds, other.rules.crawl_delay)

    def _keep(self, origin: str, entry: RobotsEntry) -> None:
        self._store(origin, entry.until, row_of(entry, self._agent))
        self._remember(origin, entry)

    def _store(self, origin: str, until: float, row: bytes) -> None:
        self._table.set_robots(origin, until, row)
        self._absent.discard(origin)

    def _entry(self, origin: str) -> RobotsEntry | None:
        """Return an origin's robots.txt, from memory or else from the table, or None."""
        entry = self._entries.get(origin)
        if entry is not None:
            self._entries.move_to_end(origin)
            return entry
        if origin in self._absent:
            return None
        row = self._table.robots(origin)
        if row is None:
            if len(self._absent) >= ABSENT_ORIGINS_KEPT:
                self._absent.clear()
            self._absent.add(origin)
            return None
        entry = entry_of(*row, self._agent)
        if entry is not None:
            self.counters["loaded"] += 1
            self._remember(origin, entry)
        return entry

    def _remember(self, origin: str, entry: RobotsEntry) -> None:
        old = self._entries.pop(origin, None)
        self._weight += entry.weight - (old.weight if old is not None else 0)
        self._entries[origin] = entry
        while self._weight > self._room or len(self._entries) > HOSTS:
            _, old = self._entries.popitem(last=False)
            self._weight -= old.weight


def _verdict_of(entry: RobotsEntry, url: str) -> RobotsDecision:
    """Decide by an entry that is valid, and book in it that a URL is allowed by it."""
    if entry.rules is None:
        return RobotsDecision.WAIT if entry.tries else RobotsDecision.UNREACHABLE
    if not entry.rules.allowed(url):
        return RobotsDecision.FORBIDDEN
    entry.owes = False
    entry.allowed += 1
    return RobotsDecision.ALLOWED


def _kept(sitemaps: Iterable[str]) -> Iterator[str]:
    """Yield the first ones, as far as there is room."""
    room = SITEMAP_NAMES_LENGTH
    for one in sitemaps:
        room -= len(one)
        if room < 0:
            break
        yield one


def origin_of(url: str) -> str:
    """Return scheme, host and port of a canonical URL."""
    return url[: url.index("/", url.index("//") + 2)]


def robots_url(origin: str) -> str:
    return origin + _PATH
