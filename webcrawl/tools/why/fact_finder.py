"""Finds the facts about URLs, many at once: each file is gone through once for all of them.

A URL that a filter has dropped leaves at most a line in logs/skipped.log. So the filters judge it
once more, with the settings and the state of the checkpoint (`OpenedCrawl.filters`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webcrawl.base.model import is_requisite, is_revisit
from webcrawl.base.readable import count
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
from webcrawl.tools.why.file_search import (
    LOG_BYTES,
    ArchiveIndexes,
    LogMatches,
    archived_exchange,
)
from webcrawl.tools.why.noted_links import FOUND_LOG, linking_pages, links_left_for_later
from webcrawl.tools.why.opened_crawl import OpenedCrawl
from webcrawl.tools.why.places import QueueSearch, large_pages_of, waiting_revisits
from webcrawl.tools.why.saved_settings import SAVED_NONE
from webcrawl.tools.why.url_rules import setting_of
from webcrawl.urls.filters.filter_protocol import Origin

SKIPPED_LOG_BYTES = 64 << 20  # of skipped.log that are searched
SMALL_LOG_BYTES = 32 << 20  # of crawl.log that are searched for any URL
MAX_RECORDS_READ = 300  # of the archive, for what they say: each takes a millisecond
MAX_ROBOTS_RECORDS = 3  # of the same robots.txt, the latest
REDIRECTS = frozenset((301, 302, 303, 307, 308))
Live = Mapping[str, Mapping[str, Any]]  # what the running crawl answers, by canonical URL


class FactFinder:
    """Finds the facts about many URLs in one crawl: each search goes through a file once for all."""

    def __init__(self, source: OpenedCrawl, *, deep: bool = False) -> None:
        """`deep`: search everything, however long that takes."""
        self._source = source
        self._deep = deep

    def facts(self, texts: Sequence[str], live: Live) -> list[UrlFacts]:
        """Return the facts about these URLs, in their order. A text that is no URL has no facts."""
        all_facts = [
            UrlFacts(text, self._source.form(text), clock_ahead=self._source.clock_ahead)
            for text in texts
        ]
        batch = [facts for facts in all_facts if facts.url]
        if batch:
            self._search(batch, live)
        return all_facts

    def _search(self, batch: Sequence[UrlFacts], live: Live) -> None:
        """Search all places.

        The order matters: a search leaves out the URLs that an earlier one has found.
        """
        urls = list(dict.fromkeys(facts.url for facts in batch))
        self._note_settings(batch, live)
        self._search_seen_store(batch)
        self._search_archive(batch, urls)
        self._search_queues(batch, urls)
        self._search_revisits(list(filter(_is_known_without_place, batch)))
        self._note_ends_since_checkpoint(batch)
        self._search_log(batch)
        self._search_skipped_log(batch, urls)
        self._search_left_for_later(list(filter(_is_unknown, batch)))
        for facts in batch:
            self._apply_rules(facts)
        self._search_links(list(filter(_has_left_no_trace, batch)))
        self._quote_robots(batch)
        self._read_redirects(batch)
        self._read_last_tries(list(filter(_will_be_retried, batch)))

    def _note_settings(self, batch: Sequence[UrlFacts], live: Live) -> None:
        """Note what holds for all URLs by the crawl's settings, and the running crawl's answers."""
        values = self._source.values
        for facts in batch:
            facts.live = live.get(facts.url)
            facts.follows_links = self._source.follows_links
            facts.has_revisits = values["REVISIT_POLICY"] != SAVED_NONE
            facts.networks = [*map(str, values["PRIVATE_NETWORKS_ALLOWED"])]
            facts.link_sources = values["LINK_SOURCES"]

    def _search_seen_store(self, batch: Sequence[UrlFacts]) -> None:
        """Find where the seen store knows the URLs, and links on their way through it."""
        keys = self._source.seen_keys([facts.form for facts in batch])
        known = self._source.seen.where_known(keys)
        submitted = self._source.seen.submitted(keys)
        for facts, key in zip(batch, keys, strict=True):
            facts.known_in = known.get(key, "")
            link = submitted.get(key)
            # An unjudged link to a known URL is one that was found once more.
            is_repeat = bool(facts.known_in) and link is not None and not link.is_judged
            facts.submitted = None if is_repeat else link

    def _search_archive(self, batch: Sequence[UrlFacts], urls: Sequence[str]) -> None:
        """Find the records in the archive, and the lines of a large log around their times."""
        indexes = self._source.indexes
        entries = indexes.entries_of(urls)
        matches = self._log_lines_near(entries)
        self._source.notes += (line for line in indexes.unread if line not in self._source.notes)
        for facts in batch:
            facts.index_entries = entries[facts.url]
            facts.log_lines = _lines(matches, facts.url)
            if facts.log_lines:
                facts.unsearched.append(f"{CRAWL_LOG}: around the time of its last record")
            if not facts.index_entries:
                facts.unsearched += self._unsearched_archive(indexes)

    def _log_lines_near(self, entries: Mapping[str, Sequence[IndexLine]]) -> LogMatches:
        """Return the lines of a large log around the times of these records.

        A small log is searched later, as a whole; and so is any with `deep`.
        """
        log = self._source.log(CRAWL_LOG)
        matches = log.search(list(entries), max_bytes=0)
        if self._deep or matches.length <= SMALL_LOG_BYTES:
            return matches
        for url, url_entries in entries.items():
            if url_entries:
                moment = url_entries[-1].date[:-1]  # without its Z: the log has milliseconds
                matches.lines[url] = log.lines_near(url, moment)
        return matches

    def _unsearched_archive(self, indexes: ArchiveIndexes) -> Iterator[str]:
        """Yield a line for each part of the archive that was not searched."""
        if indexes.missing:
            is_stored = self._source.has_stored_indexes
            where = "in the store" if is_stored else "no longer in the folder"
            yield f"the archive, except for {count(indexes.missing, 'index file')} {where}"
        if indexes.is_open_one_partial:
            yield "the index of the archive file that is being written: its first 64 MiB"

    def _search_queues(self, batch: Sequence[UrlFacts], urls: Sequence[str]) -> None:
        """Find the places of URLs in the queues of their hosts and domains, and in those of all hosts."""
        search = QueueSearch(self._source.core, self._source.domains, deep=self._deep)
        search.search_own_queues(urls)
        for facts in batch:
            facts.place = search.places.get(facts.url)
        # The queues of all hosts are large: they are searched only for URLs that must be somewhere.
        nowhere = [facts for facts in batch if not _is_found(facts)]
        self._search_shared_queues(
            search, [facts for facts in nowhere if facts.is_known or self._deep]
        )

    def _search_shared_queues(self, search: QueueSearch, batch: Sequence[UrlFacts]) -> None:
        """Find the places of URLs in the front-end and the lines; note which queues were searched
        only in part.
        """
        search.search_shared_queues([facts.url for facts in batch])
        for facts in batch:
            facts.place = search.places.get(facts.url)
            if facts.place is None:
                facts.unsearched += search.unsearched_for(host_of(facts.url))

    def _search_revisits(self, batch: Sequence[UrlFacts]) -> None:
        """Find the records of pages that wait to be fetched again."""
        urls = [facts.url for facts in batch]
        revisits, unsearched = waiting_revisits(self._source.snapshot, urls, deep=self._deep)
        for facts in batch:
            facts.revisit = revisits.get(facts.url)
            if facts.revisit is None:
                facts.unsearched += unsearched

    def _note_ends_since_checkpoint(self, batch: Sequence[UrlFacts]) -> None:
        """Take URLs that have ended since the checkpoint out of their queues.

        A running crawl's log has them.
        """
        queued = [facts for facts in batch if facts.place is not None]
        if not self._source.is_running or not queued:
            return
        noted_length = self._source.outputs.get(CRAWL_LOG, 0)
        urls = {facts.url for facts in queued}
        matches = self._source.log(CRAWL_LOG).search_since(urls, noted_length)
        for facts in queued:
            lines = _lines(matches, facts.url)
            if lines:
                facts.log_lines = lines
                facts.place = None

    def _search_log(self, batch: Sequence[UrlFacts]) -> None:
        """Search crawl.log from its end.

        Of a URL that the crawl does not know, it has lines only for a robots.txt, or for a user's
        own request.
        """
        log = self._source.log(CRAWL_LOG)
        remaining = [facts for facts in batch if not facts.log_lines and self._may_have_line(facts)]
        urls = {facts.url for facts in remaining}
        is_any_known = any(facts.is_known for facts in remaining)
        max_bytes = LOG_BYTES if is_any_known else SMALL_LOG_BYTES
        matches = log.search(urls, deep=self._deep, max_bytes=max_bytes)
        for facts in remaining:
            facts.log_lines = _lines(matches, facts.url)
            if not facts.log_lines:
                facts.unsearched += matches.unsearched

    def _may_have_line(self, facts: UrlFacts) -> bool:
        """Return whether crawl.log may have the URL: one that waits for its first fetch has no line."""
        waits_for_first = facts.place is not None and not is_revisit(facts.place.record)
        return self._deep or not waits_for_first

    def _search_skipped_log(self, batch: Sequence[UrlFacts], urls: Sequence[str]) -> None:
        """Find the lines of skipped.log, and the setting of the filter that the last one names."""
        if not self._source.has_output(SKIPPED_LOG):
            return
        log = self._source.log(SKIPPED_LOG)
        matches = log.search(urls, deep=self._deep, max_bytes=SKIPPED_LOG_BYTES)
        for facts in batch:
            for line in matches.lines[facts.url].values():
                facts.skipped.append(read_skipped(line))
            if facts.skipped:
                facts.skip_setting = setting_of(facts.skipped[-1][1], self._source.values)
            else:
                facts.unsearched += matches.unsearched

    def _search_left_for_later(self, batch: Sequence[UrlFacts]) -> None:
        """Find links that are left for a later segment: the crawl itself does not know them."""
        if not batch:
            return
        urls = {facts.url for facts in batch}
        links, unsearched = links_left_for_later(self._source, urls, deep=self._deep)
        for facts in batch:
            facts.left_for_later = links.get(facts.url)
            may_be_further = facts.left_for_later is None or facts.left_for_later.where == FOUND_LOG
            if may_be_further:
                facts.unsearched += unsearched

    def _apply_rules(self, facts: UrlFacts) -> None:
        """Find what the host, its robots.txt and the filters say of the URL."""
        source = self._source
        host = host_of(facts.url)
        facts.host = source.inspection.facts(host)
        facts.pace = pace_of(facts.host, source.values_for(host), facts.live)
        facts.domain = source.inspection.domain(source.domains(host))
        facts.scores = scores_of(
            facts.url, facts.log_lines, source.focus, waits=facts.place is not None
        )
        facts.rendering = source.rendering(host)
        if source.robots is None:
            facts.robots = RobotsVerdict(RobotsState.IGNORED)
        else:
            facts.robots = robots_verdict(source.robots, facts.url)
        is_queued_requisite = facts.place is not None and is_requisite(facts.place.record)
        needed = source.values["REQUISITES"] and is_queued_requisite
        facts.filters = source.filters.verdicts(facts.url, self._origin(facts), needed=needed)

    def _origin(self, facts: UrlFacts) -> Origin:
        """Return the origin of the URL, for the filters.

        What is not known of it is taken to be in the URL's favour, except for the scope: a scope of
        hosts or domains is that of the page with the link, and a host that the crawl has never
        heard of is outside.
        """
        link = facts.link
        if link is not None:
            return Origin(link.via, link.depth, link.path)
        if facts.log_lines:
            return Origin(facts.log_lines[0].via)
        if facts.skipped:
            page = facts.skipped[-1][2]
            if page:
                return Origin(page)
        if facts.known_in or self._is_in_crawl(facts):
            return Origin(facts.url)
        return Origin(self._source.page_of_another_host(host_of(facts.url)))

    def _is_in_crawl(self, facts: UrlFacts) -> bool:
        """Return whether pages of the URL's host are crawled, as far as the scope tells."""
        scope = self._source.values["URL_SCOPE"]
        if scope not in ("host", "domain"):
            return True
        # Some known hosts have only what pages need to be shown.
        if self._source.values["REQUISITES"]:
            return self._source.filters.in_scope(facts.url)
        is_known = facts.host is not None and facts.host.is_known
        return is_known or (scope == "domain" and self._source.has_domain(facts.url))

    def _search_links(self, batch: Sequence[UrlFacts]) -> None:
        """Find pages that link to URLs of which nothing is known.

        Their links are noted in the outputs, or wait in portions of large pages.
        """
        if not batch:
            return
        urls = {facts.url for facts in batch}
        longest = self._source.values["URL_MAX_LENGTH"]
        large_pages, unsearched_portions = large_pages_of(
            self._source.snapshot, urls, longest, deep=self._deep
        )
        links, unsearched = linking_pages(self._source, urls, deep=self._deep)
        notes_links = self._source.has_output(LINKS_LOG) or "tables" in self._source.output_kinds
        unsearched += self._source.unnoted_links(notes_links=notes_links)
        has_all_links = notes_links and self._source.is_complete and not unsearched
        for facts in batch:
            facts.large_page = large_pages.get(facts.url, "")
            if not facts.large_page:
                facts.unsearched += unsearched_portions
            facts.linking_page = links.get(facts.url)
            if facts.linking_page is None:
                facts.unsearched += unsearched
                facts.has_all_links = has_all_links
                continue
            origin = facts.linking_page.origin
            if origin is not None:
                # The filters were asked before it was known how deep the link is.
                facts.filters = self._source.filters.verdicts(facts.url, origin)

    def _quote_robots(self, batch: Sequence[UrlFacts]) -> None:
        """Find the lines of robots.txt whose rules decide: only the archive has the whole file."""
        known = [facts.robots for facts in batch if facts.robots is not None]
        verdicts = [verdict for verdict in known if verdict.pattern]
        files = list(dict.fromkeys(robots_url(verdict.origin) for verdict in verdicts))
        bodies = self._archived_bodies(files[:MAX_RECORDS_READ])
        agent = agent_of(self._source.values)
        for verdict in verdicts:
            body = bodies.get(robots_url(verdict.origin), b"")
            line, text = line_of(body, agent, verdict.pattern, allows=verdict.allows)
            verdict.line = line
            verdict.line_text = text

    def _archived_bodies(self, urls: Sequence[str]) -> dict[str, bytes]:
        """Return the latest body of each of these URLs that the archive has with status 200."""
        bodies: dict[str, bytes] = {}
        for url, entries in self._source.indexes.entries_of(urls).items():
            answers = [entry for entry in entries[-MAX_ROBOTS_RECORDS:] if entry.status == 200]
            for entry in answers:
                exchange = archived_exchange(self._source.jobdir, entry)
                if exchange is not None:
                    bodies[url] = exchange.body
        return bodies

    def _read_redirects(self, batch: Sequence[UrlFacts]) -> None:
        """Find where redirects lead, which only the archive says."""
        archived = [facts for facts in batch if facts.index_entries]
        redirects = [facts for facts in archived if facts.index_entries[-1].status in REDIRECTS]
        for facts in redirects[:MAX_RECORDS_READ]:
            exchange = archived_exchange(self._source.jobdir, facts.index_entries[-1], 0)
            if exchange is not None:
                facts.redirect_target = exchange.location or ""

    def _read_last_tries(self, batch: Sequence[UrlFacts]) -> None:
        """Find how the last attempt ended: crawl.log has a line only when a URL is done with."""
        for facts in batch[:MAX_RECORDS_READ]:
            exchange = archived_exchange(self._source.jobdir, facts.index_entries[-1])
            if exchange is not None:
                facts.last_try = exchange.status, exchange.truncated


def _is_known_without_place(facts: UrlFacts) -> bool:
    return facts.is_known and facts.place is None


def _is_unknown(facts: UrlFacts) -> bool:
    return not (facts.is_known or facts.index_entries)


def _has_left_no_trace(facts: UrlFacts) -> bool:
    return not (facts.log_lines or facts.index_entries or facts.place)


def _will_be_retried(facts: UrlFacts) -> bool:
    return facts.place is not None and facts.place.has_failed and bool(facts.index_entries)


def _is_found(facts: UrlFacts) -> bool:
    """Return whether it is known where the URL is: in a queue, behind it, or not yet at it."""
    is_unjudged = facts.submitted is not None and not facts.submitted.is_judged
    return bool(facts.place or facts.log_lines or facts.index_entries) or is_unjudged


def _lines(matches: LogMatches, url: str) -> list[CrawlLine]:
    return [line for line in map(log_line, matches.lines[url].values()) if line is not None]
