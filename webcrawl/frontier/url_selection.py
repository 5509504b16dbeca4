"""Selects what a host is asked for next: its first URL that may be, or what must come before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from time import thread_time

from webcrawl.base.model import Link, Packed, Status, is_sitemap, unpack, url_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.core import Core, Decision, OriginWait
from webcrawl.frontier.families.shapes import CLOSE, WIDE, Families, shape_of
from webcrawl.frontier.front_end import Sift
from webcrawl.frontier.health import MAX_ROW, ROW, errors_in_a_row
from webcrawl.frontier.host_origins import turns
from webcrawl.frontier.host_queues import LISTED, REVISITS, PriorityQueues
from webcrawl.frontier.host_state import HostStates
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.wait_words import ROBOTS

Folds = Callable[[Link, Packed], bool]
# URLs of one host that are dropped, or let others pass, per turn. A queue may begin with URLs of a
# dead http while https is up.
DROPS = 256
LOOKED = 512  # URLs of one host among which one of another kind is looked for
# Seconds of the processor that a host's turn may take with URLs that are dropped, and times as long
# that it then rests: a verdict by thousands of patterns of a robots.txt may take 40 ms, and a page
# may link to thousands of URLs.
DEAR, REST = 0.01, 10.0
NEVER = float("inf")
# seconds that a host waits with a URL of an origin that waits; for longer that origin waits alone
MOMENT = 1.0
# seconds that a host waits with a URL, e.g. for a redirected robots.txt, rather than look for
# another
SOON = 30.0


class UrlSelection:
    """Takes URLs out of a host's queues, and puts back those that have to wait."""

    def __init__(
        self, core: Core, states: HostStates, reserved: AbstractSet[str], folds: Folds | None
    ) -> None:
        """`reserved`: hosts that inline downloads have.

        `folds` takes a URL that waits behind all of its domain.
        """
        self._core = core
        self._states = states
        self._several = states.several
        self._reserved = reserved
        self._folds = folds
        self._front = core.queues.front
        self._hosts = core.hosts
        self._back = core.back
        self._addresses = core.addresses

    def hand_out(self, host: Host, now: float) -> Link | None:
        """Return what a host that is due is asked for.

        None if it cannot be asked now; then it is where it belongs.
        """
        if not self._may_be_asked(host, now):
            return None
        # A failure may be the URL's: another kind of URL shows whether it is the host's.
        if host.failed is not None:
            self._lead_with_another(host)
        is_plain = host.origins is None
        given = self._first_of(host, host, now) if is_plain else self._first_of_origins(host, now)
        if given is None:
            self._states.settle(host, now)
        elif host.lanes is not None:
            self._several.handed_out(host, given, now)
        return given

    def _may_be_asked(self, host: Host, now: float) -> bool:
        """Return whether the turn of this host has come; if not, its next turn is scheduled."""
        if self._reserved and host.name in self._reserved:
            # Inline downloads go first. Then the host is scheduled again.
            return False
        if host.given is not None and not self._several.may_go_on(host, now):
            return False
        if self._addresses is None or not host.ip:
            return True
        return self._holds(self._addresses, host, now)

    def _holds(self, addresses: Addresses, host: Host, now: float) -> bool:
        """Return whether the host has its address for itself; otherwise it gets its turn later."""
        again = addresses.hold(host, now)
        if again is not None and again < NEVER:
            self._back.schedule(host, again)
        return again is None

    def received(self, link: Link) -> Host:
        """Return the host of a link in flight, which no longer is."""
        host = self._back.active[host_of(link.url)]
        if host.given is None:
            raise ValueError(f"this URL was not handed out: {link.url}")
        host.given = None
        if host.lanes is not None:
            self._several.ended(host, link)
        self._core.in_flight -= 1
        self._back.slots.asked[host.standing] -= 1
        self._hosts.touch(host)
        return host

    def _first_of_origins(self, host: Host, now: float) -> Link | None:
        """Give the first URL of a host some of whose origins have records of their own."""
        for record in turns(host, now):
            given = self._first_of(host, record, now)
            if given is not None:
                record.given = host.given
                return given
        self._core.origins.tidy(host)
        return None

    def _first_of(self, host: Host, one: Host, now: float) -> Link | None:
        """Give the first URL that may be asked for, or what must be asked for first.

        `one` is the record with the URLs: the host's own, or that of one of its origins.
        """
        given: Link | None = None
        passed: list[tuple[float | Link, bytes]] = []
        # This thread's time alone: a merge in another thread is not the host's doing.
        begun = thread_time()
        for _ in range(DROPS):
            record = self._next(one, now)
            if record is None:
                break
            self._hosts.touch(host)
            link = unpack(record)
            if self._waits_elsewhere(host, one, link, record, now):
                continue
            self._core.queued -= 1
            if self._is_held_up(host, one, link):
                self.put_back(one, record)
                break
            # The URLs of an origin that is given up end, whatever admission says.
            end = one.retired if one is not host else 0
            decision = end or self._decide(host, link, now)
            if not decision:
                given = self._give(host, link, record)
                break
            if isinstance(decision, Link) and not _lets_pass(host, one, decision):
                self.put_back(one, record)
                if host.given is None or not self._several.waits(host, decision):
                    given = self._give(host, decision, decision.pack())
                break
            if not self._is_settled(host, one, link, record, decision, now):
                passed.append((decision, record))
            if _is_enough(host, one, decision, begun, now):
                break
        return self._pass_over(host, one, passed, now, given) if passed else given

    def _is_settled(
        self, host: Host, one: Host, link: Link, record: bytes, decision: Link | float, now: float
    ) -> bool:
        """Return whether a URL that may not be asked for has ended, or waits with its origin."""
        if isinstance(decision, int):
            self._core.drop(link, decision)
            return True
        if isinstance(decision, OriginWait) and (one is not host or decision > now + MOMENT):
            self._core.queued += 1
            self._core.origins.wait(host, link.url, record, float(decision))
            return True
        return False

    def _waits_elsewhere(
        self, host: Host, one: Host, link: Link, record: bytes, now: float
    ) -> bool:
        """Put a URL where it waits, and return whether it waits elsewhere.

        Its origin may have a record of its own, or its family wait behind its domain.
        """
        if host.origins is not None and one is host:
            own = self._core.origins.own(host, link.url)
            if own is not None:
                self._core.origins.hold(own, record, now)
                return True
        return self._folds is not None and not host.retired and self._folds(link, record)

    def _is_held_up(self, host: Host, one: Host, link: Link) -> bool:
        """Return whether this is not yet the turn of a URL.

        Its host was given up for another origin, or is asked for others.
        """
        if host.retired and one is host and self._core.origins.set_apart_for(host, link.url):
            return True
        return host.given is not None and self._several.waits(host, link)

    def _lead_with_another(self, host: Host) -> None:
        """Let a URL of another kind than those that have failed go first.

        It does so if one more failure would be the host's.

        A server may fail at all that one of its programs makes, eight links in a row, and be well.
        """
        if host.retired or not host.later or host.later[0][0] <= 0.0:
            return
        if not host.failures and len(errors_in_a_row(host)) < ROW - 1:
            return
        failed = [shape_of(url_of(record)).families for _, record in host.later[:MAX_ROW]]
        waiting = (shape_of(url_of(record)).families for record in host.queue.first(LOOKED))
        at = _another(waiting, failed)
        if not at:  # none, or the first
            return
        passed = [*filter(None, (host.queue.pop() for _ in range(at + 1)))]
        heappush(host.later, (0.0, passed.pop()))
        host.queue.push_all(passed)
        self._hosts.touch(host)

    def _next(self, host: Host, now: float) -> bytes | None:
        """Return the host's next record: due retries first, then by priority.

        For a retired host the order does not matter.
        """
        if self._front.sift is not None:
            self._choose(self._front.sift, host)
        if host.later:
            may_be_retried = host.later[0][0] <= now or host.retired
            if may_be_retried and _retry_goes_first(host):
                return heappop(host.later)[1]
        ranked = host.ranked
        if ranked is None or not ranked.queues:  # most hosts have one queue
            return host.queue.pop()
        return self._next_by_priority(host, ranked)

    def _next_by_priority(self, host: Host, ranked: PriorityQueues) -> bytes | None:
        """Return the next record of a host that has several queues.

        What is fetched again takes turns with all others, and so does what sitemaps name with what
        pages link to.
        """
        revisits = ranked.place(REVISITS)
        if revisits and self._front.old_goes_first():
            return ranked.pop(revisits)
        if ranked.before():
            return ranked.pop()
        # In turns, because a sitemap that lies would else be believed for 50,000 requests.
        listed = ranked.place(LISTED)
        if listed and _is_turn_of_listed(host):
            return ranked.pop(listed)
        if host.queue.count:
            return host.queue.pop()
        return ranked.pop()

    def _choose(self, sift: Sift[bytes], host: Host) -> None:
        """Let the best of what is next go first; for a retired host the order does not matter."""
        if host.queue.count <= 1 or host.retired:
            return
        has_urls_before = host.ranked is not None and host.ranked.before()
        if not has_urls_before:
            sift.choose(host.queue, self._hosts.chosen(host))

    def _decide(self, host: Host, link: Link, now: float) -> Decision:
        if host.listed is not None and host.listed.full:
            would_name_urls = is_sitemap(link.path) and not link.history
            # All URLs that it names would be left out.
            if would_name_urls:
                return Status.HOST_BUDGET
        decision = self._ends(host, link, now) if host.retired else None
        if decision or self._core.admission is None:
            return decision
        return self._core.admission(link, now)

    def _ends(self, host: Host, link: Link, now: float) -> Decision:
        """Return how URLs of a retired host end.

        HOST_MAX_PAGES is about new pages only: others wait for their turn.
        """
        if host.retired != Status.HOST_BUDGET or not link.is_revisit:
            return host.retired
        ready = host.rested_at()
        return ready if ready > now else None

    def _pass_over(
        self,
        host: Host,
        one: Host,
        passed: list[tuple[float | Link, bytes]],
        now: float,
        given: Link | None,
    ) -> Link | None:
        """Put back URLs that let others pass.

        They wait for long, or need a request to be repeated.

        A host may be down by http and up by https. If there is nothing else, the request that was
        made least often is repeated, or the host waits.
        """
        repeated: Link | None = None
        until = NEVER
        for decision, record in passed:
            if isinstance(decision, float):
                until = min(until, decision)
                waits_for_long = decision > now + SOON
            else:
                waits_for_long = True
                if repeated is None or decision.attempt < repeated.attempt:
                    repeated = decision
            self.put_back(one, record, last=waits_for_long)
        if given is None and repeated is not None:
            return self._give(host, repeated, repeated.pack())
        if given is None and until > one.ready_at:
            one.ready_at = until
            one.left = (until, ROBOTS)
        return given

    def _give(self, host: Host, link: Link, record: bytes) -> Link:
        host.given = record
        host.stay += 1
        self._core.in_flight += 1
        self._back.slots.asked[host.standing] += 1
        self._core.counters["taken"] += 1
        return link

    def put_back(self, host: Host, record: bytes, *, last: bool = False) -> None:
        """Put the record back, as the host's first or its last."""
        if last:
            self._hosts.queue_for(host, record).push(record)
        else:
            heappush(host.later, (0.0, record))
        self._core.queued += 1


