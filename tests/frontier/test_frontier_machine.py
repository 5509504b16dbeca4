"""The frontier against a plain model, through checkpoints, crashes and tiny limits."""

import os
import tempfile
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.examples import examples
from tests.support.frontiers import make
from tests.support.patches import patched
from tests.support.places import IN_MEMORY
from tests.support.saving import prepared
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier import frontier, host_state, place_shares, rotation, url_selection
from webcrawl.frontier.back_end import PROVEN
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.prioritizers.depth import ByChance
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.host_row import HostState

HOSTS = [f"h{i}" for i in range(8)]
DOMAINS = [["h0", "h1", "h2", "h3", "h4"], ["h5", "h6"], ["h7"]]
LIMITS = Limits(
    queues=2, max_queues=4, fetchers=2, host_pages=30, host_failures=3, retry_wait=5, patience=60
)
WAIT, FACTOR, LONGEST = 1.0, 10.0, 300.0


def _host(url: str) -> str:
    return url.split("/")[2]


def _domain(host: str) -> str:
    return next((f"d{number}" for number, hosts in enumerate(DOMAINS) if host in hosts), host)


@dataclass
class Model:
    """The expected state of a frontier: unfinished URLs, the hosts' times, dropped URLs."""

    waiting: dict[str, int] = field(default_factory=dict)  # URL -> attempt
    flying: dict[str, int] = field(default_factory=dict)
    polite_at: dict[str, float] = field(default_factory=dict)
    # of hosts with several connections
    rests: list[tuple[str, float]] = field(default_factory=list)
    now: float = 0.0
    serial: int = 0


