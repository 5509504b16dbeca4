"""A registered domain has a budget of pages, so that no trap is endless (IRLbot's STAR and BEAST).

Each page that is let into the back-end is a debt; one that comes back with a new body pays for
itself and for three that had nothing new. A domain is let on while its debt is below the policy's
lead and its pages below what its reputation allows. All other URLs wait on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count
from zlib import crc32

from webcrawl.base.model import Packed, is_found, is_requisite, is_seed, url_of
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.domain_table import FAMILIES, TOP, Domain, DomainTable, Place
from webcrawl.frontier.families.families import Families
from webcrawl.frontier.reputation import Reputation

# Pages that one new body pays for, itself included. A site whose http addresses redirect to https,
# and these to www, has a new body in one URL of three.
PAGES_PAID_BY_NEW_ONE = 4
# A good site and a trap with new text differ in one thing: the trap never stops naming URLs. A site
# is wide if it names so many times the URLs that it may have pages for: it could not be crawled
# whole anyway.
WIDE_SITE_TIMES = 1.5
REQUISITES_PER_PAGE = 32  # so many of what pages need to be shown cost as much as one page
# Requisites are let in up to so many times the pages that a domain may have, because its last pages
# need them too.
REQUISITES_LIMIT_TIMES = 2
# Domains that may go on and are listed at once; others are found by the next look at budgets.
MAX_LISTED_DOMAINS = 1024
DOMAINS_PER_STEP = 64  # of a look at budgets, 20 us each
DOMAINS_PER_CHECKPOINT = 256  # that are looked at for new reputations

UNLIMITED = float("inf")


class Budgets:
    """Lets URLs into the back-end while their domain has pages left; otherwise holds them.

    `pop` returns held URLs whose domain may go on. A *look* tries all domains with held URLs, when
    nothing else is left to do. A folded family (families/) brings nothing new: its URLs are held in
    a record of their own, with the domain's name and FAMILIES as its name.
    """

    def __init__(
        self,
        table: DomainTable,
        reputation: Reputation,
        policy: Allowance,
        *,
        requisites: bool = False,
        families: Families | None = None,
    ) -> None:
        """`requisites`: embedded links are what pages need to be shown, and cost less."""
        self.table = table
        self._policy = policy
        self._requisites = requisites
        self.reputation = reputation
        # by domain: a policy of its own, or None; None for the whole: no domain has one
        self._overrides: Mapping[str, Allowance | None] | None = None
        self.is_limited = policy.lead < UNLIMITED or policy.most(0, seed=False) < UNLIMITED
        self.families = families
        # families are learnt from a domain's pages
        self.counts = self.is_limited or families is not None
        # A heap of (minus the rank, turn, name): the domain with the best reputation first, and of
        # equals the one listed first.
        self._ready: list[tuple[int, int, str]] = []
        self.listed: set[str] = set()  # domains of which URLs may go on
        self._turns = count()
        # something has changed since the last look began, by which held URLs may go on
        self.has_moved = True
        self._look_steps: Iterator[None] | None = None  # of the look that has begun
        # domains at work, whose folded URLs the last look left where they are
        self.postponed: set[str] = set()
        self.idle: list[str] = []  # of these, domains that no longer have anything else
        self._checkpoint_place: Place = TOP

    def change(self, policy: Allowance) -> None:
        """Set another policy, unless there are no budgets. Held URLs are looked at again."""
        if not self.is_limited:
            return
        self._policy = policy
        self.table.rate_again()
        self.has_moved = True

    # -- for every page

    def admits(self, name: str, record: Packed) -> bool:
        """Return whether this URL of the domain `name` may go on. If so, its domain is charged.

        Otherwise the URL is held. What was not found on a page, such as a user's own request, is
        always let in, without a charge.
        """
        if not self.counts or not is_found(record):
            return True
        domain = self.get(name)
        if not domain.seed and is_seed(record):
            domain.seed = True
            self.rate(domain)
            # No other event may come that would let the held URLs go on, and the seed behind them.
            if domain.queue is not None:
                self._list_if_it_may_go_on(domain)
        if self._requisites and is_requisite(record):
            if self._may_load_requisites(domain):
                self._charge(domain, record)
                return True
        elif domain.queue is None:
            if domain.used >= domain.most:
                self.rate(domain)
            if self._may_go_on(domain):
                self._charge(domain, record)
                return True
        self.table.queue_url(domain, record)
        return False

    def record_page(self, name: str, *, new: bool) -> int:
        """Book a page of the domain that has been answered, with a `new` body or a known one.

        A new page pays for itself and for up to three pages without news. Return the number of the
        domain's pages that have been answered.
        """
        domain = self.get(name)
        # Novelty is a debt and no share of recent pages, so it needs no clock. A site with a share
        # s of new bodies below a quarter ends after lead / (1 - 4s) pages. A site that turns into a
        # trap has its lead left, however many good pages came before.
        if new:
            paid = min(PAGES_PAID_BY_NEW_ONE - 1, domain.old)
            domain.old -= paid
            self._pay(domain, 1 + paid)
        else:
            domain.old += 1
            self.table.touch(domain)
        return domain.done

    def redirected(self, name: str) -> None:
        """Book a redirect to a known URL of the domain: its page is paid for.

        The family of the redirected URL is judged by it instead.
        """
        self._pay(self.get(name), 1)

    def join(self, name: str) -> None:
        """Count a redirect and its target, which has been answered, as one page.

        What is still owed for the redirect is paid.
        """
        domain = self.get(name)
        domain.used = max(domain.used - 1, 0)
        paid = min(domain.old, 1)
        domain.old -= paid
        self._pay(domain, paid)

    def refund(self, name: str) -> None:
        """Take back the page that a URL was let in for: it ended without a request."""
        domain = self.get(name)
        domain.used = max(domain.used - 1, 0)
        self._pay(domain, 1)

    def _pay(self, domain: Domain, pages: int) -> None:
        """Reduce the domain's debt by so many pages, and list the domain if it may go on now."""
        domain.debt = max(domain.debt - pages, 0)
        self.table.touch(domain)
        if domain.queue is not None:
            self._list_if_it_may_go_on(domain)

    def _charge(self, domain: Domain, record: Packed) -> None:
        """Charge the domain one page for this URL; most requisites cost nothing."""
        if self._requisites and is_requisite(record) and not is_one_of_many(url_of(record)):
            return
        domain.used += 1
        domain.debt += 1
        self.has_moved = True
        self.table.touch(domain)

    def get(self, name: str) -> Domain:
        """Return a domain's record, with its allowance set."""
        domain = self.table.get(name)
        if not domain.most:
            self._set_allowance(domain)
        return domain

    def _set_allowance(self, domain: Domain) -> None:
        """Set what the domain may have by its policy: `most`, `sure` and `lead`."""
        policy = self._policy
        if self._overrides is not None:
            policy = self._overrides[domain_of(domain.name)] or policy
        domain.most = policy.most(domain.rank, seed=domain.seed)
        domain.sure = policy.sure(domain.rank, seed=domain.seed)
        domain.lead = policy.lead

    def set_overrides(self, own: Mapping[str, Allowance | None] | None) -> None:
        """Set policies of single domains, by name; where there is None, the general one holds."""
        self._overrides = own
        self.has_moved = True
        self.table.rate_again()

    def reconsider(self, name: str) -> None:
        """Let a domain go on at once if it may now.

        Others whose policy has changed go on with the next look at budgets.
        """
        domain = self.get(name)
        if domain.queue is not None:
            self.rate(domain)
            self._list_if_it_may_go_on(domain)

    def _may_go_on(self, domain: Domain) -> bool:
        """Return whether one more URL of this record may be let in.

        For folded URLs the debt is the number that may go on. A domain may go on below its lead and
        its most pages; beyond its sure pages, only if it is no wide site.
        """
        if domain.name.endswith(FAMILIES):
            return domain.debt > 0 or self.families is None
        used = domain.used
        if domain.debt >= domain.lead or used >= domain.most:
            return False
        if used < domain.sure or domain.queue is None:
            return True
        known_urls = used + domain.queue.count
        return known_urls <= WIDE_SITE_TIMES * domain.most

    def _may_load_requisites(self, domain: Domain) -> bool:
        """Return whether the domain may get requests for requisites, of pages of any site."""
        if domain.used >= REQUISITES_LIMIT_TIMES * domain.most:
            self.rate(domain)
        return domain.used < REQUISITES_LIMIT_TIMES * domain.most

    def rate(self, domain: Domain) -> None:
        """Set the domain's rank and allowance anew, by its reputation now."""
        links = self.reputation.links_to(domain.name)
        if links != domain.rank:
            domain.rank = links
            self.table.touch(domain)
        self._set_allowance(domain)

    def rated(self, name: str) -> Domain:
        """Return a domain's record as `rate` would leave it now; the record itself stays as it is."""
        domain = replace(self.get(name), rank=self.reputation.links_to(name))
        self._set_allowance(domain)
        return domain

    # -- the URLs that wait

    @property
    def unsettled(self) -> bool:
        """Return whether a new look at budgets may find held URLs that can go on."""
        if self.table.held <= 0:
            return False
        # A checkpoint writes new reputations, but rates few domains again by them. Reputation frees
        # no folded URL.
        has_new_reputations = self.reputation.waits or self.reputation.grown
        if has_new_reputations and self.table.over.urls > 0:
            return True
        return bool(self.has_moved or self.is_looking or self.postponed or self.idle)

    def fold(self, name: str, record: Packed) -> None:
        """Hold a URL that was let in behind all others, because its family makes nothing new.

        The page that its domain was charged is refunded.
        """
        # A verdict on a family may be wrong. The URL waits, so the mistake costs time and no page.
        self.refund(name)
        self.table.queue_url(self.get(name + FAMILIES), record)

    def unfold(self, name: str, most: int) -> None:
        """Let `most` of the domain's folded URLs go on.

        In a record of folded URLs `debt` is the number that may still go on.
        """
        domain = self.get(name + FAMILIES)
        if domain.queue is not None:
            domain.debt = min(most, domain.queue.count)
            self.table.touch(domain)
            self._list_if_it_may_go_on(domain)

    def _list_if_it_may_go_on(self, domain: Domain) -> None:
        """List a domain for `pop` if it may go on and there is room."""
        if domain.name in self.listed or not self._may_go_on(domain):
            return
        if len(self.listed) >= MAX_LISTED_DOMAINS:
            self.has_moved = True  # so that the next look finds it
            return
        self.listed.add(domain.name)
        heappush(self._ready, (-domain.rank, next(self._turns), domain.name))

    def pop(self) -> Packed | None:
        """Remove and return a held URL that may go on, of the domain with the best reputation.

        None if no listed domain has one. A folded URL has to be admitted by its domain, too.
        """
        while self._ready:
            name = self._ready[0][2]
            domain = self.get(name)
            record = self.table.release(domain) if self._may_go_on(domain) else None
            if record is not None:
                if name.endswith(FAMILIES):
                    domain.debt = max(domain.debt - 1, 0)
                    if not self.admits(domain_of(name), record):
                        continue
                else:
                    self._charge(domain, record)
                return record
            heappop(self._ready)
            self.listed.discard(name)
        return None

    @property
    def is_looking(self) -> bool:
        """Return whether a look at all budgets has begun and not ended."""
        return self._look_steps is not None

    def look(self, domains_at_work: Callable[[], Collection[str]] = tuple) -> bool:
        """Do one step of a look at all budgets, because fetchers are idle.

        Return whether URLs may go on. `domains_at_work` returns the domains that are being fetched:
        their folded URLs are left until these domains have nothing else.
        """
        if self._look_steps is None and self.unsettled:
            self.has_moved = False
            self.postponed.clear()
            self._look_steps = self._look_at_all(domains_at_work())
        # `next` returns `self` at the end of the steps, which are None each.
        if self._look_steps is not None and next(self._look_steps, self) is self:
            self._look_steps = None
        return bool(self.listed)

    def _look_at_all(self, domains_at_work: Collection[str]) -> Iterator[None]:
        """Rate and try all domains with held URLs, by rank; yield after each short step."""
        if self.table.over.urls:
            yield from self.reputation.prepare()
            self.reputation.grown = False
        # `next` finds domains by the rank in their rows, so changed records are written first.
        yield from self.table.prepare()
        place = TOP
        while found := self.table.next(place, DOMAINS_PER_STEP):
            for _, name in found:
                self._try_domain(name, domains_at_work)
            place = found[-1]
            yield

    def _try_domain(self, name: str, domains_at_work: Collection[str]) -> None:
        """List a domain with held URLs if it may go on, or try some of its folded URLs.

        `name` is that of the record. Folded URLs of domains at work are postponed.
        """
        domain = self.get(name)
        families = self.families
        if domain.queue is None:
            return
        if families is None or domain.debt or not name.endswith(FAMILIES):
            self._rate_and_note(domain)
            return
        domain_name = domain_of(name)
        if domain_name in domains_at_work:
            self.postponed.add(domain_name)
        else:
            self._try_folded(domain_name)

    def _try_folded(self, name: str) -> None:
        """Let some of the domain's folded URLs go on, as many as its families give another try."""
        if self.families is not None:
            done = self.table.get(name).done
            self.unfold(name, self.families.try_again(name, done, unlimited=not self.is_limited))

    def left(self, name: str) -> None:
        """Note that a domain has no host in the back-end any more.

        If its folded URLs were postponed, `try_idle_domains` tries them next.
        """
        if name in self.postponed:
            self.postponed.discard(name)
            self.idle.append(name)

    def try_idle_domains(self, is_active: Callable[[str], bool]) -> None:
        """Try folded URLs of the domains that have had no other URLs since the last look.

        Those that are active again are postponed once more.
        """
        while self.idle:
            name = self.idle.pop()
            if is_active(name):
                self.postponed.add(name)
            elif not self.table.get(name + FAMILIES).debt:
                self._try_folded(name)

    def _rate_and_note(self, domain: Domain) -> None:
        """Rate a domain anew, and list it if it may go on."""
        self.rate(domain)
        self._list_if_it_may_go_on(domain)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Write what has changed, in slices, and rate a few of the domains with held URLs anew.

        Each checkpoint goes on with the domains after those of the last one.
        """
        yield from self.reputation.prepare()
        yield from self.table.prepare()
        if self.families is not None:
            yield from self.families.prepare()
        if not self.table.held:
            return
        # A domain that earns pages goes on at once (`_pay`). A domain that others link to is found
        # only here, and by `look` before the crawl ends.
        for _ in range(DOMAINS_PER_CHECKPOINT // DOMAINS_PER_STEP):
            found = self.table.next(self._checkpoint_place, DOMAINS_PER_STEP)
            for _, name in found:
                domain = self.get(name)
                if domain.queue is not None:
                    self._rate_and_note(domain)
            self._checkpoint_place = found[-1] if found else TOP
            yield
            if self._checkpoint_place == TOP:
                break

    def save(self) -> None:
        self.reputation.save()
        self.table.save()
        if self.families is not None:
            self.families.save()


def domain_of(name: str) -> str:
    """Return the domain of a record's name, which may be that of its folded URLs."""
    return name.removesuffix(FAMILIES)


def is_one_of_many(url: str) -> bool:
    """Return whether this requisite costs as much as a page; the others cost nothing."""
    return crc32(url.encode()) % REQUISITES_PER_PAGE == 0
