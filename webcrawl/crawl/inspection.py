"""What a running crawl knows of single hosts and URLs, for commands and the web interface.

Looking changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter
from typing import Any, TypeVar

from webcrawl.base.model import Status
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.discovery import Discovery, OtherDrones
from webcrawl.crawl.seeding import Seeding
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.host_facts import HostFacts, OriginFacts
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.protocol import Frontier as AnyFrontier
from webcrawl.net.robots_book import SCHEMES, RobotsBook, RobotsDecision, origin_of, robots_url
from webcrawl.net.robots_entry import RobotsEntry
from webcrawl.record.statistics import Statistics
from webcrawl.record.tally import (
    BYTES,
    DOCUMENTS,
    DOWNLOADS,
    FAILED_URLS,
    MISSED_BYTES,
    MISSED_DOCUMENTS,
)

T = TypeVar("T", int, float)
ROBOTS = "Crawl-delay of robots.txt"
HTTP2_ONLY = "HTTP/2 only"
SLICE = 2048  # hosts looked at between two turns of the event loop
MOST_RULES = 500  # of a robots.txt that are shown
VERDICTS = {
    RobotsDecision.ALLOWED: "allowed",
    RobotsDecision.FORBIDDEN: "forbidden",
    RobotsDecision.FETCH: "robots.txt is fetched first",
    RobotsDecision.WAIT: "waits: robots.txt is unreachable, and no earlier rules are known",
    RobotsDecision.UNREACHABLE: "forbidden: robots.txt was unreachable for too long",
}


@dataclass(frozen=True, slots=True)
class HostSources:
    """The parts of a crawl that know something of a host."""

    frontier: Frontier
    book: RobotsBook
    statistics: Statistics
    clock: CrawlClock
    domain: Callable[[str], str]  # the registered domain of a host
    # how a host's pages are rendered, in words; None if no page of the crawl is
    rendered: Callable[[str], str] | None = None
    obeys_robots: bool = True  # ROBOTSTXT_OBEY


class HostInspector:
    """Looks at hosts through the parts of a crawl that know something of them."""

    def __init__(self, sources: HostSources) -> None:
        self.frontier = sources.frontier
        self.book = sources.book
        self.domain = sources.domain
        self.now = sources.clock
        self._statistics = sources.statistics
        self._rendered = sources.rendered
        self._obeys_robots = sources.obeys_robots

    def record(self, name: str) -> dict[str, Any]:
        """Return all that is known of a host; waits and past times are in seconds from now."""
        now = self.now()
        found = shown(self.frontier.look.facts(name), now)
        row = self._statistics.hosts.rows.get(name)
        if row is not None:
            found["documents"] = row[DOCUMENTS]
            found["bytes"] = row[BYTES]
            found["failed"] = row[FAILED_URLS]
            # What an earlier row of the host had, which was dropped for want of room
            missed_documents = row[MISSED_DOCUMENTS]
            missed_bytes = row[MISSED_BYTES]
            is_exact = not (missed_documents or missed_bytes)
            lack = f"may lack {missed_documents} documents, {missed_bytes} bytes"
            found["figures"] = "exact" if is_exact else lack
        scripted = self._statistics.scripted.names.get(name)
        if scripted is not None:
            found["need_scripts"] = scripted[0]
        if self._rendered is not None and (in_words := self._rendered(name)):
            found["rendering"] = in_words
        # The rules that an earlier run obeyed are still in the book.
        origins = self.book.origins(name) if self._obeys_robots else ()
        found["robots"] = {origin: self._said(origin, now) for origin in origins}
        found["budget"] = self.frontier.look.domain(self.domain(name)).to_json()
        return found

    def _said(self, origin: str, now: float) -> str:
        """Return in words what is known of an origin's robots.txt, for the operator."""
        entry = self.book.in_force(origin)
        if entry is None:
            return "not fetched yet"
        seconds_left = f"{max(entry.until - now, 0.0):.0f} s"
        if entry.tries:
            rules = "no rules are known"
            # RFC 9309 2.4 allows rules older than a day in just this case.
            if entry.rules is not None:
                rules = "the earlier rules are in force"
            return f"unreachable, tried {count(entry.tries, 'time')}; {rules}; next try in {seconds_left}"
        if entry.rules is None:
            return f"given up; next try in {seconds_left}"
        return f"{count(len(entry.rules), 'rule')}, for {seconds_left}"

    # -- robots.txt

    def robots(self, url: str, *, of_url: bool) -> dict[str, Any]:
        """Return the rules for us at the URL's origin (scheme, host, port), and what they say of it.

        Without `of_url` the URL only names a host: then no verdict is given. The first origin of the
        host that is known may take the place of the URL's own, and the others are listed.
        """
        if not url.startswith(SCHEMES):
            return {"url": url, "verdict": "allowed", "why": "there is no robots.txt for such URLs"}
        if not self._obeys_robots:
            why = "robots.txt is not read with ROBOTSTXT_OBEY = 0"
            return {"url": url, "verdict": "allowed", "why": why}
        now = self.now()
        origins = [] if of_url else self.book.origins(host_of(url))
        origin = _known_origin(origin_of(url), origins)
        entry = self.book.in_force(origin)
        found: dict[str, Any] = {"robots": robots_url(origin), "state": self._said(origin, now)}
        if of_url:
            found |= self._verdict(url, now, entry)
        if len(origins) > 1:
            found["others"] = [robots_url(other) for other in origins if other != origin]
        if entry is not None:
            found |= _entry_shown(entry, now)
        return found

    def _verdict(self, url: str, now: float, entry: RobotsEntry | None) -> dict[str, Any]:
        """Return what robots.txt says of a URL, and the rule that decides, for `why`."""
        verdict = self.book.would_say(url, now)
        shown: dict[str, Any] = {"url": url, "verdict": VERDICTS[verdict]}
        rule = None
        if entry is not None and entry.rules is not None:
            rule = entry.rules.deciding(url)
        if rule is not None:
            shown["rule"] = _rule_line(*rule)
        elif verdict is RobotsDecision.ALLOWED:
            shown["rule"] = "none matches"
        return shown

    # -- several

    def queue(self, name: str, most: int) -> dict[str, Any]:
        """Return at most `most` of the host's next URLs, in their order if none fails meanwhile."""
        now = self.now()
        facts = self.frontier.look.facts(name)
        rows = [
            {
                "url": link.url,
                "waits": round(at - now, 1) if at > now else 0,
                "path": link.path or "-",
                "attempt": link.attempt + 1,
                "via": link.via or "-",
            }
            for at, link in self.frontier.look.first(name, most, now)
        ]
        shown = "URLs in the host's own queue; links to it that are still in other queues are not counted"
        return {"host": name, "queued": facts.queued, "covers": shown, "urls": rows}

    async def top(self, by: str, most: int) -> Mapping[str, Any]:
        """Return the first hosts by a figure, and which hosts were compared.

        `by` is `bytes`, `errors`, `queue` or `delay`. The statistics have the first two of all hosts
        or of a sample, the frontier has the others of hosts in memory.
        """
        look = self.frontier.look
        if by == "bytes":
            return self._heaviest(by, BYTES, most, {})
        hosts = look.in_memory()
        deferred = self.frontier.core.deferred.hosts
        if by == "errors":
            failing: dict[str, int] = {}
            async for rows in _measured(hosts, Host.failing):
                failing.update((name, failures) for failures, name in rows)
            found = self._heaviest(by, FAILED_URLS, most, failing)
            if deferred:
                found["covers"] += (
                    "; failures of URLs that will be retried, of hosts in memory only"
                )
            return found
        first: list[tuple[float, str]] = []
        async for rows_of_slice in _measured(hosts, _waiting if by == "queue" else look.wait):
            first = nlargest(most, [*first, *rows_of_slice], key=itemgetter(0))
        covers = f"{count(len(hosts), 'host')} in memory"
        if deferred:
            covers += f"; of {count(deferred, 'deferred host')}, only those in memory"
        name = "urls" if by == "queue" else "delay"
        return {
            "by": by,
            "covers": covers,
            "hosts": [{"host": host, name: round(value, 3)} for value, host in first],
        }

    def _heaviest(
        self, by: str, position: int, most: int, failing: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return the hosts with most at a position of their row in the statistics.

        `failing` is added: the failures so far of URLs that may be tried again, by host.
        """
        statistics = self._statistics.hosts
        values = {name: row[position] for name, row in statistics.rows.items()}
        for name, failures in failing.items():
            values[name] = values.get(name, 0) + failures
        first = nlargest(most, values.items(), key=itemgetter(1))
        rows = []
        for name, value in first:
            if value:
                row = statistics.rows.get(name, NO_ROW)
                rows.append(
                    {
                        "host": name,
                        by: value,
                        "documents": row[DOCUMENTS],
                        "downloads": row[DOWNLOADS],
                    }
                )
        covers = "all hosts"
        # At 8,192 rows the statistics keep the heaviest hosts and a sample of the others.
        if statistics.level > 0:
            covers = f"the heaviest hosts and a sample, {len(statistics.rows)} in all"
        return {"by": by, "covers": covers, "hosts": rows}

    def outcomes(self) -> dict[int, int]:
        """Return the numbers of URLs by the status of their end, the most frequent first."""
        return dict(self._statistics.outcomes.most_common())


NO_ROW = (0, 0, 0, 0, 0)  # of a host of which no URL has ended


def _known_origin(origin: str, known: Sequence[str]) -> str:
    """Return the origin, or the first that is known of its host if it is unknown and has no port.

    Without a port the user may have meant any: `http://example.org` where only https is known.
    """
    has_port = origin.count(":") > 1
    if not known or origin in known or has_port:
        return origin
    return known[0]


def _entry_shown(entry: RobotsEntry, now: float) -> dict[str, Any]:
    """Return what is kept of a robots.txt for an operator: ages, delay, first rules."""
    facts: dict[str, Any] = {}
    if entry.fetched is not None:
        facts["fetched_ago"] = round(now - entry.fetched)
    if entry.tries:
        facts["unreachable_for"] = round(now - entry.since)
    if entry.rules is not None:
        facts["crawl_delay"] = entry.rules.crawl_delay
        lines = [_rule_line(pattern, allows) for pattern, allows in entry.rules.items()]
        facts["rules"] = lines[:MOST_RULES]
        if len(lines) > MOST_RULES:
            facts["more_rules"] = len(lines) - MOST_RULES
    return facts


def _rule_line(pattern: str, allows: bool) -> str:  # noqa: FBT001 - as Protego's rules have it
    return f"{'Allow' if allows else 'Disallow'}: {pattern}"


def shown(facts: HostFacts, now: float) -> dict[str, Any]:
    """Return the facts about a host as `host NAME` shows them.

    `why --json` has the same keys, with times where these are seconds.
    """
    delay = facts.delay
    found: dict[str, Any] = {
        "host": facts.name,
        "known": facts.is_known,
        "record": facts.record or "none",
        "state": facts.state,
        "queued": facts.queued,
        "retries": facts.retries,
        "in_flight": facts.in_flight,
        "next_turn_in": _seconds_until(facts.next_turn, now),
        "delay": {
            "seconds": round(delay.seconds, 3),
            "source": ROBOTS if delay.is_crawl_delay else delay.policy,
            "crawl_delay": facts.crawl_delay,
        },
        "health": facts.health_of_urls.value,
        "failures": facts.failures,
        "pages": facts.pages,
        "downloads": [round(seconds, 3) for seconds in facts.downloads],
        "address": facts.address,
    }
    if facts.connections > 1:
        found["connections"] = {"at_once": facts.connections, "in_flight": facts.requests}
    if facts.is_http2:
        found["protocol"] = HTTP2_ONLY
    if facts.retired:
        found["ends_with"] = ends_with(facts.retired)
    if facts.block_pages is not None:
        block_pages = facts.block_pages
        found["block_pages"] = {
            "vendor": block_pages.vendor,
            "answers": block_pages.answers,
            "ago": round(now - block_pages.since, 1),
        }
    if facts.origins:
        found["origins"] = [_origin(one, now) for one in facts.origins]
    if facts.failures and facts.failed is not None:
        failed = facts.failed
        found["last_failure"] = {
            "status": failed.status,
            "away": round(failed.away),
            "ago": round(now - failed.at, 1),
        }
        if failed.retry_after:
            found["last_failure"]["retry_after"] = failed.retry_after
    return found


def ends_with(status: int) -> str:
    """Return the status with which all URLs of a host end, and its name."""
    return f"{status} {Status(status).name.lower().replace('_', ' ')}"


def _origin(origin: OriginFacts, now: float) -> dict[str, Any]:
    return {
        "origin": origin.origin,
        "health": origin.health.value,
        "failures": origin.failures,
        "queued": origin.queued,
        "next_turn_in": _seconds_until(origin.next_turn, now),
    }


def _seconds_until(turn: float | None, now: float) -> float | None:
    return None if turn is None else round(max(turn - now, 0.0), 1)


async def _measured(
    hosts: Sequence[Host], measure: Callable[[Host], T]
) -> AsyncIterator[list[tuple[T, str]]]:
    """Yield the hosts' figures that are not 0, with their names; the crawl goes on in between."""
    for start in range(0, len(hosts), SLICE):
        figures = ((measure(host), host.name) for host in hosts[start : start + SLICE])
        yield [(figure, name) for figure, name in figures if figure]
        await asyncio.sleep(0)


def _waiting(host: Host) -> float:
    return host.waiting()


class About:
    """Answers what the crawl knows of a URL. A question changes nothing."""

    def __init__(
        self,
        discovery: Discovery,
        seeding: Seeding,
        frontier: AnyFrontier,
        other_drones: OtherDrones | None,
    ) -> None:
        """Take the parts that know what becomes of a URL; `other_drones` is None without a hive."""
        self._discovery = discovery
        self._seeding = seeding
        self._frontier = frontier
        self._other_drones = other_drones
        # for how long a host was left alone before a request made now, and why
        self.pause = frontier.look.pause

    def __call__(self, url: str) -> dict[str, Any]:
        """Return four facts about a URL.

        `known`: it was found lately, by a link or as a seed, and is this crawl's own. `in_flight`:
        it is being fetched. `wait`: seconds for which its host is left alone before a request, as
        things are now; `rule`: the rule that says so.
        """
        ours = self._other_drones is None or self._other_drones.is_ours(url)
        wait, rule = self.pause(host_of(url))
        return {
            "known": ours and (self._discovery.heard_of(url) or url in self._seeding.lately),
            "in_flight": self._frontier.look.in_flight(url),
            "wait": round(wait, 3),
            "rule": rule,
        }