class FrontierMachine(RuleBasedStateMachine):
    """Every URL comes out until it is finished or its host given up; no host is contacted early or
    twice at once.
    """

    limits = LIMITS
    prioritizer = None

    def admission(self, link, now):
        return Status.EXCLUDED if link.url.endswith("bad") else 0

    def check_polite(self, link):
        """A host is requested."""
        host = _host(link.url)
        assert not any(_host(url) == host for url in self.model.flying)
        assert self.model.now >= self.model.polite_at.get(host, 0.0)

    def rest(self, host, until, *, whole=False):
        """The host waits from now on; `whole`: all of it, if it has several connections."""
        self.model.polite_at[host] = until

    def answered(self, link, status):
        """A download has ended."""

    @initialize()
    def start(self):
        self.patches = patched(
            (place_shares, {"MIN_PLACES": 1, "WIDE_FACTOR": 2, "MAX_QUEUES": 1, "MAX_LOOKS": 1}),
            (host_state, {"STAY": 2}),
            (rotation, {"URLS_MOVED_PER_TURN": 3}),
            (url_selection, {"URLS_PASSED_PER_TURN": 2}),
            (frontier, {"STEPS": 2}),
        )
        self.folder = Path(self.patches.enter_context(tempfile.TemporaryDirectory(dir=IN_MEMORY)))
        self.model = Model()
        self.dropped = []
        self.open()
        self.checkpoint()

    def open(self):
        self.db = CrawlDB(self.folder)
        self.frontier = make(
            self.db,
            self.limits,
            memory=4096,
            prioritizer=self.prioritizer,
            domain=_domain,
            admission=self.admission,
            dropped=lambda link, status: self.drop(link.url, status),
        )

    def drop(self, url, status):
        ends = (Status.HOST_RETIRED, Status.HOST_BUDGET, Status.TIMEOUT, Status.CONNECT_FAILED)
        assert status in ends or (status == Status.EXCLUDED and "bad" in url)
        del self.model.waiting[url]

    @rule(
        host=st.sampled_from(HOSTS),
        count=st.integers(1, 12),
        depth=st.integers(0, 4),
        bad=st.integers(0, 9),
        word=st.sampled_from(["", "", "word", "5.word", "-5.word"]),
    )
    def add(self, host, count, depth, bad, word):
        links = []
        for i in range(count):
            self.model.serial += 1
            url = f"http://{host}/{self.model.serial}{'bad' if i == bad else ''}"
            links.append(Link(url, "L" * depth, "http://via/", request=word).pack())
            self.model.waiting[url] = 0
        self.frontier.add(links)

    @rule()
    def take(self):
        link = self.frontier.take(self.model.now)
        if link is None:
            return
        host = _host(link.url)
        self.check_polite(link)
        assert host not in self.frontier.lending.reserved
        if link.url in self.model.waiting or not link.path.endswith("P"):
            before = self.model.waiting.pop(link.url)
            # what turned out to be the host's fault was given back: it counts as struck
            assert link.attempt <= before + 1
            assert before <= link.attempt + link.struck
        self.check_slots(host)
        self.model.flying[link.url] = link.attempt
        self.links[link.url] = link

    def check_slots(self, name):
        """Beyond its share, here one of two, a host gets a slot only if no better host is due."""
        back, standing = self.frontier.core.back, self.frontier.core.back.active[name].standing
        if standing != PROVEN and self.frontier.core.back.slots.in_flight[standing] > 1:
            better = [host for host in back.active.values() if host.standing < standing]
            assert all(not host.ticket or host.due() > self.model.now for host in better)

    @precondition(lambda self: self.model.flying)
    @rule(
        pick=st.randoms(use_true_random=False),
        status=st.sampled_from(
            [200, 200, 200, 404, 500, 503, Status.TIMEOUT, Status.CONNECT_FAILED]
        ),
        seconds=st.floats(0, 3),
        told=st.sampled_from([0, 0, 0, 30, 2000]),
    )
    def done(self, pick, status, seconds, told):
        model = self.model
        url = pick.choice(sorted(model.flying))
        attempt = model.flying.pop(url)
        link = self.links.pop(url)
        told = told if status == 503 else 0.0
        outcome = Outcome(status, seconds, told, ip=f"192.0.2.{int(url[8]) % 2}")
        if not self.frontier.done(link, outcome, model.now):
            assert status not in (200, 404)
            assert attempt < 2 or status != 500
            model.waiting[url] = attempt + (status == 500)
        self.answered(link, status)
        floor = FACTOR * seconds if status > 0 else 0.0
        self.rest(_host(url), model.now + max(floor, WAIT, told), whole=bool(told))

    @rule(host=st.sampled_from(HOSTS), pages=st.booleans())
    def lend(self, host, pages):
        """`pages`: whether the page in flight has been downloaded, and is only being processed."""
        if host in self.lent:
            return
        model = self.model
        flying = any(_host(url) == host for url in model.flying)
        link = Link(f"http://{host}/inline")
        ended = (Outcome(200, 0.3), model.now - 4) if pages else None
        decision = self.frontier.lending.lend(link, model.now, lambda _: ended)
        if not decision or isinstance(decision, Link):
            assert model.now >= model.polite_at.get(host, 0.0)
            assert pages or not flying
            self.lent.add(host)
        elif isinstance(decision, float):
            assert decision > model.now
            assert decision < float("inf") or (flying and not pages)

    @precondition(lambda self: self.lent)
    @rule(
        pick=st.randoms(use_true_random=False),
        status=st.sampled_from([200, 200, 503, Status.TIMEOUT, 0, None]),
        seconds=st.floats(0, 3),
    )
    def give_back(self, pick, status, seconds):
        model, host = self.model, pick.choice(sorted(self.lent))
        self.lent.discard(host)
        self.frontier.lending.give_back(
            host, None if status is None else Outcome(status, seconds), model.now
        )
        if status != 0:
            wait = max(FACTOR * seconds if status and status > 0 else 0.0, WAIT)
            self.rest(host, model.now + wait, whole=True)

    @precondition(lambda self: self.frontier.lending.reserved)
    @rule(pick=st.randoms(use_true_random=False))
    def release(self, pick):
        host = pick.choice(sorted(self.frontier.lending.reserved))
        if host not in self.lent:
            self.frontier.lending.release(host, self.model.now)

    @precondition(lambda self: self.model.flying)
    @rule(pick=st.randoms(use_true_random=False), seconds=st.floats(5, 40))
    def cancel(self, pick, seconds):
        """A download that is cancelled comes again, with the same attempt."""
        model = self.model
        url = pick.choice(sorted(model.flying))
        model.waiting[url] = model.flying.pop(url)
        self.frontier.cancelled(self.links.pop(url), seconds, model.now)
        wait = max(min(FACTOR * seconds, LONGEST), LIMITS.retry_wait)
        self.rest(_host(url), model.now + wait, whole=True)

    @rule(seconds=st.one_of(st.floats(0, 20), st.floats(0, 2000)))
    def pass_time(self, seconds):
        self.model.now += seconds

    @rule()
    def jump_to_what_is_ready(self):
        """After moving the clock to `next_ready`, `take` makes progress in a bounded number of
        turns.
        """
        for _ in range(200):
            ready = self.frontier.next_ready()
            if ready is None:
                reserved = self.frontier.lending.reserved
                assert self.model.flying or all(
                    _host(url) in reserved for url in self.model.waiting
                )
                return
            self.model.now = max(self.model.now, ready)
            before = len(self.model.flying), len(self.model.waiting)
            self.take()
            if (len(self.model.flying), len(self.model.waiting)) != before:
                return
        raise AssertionError("promised, and never handed out")

    @rule()
    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()
        self.at_checkpoint = deepcopy(self.model)

    @rule()
    def reopen(self):
        self.checkpoint()
        self.crash()

    @rule()
    def disk_full(self):
        """With SQLite out of space, the caller gets an error, later calls fail, and the last
        checkpoint remains.
        """
        ((pages,),) = self.db.query("PRAGMA page_count")
        self.db.execute(f"PRAGMA max_page_count = {pages}")
        records = [Link(f"http://{HOSTS[0]}/{os.urandom(200).hex()}").pack() for _ in range(200)]
        try:
            self.frontier.add(records)
            self.db.checkpoint()
        except StoreError:
            self.crash()
        else:  # it fitted into free pages
            raise AssertionError("a full disk was not noticed")

    @rule()
    def crash(self):
        """Memory and the open transaction are lost; what was in flight at the checkpoint is handed
        out again.
        """
        self.db.close()
        now = self.model.now
        self.model = deepcopy(self.at_checkpoint)
        self.model.now = now
        self.model.waiting |= self.model.flying
        self.model.flying = {}
        self.links = {}
        self.lent = set()
        self.open()

    @invariant()
    def shares_agree(self):
        """Every active host counts in its domain, and nothing is left of hosts that are not."""
        active, shares = self.frontier.core.back.active, self.frontier._states.shares
        domains = {_domain(name) for name in HOSTS}
        assert {*filter(shares.has_active, domains)} == {_domain(name) for name in active}
        assert shares.domains_of(active.values()) == {_domain(name) for name in active}
        if not active:
            assert not any(map(shares.has_active, ("@192.0.2.0", "@192.0.2.1", "<via")))

    @invariant()
    def counts_agree(self):
        assert self.frontier.queued == len(self.model.waiting)
        assert self.frontier.in_flight == len(self.model.flying)
        back = self.frontier.core.back
        requested = [host for host in back.active.values() for _ in host.flights()]
        assert len(requested) == len(self.model.flying)
        assert all(
            (host.given is not None) is bool(host.flights()) for host in back.active.values()
        )
        slots = self.frontier.core.back.slots
        for standing in range(4):
            assert slots.in_flight[standing] == sum(host.standing == standing for host in requested)
            assert slots.hosts[standing] == sum(
                host.standing == standing for host in back.active.values()
            )

    @invariant()
    def deferred_hosts_agree(self):
        """Each host that is deferred comes back once, and its URLs are counted."""
        frontier, names = self.frontier, set(HOSTS) - self.frontier.core.back.active.keys()
        deferred = frontier.core.deferred
        hosts = {name: frontier.core.hosts.get(name) for name in names}
        waiting = [host.waiting() for host in hosts.values() if host.state is HostState.DEFERRED]
        for host in hosts.values():
            frontier.core.hosts.put_away(host)  # which may close its queues
        assert frontier.core.deferred.hosts == len(waiting)
        assert frontier.core.deferred.urls == sum(waiting)
        assert deferred.next_due() is not None or not waiting

    links: dict[str, Link]
    lent: set[str]

    def __init__(self):
        super().__init__()
        self.links = {}
        self.lent = set()

    def teardown(self):
        if hasattr(self, "db"):
            with self.patches, closing(self.db):
                self.finish()

    def finish(self):
        """Nothing is lost: in the end every added URL has come out."""
        model = self.model
        for host in sorted(self.frontier.lending.reserved):
            if host in self.lent:
                self.frontier.lending.give_back(host, None, model.now)
        self.lent.clear()
        for host in sorted(self.frontier.lending.reserved):
            self.frontier.lending.release(host, model.now)
        for _ in range(10_000):
            for url in list(model.flying):
                self.answered(self.links[url], 200)
                self.frontier.done(self.links.pop(url), Outcome(200, 0.1), model.now)
                del model.flying[url]
                self.rest(_host(url), model.now + WAIT)
            ready = self.frontier.next_ready()
            if ready is None:
                break
            model.now = max(model.now, ready)
            self.take()
        assert not model.waiting
        assert len(self.frontier) == 0


def test_a_machine_that_fails_changes_nothing_for_other_tests():
    """Its small constants would be theirs, too."""
    machine, before = FrontierMachine(), rotation.URLS_MOVED_PER_TURN
    machine.start()
    machine.model.waiting["http://h0/lost"] = 0
    with pytest.raises(AssertionError):
        machine.teardown()

    assert before == rotation.URLS_MOVED_PER_TURN


TestFrontierMachine = FrontierMachine.TestCase
TestFrontierMachine.settings = examples(20, stateful_step_count=40)


class ChoosingMachine(FrontierMachine):
    """The best of what is next is chosen, at the front-end and at hosts: nothing is lost or
    doubled, nobody hurried.
    """

    prioritizer = ByChance(3)


TestChoosingMachine = ChoosingMachine.TestCase
TestChoosingMachine.settings = examples(20, stateful_step_count=40)
