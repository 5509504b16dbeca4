"""One host's health against a plain model that looks at the whole history, under a clock that runs
for days.
"""

import shutil
import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.examples import examples
from tests.support.frontiers import make
from tests.support.places import IN_MEMORY
from tests.support.saving import prepared
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.health import DAY, GONE, STRIKES
from webcrawl.store.crawldb import CrawlDB

LIMITS = Limits(queues=2, max_queues=4, host_failures=3, retry_wait=60, patience=2 * DAY)
DOWN = {
    "refused": Outcome(Status.CONNECT_FAILED),
    "no answer": Outcome(Status.DNS_FAILED),
    "no name": Outcome(Status.DNS_FAILED, permanent=True, doubtful=True),
    "inside": Outcome(Status.EXCLUDED, permanent=True, doubtful=True),
    "late": Outcome(Status.TIMEOUT, 0.5),
    "busy": Outcome(503, 0.1, wait=30.0),
    "told": Outcome(429, 0.1, wait=5 * 3600.0),
}
NOWHERE = {"no name", "inside"}  # is believed of a host that was never reached
REACHED = {"late", "busy", "told"}


@dataclass
class Model:
    """All that has happened to the host since its last answer, and its URLs. A host that is given
    up is followed by another one.
    """

    failed: list[tuple[float, str, float]] = field(default_factory=list)  # when, how, not before
    reached: bool = False
    given_up: bool = False
    urls: set[str] = field(default_factory=set)
    flying: Link | None = None
    now: float = 0.0
    serial: int = 0
    host: int = 0

    def away(self) -> float:
        """Each gap counts, but no more than twice as long as it was meant to be."""
        return sum(
            min(later - at, 2 * (until - at))
            for (at, _, until), (later, _, _) in pairwise(self.failed)
        )

    def fail(self, how: str) -> None:
        self.reached |= how in REACHED
        nowhere = how in NOWHERE and not self.reached
        wait = max(GONE if nowhere else min(60 * 2.0 ** len(self.failed), DAY), DOWN[how].wait)
        self.failed.append((self.now, how, self.now + wait))
        gone = nowhere and [one in NOWHERE for _, one, _ in self.failed[-2:]] == [True, True]
        self.given_up = gone or (
            len(self.failed) >= LIMITS.host_failures and self.away() >= LIMITS.patience
        )


class HealthMachine(RuleBasedStateMachine):
    """A host is asked for one URL when it is due, and never before; it is given up when it has to
    be, and only then.
    """

    @initialize()
    def start(self):
        self.folder = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.model = Model()
        self.open()

    def open(self):
        self.db = CrawlDB(self.folder)
        self.frontier = make(
            self.db, LIMITS, memory=4096, dropped=lambda link, status: self.end(link.url, status)
        )

    def end(self, url, status):
        """URLs end unasked only when their host was given up."""
        assert self.model.given_up
        assert status in (Status.HOST_RETIRED, *(outcome.status for outcome in DOWN.values()))
        self.model.urls.remove(url)

    @precondition(lambda self: not self.model.given_up)
    @rule(count=st.integers(1, 5))
    def find(self, count):
        for _ in range(count):
            self.model.serial += 1
            url = f"http://host{self.model.host}/{self.model.serial}"
            self.model.urls.add(url)
            self.frontier.add([Link(url).pack()])

    @precondition(lambda self: self.model.flying is None)
    @rule(seconds=st.one_of(st.floats(0, 100), st.floats(0, 3 * DAY)))
    def pass_time(self, seconds):
        self.model.now += seconds

    @precondition(lambda self: self.model.flying is None)
    @rule(patient=st.booleans())
    def take(self, patient):
        """Whoever waits until `next_ready` gets a URL, if there is one."""
        model = self.model
        for _ in range(20):
            link = self.frontier.take(model.now)
            if link is not None:
                assert link.url in model.urls
                assert not model.failed or model.now >= model.failed[-1][2]
                assert self.frontier.take(model.now) is None
                model.flying = link
                return
            ready = self.frontier.next_ready()
            if ready is None:
                assert not model.urls
            if ready is None or not patient:
                return
            model.now = max(model.now, ready)
        raise AssertionError("promised, and never handed out")

    @precondition(lambda self: self.model.flying is not None)
    @rule(
        how=st.one_of(st.sampled_from([*sorted(DOWN), "up"]), st.sampled_from(["refused", "busy"]))
    )
    def done(self, how):
        model, link = self.model, self.model.flying
        model.flying = None
        if how == "up":
            model.failed, model.reached = [], True
            final = self.frontier.done(link, Outcome(200, 0.1), model.now)
            assert final
        else:
            model.fail(how)
            final = self.frontier.done(link, DOWN[how], model.now)
            assert final or not model.given_up
            assert not final or model.given_up or how == "late" or link.struck + 1 >= STRIKES
        if final:
            model.urls.remove(link.url)

    @precondition(lambda self: self.model.given_up)
    @rule()
    def go_on_with_another(self):
        """All URLs of a host given up end in a few turns."""
        for _ in range(20):
            assert self.frontier.take(self.model.now) is None
            self.model.now += 0.1
        assert not self.model.urls
        self.model = Model(now=self.model.now, serial=self.model.serial, host=self.model.host + 1)

    @precondition(lambda self: self.model.flying is None)
    @rule()
    def reopen(self):
        prepared(self.db)
        self.db.checkpoint()
        self.db.close()
        self.open()

    @invariant()
    def the_failures_agree(self):
        if self.model.given_up:
            return
        frontier, name = self.frontier, f"host{self.model.host}"
        host = frontier.core.back.active.get(name)
        if host is None:
            host = frontier.core.hosts.get(name)
            frontier.core.hosts.put_away(host)
        assert host.failures == len(self.model.failed)
        assert len(frontier) == len(self.model.urls)
        assert frontier.core.deferred.hosts <= 1

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()
            shutil.rmtree(self.folder)


TestHealthMachine = HealthMachine.TestCase
TestHealthMachine.settings = examples(25, stateful_step_count=40)
