"""Registered domains on a page's way: who links to whom, which pages their budgets pay for, and whose URLs wait."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.model import REDIRECTS, Link, Packed, from_sitemap, is_sitemap
from webcrawl.base.url_text import host_of
from webcrawl.frontier.budgets import Budgets, is_one_of_many
from webcrawl.frontier.core import Core, Heard, Rules, both
from webcrawl.frontier.families.families import START
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.prioritizers import Informed, Learning

FREED = 4096  # URLs that go on when a family is freed; those of others wait again


class Domains:
    """Finds a URL's domain, and tells its budget and its families what becomes of the URL."""

    def __init__(self, core: Core, rules: Rules) -> None:
        self._core, self._domain, self._budgets = core, rules.domain, core.queues.budgets
        self._families, self._requisites = self._budgets.families, rules.requisites
        self._new: set[str] = set()  # URLs in flight whose answers are new
        prioritizer = rules.prioritizer
        heard = prioritizer.heard if isinstance(prioritizer, Learning) else None
        self._learns: Heard | None = rules.hears or heard
        self.heard = self._hear_for_families()  # wants the links of each page, or nobody does
        if self._budgets.counts:
            core.dropped.append(self._refund)
        if self._budgets.is_limited or isinstance(prioritizer, Informed):
            self.hear_links()

    @property
    def budgets(self) -> Budgets | None:
        """The budgets of registered domains, if they have any."""
        return self._budgets if self._budgets.is_limited else None

    # -- who links to whom

    def hear_links(self) -> None:
        """Somebody wants to know who links to whom."""
        self.heard = both(self._budgets.reputation.heard, self._hear_for_families())

    def _hear_for_families(self) -> Heard | None:
        return both(self._families.heard, self._learns) if self._families is not None else self._learns

    def links_to(self, url: str) -> int:
        """The number of other domains that link to that of a URL, as far as it is counted."""
        return self._budgets.reputation.remembered(self._domain(host_of(url)))

    def votes_go(self, elsewhere: Callable[[str, str], bool]) -> None:
        """Offers it who links to whom, as a domain and a URL. What it takes is not counted here."""
        self._budgets.reputation.elsewhere = elsewhere

    def vote(self, source: str, url: str) -> None:
        """A page of this registered domain, which was fetched elsewhere, links to this URL."""
        if self.heard is not None:
            self._budgets.reputation.vote(source, self._domain(host_of(url)))

    # -- the way of a URL

    @property
    def folds(self) -> Callable[[Link, Packed], bool] | None:
        """Holds a URL back whose turn has come, if its family makes nothing new."""
        return self._folds if self._families is not None else None

    def _folds(self, link: Link, record: Packed) -> bool:
        path = link.path
        if not path or link.attempt or path[-1] == "R" or not self._is_charged(link):
            return False
        domain = self._domain(host_of(link.url))
        families = self._families
        if families is None or self._budgets.get(domain).done < START or not families.waits(domain, link.url):
            return False
        self._budgets.fold(domain, record)
        self._core.counters["folded"] += 1
        return True

    def new_body(self, link: Link, body: bytes = b"") -> None:
        """The answer to a link that is in flight has a body that was not seen before."""
        self._new.add(link.url)
        if self._families is not None:
            self._families.read(self._domain(host_of(link.url)), link.url, body)

    def answered(self, host: Host, link: Link, status: int = 0) -> None:
        """One of the host's pages is done."""
        new = link.url in self._new
        if self._is_charged(link):
            domain = self._domain(host.name)
            if status in REDIRECTS and self._leads_to_known(domain, link.url):
                self._budgets.redirected(domain)
            else:
                self._answered(domain, link, status, new=new)
        if host.listed is not None and not (link.history or link.request or link.is_own or is_sitemap(link.path)):
            host.listed.learn(listed=from_sitemap(link.path.encode()), new=new)
        self.forget(link)

    def _answered(self, domain: str, link: Link, status: int, *, new: bool) -> None:
        done = self._budgets.answered(domain, new=new)
        if link.path.endswith("R") and self._domain(host_of(link.via)) == domain:
            self._budgets.join(domain)
        families = self._families
        if families is not None and done >= START and families.answered(domain, link, status):
            self._budgets.unfold(domain, FREED)

    def _leads_to_known(self, domain: str, url: str) -> bool:
        """Return whether a redirect leads to a known URL of its domain; then its families have it booked."""
        families = self._families
        if families is None or self._budgets.get(domain).done < START:
            return False
        return families.redirected(domain, url)

    def forget(self, link: Link) -> None:
        """A link is no longer in flight."""
        self._new.discard(link.url)
        if self._families is not None:
            self._families.forget(link.url)

    def refund(self, link: Link) -> None:
        """A URL that was let in ends without a request, or is asked for by another crawl."""
        if self._is_charged(link):
            self._budgets.refund(self._domain(host_of(link.url)))

    def _is_charged(self, link: Link) -> bool:
        """True if the link is a page of its domain's budget: of the requisites, one in REQUISITES is.

        None is a user's request, a robots.txt, a probe, or a page that is fetched again.
        """
        if not self._budgets.counts or link.request or link.history or link.is_own:
            return False
        return not (self._requisites and link.path.endswith("E")) or is_one_of_many(link.url)

    def _refund(self, link: Link, _status: int) -> None:
        self.refund(link)
