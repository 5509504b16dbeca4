"""What `next_ready` promises: before that time, and before something ends, there is nothing to take.

So no look in between is needed, whatever holds the crawl's hosts back.
"""

import json
from random import Random

import pytest

from tests.crawl.test_liveness import START, Small
from tests.support.examples import in_campaign
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.crawl import crawl as crawl_module

HOUR = 3600.0
OF_REVISITS = {"REVISIT_POLICY": "uniform", "REVISIT_AGE": 300, "REVISIT_RATE": 0.1}


class Steered(Small):
    """The same small crawls, with few slots, shared addresses, budgets, several connections, paused
    and lent hosts, downloads that are cancelled or cannot be tried, and pages that are fetched
    again.
    """

    steps = 20_000

    def __init__(self, folder, random):
        names = [f"h{number}.d{number % 5}.test" for number in range(4)]
        self.slots = random.choice([1, 2, 8])
        self.more = {
            "CONCURRENT_REQUESTS": self.slots,
            "FRONTIER_QUEUES": random.choice([0, 1, 3]),
            "FRONTIER_MAX_QUEUES": random.choice([3, 4, 30_000]),
            "DOMAIN_BUDGET_PAGES": random.choice([1, 5, 1000]),
            "HOST_MAX_PAGES": random.choice([0, 3]),
            "HOST_MAX_FAILURES": random.choice([1, 2, 5]),
            **random.choice([{}, {"POLITENESS_PER_IP": True}, OF_REVISITS]),
        }
        if "POLITENESS_PER_IP" not in self.more:
            connections = {name: random.choice([1, 2, 4]) for name in names}
            self.more["HOST_CONNECTIONS"] = json.dumps(connections)
        self.paused, self.lent = set(), set()
        super().__init__(folder, random)

    def open(self):
        self.settings |= self.more
        super().open()
        self.crawl.parts.frontier.steering.pause(sorted(self.paused), START + self.seconds)

    def restart(self):
        if not self.lent:
            super().restart()

    def end(self, link):
        status = self.random.choice([Status.UNTRIED, Status.YIELDED, *[0] * 30])
        if not status:
            super().end(link)
            return
        self.seconds += 0.01
        outcome = Outcome(status, 20.0, ended=self.seconds)
        outcome.wait = self.random.choice([0.0, 100.0]) if status == Status.UNTRIED else 0.0
        self.crawl.finish(link, outcome, None)

    def happens(self, step, running):
        super().happens(step, running)
        frontier, now = self.crawl.parts.frontier, self.crawl.parts.clock()
        host = self.random.choice(sorted(map(host_of, self.links)))
        chance = self.random.random()
        if chance < 0.01:
            frontier.steering.pause([host], now)
            self.paused.add(host)
        elif chance < 0.02:
            frontier.steering.retry(host, now)
        elif chance < 0.03 and host not in self.lent | self.paused:
            decision = frontier.lending.lend(Link(f"http://{host}/inline"), now, lambda _: None)
            if not decision or isinstance(decision, Link):
                self.lent.add(host)
            else:
                frontier.lending.release(host, now)
        elif chance < 0.05:
            self.let_go()

    def let_go(self):
        """Nothing is paused or lent any more."""
        frontier, now = self.crawl.parts.frontier, self.crawl.parts.clock()
        while self.lent:
            host = self.lent.pop()
            frontier.lending.give_back(host, Outcome(200, 0.3, ended=self.seconds), now)
            frontier.lending.release(host, now)
        while self.paused:
            frontier.steering.resume(self.paused.pop(), now)

    def is_over(self):
        """At the end, or after some hours of pages that are fetched again."""
        return super().is_over() or self.seconds > 10 * HOUR

    def nobody_wakes(self):
        assert self.paused or self.lent, "nobody wakes it"
        self.let_go()

    def look_between(self):
        """A look before the promised time, which must find nothing; links of a merge may come."""
        if self.crawl.parts.seen.busy:
            return []
        now, ready = self.crawl.parts.clock(), self.crawl.next_ready()
        later = now + self.random.choice([0.3, 5.0, 1000.0])
        if ready is not None:
            later = min(later, now + 0.9 * (ready - now))
        if later < now + 0.001 or self.crawl.parts.seen.busy:
            return []
        self.seconds += later - now
        merges = self.crawl.parts.seen.pending
        link = self.take()
        assert link is None or merges, f"{link.url}: found before {ready}"
        return [] if link is None else [link]


@pytest.mark.parametrize("seed", [*range(2), *in_campaign(*range(2, 300))])
def test_before_the_promised_time_there_is_nothing(tmp_path, monkeypatch, seed):
    """However hosts wait, are paused, lent, shared or over a budget: either a time is promised, or
    something is under way whose end wakes the crawl.
    """
    random = Random(seed)
    monkeypatch.setattr(crawl_module, "SLICE", random.choice([1, 3, 500]))
    steered = Steered(tmp_path, random)
    try:
        steered.run()
    finally:
        steered.crawl.close()
