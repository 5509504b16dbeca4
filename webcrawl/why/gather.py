"""Finds the facts about URLs, many at once: each file is gone through once, however many are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webcrawl.model import is_requisite, unpack
from webcrawl.net.robots_book import robots_url
from webcrawl.urls.filters.protocol import Origin
from webcrawl.urls.hosts import host_of
from webcrawl.why.archive import exchange_of
from webcrawl.why.budget import DomainBudget, budget_of
from webcrawl.why.facts import Facts
from webcrawl.why.host import delay_of
from webcrawl.why.links import linking
from webcrawl.why.log import Looked, log_line
from webcrawl.why.portions import among_portions
from webcrawl.why.queued import BUDGET, HOST, Search, Searched
from webcrawl.why.robots import agent_of, robots_verdict
from webcrawl.why.robots_lines import line_of
from webcrawl.why.source import CRAWL_LOG, SKIPPED_LOG, Source
from webcrawl.why.words import iso_of, size

QUICK_SKIPPED = 64 << 20  # bytes of skipped.log
READ = 300  # records of the archive that are read for what they say: each takes a millisecond
ROBOTS = 3  # of the same robots.txt, the latest
REDIRECTS = frozenset((301, 302, 303, 307, 308))


class Gathering:
    """Facts of one crawl. `deep`: look through all, however long it takes."""

    def __init__(self, source: Source, *, deep: bool = False) -> None:
        self._source, self._deep = source, deep
        self._search = Search(source.snapshot, source.domains, deep=deep)
        self._budgets: dict[str, DomainBudget] = {}

    def __repr__(self) -> str:
        return f"<Gathering {self._source!r}>"

    def facts(self, asked: Sequence[str], live: Mapping[str, Mapping[str, Any]]) -> list[Facts]:
        """`live`: what the running crawl says, by canonical URL."""
        found = [Facts(one, self._source.form(one)) for one in asked]
        some = [facts for facts in found if facts.url]
        if not some:
            return found
        for facts in some:
            facts.live = live.get(facts.url)
        urls = list(dict.fromkeys(facts.url for facts in some))
        self._seen(some)
        searched = self._queues(some, urls)
        self._log(some, urls)
        self._skipped(some, urls)
        for facts in some:
            self._rules(facts, searched)
        self._elsewhere([facts for facts in some if not (facts.lines or facts.entries or facts.place)])
        self._quote_robots(some)
        self._follow(some)
        return found

    def _seen(self, some: Sequence[Facts]) -> None:
        keys = self._source.keys([facts.form for facts in some])
        known, waiting = self._source.seen.among(keys), self._source.seen.waiting(keys)
        for facts, key in zip(some, keys, strict=True):
            facts.known, facts.waiting = known.get(key, ""), waiting.get(key)

    def _queues(self, some: Sequence[Facts], urls: Sequence[str]) -> Searched:
        searched = self._search.find(urls)
        for facts in some:
            host = host_of(facts.url)
            facts.place, facts.host = searched.places.get(facts.url), searched.hosts[host]
            if facts.place is None and facts.is_known:
                domain = self._source.domains(host)
                own = {f"{HOST} {host}": f"the queue of {host}", f"{BUDGET} {domain}": f"the queue of {domain}"}
                for what, (looked, of) in searched.cut.items():
                    if " " not in what or what in own:
                        name = own.get(what, {"front": "the front-end", "line": "the lines"}.get(what, what))
                        facts.looked.append(f"{name}: {looked:,} of {of:,} URLs")
        return searched

    def _log(self, some: Sequence[Facts], urls: Sequence[str]) -> None:
        source = self._source
        entries = source.indexes.find(urls)
        log = source.log(CRAWL_LOG)
        looked = log.look(urls, deep=self._deep)
        for url, found in entries.items():
            if found and not looked.lines[url] and not looked.whole:
                log.near(looked, url, iso_of(found[-1].stamp))
        for facts in some:
            facts.entries = entries[facts.url]
            facts.lines = _lines(looked, facts.url)
            if not facts.lines and not looked.whole:
                facts.looked.append(f"{CRAWL_LOG}: the last {size(looked.looked)} of {size(looked.of)}")
            if not facts.entries and source.indexes.gone:
                facts.looked.append(f"{source.indexes.gone} indexes of the archive are no longer in the folder")
            if not facts.entries and source.indexes.cut:
                facts.looked.append("the index of the archive file that is being written: its first 64 MiB")

    def _skipped(self, some: Sequence[Facts], urls: Sequence[str]) -> None:
        if SKIPPED_LOG not in self._source.outputs:
            return
        looked = self._source.log(SKIPPED_LOG).look(urls, deep=self._deep, quick=QUICK_SKIPPED)
        for facts in some:
            for line in looked.lines[facts.url].values():
                moment, reason, _, *rest = line.decode("utf-8", "replace").split("\t")
                facts.skipped.append((moment, reason, rest[0] if rest else ""))
            if not facts.skipped and not looked.whole:
                facts.looked.append(f"{SKIPPED_LOG}: the last {size(looked.looked)} of {size(looked.of)}")

    def _rules(self, facts: Facts, searched: Searched) -> None:
        source, host = self._source, host_of(facts.url)
        facts.host = searched.hosts[host]
        times, asked = (facts.host.times, facts.host.crawl_delay) if facts.host is not None else ([], 0.0)
        facts.delay = delay_of(times, asked, source.values)
        facts.robots = robots_verdict(source.snapshot, facts.url, source.values)
        domain = source.domains(host)
        if domain not in self._budgets:
            self._budgets[domain] = budget_of(source.snapshot, domain, source.key, source.values)
        facts.budget = self._budgets[domain]
        needed = False
        if facts.place is not None and source.values["REQUISITES"]:
            needed = is_requisite(facts.place.record)
        facts.filters = source.filters.ask(facts.url, self._origin(facts), needed=needed)

    def _origin(self, facts: Facts) -> Origin:
        """Where the filters are told that it was found: what is not known is in favour of the URL, but for the scope.

        A scope of hosts or domains is that of the page; a host that the crawl has never heard of is outside.
        """
        if facts.place is not None or (facts.waiting is not None and facts.waiting.record):
            record = facts.place.record if facts.place is not None else facts.waiting.record  # type: ignore[union-attr]
            link = unpack(record)
            return Origin(link.via, link.depth, link.path)
        if facts.lines:
            return Origin(facts.lines[0].via)
        if facts.skipped and facts.skipped[-1][2]:
            return Origin(facts.skipped[-1][2])
        if facts.known or self._is_home(facts):
            return Origin(facts.url)
        return Origin(self._source.some_page(host_of(facts.url)))

    def _is_home(self, facts: Facts) -> bool:
        scope = self._source.values["URL_SCOPE"]
        if scope not in ("host", "domain"):
            return True
        if self._source.values["REQUISITES"]:  # hosts are known that only have what pages need to be shown
            return self._source.filters.in_scope(facts.url)
        return facts.host is not None or (scope == "domain" and self._source.has_domain(facts.url))

    def _elsewhere(self, some: Sequence[Facts]) -> None:
        """What waits in portions, and who links to it, of URLs of which nothing else is known."""
        if not some:
            return
        urls = {facts.url for facts in some}
        longest = self._source.values["URL_MAX_LENGTH"]
        portions, (looked, of) = among_portions(self._source.snapshot, urls, longest, deep=self._deep)
        links, cut = linking(self._source, urls, deep=self._deep)
        for facts in some:
            facts.portion, facts.linked = portions.get(facts.url), links.get(facts.url)
            if facts.portion is None and looked < of:
                facts.looked.append(f"links of large pages that wait: {looked:,} of {of:,} thousand")
            if facts.linked is None:
                facts.looked += cut

    def _quote_robots(self, some: Sequence[Facts]) -> None:
        """On which lines of robots.txt the rules are that decide: only the archive has the whole file."""
        verdicts = [facts.robots for facts in some if facts.robots is not None and facts.robots.pattern]
        files = list(dict.fromkeys(robots_url(verdict.origin) for verdict in verdicts))[:READ]
        bodies: dict[str, bytes] = {}
        for url, entries in self._source.indexes.find(files).items():
            for entry in entries[-ROBOTS:]:
                exchange = exchange_of(self._source.jobdir, entry) if entry.status == 200 else None
                if exchange is not None:
                    bodies[url] = exchange.body
        agent = agent_of(self._source.values)
        for verdict in verdicts:
            body = bodies.get(robots_url(verdict.origin), b"")
            verdict.line, verdict.written = line_of(body, agent, verdict.pattern, allows=verdict.allows)

    def _follow(self, some: Sequence[Facts]) -> None:
        """Where redirects lead, which only the archive says."""
        redirects = [facts for facts in some if facts.entries and facts.entries[-1].status in REDIRECTS]
        for facts in redirects[:READ]:
            exchange = exchange_of(self._source.jobdir, facts.entries[-1], 0)
            facts.redirect = (exchange.location or "") if exchange is not None else ""


def _lines(looked: Looked, url: str) -> list[Any]:
    return [line for line in map(log_line, looked.lines[url].values()) if line is not None]
