"""Finds the facts about URLs, many at once: each file is gone through once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webcrawl.base.model import is_requisite, is_revisit
from webcrawl.base.url_text import host_of
from webcrawl.net.robots import agent_of
from webcrawl.net.robots_book import robots_url
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.crawl_line import CrawlLine
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.store.jobdir.index_line import IndexLine
from webcrawl.store.jobdir.log_lines import LINKS_LOG, SKIPPED_LOG, read_skipped
from webcrawl.tools.why.facts import (
    RobotsState,
    RobotsVerdict,
    UrlFacts,
    line_of,
    pace_of,
    robots_verdict,
    scores_of,
)
from webcrawl.tools.why.file_search import QUICK, ArchiveIndexes, LogMatches, exchange_of
from webcrawl.tools.why.noted_links import FOUND_LOG, left_for_later, linking
from webcrawl.tools.why.opened_crawl import OpenedCrawl
from webcrawl.tools.why.places import QueueSearch, among_portions, among_records
from webcrawl.tools.why.saved_settings import NONE
from webcrawl.tools.why.url_rules import setting_of
from webcrawl.urls.filters.filter_protocol import Origin

QUICK_SKIPPED = 64 << 20  # bytes of skipped.log
SMALL = 32 << 20  # bytes of crawl.log that are always looked at
READ = 300  # records of the archive that are read for what they say: each takes a millisecond
ROBOTS = 3  # of the same robots.txt, the latest
REDIRECTS = frozenset((301, 302, 303, 307, 308))


class FactFinder:
    """Facts of one crawl. `deep`: look through all, however long it takes."""

    def __init__(self, source: OpenedCrawl, *, deep: bool = False) -> None:
        self._source = source
        self._deep = deep

    def facts(self, asked: Sequence[str], live: Mapping[str, Mapping[str, Any]]) -> list[UrlFacts]:
        """Return the facts about these URLs, in their order. A text that is no URL has no facts.

        `live`: what the running crawl reports, by canonical URL.
        """
        found = [
            UrlFacts(text, self._source.form(text), ahead=self._source.ahead) for text in asked
        ]
        some = [facts for facts in found if facts.url]
        if some:
            self._gather(some, live)
        return found

    def _gather(self, some: Sequence[UrlFacts], live: Mapping[str, Mapping[str, Any]]) -> None:
        """Search all places.

        The order matters: a search leaves out the URLs that an earlier one has found.
        """
        urls = list(dict.fromkeys(facts.url for facts in some))
        self._settings(some, live)
        self._seen(some)
        self._archive(some, urls)
        self._places(some, urls)
        self._again(list(filter(_is_known_without_place, some)))
        self._ended_since(some)
        self._log(some)
        self._skipped(some, urls)
        self._later(list(filter(_is_unknown, some)))
        for facts in some:
            self._rules(facts)
        self._elsewhere(list(filter(_has_left_no_trace, some)))
        self._quote_robots(some)
        self._follow(some)
        self._last_tries(list(filter(_will_be_retried, some)))

    def _settings(self, some: Sequence[UrlFacts], live: Mapping[str, Mapping[str, Any]]) -> None:
        values = self._source.values
        for facts in some:
            facts.live = live.get(facts.url)
            facts.follows = self._source.follows
            facts.again = values["REVISIT_POLICY"] != NONE
            facts.networks = [*map(str, values["PRIVATE_NETWORKS_ALLOWED"])]

    def _seen(self, some: Sequence[UrlFacts]) -> None:
        keys = self._source.keys([facts.form for facts in some])
        known = self._source.seen.among(keys)
        waiting = self._source.seen.waiting(keys)
        for facts, key in zip(some, keys, strict=True):
            facts.known = known.get(key, "")
            link = waiting.get(key)
            # An unjudged link to a known URL is one that was found once more.
            is_repeat = bool(facts.known) and link is not None and not link.judged
            facts.waiting = None if is_repeat else link

    def _archive(self, some: Sequence[UrlFacts], urls: Sequence[str]) -> None:
        """Look for the records, and for the lines of a log of any size around their times."""
        indexes = self._source.indexes
        entries = indexes.entries_of(urls)
        looked = self._lines_near(entries)
        self._source.odd += (line for line in indexes.unread if line not in self._source.odd)
        for facts in some:
            facts.entries = entries[facts.url]
            facts.lines = _lines(looked, facts.url)
            if facts.lines:
                facts.looked.append(f"{CRAWL_LOG}: around the time of its last record")
            if not facts.entries:
                facts.looked += self._unread_of(indexes)

    def _lines_near(self, entries: Mapping[str, Sequence[IndexLine]]) -> LogMatches:
        """Return the lines of a large log around the times of these records.

        A small log is looked through later, whole; and so is any with `deep`.
        """
        log = self._source.log(CRAWL_LOG)
        looked = log.look(list(entries), quick=0)
        if self._deep or looked.of <= SMALL:
            return looked
        for url, found in entries.items():
            if found:
                looked.lines[url] = log.near(url, found[-1].date[:-1])
        return looked

    def _unread_of(self, indexes: ArchiveIndexes) -> Iterator[str]:
        """Yield a line for each part of the archive that was not looked at."""
        if indexes.gone:
            is_stored = self._source.has_stored_indexes
            where = "are in the store" if is_stored else "are no longer in the folder"
            yield f"{indexes.gone} indexes of the archive {where}"
        if indexes.cut:
            yield "the index of the archive file that is being written: its first 64 MiB"

    def _places(self, some: Sequence[UrlFacts], urls: Sequence[str]) -> None:
        """Look in the queues, the front-end and the lines for what was not asked for yet."""
        search = QueueSearch(self._source.core, self._source.domains, deep=self._deep)
        search.near(urls)
        for facts in some:
            facts.place = search.places.get(facts.url)
        nowhere = [facts for facts in some if not _is_elsewhere(facts)]
        left = [facts for facts in nowhere if facts.is_known or self._deep]
        search.far([facts.url for facts in left])
        for facts in left:
            facts.place = search.places.get(facts.url)
            if facts.place is None:
                facts.looked += search.cut_for(host_of(facts.url))

    def _again(self, some: Sequence[UrlFacts]) -> None:
        """Look for the records of pages that wait to be fetched again."""
        found, cut = among_records(
            self._source.snapshot, [one.url for one in some], deep=self._deep
        )
        for facts in some:
            facts.turn = found.get(facts.url)
            if facts.turn is None:
                facts.looked += cut

    def _ended_since(self, some: Sequence[UrlFacts]) -> None:
        """Take what ended since the checkpoint out of its queue: a running crawl's log has it."""
        waited = [facts for facts in some if facts.place is not None]
        if not self._source.alive or not waited:
            return
        at = self._source.outputs.get(CRAWL_LOG, 0)
        urls = {facts.url for facts in waited}
        looked = self._source.log(CRAWL_LOG).since(urls, at)
        for facts in waited:
            lines = _lines(looked, facts.url)
            if lines:
                facts.lines = lines
                facts.place = None

    def _log(self, some: Sequence[UrlFacts]) -> None:
        """Look through the log from its end.

        What the crawl does not know has lines only if it is a robots.txt, or a user's own request.
        """
        log = self._source.log(CRAWL_LOG)
        left = [facts for facts in some if not facts.lines and self._may_have_line(facts)]
        urls = {facts.url for facts in left}
        quick = QUICK if any(facts.is_known for facts in left) else SMALL
        looked = log.look(urls, deep=self._deep, quick=quick)
        for facts in left:
            facts.lines = _lines(looked, facts.url)
            if not facts.lines:
                facts.looked += looked.cut

    def _may_have_line(self, facts: UrlFacts) -> bool:
        """Return whether crawl.log may have the URL: what waits for its first fetch has no line."""
        waits_for_first = facts.place is not None and not is_revisit(facts.place.record)
        return self._deep or not waits_for_first

    def _skipped(self, some: Sequence[UrlFacts], urls: Sequence[str]) -> None:
        if not self._source.has(SKIPPED_LOG):
            return
        looked = self._source.log(SKIPPED_LOG).look(urls, deep=self._deep, quick=QUICK_SKIPPED)
        for facts in some:
            for line in looked.lines[facts.url].values():
                facts.skipped.append(read_skipped(line))
            if facts.skipped:
                facts.setting = setting_of(facts.skipped[-1][1], self._source.values)
            else:
                facts.looked += looked.cut

    def _later(self, some: Sequence[UrlFacts]) -> None:
        """Find what is left for a later segment: the crawl itself does not know it."""
        if not some:
            return
        urls = {facts.url for facts in some}
        found, looked = left_for_later(self._source, urls, deep=self._deep)
        for facts in some:
            facts.later = found.get(facts.url)
            if facts.later is None or facts.later.where == FOUND_LOG:
                facts.looked += looked

    def _rules(self, facts: UrlFacts) -> None:
        source = self._source
        host = host_of(facts.url)
        facts.host = source.look.facts(host)
        facts.pace = pace_of(facts.host, source.values_for(host), facts.live)
        facts.domain = source.look.domain(source.domains(host))
        facts.scores = scores_of(
            facts.url, facts.lines, source.focus, waits=facts.place is not None
        )
        facts.rendering = source.rendering(host)
        if source.robots is None:
            facts.robots = RobotsVerdict(RobotsState.IGNORED)
        else:
            facts.robots = robots_verdict(source.robots, facts.url)
        is_queued_requisite = facts.place is not None and is_requisite(facts.place.record)
        needed = source.values["REQUISITES"] and is_queued_requisite
        facts.filters = source.filters.ask(facts.url, self._origin(facts), needed=needed)

    def _origin(self, facts: UrlFacts) -> Origin:
        """Return the origin that filters are told. The unknown favours the URL, but for the scope.

        A scope of hosts or domains is that of the page; a host that the crawl has never heard of is
        outside.
        """
        link = facts.link
        if link is not None:
            return Origin(link.via, link.depth, link.path)
        if facts.lines:
            return Origin(facts.lines[0].via)
        if facts.skipped and facts.skipped[-1][2]:
            return Origin(facts.skipped[-1][2])
        if facts.known or self._is_home(facts):
            return Origin(facts.url)
        return Origin(self._source.some_page(host_of(facts.url)))

    def _is_home(self, facts: UrlFacts) -> bool:
        scope = self._source.values["URL_SCOPE"]
        if scope not in ("host", "domain"):
            return True
        # hosts are known that only have what pages need to be shown
        if self._source.values["REQUISITES"]:
            return self._source.filters.in_scope(facts.url)
        is_known = facts.host is not None and facts.host.is_known
        return is_known or (scope == "domain" and self._source.has_domain(facts.url))

    def _elsewhere(self, some: Sequence[UrlFacts]) -> None:
        """Look for URLs of which nothing is known in portions that wait, and in links."""
        if not some:
            return
        urls = {facts.url for facts in some}
        longest = self._source.values["URL_MAX_LENGTH"]
        large, not_looked = among_portions(self._source.snapshot, urls, longest, deep=self._deep)
        links, cut = linking(self._source, urls, deep=self._deep)
        has_links = self._source.has(LINKS_LOG) or "tables" in self._source.written
        all_links = has_links and self._source.is_all and not cut
        for facts in some:
            facts.large_page = large.get(facts.url, "")
            if not facts.large_page:
                facts.looked += not_looked
            facts.linked = links.get(facts.url)
            if facts.linked is None:
                facts.looked += cut
                facts.all_links = all_links
            elif facts.linked.origin is not None:
                # The filters were asked before it was known how deep the link is.
                facts.filters = self._source.filters.ask(facts.url, facts.linked.origin)

    def _quote_robots(self, some: Sequence[UrlFacts]) -> None:
        """Find the lines of robots.txt whose rules decide: only the archive has the whole file."""
        known = [facts.robots for facts in some if facts.robots is not None]
        verdicts = [verdict for verdict in known if verdict.pattern]
        files = list(dict.fromkeys(robots_url(verdict.origin) for verdict in verdicts))[:READ]
        bodies = self._archived_bodies(files)
        agent = agent_of(self._source.values)
        for verdict in verdicts:
            body = bodies.get(robots_url(verdict.origin), b"")
            line, written = line_of(body, agent, verdict.pattern, allows=verdict.allows)
            verdict.line = line
            verdict.written = written

    def _archived_bodies(self, urls: Sequence[str]) -> dict[str, bytes]:
        """Return the latest body of each of these URLs that the archive has with status 200."""
        bodies: dict[str, bytes] = {}
        for url, entries in self._source.indexes.entries_of(urls).items():
            whole = [entry for entry in entries[-ROBOTS:] if entry.status == 200]
            for entry in whole:
                exchange = exchange_of(self._source.jobdir, entry)
                if exchange is not None:
                    bodies[url] = exchange.body
        return bodies

    def _follow(self, some: Sequence[UrlFacts]) -> None:
        """Find where redirects lead, which only the archive says."""
        archived = [facts for facts in some if facts.entries]
        redirects = [facts for facts in archived if facts.entries[-1].status in REDIRECTS]
        for facts in redirects[:READ]:
            exchange = exchange_of(self._source.jobdir, facts.entries[-1], 0)
            if exchange is not None:
                facts.redirect = exchange.location or ""

    def _last_tries(self, some: Sequence[UrlFacts]) -> None:
        """Find how the last attempt ended: crawl.log has a line only when a URL is done with."""
        for facts in some[:READ]:
            exchange = exchange_of(self._source.jobdir, facts.entries[-1])
            if exchange is not None:
                facts.last_try = exchange.status, exchange.truncated


def _is_known_without_place(facts: UrlFacts) -> bool:
    return facts.is_known and facts.place is None


def _is_unknown(facts: UrlFacts) -> bool:
    return not (facts.is_known or facts.entries)


def _has_left_no_trace(facts: UrlFacts) -> bool:
    return not (facts.lines or facts.entries or facts.place)


def _will_be_retried(facts: UrlFacts) -> bool:
    return facts.place is not None and facts.place.has_failed and bool(facts.entries)


def _is_elsewhere(facts: UrlFacts) -> bool:
    """Return whether no queue has the URL: it has left them, or waits to be looked up."""
    is_unjudged = facts.waiting is not None and not facts.waiting.judged
    return bool(facts.place or facts.lines or facts.entries) or is_unjudged


def _lines(looked: LogMatches, url: str) -> list[CrawlLine]:
    return [line for line in map(log_line, looked.lines[url].values()) if line is not None]
