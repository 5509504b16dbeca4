"""The origins of a host: scheme, host and port.

What is wrong with one of them makes only its own URLs wait.

Nearly every host has one origin with URLs, and is booked as a whole. An origin gets a record of its
own, with its URLs, when it fails while URLs of others wait, or when such a URL comes. Politeness is
the host's: all origins have one turn (docs/frontier-inside.md). There is no I/O here.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify
from itertools import islice

from webcrawl.base.model import Link, Outcome, Packed, Status, url_of
from webcrawl.frontier.booking import Booking, Retry
from webcrawl.frontier.health import give_another_chance, origin_of
from webcrawl.frontier.hosts import Host, HostTable
from webcrawl.frontier.wait_words import ROBOTS
from webcrawl.store.jobdir.host_row import FailedRow, given_up

# Origins of one host that have records of their own. Any page may link to all ports of a host, so the
# origins beyond these have one record together.
MAX_ORIGINS = 16
# The key of that record.
SHARED = -1
# URLs of a host that has failed, among which one of another origin is looked for: a millisecond
MAX_LOOKED_AT = 8192
# URLs of a host that has failed, by which the one of its origins that has is named
MAX_SHOWN_FROM = 16
# Statuses that are about all origins of a host: its name leads nowhere, or we ask too often
OF_HOST = frozenset((Status.DNS_FAILED, Status.EXCLUDED, 429))


class Origins:
    """Gives origins records of their own, and books on them."""

    def __init__(self, hosts: HostTable, book: Booking) -> None:
        self._hosts = hosts
        self._book = book

    # -- the record of a URL

    def own(self, host: Host, url: str) -> Host | None:
        """Return the record of this URL's origin, or None if the URL is booked on its host."""
        return host.origins.get(origin_of(url)) if host.origins is not None else None

    def record_for(self, host: Host, link: Link) -> Host:
        """Return the record on which a link's end is booked: its origin's, or the host."""
        if host.origins is None:
            return host
        # That which the link was handed out from; the origin may have got a record since.
        origins_of_link = (
            one
            for one in host.origins.values()
            if one.given is not None and url_of(one.given) == link.url
        )
        found = next(origins_of_link, None) or self.own(host, link.url)
        if found is None:
            return host
        # Booking looks at these, which only the host's record keeps up to date.
        found.times = host.times
        found.crawl_delay = host.crawl_delay
        found.pages = host.pages
        found.ip = host.ip
        return found

    def _record(self, host: Host, url: str) -> Host:
        """Return the record of this URL's origin, a new one if it has none.

        Beyond MAX_ORIGINS it is the one for all others.
        """
        key = origin_of(url)
        found = self.own(host, url)
        if found is not None:
            return found
        if host.origins is not None and len(host.origins) >= MAX_ORIGINS:
            self._make_room(host.origins)
        if host.origins is None or len(host.origins) < MAX_ORIGINS:
            return self._hosts.new_origin(host, key, text_of(url))
        return host.origins.get(SHARED) or self._hosts.new_origin(host, SHARED, "")

    def _make_room(self, origins: dict[int, Host]) -> None:
        """Forget a record without URLs: its origin is judged anew."""
        for key, one in origins.items():
            is_needed = key == SHARED or one.waiting() or one.given is not None
            if not is_needed:
                del origins[key]
                _close(one)
                return

    # -- origins that are set apart

    def set_apart_failed(
        self, host: Host, link: Link, outcome: Outcome, before: float, now: float
    ) -> None:
        """Book a host's failure on one origin, if it is that one's alone and URLs of others wait.

        `before`: until when the host was to be left alone before it failed.
        """
        if outcome.status in OF_HOST or host.failed is None:
            return
        if host.failed.origin != origin_of(link.url):
            return
        if self._has_others(host, link.url):
            self._set_apart(host, link.url, max(before, now + self._book.wait(host)))

    def set_apart_lent(
        self,
        host: Host,
        url: str,
        outcome: Outcome,
        failed: FailedRow | None,
        before: float,
        now: float,
    ) -> None:
        """Do as `set_apart_failed` after an inline download, which was booked without its URL.

        `failed`: the host's failures before that. If they were of this origin alone, or there were
        none, the new failure is this origin's alone, too.
        """
        new = host.failed
        key = origin_of(url)
        if new is not None and (failed is None or failed.origin == key):
            known = (new.at, new.away, new.status, new.only)
            host.failed = FailedRow(
                *known, gone=new.gone, origin=key, planned=new.planned, retry_after=new.retry_after
            )
            self.set_apart_failed(host, Link(url), outcome, before, now)

    def set_apart_for(self, host: Host, url: str) -> bool:
        """Set another origin apart if the host has failed, or was given up, for that one alone.

        Return whether that was done. `url`: a URL whose turn has come, and which need not wait for
        the other origin then.
        """
        failed = host.failed
        if failed is None or not _is_anothers_fault(host, failed, url):
            return False
        # Of a host that is no object any more the status is not known: it may have been a 429,
        # which holds all its origins.
        may_be_of_host = failed.retry_after > 0 and not host.said
        polite = host.ready_at  # when politeness allows the next request
        if not may_be_of_host:
            polite = min(polite, failed.at + self._book.wait(host))
        self._set_apart(host, url_at(host, failed.origin), polite, key=failed.origin)
        return True

    def _set_apart(self, host: Host, url: str, polite: float, *, key: int = 0) -> None:
        """Move a host's failure to the record of one origin, whose URLs due for a retry go along.

        `url`: one of the origin's; if empty, `key` names the origin. The host is healthy then, and
        may be requested from `polite` on.
        """
        # If none of its URLs is known, `queue_url` names the origin when one comes.
        one = self._record(host, url) if url else self._hosts.new_origin(host, key, "")
        if one.failed is None:  # else it is that of several origins, which wait together
            one.failures = host.failures
            one.failed = host.failed
        one.ready_at = max(one.ready_at, host.ready_at)
        one.said = host.said
        one.of_robots = host.of_robots
        one.left = host.left
        host.failures = 0
        host.failed = None
        host.ready_at = polite
        if given_up(host):
            one.retired = host.retired
            host.retired = 0
        prefix = _prefix(url)
        if prefix:
            one.later += [entry for entry in host.later if entry[1].startswith(prefix)]
            heapify(one.later)
            host.later = [entry for entry in host.later if not entry[1].startswith(prefix)]
            heapify(host.later)
        self._hosts.touch(host)

    def _has_others(self, host: Host, url: str) -> bool:
        """Return whether URLs of another origin than this URL's wait, as far as they are looked at."""
        key = origin_of(url)
        for other, one in (host.origins or {}).items():
            if other != key and one.waiting():
                return True
        prefix = _prefix(url)
        return any(not record.startswith(prefix) for record in _waiting_records(host))

    # -- what waits there

    def queue_url(self, one: Host, record: Packed, now: float) -> None:
        """Queue a URL in the record of its origin (`one`).

        If the origin was given up more than a day ago, it gets another chance with the URL.
        """
        if one.retired:
            give_another_chance(one, now)
        if not one.origin and one.whole is not None:
            is_shared = (one.whole.origins or {}).get(SHARED) is one
            if not is_shared:
                one.origin = text_of(url_of(record))
        self._hosts.queue_for(one, record).push(record)

    def wait(self, host: Host, url: str, record: Packed, until: float) -> None:
        """Let this URL's origin wait until then, and queue the URL (`record`) there.

        If the host has failed for this origin alone, the failure is moved to the origin.
        """
        failed = host.failed
        if host.failures and failed is not None:
            is_of_this_origin = failed.origin == origin_of(url) and host.said not in OF_HOST
            if is_of_this_origin:
                self._set_apart(host, url, failed.at + self._book.wait(host))
        one = self._record(host, url)
        self._hosts.queue_for(one, record).push(record)
        if until > one.ready_at:
            one.ready_at = until
            one.left = (until, ROBOTS)
        self._hosts.touch(host)

    def tidy(self, host: Host) -> None:
        """Forget the origins that have neither failures nor URLs."""
        if host.origins is None:
            return
        for key, one in [*host.origins.items()]:
            has_failed = one.failures or one.retired or one.failed is not None
            has_urls = one.given is not None or one.waiting()
            if not has_failed and not has_urls:
                del host.origins[key]
                _close(one)
        if not host.origins:
            host.origins = None

    # -- outcomes

    def book(self, one: Host, link: Link, outcome: Outcome, now: float) -> Retry | None:
        """Book an outcome on the record of an origin.

        Its host is requested again when politeness allows.
        """
        host = one.whole
        if host is None:
            raise ValueError(f"not a valid record of a host: {one.name}")
        again = self._book.book(one, link, outcome, now)
        # Pages, and HOST_MAX_PAGES, are the host's.
        host.pages = one.pages
        if one.retired == Status.HOST_BUDGET:
            host.retired = host.retired or one.retired
            one.retired = 0
        polite = now + self._book.wait(host)
        # A wait that a good answer asks for is kept to by all origins.
        if outcome.wait and not one.failures:
            polite = max(polite, one.ready_at)
        if host.lanes is not None:
            host.lanes.begin_wait(polite, now)
        else:
            host.ready_at = max(host.ready_at, polite)
        return again

    def end_flight(self, host: Host, link: Link) -> None:
        """End the flight of a link in the record of its origin, if it has one.

        Origins of which nothing is left to remember are forgotten.
        """
        if host.origins is None:
            return
        for one in host.origins.values():
            if one.given is not None and url_of(one.given) == link.url:
                one.given = None
        self.tidy(host)


