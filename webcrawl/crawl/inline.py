"""Inline downloads, as the crawl sees them: which host's turn they take, and what is kept of them.

An inline download is one that a callback, a pipeline or a spider's `start` awaits. A page that waits
for one is left out of a checkpoint; if the run then ends, the next one fetches the page again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import blake2b

import msgpack

from webcrawl.base.model import Exchange, Link, Outcome, Packed, Status, url_of
from webcrawl.base.url_text import host_of
from webcrawl.crawl.admission import RobotsAdmission
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.crawl_log import CrawlLog, count_known, note_of
from webcrawl.crawl.discovery import OtherDrones
from webcrawl.crawl.uplink import Uplink
from webcrawl.frontier.core import Decision
from webcrawl.frontier.protocol import Lends
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.urls.canonical import canonical

META = "halfway"

KEY_BYTES = 8
LOOK_INTERVAL = 5.0  # seconds between two looks while nothing is fetched
NOTE = "inline"  # in crawl.log


class Halfway(Part):
    """By unfinished page: the keys of its inline downloads that are logged and archived already.

    The next run fetches such a page again, with its inline downloads, and must not log those twice.
    """

    def __init__(self, db: CrawlDB) -> None:
        """Restore what the callbacks of unfinished pages had downloaded before the stop."""
        self._db = db
        data = db.get(META)
        self._of_former_runs: dict[str, set[bytes]] = {}
        if data is not None:
            self._of_former_runs = {url: set(keys) for url, keys in msgpack.unpackb(data).items()}
        # Keys, and not what was downloaded: to hold that back until the page is finished would cost
        # as much memory as the images.
        self._of_this_run: dict[str, set[bytes]] = {}
        self._is_saved = bool(self._of_former_runs)  # the last checkpoint has any page
        db.join(self)

    def __bool__(self) -> bool:
        """Return whether there is any page. Most crawls never have one."""
        return bool(self._of_this_run or self._of_former_runs)

    def comes_again(self, page: str) -> bool:
        """Return whether a former run began this page: then its body is no duplicate of its own."""
        return page in self._of_former_runs

    def is_new(self, page: str, key: bytes) -> bool:
        """Return whether no former run has logged and archived this download; if so, note it."""
        if key in self._of_former_runs.get(page, ()):
            return False
        self._of_this_run.setdefault(page, set()).add(key)
        return True

    def leave_out(self, pages: Iterable[str]) -> None:
        """Note that pages are being processed, and not in the checkpoint that follows."""
        for page in pages:
            self._of_this_run.setdefault(page, set())

    def finished(self, page: str) -> None:
        self._of_this_run.pop(page, None)
        self._of_former_runs.pop(page, None)

    # -- the checkpoint

    def save(self) -> None:
        if self or self._is_saved:
            pages = {
                url: [*self._of_former_runs.get(url, ()), *self._of_this_run.get(url, ())]
                for url in {**self._of_former_runs, **self._of_this_run}
            }
            self._db.set(META, msgpack.packb(pages))
            self._is_saved = bool(pages)


def link_of(url: str, page: Link | None, via: str = "") -> Link:
    """Return the link of a URL that a page awaits, or a spider's `start` if `page` is None.

    Raise InvalidUrl if it has no canonical form. `via`: where it came from, without a page.
    """
    if page is None:
        return Link(canonical(url), "E", via)
    return Link(canonical(url), page.path + "E", page.url, page.seed)


class InlineDownloads:
    """Lends hosts to inline downloads, and counts and logs these.

    A download takes its host's turn by `lend` and ends it by `give_back`. In between it waits for no
    page, so that no two downloads can wait for each other.
    """

    def __init__(
        self,
        lending: Lends,
        robots: RobotsAdmission,
        clock: CrawlClock,
        *,
        log: CrawlLog,
        counters: Counter[str],
        halfway: Halfway,
        uplink: Uplink,
        rests: Callable[[], bool],
        excludes: Callable[[str], bool],
        other_drones: OtherDrones | None = None,
    ) -> None:
        """Take the parts of the crawl that a download for a callback concerns.

        `lending`: the frontier's hosts for such downloads.
        `robots`: the rules that say which URLs may be fetched.
        `clock`: the crawl's time.
        `log`: gets a line for each download.
        `counters`: of the crawl.
        `halfway`: the downloads of pages that have not ended, which a former run may have logged.
        `uplink`: knows whether our own network is out.
        `rests`: whether the crawl may fetch nothing now; then no host is lent, and callers wait.
        `excludes`: whether a rule that is in force by now refuses a URL.
        `other_drones`: own some of the hosts, in a hive.
        """
        self._other_drones = other_drones
        self._uplink = uplink
        self.rests = rests
        self.excludes = excludes
        self._lending = lending
        self._clock = clock
        self._log = log
        self._counters = counters
        self._robots = robots
        self._halfway = halfway

    def lend(
        self,
        link: Link,
        in_flight: Callable[[str], Outcome | None],
        *,
        impatient: bool = False,
    ) -> Decision:
        """Lend the link's host, and return what to ask it for, as `HostLender.lend` does.

        `in_flight` tells how the download of a URL ended; None while it is under way. A callback
        waits for the answer. So a link whose robots.txt was unreachable several times is refused,
        where a link in a queue would wait. An impatient one is refused after the first failure, of
        the robots.txt or of the host.
        """
        if self._other_drones is not None and not self._other_drones.is_ours(link.url):
            return Status.OUT_OF_SCOPE  # two drones must not ask one host
        now = self._clock()
        # While our network is out, one in 20 seconds goes out as a probe. If none did, pages that
        # wait for inline downloads could hold all hosts, and nobody would notice its return.
        if self.rests() or not self._uplink.may_await(now):
            return now + LOOK_INTERVAL

        def outcome_and_end(record: Packed) -> tuple[Outcome, float] | None:
            """Return how the download of a packed link ended, and when, in the crawl's time."""
            outcome = in_flight(url_of(record))
            return None if outcome is None else (outcome, self._ended_at(outcome))

        decision = self._lending.lend(link, now, outcome_and_end)
        is_lent = decision is None or isinstance(decision, Link)
        if is_lent:
            self._uplink.awaited(now)
        # A float is a time to wait until, which for such a robots.txt may be a day ahead.
        must_wait = isinstance(decision, float)
        if must_wait and self._robots.is_gone(link, at_once=impatient):
            return Status.ROBOTS_UNREACHABLE
        if must_wait and impatient and self._lending.is_failing(link.url):
            return Status.HOST_RETIRED
        return decision

    def may_repeat(self) -> bool:
        """Return whether a download that could not be made may go out again in the same turn.

        If so, note that one goes out, as `lend` does.
        """
        now = self._clock()
        if self.rests() or not self._uplink.may_await(now):
            return False
        self._uplink.awaited(now)
        return True

    def give_back(self, link: Link, outcome: Outcome | None) -> None:
        """Note that a request to a host has ended; without an outcome if its caller gave up."""
        ended = self._clock() if outcome is None else self._ended_at(outcome)
        self._lending.give_back(host_of(link.url), outcome, ended)

    def now(self) -> float:
        return self._clock()

    def seconds_until(self, name: str) -> float:
        """Return the seconds until the host may be requested: 0 or less if it may, infinite while
        lent.
        """
        return self._lending.ready_at(name) - self._clock()

    def seconds_reserved(self, name: str) -> float:
        """Return the seconds until the frontier may have the host; 0 or less if it may now.

        It may at once if the host is retired, for then its URLs are to be dropped.
        """
        return 0.0 if self._lending.is_retired(name) else self.seconds_until(name)

    def wait(self, name: str) -> float:
        """Return the seconds between two requests to the host."""
        return self._lending.wait(name)

    def release(self, name: str) -> None:
        """Give a host back to the frontier."""
        self._lending.release(name, self._clock())

    def again(self, link: Link, outcome: Outcome) -> Link | None:
        """Return the link of the next attempt, or None if the outcome is final."""
        if not self._lending.again(link, outcome):
            return None
        return replace(link, attempt=link.attempt + 1)

    def record_attempt(
        self,
        link: Link,
        page: Link | None,
        variant: str,
        outcome: Outcome,
        exchange: Exchange | None,
        *,
        last: bool,
    ) -> bool:
        """Count the end of an attempt to download for a callback, and log the last attempt.

        `page`: whose callback awaits the download; None for a spider's `start`. Return False, and do
        nothing, if a former run has logged it already: it must not be archived twice either.
        """
        if not self._is_new(link, page, variant):
            return False
        self._counters["inline"] += 1
        self._counters["inline/failures"] += outcome.status < 0
        if exchange is not None:
            self._counters["bytes"] += exchange.received
            if exchange.state.refers is not None:
                count_known(self._counters, exchange)
        if last:
            self._log.finished(link, outcome, exchange, _notes_of(exchange))
        return True

    def refused(self, link: Link, page: Link | None, variant: str, status: int) -> None:
        """Count and log a link that is not to be fetched."""
        if not self._is_new(link, page, variant):
            return
        self._counters["inline/refused"] += 1
        self._log.finished(link, Outcome(status), None, [NOTE])

    def _is_new(self, link: Link, page: Link | None, variant: str) -> bool:
        """Return whether no former run has logged this attempt for the page; if so, note it."""
        attempt = f"{link.attempt} {variant} {link.url}"
        key = blake2b(attempt.encode(), digest_size=KEY_BYTES).digest()
        return page is None or self._halfway.is_new(page.url, key)

    def _ended_at(self, outcome: Outcome) -> float:
        """Return the crawl's time at which a download ended; 0 if no host was requested."""
        return self._clock.at(outcome.ended) if outcome.ended else 0.0


def _notes_of(exchange: Exchange | None) -> list[str]:
    """Return the notes of an inline download in crawl.log."""
    notes = [NOTE]
    if exchange is None:
        return notes
    if exchange.truncated:
        notes.append(f"truncated:{exchange.truncated}")
    if exchange.state.refers is not None:
        notes.append(note_of(exchange))
    return notes
