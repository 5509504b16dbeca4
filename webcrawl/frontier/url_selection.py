"""Selects the next URL of a host: its first that may be requested, or what must come before it.

Which host comes next is decided in frontier.py (`Frontier.take`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from time import thread_time

from webcrawl.base.model import Link, Packed, Status, is_sitemap, unpack, url_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.core import Core, Decision, OriginWait
from webcrawl.frontier.families.shapes import CLOSE, WIDE, FamilyNumbers, shape_of
from webcrawl.frontier.front_end import Sift
from webcrawl.frontier.health import MAX_ROW, ROW, errors_in_a_row
from webcrawl.frontier.host_origins import has_failing, is_turn_of_well, turns
from webcrawl.frontier.host_queues import LISTED, REVISITS, PriorityQueues
from webcrawl.frontier.host_state import HostStates
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.wait_words import ROBOTS

HoldsFolded = Callable[[Link, Packed], bool]
# URLs of one host that one turn may drop or pass over. A queue may begin with URLs of a dead http
# while https is up.
URLS_PASSED_PER_TURN = 256
URLS_LOOKED_THROUGH = 512  # of one host, for a URL of another kind than those that have failed
# A turn ends when its dropped URLs have taken so many seconds of processor time. The host then
# rests for REST_TIMES as long. A verdict by thousands of patterns of a robots.txt may take 40 ms,
# and a page may link to thousands of URLs.
COSTLY_TURN_SECONDS, REST_TIMES = 0.01, 10.0
NEVER = float("inf")
# Seconds: if an origin waits for no longer than that, its host waits with it; for longer the origin
# waits alone.
HOST_WAITS_FOR_ORIGIN = 1.0
# Seconds: if a URL waits for no longer than that, e.g. for a redirected robots.txt, its host waits
# with it; for longer another URL of the host is looked for.
HOST_WAITS_WITH_URL = 30.0


class UrlSelection:
    """Takes URLs out of a host's queues, and puts back those that have to wait."""

    def __init__(
        self,
        core: Core,
        states: HostStates,
        reserved: AbstractSet[str],
        holds_folded: HoldsFolded | None,
    ) -> None:
        """`reserved`: names of hosts that inline downloads use now.

        `holds_folded` takes a URL whose family is folded, to wait behind all URLs of its domain.
        It returns whether it took the URL.
        """
        self._core = core
        self._states = states
        self._several = states.several
        self._reserved = reserved
        self._holds_folded = holds_folded
        self._front = core.queues.front
        self._hosts = core.hosts
        self._back = core.back
        self._addresses = core.addresses

    def hand_out(self, host: Host, now: float) -> Link | None:
        """Return the link to request from a due host now, or None if it cannot be requested.

        The link is in flight then. Without one, the host is settled (`HostStates.settle`).
        """
        if not self._may_be_requested(host, now):
            return None
        # A failure may be the URL's: another kind of URL shows whether it is the host's.
        if host.failed is not None:
            self._lead_with_another(host)
        has_one_record = host.origins is None
        given = (
            self._first_of(host, host, now) if has_one_record else self._first_of_origins(host, now)
        )
        if given is None:
            self._states.settle(host, now)
        elif host.lanes is not None:
            self._several.handed_out(host, given, now)
        return given

    def _may_be_requested(self, host: Host, now: float) -> bool:
        """Return whether the turn of this host has come.

        If not, its next turn is scheduled, here or by the end of what it waits for.
        """
        # Inline downloads go first. Their end schedules the host again.
        if self._reserved and host.name in self._reserved:
            return False
        if host.given is not None and not self._several.may_go_on(host, now):
            return False
        if self._addresses is None or not host.ip:
            return True
        return self._reserve_address(self._addresses, host, now)

    def _reserve_address(self, addresses: Addresses, host: Host, now: float) -> bool:
        """Reserve the host's address for it. Return whether no other host uses or waits for it.

        Otherwise the host is scheduled for the time when the address is free, if that is known.
        """
        free_at = addresses.reserve_address(host, now)
        if free_at is not None and free_at < NEVER:
            self._back.schedule(host, free_at)
        return free_at is None

    def received(self, link: Link) -> Host:
        """End the flight of a link, whatever came of it. Return its host.

        Raise ValueError if the link was not handed out.
        """
        host = self._back.active[host_of(link.url)]
        if host.given is None:
            raise ValueError(f"this URL was not handed out: {link.url}")
        host.given = None
        if host.lanes is not None:
            self._several.ended(host, link)
        self._core.in_flight -= 1
        self._back.slots.in_flight[host.standing] -= 1
        self._hosts.touch(host)
        return host

    def _first_of_origins(self, host: Host, now: float) -> Link | None:
        """Hand out the first URL of a host some of whose origins have records of their own.

        Without one, origins of which nothing is left to remember are forgotten.
        """
        for owner in turns(host, now):
            given = self._first_of(host, owner, now)
            if given is not None:
                owner.given = host.given
                return given
        self._core.origins.tidy(host)
        return None

    def _first_of(self, host: Host, owner: Host, now: float) -> Link | None:
        """Hand out the first URL that may be requested, or the link that must be requested first.

        `owner` is the record with the URLs: the host's own, or that of one of its origins. URLs on
        the way are dropped, moved to where they wait, or passed over, i.e. put back at the end.
        """
        given: Link | None = None
        # with what each waits for: a time, or a link that must be requested before
        passed_over: list[tuple[float | Link, bytes]] = []
        # This thread's time alone: a merge in another thread is not the host's doing.
        begun = thread_time()
        for _ in range(URLS_PASSED_PER_TURN):
            record = self._pop_next(owner, now)
            if record is None:
                break
            self._hosts.touch(host)
            link = unpack(record)
            if self._is_moved_elsewhere(host, owner, link, record, now):
                continue
            self._core.queued -= 1
            if self._is_held_up(host, owner, link):
                self.put_back(owner, record)
                break
            # The URLs of an origin that is given up end, whatever admission says.
            end_status = owner.retired if owner is not host else 0
            decision = end_status or self._decide(host, link, now)
            if not decision:
                given = self._give(host, link, record)
                break
            # A robots.txt must be requested first, and the URL goes first after it.
            if isinstance(decision, Link) and not _lets_pass(host, owner, decision):
                self.put_back(owner, record)
                if host.given is None or not self._several.waits(host, decision):
                    given = self._give(host, decision, decision.pack())
                break
            if not self._is_finished_or_moved(host, owner, link, record, decision, now):
                passed_over.append((decision, record))
            if _ends_turn(host, owner, decision, begun, now):
                break
        return (
            self._put_back_passed_over(host, owner, passed_over, now, given)
            if passed_over
            else given
        )

    def _is_finished_or_moved(
        self, host: Host, owner: Host, link: Link, record: bytes, decision: Link | float, now: float
    ) -> bool:
        """Drop a URL that ends by `decision`, or move it to its origin if that has to wait.

        Return whether either was done; otherwise the URL is to be passed over.
        """
        if isinstance(decision, int):
            self._core.drop(link, decision)
            return True
        if isinstance(decision, OriginWait) and (
            owner is not host or decision > now + HOST_WAITS_FOR_ORIGIN
        ):
            self._core.queued += 1
            self._core.origins.wait(host, link.url, record, float(decision))
            return True
        return False

    def _is_moved_elsewhere(
        self, host: Host, owner: Host, link: Link, record: bytes, now: float
    ) -> bool:
        """Move a URL that waits elsewhere than in this queue. Return whether it was moved.

        It goes to its origin's own record if that exists, or behind its domain if its family is
        folded.
        """
        if host.origins is not None and owner is host:
            origin = self._core.origins.own(host, link.url)
            if origin is not None:
                self._core.origins.queue_url(origin, record, now)
                return True
        return (
            self._holds_folded is not None and not host.retired and self._holds_folded(link, record)
        )

    def _is_held_up(self, host: Host, owner: Host, link: Link) -> bool:
        """Return whether the host's next URL has to stay where it is for now.

        The host was given up for another origin, which is set apart here, so that the host goes on
        at its next turn. Or the link must not be requested beside others in flight to the host.
        """
        if host.retired and owner is host and self._core.origins.set_apart_for(host, link.url):
            return True
        return host.given is not None and self._several.waits(host, link)

    def _lead_with_another(self, host: Host) -> None:
        """Let a URL of another kind than those with errors in a row go first.

        That is done only if one more error would be the host's.
        """
        # A server may fail at all that one of its programs makes, eight links in a row, and be
        # well.
        if host.retired or not host.later or host.later[0][0] <= 0.0:
            return
        if not host.failures and len(errors_in_a_row(host)) < ROW - 1:
            return
        failed = [shape_of(url_of(record)).families for _, record in host.later[:MAX_ROW]]
        waiting = (
            shape_of(url_of(record)).families for record in host.queue.first(URLS_LOOKED_THROUGH)
        )
        index = _index_of_other_kind(waiting, failed)
        if not index:  # there is none, or it is the first anyway
            return
        popped = [*filter(None, (host.queue.pop() for _ in range(index + 1)))]
        heappush(host.later, (0.0, popped.pop()))  # 0.0: it goes first, as what was put back
        host.queue.push_all(popped)
        self._hosts.touch(host)

    def _pop_next(self, host: Host, now: float) -> bytes | None:
        """Remove and return the record's next URL: due retries first, then by priority.

        None if no URL is due. Retries of a retired host need not be due.
        """
        if self._front.sift is not None:
            self._put_best_first(self._front.sift, host)
        if host.later:
            may_be_retried = host.later[0][0] <= now or host.retired
            if may_be_retried and _retry_goes_first(host):
                return heappop(host.later)[1]
        ranked = host.ranked
        if ranked is None or not ranked.queues:  # most hosts have one queue
            return host.queue.pop()
        return self._next_by_priority(host, ranked)

    def _next_by_priority(self, host: Host, ranked: PriorityQueues) -> bytes | None:
        """Remove and return the next URL of a host that has several queues.

        Revisits take turns with all other URLs, and URLs from sitemaps with URLs from pages.
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

    def _put_best_first(self, sift: Sift[bytes], host: Host) -> None:
        """Move the best of the host's next URLs into its queue of chosen URLs, which goes first.

        Nothing is chosen while URLs wait that go before `host.queue`, nor for a retired host.
        """
        if host.queue.count <= 1 or host.retired:
            return
        has_urls_before = host.ranked is not None and host.ranked.before()
        if not has_urls_before:
            sift.choose(host.queue, self._hosts.chosen(host))

    def _decide(self, host: Host, link: Link, now: float) -> Decision:
        """Return the decision on a URL: its host's, if that is retired or full, or admission's."""
        if host.listed is not None and host.listed.full:
            # All URLs that a sitemap names would be left out now.
            is_new_sitemap = is_sitemap(link.path) and not link.history
            if is_new_sitemap:
                return Status.HOST_BUDGET
        decision = self._decide_for_retired(host, link, now) if host.retired else None
        if decision or self._core.admission is None:
            return decision
        return self._core.admission(link, now)

    def _decide_for_retired(self, host: Host, link: Link, now: float) -> Decision:
        """Return the Status with which a URL of a retired host ends.

        HOST_MAX_PAGES is about new pages only: for a revisit the result is the time to wait for, or
        None if it may be fetched now.
        """
        if host.retired != Status.HOST_BUDGET or not link.is_revisit:
            return host.retired
        ready = host.rested_at()
        return ready if ready > now else None

    def _put_back_passed_over(
        self,
        host: Host,
        owner: Host,
        passed_over: list[tuple[float | Link, bytes]],
        now: float,
        given: Link | None,
    ) -> Link | None:
        """Put back the URLs of this turn that were passed over. Return the link handed out.

        `passed_over` has each with its decision: the time that it waits for, or the prerequisite
        that it needs. `given` is the link that was handed out already. If there is none, the
        prerequisite with the fewest attempts is handed out; without one, the record waits until the
        first of these times. A host may be down by http and up by https.
        """
        repeated: Link | None = None
        until = NEVER
        for decision, record in passed_over:
            if isinstance(decision, float):
                until = min(until, decision)
                waits_for_long = decision > now + HOST_WAITS_WITH_URL
            else:
                waits_for_long = True
                if repeated is None or decision.attempt < repeated.attempt:
                    repeated = decision
            self.put_back(owner, record, last=waits_for_long)
        if given is None and repeated is not None:
            return self._give(host, repeated, repeated.pack())
        if given is None and until > owner.ready_at:
            owner.ready_at = until
            owner.left = (until, ROBOTS)
        return given

    def _give(self, host: Host, link: Link, record: bytes) -> Link:
        """Book that a link is in flight, and return it; `record`: the link as it is saved."""
        host.given = record
        host.stay += 1
        self._core.in_flight += 1
        self._back.slots.in_flight[host.standing] += 1
        self._core.counters["taken"] += 1
        return link

    def put_back(self, host: Host, record: bytes, *, last: bool = False) -> None:
        """Put a URL back that was taken out of a queue of the host, as its first or its `last`."""
        if last:
            self._hosts.queue_for(host, record).push(record)
        else:
            heappush(host.later, (0.0, record))
        self._core.queued += 1


def _index_of_other_kind(urls: Iterable[FamilyNumbers], failed: Sequence[FamilyNumbers]) -> int:
    """Return the index of the first URL of a wide family that has not failed.

    Without one, of the first of a close family that has not failed; 0 without that either.
    """
    wide = {families[WIDE] for families in failed}
    close = {families[CLOSE] for families in failed}
    other_close_family: int | None = None
    for index, families in enumerate(urls):
        if families[WIDE] not in wide:
            return index
        if other_close_family is None and families[CLOSE] not in close:
            other_close_family = index
    return other_close_family or 0


def _lets_pass(host: Host, owner: Host, decision: Link) -> bool:
    """Return whether a URL is passed over that needs this robots.txt (`decision`) first.

    That is so while its host fails, and at every second turn while one of its origins does: if the
    robots.txt was tried before, or if the host has given pages. Then a new origin says little of the
    host, as any page may link to its closed ports.
    """
    if owner is not host:
        return False
    has_failed = host.failures or (is_turn_of_well(host) and has_failing(host))
    if not has_failed:
        return False
    return decision.attempt > 0 or host.pages > 0


def _ends_turn(host: Host, owner: Host, decision: Link | float, begun: float, now: float) -> bool:
    """Return whether a host's turn ends with this URL, on which the decision was not to fetch it.

    It does if the host waits with the URL, or if the turn has cost too much since `begun`; then the
    host rests.
    """
    if isinstance(decision, OriginWait) and decision > now + HOST_WAITS_FOR_ORIGIN:
        return owner is not host
    if isinstance(decision, float):
        return decision <= now + HOST_WAITS_WITH_URL
    if isinstance(decision, Link):
        return False
    spent = thread_time() - begun
    if spent <= COSTLY_TURN_SECONDS:
        return False
    host.ready_at = max(host.ready_at, now + REST_TIMES * spent)
    return True


def _is_turn_of_listed(host: Host) -> bool:
    """Return whether the host's next URL is one that a sitemap names, not one from a page.

    The turn is used up by the call.
    """
    if not host.queue.count:
        return True
    return host.listed is None or host.listed.has_turn()


def _retry_goes_first(host: Host) -> bool:
    """Return whether a retry that is due goes before all other URLs of its host.

    While the host fails, another URL goes first, as it shows whose fault the failures are. Records
    that were put back have the time 0 or FIRST, and always go first.
    """
    if not host.failures or host.later[0][0] <= 0.0:
        return True
    has_others = host.queue.count or (host.ranked is not None and host.ranked.queues)
    return not has_others