def turns(host: Host, now: float) -> list[Host]:
    """Return the records of a host with several that may be requested now, in their order.

    Origins that have failed take turns with the others: any page may link to many ports of a host,
    and each that is silent holds up the host for 15 seconds.
    """
    failing: list[Host] = []
    well: list[Host] = []
    for one in (host.origins or {}).values():
        if _is_due(one, host, now):
            has_failed = one.failures or one.retired
            (failing if has_failed else well).append(one)
    # The host's own record and the others take turns in going first.
    if is_turn_of_well(host):
        return [host, *well, *failing]
    return [*failing, *well, host]


def is_turn_of_well(host: Host) -> bool:
    """Return whether this is one of the turns, every second one, in which failing origins go last."""
    return host.stay % 2 == 0


def has_failing(host: Host) -> bool:
    """Return whether an origin of this host has failed, which has its own record."""
    return any(one.failures or one.retired for one in (host.origins or {}).values())


def _is_due(one: Host, host: Host, now: float) -> bool:
    """Return whether an origin has a URL that may be requested now, or ends."""
    if one.given is not None or not one.waiting():
        return False
    if one.retired or host.retired:  # its URLs end
        return True
    return one.due() <= now


def url_at(host: Host, key: int) -> str:
    """Return a URL that waits of the origin with this key, or an empty text."""
    waiting = [record for _, record in host.later] + host.queue.first(MAX_LOOKED_AT)
    return next((url for url in map(url_of, waiting) if origin_of(url) == key), "")