def _another(urls: Iterable[Families], failed: Sequence[Families]) -> int:
    """Return the place of the first whose wide family has not failed, or else its close one.

    0 if there is none.
    """
    wide = {families[WIDE] for families in failed}
    close = {families[CLOSE] for families in failed}
    second: int | None = None
    for at, families in enumerate(urls):
        if families[WIDE] not in wide:
            return at
        if second is None and families[CLOSE] not in close:
            second = at
    return second or 0


def _lets_pass(host: Host, one: Host, decision: Link) -> bool:
    """Return whether a URL that needs this robots.txt first lets others pass.

    A new origin says little of a failing host that has had pages: any page may link to its closed
    ports.
    """
    if one is not host or not host.failures:
        return False
    return decision.attempt > 0 or host.pages > 0


def _is_enough(host: Host, one: Host, decision: Link | float, begun: float, now: float) -> bool:
    """Return whether a host's turn ends with this URL.

    It does if the host waits with it, or if the turn has cost too much; then the host rests.
    """
    if isinstance(decision, OriginWait) and decision > now + MOMENT:
        return one is not host
    if isinstance(decision, float):
        return decision <= now + SOON
    if isinstance(decision, Link):
        return False
    spent = thread_time() - begun
    if spent <= DEAR:
        return False
    host.ready_at = max(host.ready_at, now + REST * spent)
    return True


def _is_turn_of_listed(host: Host) -> bool:
    """Return whether a URL that a sitemap names is next, and none that a page links to."""
    if not host.queue.count:
        return True
    return host.listed is None or host.listed.has_turn()


def _retry_goes_first(host: Host) -> bool:
    """Return whether a retry that is due goes before all other URLs of its host.

    If the host is failing, another URL shows whose fault it is; but what was put back goes first
    (FIRST, 0).
    """
    if not host.failures or host.later[0][0] <= 0.0:
        return True
    has_others = host.queue.count or (host.ranked is not None and host.ranked.queues)
    return not has_others
