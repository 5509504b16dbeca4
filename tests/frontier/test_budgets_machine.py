"""Budgets against a plain twin in memory, with tiny limits, checkpoints and crashes among the
steps.
"""

import tempfile
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.examples import examples
from tests.support.patches import patched
from tests.support.places import IN_MEMORY
from webcrawl.base.model import Link
from webcrawl.frontier import budgets
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.budgets import PAGES_PAID_BY_NEW_ONE, WIDE_SITE_TIMES, Budgets
from webcrawl.frontier.domain_table import DomainTable
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.frontier.reputation import Reputation
from webcrawl.store.crawldb import CrawlDB

NAMES = [f"d{number}.test" for number in range(6)]
NAME = st.sampled_from(NAMES)
POLICY = ByReputation(3)


@dataclass
class Twin:
    """One domain as it should be."""

    links: int = 0  # as last looked at
    seed: bool = False
    used: int = 0
    debt: int = 0
    old: int = 0
    queue: list[bytes] = field(default_factory=list)

    def may(self):
        most, sure = (count(self.links, seed=self.seed) for count in (POLICY.most, POLICY.sure))
        wide = (
            self.used >= sure
            and self.queue
            and self.used + len(self.queue) > WIDE_SITE_TIMES * most
        )
        return self.debt < POLICY.lead and self.used < most and not wide

    def charge(self):
        self.used += 1
        self.debt += 1


@dataclass
class Model:
    domains: dict[str, Twin] = field(default_factory=lambda: {name: Twin() for name in NAMES})
    sources: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in NAMES})
    serial: int = 0

    def rate(self, name):
        self.domains[name].links = len(self.sources[name])


class BudgetsMachine(RuleBasedStateMachine):
    """A URL is let in, held or given back exactly as the twin says; no crash loses or doubles one."""

    @initialize(memory=st.integers(0, 400))
    def begin(self, memory):
        self.patches = patched((budgets, {"MAX_LISTED_DOMAINS": 2, "DOMAINS_PER_STEP": 3}))
        self.scratch = self.patches.enter_context(tempfile.TemporaryDirectory(dir=IN_MEMORY))
        self.memory, self.model = memory, Model()
        self.open()
        self.checkpoint()

    def open(self):
        self.db = CrawlDB(Path(self.scratch))
        self.table = DomainTable(self.db, Pool(Blocks(self.db), self.memory, 64), 4)
        self.budgets = Budgets(self.table, Reputation(self.db, str, bytes(16), 64), POLICY)

    @rule(
        name=NAME,
        kind=st.sampled_from(["link", "link", "link", "seed", "request"]),
        count=st.integers(1, 6),
    )
    def admit(self, name, kind, count):
        twin = self.model.domains[name]
        for _ in range(count):
            self.model.serial += 1
            url = f"http://{name}/{self.model.serial}"
            kinds = {"seed": Link(url, seed=url), "request": Link(url, request="e30")}
            record = kinds.get(kind, Link(url, "L", "http://x/")).pack()
            passed = self.budgets.admits(name, record)
            if kind == "request":
                assert passed
                continue
            if kind == "seed" and not twin.seed:
                twin.seed = True
                self.model.rate(name)
            if not twin.queue and not twin.may():
                self.model.rate(name)
            if twin.queue or not twin.may():
                assert not passed
                twin.queue.append(record)
            else:
                assert passed
                twin.charge()

    @rule(source=st.integers(0, 5), name=NAME)
    def hear(self, source, name):
        self.budgets.reputation.record_links(f"http://s{source}/", [f"http://{name}/"])
        self.budgets.reputation.save()
        self.model.sources[name].add(f"s{source}")

    @rule(name=NAME, answers=st.lists(st.booleans(), min_size=1, max_size=4))
    def answered(self, name, answers):
        twin = self.model.domains[name]
        for new in answers:
            self.budgets.record_page(name, new=new)
            if new:
                paid = min(PAGES_PAID_BY_NEW_ONE - 1, twin.old)
                twin.old -= paid
                twin.debt = max(twin.debt - 1 - paid, 0)
            else:
                twin.old += 1

    @rule(name=NAME)
    def refund(self, name):
        self.budgets.refund(name)
        twin = self.model.domains[name]
        twin.used, twin.debt = max(twin.used - 1, 0), max(twin.debt - 1, 0)

    @rule(count=st.integers(1, 9))
    def pop(self, count):
        for _ in range(count):
            record = self.budgets.pop()
            if record is None:
                assert not self.budgets.listed
                return
            twin = self.model.domains[record.split(b"/", 3)[2].decode()]
            assert twin.may()
            assert record == twin.queue.pop(0)
            twin.charge()

    @rule()
    def look(self):
        """After a look at all budgets, everything that may go on comes out."""
        for _ in range(1000):
            if not (self.budgets.unsettled or self.budgets.listed):
                break
            if self.budgets.look():
                for name, twin in self.model.domains.items():
                    if twin.queue and name in self.budgets.listed:
                        self.model.rate(name)
                self.pop(100)
        for name, twin in self.model.domains.items():
            if twin.queue:
                self.model.rate(name)
                assert not twin.may()

    @rule()
    def checkpoint(self):
        for _ in self.budgets.prepare():
            pass
        self.budgets.save()
        self.db.checkpoint()
        for name, twin in self.model.domains.items():
            if twin.queue:
                # all are looked at, for they are fewer than a checkpoint looks at
                self.model.rate(name)
        self.durable = deepcopy(self.model)

    @rule()
    def crash(self):
        self.db.close()
        self.model = deepcopy(self.durable)
        self.open()

    @invariant()
    def figures_agree(self):
        waiting = [len(twin.queue) for twin in self.model.domains.values() if twin.queue]
        assert (self.budgets.table.held, self.table.over.domains) == (sum(waiting), len(waiting))
        assert len(self.table._cached) <= 4
        assert len(self.budgets.listed) <= budgets.MAX_LISTED_DOMAINS

    @invariant()
    def domains_agree(self):
        for name, domain in self.table._cached.items():
            twin = self.model.domains[name]
            queued = 0 if domain.queue is None else domain.queue.count
            assert (domain.seed, domain.used, domain.debt, domain.old, queued) == (
                twin.seed,
                twin.used,
                twin.debt,
                twin.old,
                len(twin.queue),
            )

    def teardown(self):
        if hasattr(self, "db"):
            with self.patches:
                self.db.close()


BudgetsMachine.TestCase.settings = examples(50, stateful_step_count=40)
TestBudgets = BudgetsMachine.TestCase
