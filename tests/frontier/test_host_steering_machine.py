"""The frontier against the same model while hosts are paused, resumed, tried at once and given up
by command.
"""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.frontier.test_frontier_machine import HOSTS, FrontierMachine
from tests.support.examples import examples
from webcrawl.base.model import Link, Status
from webcrawl.base.url_text import host_of

A_HOST = st.sampled_from(HOSTS)


class SteeringMachine(FrontierMachine):
    """No paused host is asked or lent, whatever happens; no command makes a host be asked early, or
    loses a URL.
    """

    def __init__(self):
        super().__init__()
        self.held, self.held_at_checkpoint, self.given_up = set(), set(), set()

    @rule(host=A_HOST)
    def hold(self, host):
        self.frontier.steering.pause([host], self.model.now)
        self.held.add(host)

    @precondition(lambda self: self.held)
    @rule(pick=st.randoms(use_true_random=False))
    def let_go(self, pick):
        host = pick.choice(sorted(self.held))
        self.held.discard(host)
        self.frontier.steering.resume(host, self.model.now)

    @rule(host=A_HOST)
    def retry(self, host):
        self.frontier.steering.retry(host, self.model.now)

    @rule(host=A_HOST)
    def give_up(self, host):
        self.given_up.add(host)
        self.frontier.steering.drop(host, self.model.now)

    @rule(host=A_HOST, most=st.integers(0, 30))
    def look(self, host, most):
        """What is seen of a queue are URLs that wait, each once; and nothing changes."""
        found = [link.url for _, link in self.frontier.look.first(host, most, self.model.now)]
        assert len(set(found)) == len(found) <= most
        assert set(found) <= {url for url in self.model.waiting if host_of(url) == host}
        assert self.frontier.look.facts(host).queued >= len(found)

    def drop(self, url, status):
        if status == Status.DROPPED:
            assert host_of(url) in self.given_up
            del self.model.waiting[url]
        else:
            super().drop(url, status)

    @rule()
    def take(self):
        before = set(self.model.flying)
        super().take()
        assert all(host_of(url) not in self.held for url in self.model.flying.keys() - before)

    @rule(host=A_HOST, pages=st.booleans())
    def lend(self, host, pages):
        if host not in self.held:
            super().lend(host, pages)
        elif host not in self.lent:
            decision = self.frontier.lending.lend(
                Link(f"http://{host}/inline"), self.model.now, lambda _: None
            )
            assert decision == Status.HOST_RETIRED

    @rule()
    def jump_to_what_is_ready(self):
        while self.held:
            self._resume(self.held.pop())
        super().jump_to_what_is_ready()

    @rule()
    def checkpoint(self):
        super().checkpoint()
        self.held_at_checkpoint = set(self.held)

    @rule()
    def crash(self):
        super().crash()
        self.held = set(self.held_at_checkpoint)
        self.frontier.steering.pause(sorted(self.held), self.model.now)

    def finish(self):
        while self.held:
            self._resume(self.held.pop())
        super().finish()

    def _resume(self, host):
        self.frontier.steering.resume(host, self.model.now)


TestSteeringMachine = SteeringMachine.TestCase
TestSteeringMachine.settings = examples(20, stateful_step_count=40)
