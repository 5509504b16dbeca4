"""Why seeds give nothing, in words: at once in the log, in progress lines, and at the end for each kind of reason."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection

from webcrawl.base.model import REDIRECTS, Exchange, Link, Outcome, Status
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.crawl.crawl import Crawl
from webcrawl.net.errors import FetchError
from webcrawl.net.failure_words import in_words
from webcrawl.urls.canonical import redirect_target
from webcrawl.urls.filters.filter_protocol import Origin

logger = logging.getLogger(__name__)

AT_ONCE = 5  # of a kind: more are only counted until the end
LONG = 200  # characters of a target
HOSTS = 1000  # of which a fate is remembered
OF_FILTERS = {  # what lets seeds through that a filter drops
    "scope": "a wider -a scope= lets it in",
    "port": "PORTS_ALLOWED opens a port",
    "scheme": "URL_SCHEMES names the schemes",
    "extension": "URL_EXCLUDE_EXTENSIONS names the endings",
    "length": "URL_MAX_LENGTH bounds it",
    "excluded": "URL_EXCLUDE_FILE names it",
    "expression": "URL_INCLUDE and URL_EXCLUDE say so",
}


class SeedFates:
    """Hears of seeds until one has an answer. `others`: hosts that a misspelt name may have meant.

    `alone`: it is no drone of a hive, of which others may have got something.
    """

    def __init__(self, crawl: Crawl, others: Collection[str] = (), *, alone: bool = True) -> None:
        self._crawl, self._others, self._alone = crawl, others, alone
        self._words: dict[str, tuple[str, str]] = {}  # by host: the kind of failure, and the line
        self._told: Counter[str] = Counter()
        self._got = False
        self._led = 0  # answers that were nothing but the ways of seeds out of the scope
        crawl.parts.log.hearers.append(self._ended)

    @property
    def got(self) -> bool:
        """True if anything but a robots.txt, or redirects out of the scope, was answered, in whatever run."""
        if not self._got:
            outcomes = self._crawl.parts.statistics.outcomes
            self._got = sum(number for status, number in outcomes.items() if status > 0) > self._led
        return self._got

    def failed(self, link: Link, error: FetchError) -> None:
        """A request of the crawl's has failed; whether it comes again is not known yet."""
        if not link.path.removesuffix("P") and len(self._words) < HOSTS:
            host, line = host_of(link.url), in_words(error, link.url, self._others)
            if link.path and host_of(link.via) != host:  # of a robots.txt that a seed's has led to
                host, line = host_of(link.via), f"{link.via} leads to {line}"
            self._note(error.name, host, line)

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        if link.path.strip("R"):
            return
        host = host_of(link.url)
        if exchange is not None and exchange.status in REDIRECTS and (target := self._out_of_scope(link, exchange)):
            self._led += 1 + len(link.path)  # with the redirects before it
            if not self._crawl.parts.discovery.heard_of(target):  # else it is another seed, say
                self._note("scope", host, f"{link.url} leads to {target[:LONG]}, out of the scope: name that as a seed")
        elif link.path:
            return
        elif outcome.status == Status.ROBOTS_FORBIDDEN:
            self._note("robots", host, f"{host}: its robots.txt forbids {link.url}")
        elif outcome.status > 0:
            self._words.pop(host, None)

    def _out_of_scope(self, link: Link, exchange: Exchange) -> str:
        """Where a redirect leads that the scope leaves out."""
        target = redirect_target(exchange)
        scopes = [one for one in self._crawl.parts.pipeline.chain.filters if one.name == "scope"]
        left = target and scopes and not scopes[0].keep([target], Origin(link.url, link.depth, f"{link.path}R"))
        return target if left else ""

    def _note(self, kind: str, host: str, line: str) -> None:
        if self._words.get(host, ("",))[0] == kind or (host not in self._words and len(self._words) >= HOSTS):
            return
        self._words[host] = kind, line
        self._told[kind] += 1
        if self._told[kind] <= AT_ONCE:
            logger.warning("%s", line)

    def progress(self) -> str:
        """Why there is nothing yet, in a few words; empty if there is something, or no reason is known."""
        if not self._words or self.got:
            return ""
        more = f" and {count(len(self._words) - 1, 'host')} more" if len(self._words) > 1 else ""
        return f"no seed has answered: {next(iter(self._words.values()))[1]}{more}"

    def lines(self) -> list[str]:
        """One for each kind of reason, of a crawl that has got nothing."""
        if self.got:
            return []
        first: dict[str, str] = {}
        for kind, line in self._words.values():
            first.setdefault(kind, line)
        hosts = Counter(kind for kind, _ in self._words.values())
        more = {kind: f" ({number - 1} more like it)" for kind, number in hosts.items() if number > 1}
        lines = [line + more.get(kind, "") for kind, line in first.items()]
        for kind, dropped in self._crawl.parts.pipeline.filtered.items():
            if dropped:
                mend = OF_FILTERS.get(kind, "URL_FILTERS has it")
                lines.append(f"{count(dropped, 'URL')} left out by the filter {kind}: {mend}")
        return lines

    @property
    def hopeless(self) -> bool:
        """True if nothing was got, and nothing is left that could be. Of a hive, its drones together tell."""
        figures = self._crawl.stats()
        return self._alone and not self.got and not figures["queued"] and bool(figures["seeds"])
