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

# Pages that one new body pays for. A site whose http addresses redirect to https, and these to www,
# has a new body in one URL of three.
PAYS = 4
# A good site and a trap with new text differ in one thing: the trap never stops naming URLs. A site
# with so many times the URLs that it may have pages could not be crawled whole anyway.
WIDE = 1.5
REQUISITES = 32  # of what pages need to be shown, that cost as much as a page
# times the pages that a domain may have, up to which these are let in: the last pages need them too
BEYOND = 2
# domains noted at once that may go on; all others are found when budgets are looked at again
READY = 1024
LOOK = 64  # domains looked at in one step, 20 us each
SEEN = 256  # domains looked at per checkpoint

UNLIMITED = float("inf")


class Budgets:
    """Lets URLs into the back-end or holds them.

    `pop` returns the held ones whose domain may go on.
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
        self._own: Mapping[str, Allowance | None] | None = None
        self.is_limited = policy.lead < UNLIMITED or policy.most(0, seed=False) < UNLIMITED
        self.families = families
        # families are learnt from a domain's pages
        self.counts = self.is_limited or families is not None
        # a heap: the best reputation first, then by turn
        self._ready: list[tuple[int, int, str]] = []
        self.listed: set[str] = set()  # domains of which URLs may go on
        self._turn = count()
        self.moved = True  # a page was let in since the last round began
        self._round: Iterator[None] | None = None
        # domains at work, whose folded URLs the last look left where they are
        self.postponed: set[str] = set()
        self.idle: list[str] = []  # of these, domains that no longer have anything else
        self._place: Place = TOP

    def change(self, policy: Allowance) -> None:
        """Budgets by another policy, where there are any: who waits for one is looked at again."""
        if not self.is_limited:
            return
        self._policy = policy
        self.table.rate_again()
        self.moved = True

    # -- for every page

    def admits(self, name: str, record: Packed) -> bool:
        """Return whether this URL of the domain may go on; else it is held.

        A user's own request may always.
        """
        if not self.counts or not is_found(record):
            return True
        domain = self.get(name)
        if not domain.seed and is_seed(record):
            domain.seed = True
            self.rate(domain)
            # nothing else may come that would let these go on, and the seed behind them
            if domain.queue is not None:
                self._note(domain)
        if self._requisites and is_requisite(record):
            if self._may_show(domain):
                self._charge(domain, record)
                return True
        elif domain.queue is None:
            if domain.used >= domain.most:
                self.rate(domain)
            if self._may(domain):
                self._charge(domain, record)
                return True
        self.table.hold(domain, record)
        return False

    def answered(self, name: str, *, new: bool) -> int:
        """Book a page of the domain. A new one pays for itself and for others that were not.

        Return the number of its pages that have been answered.
        """
        domain = self.get(name)
        # Novelty is a debt and no share of recent pages, so it needs no clock. A site with a share
        # s of new bodies below a quarter ends after lead / (1 - 4s) pages. A site that turns into a
        # trap has its lead left, however many good pages came before.
        if new:
            paid = min(PAYS - 1, domain.old)
            domain.old -= paid
            self._pay(domain, 1 + paid)
        else:
            domain.old += 1
            self.table.touch(domain)
        return domain.done

    def redirected(self, name: str) -> None:
        """Book a redirect to a known URL of the domain.

        Nothing is owed for it, as its family is judged by it.
        """
        self._pay(self.get(name), 1)

    def join(self, name: str) -> None:
        """Count a redirect and its target, which has been answered, as one page.

        What is still owed for it is paid.
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
        domain.debt = max(domain.debt - pages, 0)
        self.table.touch(domain)
        if domain.queue is not None:
            self._note(domain)

    def _charge(self, domain: Domain, record: Packed) -> None:
        if self._requisites and is_requisite(record) and not is_one_of_many(url_of(record)):
            return
        domain.used += 1
        domain.debt += 1
        self.moved = True
        self.table.touch(domain)

    def get(self, name: str) -> Domain:
        """Return a domain's record, with what it may have."""
        domain = self.table.get(name)
        if not domain.most:
            self._allow(domain)
        return domain

    def _allow(self, domain: Domain) -> None:
        policy = self._policy
        if self._own is not None:
            policy = self._own[domain_of(domain.name)] or policy
        domain.most = policy.most(domain.rank, seed=domain.seed)
        domain.sure = policy.sure(domain.rank, seed=domain.seed)
        domain.lead = policy.lead

    def set_overrides(self, own: Mapping[str, Allowance | None] | None) -> None:
        """From now on some domains have policies of their own."""
        self._own = own
        self.moved = True
        self.table.rate_again()

    def reconsider(self, name: str) -> None:
        """Let a domain go on at once if it may now.

        Others whose policy has changed go on with the next look at budgets.
        """
        domain = self.get(name)
        if domain.queue is not None:
            self.rate(domain)
            self._note(domain)

    def _may(self, domain: Domain) -> bool:
        if domain.name.endswith(FAMILIES):
            return domain.debt > 0 or self.families is None
        used = domain.used
        if domain.debt >= domain.lead or used >= domain.most:
            return False
        if used < domain.sure or domain.queue is None:
            return True
        known = used + domain.queue.count
        return known <= WIDE * domain.most

    def _may_show(self, domain: Domain) -> bool:
        """Return whether the domain may be asked for what pages, of any site, need to be shown."""
        if domain.used >= BEYOND * domain.most:
            self.rate(domain)
        return domain.used < BEYOND * domain.most

    def rate(self, domain: Domain) -> None:
        """Ask for the domain's reputation again."""
        links = self.reputation.links_to(domain.name)
        if links != domain.rank:
            domain.rank = links
            self.table.touch(domain)
        self._allow(domain)

    def rated(self, name: str) -> Domain:
        """Return a domain's record as `rate` would leave it now; the record itself stays as it is."""
        domain = replace(self.get(name), rank=self.reputation.links_to(name))
        self._allow(domain)
        return domain

    # -- the URLs that wait

    @property
    def unsettled(self) -> bool:
        """Return whether URLs wait that may turn out to go on when budgets are looked at again."""
        if self.table.held <= 0:
            return False
        # A checkpoint writes new reputations, but rates few domains again by them. Reputation frees
        # no folded URL.
        has_new_reputations = self.reputation.waits or self.reputation.grown
        if has_new_reputations and self.table.over.urls > 0:
            return True
        return bool(self.moved or self.is_looking or self.postponed or self.idle)

    def fold(self, name: str, record: Packed) -> None:
        """Let a URL that was let in wait behind all others: its family makes nothing new."""
        # A verdict on a family may be wrong. The URL waits, so the mistake costs time and no page.
        self.refund(name)
        self.table.hold(self.get(name + FAMILIES), record)

    def unfold(self, name: str, most: int) -> None:
        """So many of these URLs may go on: in the record's debt is how many."""
        domain = self.get(name + FAMILIES)
        if domain.queue is not None:
            domain.debt = min(most, domain.queue.count)
            self.table.touch(domain)
            self._note(domain)

    def _note(self, domain: Domain) -> None:
        if domain.name in self.listed or not self._may(domain):
            return
        if len(self.listed) >= READY:
            self.moved = True  # so that the next look finds it
            return
        self.listed.add(domain.name)
        heappush(self._ready, (-domain.rank, next(self._turn), domain.name))

    def pop(self) -> Packed | None:
        """Return a URL that may go on now, of the domain with the best reputation."""
        while self._ready:
            name = self._ready[0][2]
            domain = self.get(name)
            record = self.table.release(domain) if self._may(domain) else None
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
        return self._round is not None

    def look(self, at_work: Callable[[], Collection[str]] = tuple) -> bool:
        """Do one step of a look at all budgets, for fetchers that starve.

        Return whether URLs may go on.

        `at_work` returns the domains that are being fetched: their folded URLs wait until those
        have nothing else.
        """
        if self._round is None and self.unsettled:
            self.moved = False
            self.postponed.clear()
            self._round = self._all(at_work())
        if self._round is not None and next(self._round, self) is self:
            self._round = None
        return bool(self.listed)

    def _all(self, at_work: Collection[str]) -> Iterator[None]:
        if self.table.over.urls:
            yield from self.reputation.prepare()
            self.reputation.grown = False
        # `next` finds domains by the rank in their rows, so changed records are written first.
        yield from self.table.prepare()
        place = TOP
        while found := self.table.next(place, LOOK):
            for _, name in found:
                self._try(name, at_work)
            place = found[-1]
            yield

    def _try(self, name: str, at_work: Collection[str]) -> None:
        """Let a domain whose URLs wait go on if it may, or try some of its folded URLs."""
        domain = self.get(name)
        families = self.families
        if domain.queue is None:
            return
        if families is None or domain.debt or not name.endswith(FAMILIES):
            self._rate_and_note(domain)
            return
        whole = domain_of(name)
        if whole in at_work:
            self.postponed.add(whole)
        else:
            self._try_folded(whole)

    def _try_folded(self, name: str) -> None:
        if self.families is not None:
            done = self.table.get(name).done
            self.unfold(name, self.families.try_again(name, done, unlimited=not self.is_limited))

    def left(self, name: str) -> None:
        """Note that a domain has no host in the back-end any more.

        Its folded URLs are next if fetchers starve.
        """
        if name in self.postponed:
            self.postponed.discard(name)
            self.idle.append(name)

    def try_idle_domains(self, is_active: Callable[[str], bool]) -> None:
        """Try folded URLs of the domains that have nothing else since the last look, and are not
        active again.
        """
        while self.idle:
            name = self.idle.pop()
            if is_active(name):
                self.postponed.add(name)
            elif not self.table.get(name + FAMILIES).debt:
                self._try_folded(name)

    def _rate_and_note(self, domain: Domain) -> None:
        self.rate(domain)
        self._note(domain)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Write what has changed, and look at some of the domains whose reputation may have grown."""
        yield from self.reputation.prepare()
        yield from self.table.prepare()
        if self.families is not None:
            yield from self.families.prepare()
        if not self.table.held:
            return
        # A domain that earns pages goes on at once (`_pay`). A domain that others link to is found
        # only here, and by `look` before the crawl ends.
        for _ in range(SEEN // LOOK):
            found = self.table.next(self._place, LOOK)
            for _, name in found:
                domain = self.get(name)
                if domain.queue is not None:
                    self._rate_and_note(domain)
            self._place = found[-1] if found else TOP
            yield
            if self._place == TOP:
                break

    def save(self) -> None:
        self.reputation.save()
        self.table.save()
        if self.families is not None:
            self.families.save()


def domain_of(name: str) -> str:
    """Return the domain of a record."""
    return name.removesuffix(FAMILIES)


def is_one_of_many(url: str) -> bool:
    """Return whether this requisite costs as much as a page; the others cost nothing."""
    return crc32(url.encode()) % REQUISITES == 0
