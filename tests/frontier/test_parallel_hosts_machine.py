"""The frontier's model with hosts that may have several requests at once, and with robots.txt."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.frontier.test_frontier_machine import HOSTS, LIMITS, FrontierMachine
from tests.support.examples import examples
from tests.support.frontiers import POLITENESS
from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.frontier.host_queues import Connections


class SeveralMachine(FrontierMachine):
    """No host has more requests at once, each with its wait, than it may have; robots.txt has none
    beside it.
    """

    def __init__(self):
        super().__init__()
        self.allowed, self.serial = set(), 0
        self.connect({"h0": 3, "h1": 2})

    def connect(self, rules):
        self.rules = rules
        self.limits = replace(LIMITS, connections=Connections(rules) if rules else None)

    @rule(rules=st.dictionaries(st.sampled_from(HOSTS[:4]), st.integers(1, 4)))
    def change(self, rules):
        """Another value of the setting while the crawl runs."""
        self.connect(rules)
        self.frontier.change(POLITENESS, self.limits)

    @rule(host=st.sampled_from(HOSTS[:4]), seconds=st.sampled_from([0.0, 0.0, 20.0]))
    def crawl_delay(self, host, seconds):
        self.frontier.crawl_delay(host, seconds)

    @rule(host=st.sampled_from(HOSTS))
    def forget_robots(self, host):
        self.allowed.discard(host)

    def admission(self, link, now):
        host = host_of(link.url)
        if link.path.endswith("P") or host in self.allowed:
            return super().admission(link, now)
        self.serial += 1
        return Link(f"http://{host}/robots{self.serial}", link.path + "P", link.url)

    def answered(self, link, status):
        if link.path.endswith("P") and status in (200, 404):
            self.allowed.add(host_of(link.url))

    def check_polite(self, link):
        host, model = host_of(link.url), self.model
        flying = [other for url, other in self.links.items() if host_of(url) == host]
        if link.path.endswith("P"):
            assert not flying
        assert not any(other.path.endswith("P") for other in flying)
        record = self.frontier.core.back.active[host]
        most = 1 if record.crawl_delay or record.failures else self.rules.get(host, 1)
        assert len(flying) + sum(name == host and at > model.now for name, at in model.rests) < most
        assert model.now >= model.polite_at.get(host, 0.0)

    def rest(self, host, until, *, whole=False):
        self.model.rests.append((host, until))
        if whole:
            super().rest(host, until)


TestSeveralMachine = SeveralMachine.TestCase
TestSeveralMachine.settings = examples(20, stateful_step_count=40)
