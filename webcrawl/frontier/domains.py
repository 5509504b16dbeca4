"""Registered domains on a page's way: their links, the pages of their budgets, and who waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from webcrawl.base.model import REDIRECTS, Link, Packed, authority_of, from_sitemap, is_sitemap
from webcrawl.base.url_text import host_of
from webcrawl.frontier.budgets import Budgets, is_one_of_many
from webcrawl.frontier.core import Core, Heard, Rules, both
from webcrawl.frontier.families.families import PAGES_BEFORE_LEARNING
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.prioritizers import Informed, Learning

FREED = 4096  # URLs that go on when a family is freed; those of others wait again
# known URLs of a domain before anything is learnt of its families: no smaller one is a trap
LEARNS = 100
AUTHORITIES = 1 << 16  # hosts and ports of which the URLs are counted


class KnownUrls:
    """Counts the URLs of each domain that have entered the frontier, up to LEARNS and roughly.

    A page of a domain with few URLs is spared what finding a trap costs, a fifth of all that is
    done for it. Counts are not saved, and forgotten all at once when there are too many: who makes
    URLs without an end makes LEARNS soon.
    """

    def __init__(self, domain: Callable[[str], str]) -> None:
        self._domain = domain
        # By domain, its count in a list of one number, which several hosts can share.
        self._counts: dict[str, list[int]] = {}
        self._of: dict[str, list[int]] = {}  # the same lists, by host and port

    def entered(self, records: Iterable[Packed]) -> None:
        """Count links that have entered the frontier."""
        of = self._of
        for record in records:
            authority = authority_of(record)
            count = of.get(authority)
            if count is None:
                count = self._count(authority)
            count[0] += 1

    def are_many(self, name: str) -> bool:
        """Return whether at least LEARNS URLs of a domain have been counted."""
        count = self._counts.get(name)
        return count is not None and count[0] >= LEARNS

    def _count(self, authority: str) -> list[int]:
        """Return the count of the domain of a host and port, which was not counted yet.

        With too many hosts all counts are forgotten before.
        """
        if len(self._of) >= AUTHORITIES:
            self._of.clear()
            self._counts.clear()
        name = self._domain(host_of(f"//{authority}/"))
        count = self._of[authority] = self._counts.setdefault(name, [0])
        return count


class Domains:
    """Finds a URL's domain, and tells its budget and its families what becomes of the URL."""

    def __init__(self, core: Core, rules: Rules) -> None:
        self._core = core
        self._domain = rules.domain
        self._budgets = core.queues.budgets
        self._families = self._budgets.families
        self._requisites = rules.requisites
        self.known = KnownUrls(rules.domain)
        self._new: set[str] = set()  # URLs in flight whose answers are new
        prioritizer = rules.prioritizer
        heard = prioritizer.heard if isinstance(prioritizer, Learning) else None
        self._learns: Heard | None = rules.hears or heard
        # takes the links of each page; None: not wanted
        self.heard = self._hear_for_families()
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
        """Count from now on which domains link to which."""
        self.heard = both(self._budgets.reputation.record_links, self._hear_for_families())

    def _hear_for_families(self) -> Heard | None:
        """Return what takes the links of pages for families and the prioritizer; None if neither."""
        if self._families is None:
            return self._learns
        return both(self._families.record_links, self._learns)

    def links_to(self, url: str) -> int:
        """Return the number of other domains that link to that of a URL, as far as it is counted."""
        return self._budgets.reputation.remembered(self._domain(host_of(url)))

    def votes_go(self, elsewhere: Callable[[str, str], bool]) -> None:
        """Offer each link to `elsewhere`, as a domain and a URL. What it takes is not counted here."""
        self._budgets.reputation.elsewhere = elsewhere

    def vote(self, source: str, url: str) -> None:
        """Count a link to this URL from a page of this domain that another drone has fetched."""
        if self.heard is not None:
            self._budgets.reputation.vote(source, self._domain(host_of(url)))

    # -- the way of a URL

    @property
    def folds(self) -> Callable[[Link, Packed], bool] | None:
        """A function that holds a URL back whose turn has come, if its family makes nothing new.

        It returns whether it did. None if URLs are not judged by families.
        """
        return self._folds if self._families is not None else None

    def _folds(self, link: Link, record: Packed) -> bool:
        """Hold a URL back if its family is folded. Return whether it is held.

        It is then refunded, and waits behind its domain. Only charged URLs of domains with enough
        pages are held, but no retry and no redirect of a URL that was let through.
        """
        path = link.path
        # A retry, and the target of a redirect, follow a URL that was let through.
        was_let_through = link.attempt > 0 or path[-1:] == "R"
        if not path or was_let_through or not self._is_charged(link):
            return False
        domain = self._domain(host_of(link.url))
        families = self._families
        if families is None or self._budgets.get(domain).done < PAGES_BEFORE_LEARNING:
            return False
        if not families.waits(domain, link.url):
            return False
        self._budgets.fold(domain, record)
        self._core.counters["folded"] += 1
        return True

    def new_body(self, link: Link, body: bytes = b"") -> None:
        """Note that the answer to a link in flight has a body that was not seen before."""
        self._new.add(link.url)
        if self._families is not None:
            domain = self._domain(host_of(link.url))
            if self._is_large(domain):
                self._families.read(domain, link.url, body)
            else:
                self._families.pass_over(link.url)

    def _is_large(self, domain: str) -> bool:
        """Return whether a domain has so many URLs that one of its families may have no end."""
        return self.known.are_many(domain) or self._budgets.get(domain).used >= LEARNS

    def record_end(self, host: Host, link: Link, status: int = 0) -> None:
        """Book the end of a URL that is not retried: on its domain's budget and families.

        `status`: 0 if no host was requested.
        """
        new = link.url in self._new
        if self._is_charged(link):
            domain = self._domain(host.name)
            if status in REDIRECTS and self._leads_to_known(domain, link.url):
                self._budgets.redirected(domain)
            else:
                self._record_page(domain, link, status, new=new)
        if host.listed is not None:
            # Sitemaps are measured by the pages that they bring, and not by themselves.
            is_other_kind = link.history or link.request or link.is_own or is_sitemap(link.path)
            if not is_other_kind:
                host.listed.record_page(listed=from_sitemap(link.path.encode()), new=new)
        self.forget(link)

    def _record_page(self, domain: str, link: Link, status: int, *, new: bool) -> None:
        """Book a charged page in its domain's budget and, for large domains, in its families.

        If a family is freed by it, some of its folded URLs go on.
        """
        done = self._budgets.record_page(domain, new=new)  # pages of the domain so far
        # R is for a redirect: the page and the URL that led to it count once.
        if link.path.endswith("R") and self._domain(host_of(link.via)) == domain:
            self._budgets.join(domain)
        families = self._families
        if families is None or done < PAGES_BEFORE_LEARNING or not self._is_large(domain):
            return
        if families.record_page(domain, link, status):
            self._budgets.unfold(domain, FREED)

    def _leads_to_known(self, domain: str, url: str) -> bool:
        """Return whether a redirect leads to a known URL of its domain, and book it if so."""
        families = self._families
        if (
            families is None
            or self._budgets.get(domain).done < PAGES_BEFORE_LEARNING
            or not self._is_large(domain)
        ):
            return False
        return families.redirected(domain, url)

    def forget(self, link: Link) -> None:
        """Forget what is noted of a link, which is no longer in flight."""
        self._new.discard(link.url)
        if self._families is not None:
            self._families.forget(link.url)

    def refund(self, link: Link) -> None:
        """Give its domain's budget a page back: the URL is not requested, or by another crawl."""
        if self._is_charged(link):
            self._budgets.refund(self._domain(host_of(link.url)))

    def _is_charged(self, link: Link) -> bool:
        """Return whether the link counts as a page of its domain's budget.

        A user's request, a robots.txt, a probe, or a page that is fetched again does not, and of
        REQUISITES_PER_PAGE requisites only one does.
        """
        if not self._budgets.counts or link.request or link.history or link.is_own:
            return False
        is_requisite = self._requisites and link.path.endswith("E")
        return not is_requisite or is_one_of_many(link.url)

    def _refund(self, link: Link, _status: int) -> None:
        self.refund(link)