def text_at(host: Host, key: int) -> str:
    """Return scheme, host and port of the origin with this key; empty if it is not found.

    A key is a checksum, so likely origins are tried: those of the usual ports, then those of a few
    URLs. No more, since whoever watches the crawl asks often, maybe of a host with a million URLs.
    """
    later = (record for _, record in islice(host.later, MAX_SHOWN_FROM))
    urls = (
        f"https://{host.name}/",
        f"http://{host.name}/",
        *map(url_of, (*later, *host.queue.first(MAX_SHOWN_FROM))),
    )
    return next((text_of(url) for url in urls if origin_of(url) == key), "")


def text_of(url: str) -> str:
    """Return scheme, host and port of a canonical URL."""
    return url[: url.find("/", url.find("//") + 2)]


def _prefix(url: str) -> bytes:
    """Return how the packed links of this URL's origin begin, as each begins with its URL."""
    return f"{text_of(url)}/".encode() if url else b""


def _is_anothers_fault(host: Host, row: FailedRow, url: str) -> bool:
    """Return whether the host has failed, or was given up, for another origin than the URL's alone.

    `row`: the host's failures. A host whose name leads nowhere has not: without the name no origin
    can be requested.
    """
    if not host.failures and not given_up(host):
        return False
    if host.retired in (Status.HOST_BUDGET, Status.DROPPED):
        return False
    # A server that speaks only HTTP/2 at one origin has a name, and may speak HTTP/1.1 at another.
    has_no_name = row.gone and row.status != Status.UNSUPPORTED
    if has_no_name:
        return False
    is_of_whole_host = row.status in OF_HOST or host.said in OF_HOST
    if is_of_whole_host:
        return False
    # An https that no server answers costs no URL of the host's http.
    return row.origin not in (0, -1, origin_of(url))


def _waiting_records(host: Host) -> Iterator[Packed]:
    """Yield the URLs that wait in a host's own record, of each queue the first MAX_LOOKED_AT."""
    for _, record in host.later:
        yield record
    for queue in host.own_queues():
        yield from queue.first(MAX_LOOKED_AT)


def _close(one: Host) -> None:
    for queue in one.queues():
        queue.close()
