"""Says why seeds gave nothing: in the log at once, in the progress lines, and at the end grouped by
reason.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator

from webcrawl.base.model import REDIRECTS, Exchange, Link, Outcome, Status
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.crawl.crawl import Crawl
from webcrawl.frontier.outcomes import have_pages
from webcrawl.net.errors import FetchError, NoNetwork, NoSocket, NotRunning
from webcrawl.net.failure_words import in_words
from webcrawl.store.jobdir.counter_words import TOO_MANY_REDIRECTS
from webcrawl.urls.canonical import redirect_target
from webcrawl.urls.filters.filter_protocol import Origin

logger = logging.getLogger(__name__)

LINES_PER_KIND = 5  # of a kind: more are only counted until the end
LONG = 200  # characters of a target
HOSTS = 1000  # of which a fate is remembered
OF_FILTERS = {  # what lets seeds through that a filter drops
    "scope": "a wider scope (--scope, -a scope=) allows it",
    "port": "add its port to PORTS_ALLOWED to allow it",
    "scheme": "URL_SCHEMES lists the allowed schemes",
    "extension": "URL_EXCLUDE_EXTENSIONS lists the excluded endings",
    "length": "URL_MAX_LENGTH limits the length",
    "excluded": "URL_EXCLUDE_FILE excludes it",
    "expression": "see URL_INCLUDE and URL_EXCLUDE",
}


class SeedFates:
    """Keeps, by host, why its seeds gave nothing: the *fate* of a seed, or of what it redirects to.

    `others`: hosts that a misspelt name may have meant. `hops`: redirects in a row that are
    followed. `alone`: nothing but these seeds can bring a page: it is no drone of a hive, and no
    spider that makes requests of its own.
    """

    def __init__(
        self, crawl: Crawl, hops: int, others: Collection[str] = (), *, alone: bool = True
    ) -> None:
        """Begin to hear how URLs end."""
        self._crawl = crawl
        self._hops = hops
        self._others = others
        self._alone = alone
        self._fates: dict[str, tuple[str, str]] = {}  # by host: the kind of failure, and the line
        self._lines_logged: Counter[str] = Counter()  # by kind; those beyond LINES_PER_KIND, too
        self._loop = ""  # the line about a redirect to what was requested
        crawl.parts.log.hearers.append(self._ended)

    @property
    def got(self) -> bool:
        """Return whether the crawl has got a page, in any of its runs."""
        return have_pages(self._crawl.parts.statistics.outcomes, self._hops)

    def failed(self, link: Link, error: FetchError) -> None:
        """Note a failed request of the crawl's; whether it comes again is not known yet.

        What this machine lacked, its network or the process for the moment, says nothing of the seed.
        """
        if isinstance(error, (NoNetwork, NoSocket, NotRunning)):
            return
        # Redirects and a robots.txt alone have led from a seed to it.
        is_of_seed = not link.path.strip("RP")
        if not is_of_seed or len(self._fates) >= HOSTS:
            return
        host = host_of(link.url)
        line = in_words(error, link.url, self._others)
        if link.path and host_of(link.via) != host:  # a seed, or its robots.txt, has led to it
            host = host_of(link.via)
            line = f"{link.via} redirects to {line}"
        self._note(error.name, host, line)

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Note what became of a seed, or of what it redirects to."""
        # A path of redirects alone is that of a seed.
        if link.path.strip("R"):
            return
        host = host_of(link.url)
        # Else a redirect is an answer like others.
        follows_redirects = self._hops > 0
        if follows_redirects and exchange is not None and exchange.status in REDIRECTS:
            self._note_redirect(host, link, exchange)
        elif outcome.status == Status.ROBOTS_FORBIDDEN:
            self._note("robots", host, f"{host}: its robots.txt forbids {link.url}")
        elif outcome.status > 0:
            self._fates.pop(host, None)  # there was an answer

    def _note_redirect(self, host: str, link: Link, exchange: Exchange) -> None:
        """Note where a seed is redirected if the target is not fetched; else that has a fate."""
        target = redirect_target(exchange)
        leads = f"{link.url} redirects to {target[:LONG]}"
        if not target:
            self._note("nowhere", host, f"{link.url} redirects, but not to a valid URL")
        elif target in (link.url, link.via):
            # it may have another answer for a cookie: said only if there was none
            self._loop = f"{leads} again"
        elif len(link.path) >= self._hops:
            self._note(
                "redirects",
                host,
                f"{leads}: that is one redirect more than REDIRECT_MAX_HOPS={self._hops} allows",
            )
        elif self._is_left_out(target, link) and not self._crawl.parts.discovery.heard_of(target):
            # another seed may be the target
            self._note("scope", host, f"{leads}, which is out of scope: use that as a seed")

    def _is_left_out(self, target: str, link: Link) -> bool:
        """Return whether the filter of the scope drops the target of a redirect."""
        origin = Origin(link.url, link.depth, f"{link.path}R")
        for url_filter in self._crawl.parts.pipeline.chain.filters:
            if url_filter.name == "scope":
                return not url_filter.keep([target], origin)
        return False

    def _note(self, kind: str, host: str, line: str) -> None:
        """Note the fate of a host's seeds in place of an earlier one; log the first of a kind."""
        known_kind, _ = self._fates.get(host, ("", ""))
        is_too_many = host not in self._fates and len(self._fates) >= HOSTS
        if known_kind == kind or is_too_many:
            return
        self._fates[host] = kind, line
        self._lines_logged[kind] += 1
        if self._lines_logged[kind] <= LINES_PER_KIND:
            logger.warning("%s", line)

    def progress(self) -> str:
        """Return why there is no page yet, in a few words; empty if there is, or why is unknown."""
        if not self._fates or self.got:
            return ""
        _, first = next(iter(self._fates.values()))
        other_hosts = len(self._fates) - 1
        more = f" and {count(other_hosts, 'host')} more" if other_hosts else ""
        return f"no seed has answered: {first}{more}"

    def lines(self) -> list[str]:
        """Return a line for each kind of reason, of a crawl that has got nothing."""
        if self.got:
            return []
        lines = [*self._lines_of_hosts(), *self._lines_of_filters()]
        if not lines and self._loop:
            return [self._loop]
        return lines

    def _lines_of_hosts(self) -> Iterator[str]:
        """Yield the first line of each kind of failure, and how many hosts have the same kind."""
        first_lines: dict[str, str] = {}
        hosts: Counter[str] = Counter()
        for kind, line in self._fates.values():
            first_lines.setdefault(kind, line)
            hosts[kind] += 1
        for kind, line in first_lines.items():
            more = hosts[kind] - 1
            yield f"{line} (and {more} more of this kind)" if more else line

    def _lines_of_filters(self) -> Iterator[str]:
        filtered = self._crawl.parts.pipeline.filtered
        for kind, dropped in filtered.items():
            # Of a redirect too many the fate of its host speaks.
            if dropped and kind != TOO_MANY_REDIRECTS:
                mend = OF_FILTERS.get(kind, "see URL_FILTERS")
                yield f"{count(dropped, 'URL')} left out by the filter {kind}: {mend}"

    @property
    def hopeless(self) -> bool:
        """Return whether the crawl has no page, and nothing left that could bring one.

        Only the drones of a hive together know that (`Coordinator.look`), so it is False for a drone.
        """
        if not self._alone or self.got:
            return False
        figures = self._crawl.stats()
        return not figures["queued"] and bool(figures["seeds"])
